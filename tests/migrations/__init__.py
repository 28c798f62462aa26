"""Migrations: from an empty database or an older release to this schema, and on every supported server."""
