"""The worker's and the API's tests in other connection modes: through PgBouncer in transaction mode, and without notifications (F10)."""
