"""Embedded Postgres: a real server with nothing to install, started when it is first needed and stopped when no process uses it.

    postgres.py           start, share and stop the server
    keeper/               the process that watches over one server; its docstring has the protocol of locks
    postgres_binaries.py  the programs; postgres_place.py: files and users; postgres_settings.py: settings of the server

Other packages start and stop it with `EmbeddedPostgres`.
"""
