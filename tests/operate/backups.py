"""pg_dump and pg_restore, from one server into a database of another."""

import subprocess
from pathlib import Path

import asyncpg

from plait.embedded import postgres_binaries
from plait.store.migrate import SQL
from plait.testing import TestDatabase, TestServer


def dump(database: TestDatabase, path: Path) -> None:
    _run("pg_dump", "--format=custom", f"--file={path}", "--dbname", database.admin_url)


async def restore(path: Path, server: TestServer) -> TestDatabase:
    """Create the roles first, because they belong to the server and are not in the backup of a database."""
    connection = await asyncpg.connect(server.admin_url)
    await connection.execute((SQL / "roles.sql").read_text())
    await connection.execute(
        "do $$ begin create role plait_dev login in role plait_client, plait_worker, plait_admin;"
        " exception when duplicate_object then null; end $$"
    )
    await connection.close()
    database = await server.create_empty_database()
    _run("pg_restore", "--exit-on-error", "--dbname", database.admin_url, str(path))
    return database


def _run(program: str, *arguments: str) -> None:
    path = postgres_binaries.find(None).bin_dir / program
    done = subprocess.run([str(path), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
