"""The worker's own tests, on other ways to the database: through PgBouncer in transaction mode, and without notifications (F10)."""
