"""A primary and a synchronous standby; the primary is killed under load."""
