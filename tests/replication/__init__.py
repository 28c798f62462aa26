"""A primary and a synchronous standby, of the programs that embedded Postgres is made of; the primary dies under load."""
