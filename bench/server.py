"""The Postgres server of the benchmark: the embedded Postgres with fixed settings, and a fresh database for every measurement."""

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg

from bench import processes
from plait.embedded.postgres import EmbeddedPostgres, Server

SETTINGS: Final = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "shared_buffers": "1GB",
    "max_connections": "200",
    # Checkpoints must not affect one system more than another, so each measurement begins with a checkpoint.
    "max_wal_size": "8GB",
    "min_wal_size": "1GB",
    "checkpoint_timeout": "30min",
}
WARM: Final = (
    "create table warm (n int, text text)",
    "insert into warm select g, repeat('x', 600) from generate_series(1, 1500000) g",
    "drop table warm",
    "checkpoint",
)
"""Warm up the server, so that its WAL files exist and can be reused, and its memory is allocated. Otherwise the first system would pay for both."""
DATA = Path(__file__).parent / ".data"


class Postgres:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self.pid = int((DATA / f"pg{server.version}" / "data" / "postmaster.pid").read_text().split()[0])

    @classmethod
    @asynccontextmanager
    async def running(cls) -> "AsyncIterator[Postgres]":
        shutil.rmtree(DATA, ignore_errors=True)
        embedded = EmbeddedPostgres(DATA, settings=SETTINGS)
        server = await asyncio.to_thread(embedded.start)
        try:
            postgres = cls(server)
            for statement in WARM:
                await postgres.execute(statement)
            yield postgres
        finally:
            await asyncio.to_thread(embedded.stop)
            shutil.rmtree(DATA, ignore_errors=True)

    def url(self, database: str = "postgres", *, user: str = "postgres") -> str:
        return self._server.url(user=user, database=database)

    @property
    def socket_dir(self) -> str:
        return str(self._server.socket_dir)

    @asynccontextmanager
    async def fresh_database(self) -> AsyncIterator[str]:
        name = f"bench_{next(self._numbers)}"
        await self.execute(f"create database {name}")
        try:
            yield name
        finally:
            await self.execute(f"drop database {name} with (force)")

    async def execute(self, sql: str, *, database: str = "postgres") -> None:
        connection = await asyncpg.connect(self.url(database))
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    async def fetchval(self, sql: str, *, database: str = "postgres") -> Any:
        connection = await asyncpg.connect(self.url(database))
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    def cpu_s(self) -> float:
        return processes.cpu_s(self.pid)

    async def version(self) -> str:
        return str(await self.fetchval("show server_version"))
