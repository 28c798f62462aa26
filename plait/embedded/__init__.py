"""Embedded Postgres: a real server with nothing to install, started when it is first needed and stopped when nobody uses it."""
