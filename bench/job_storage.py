"""The storage of a system's jobs, as seen by the harness: the number of stored and finished jobs, and their cost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import asyncpg

from bench import environments
from bench.redis import Redis
from bench.server import Postgres
from bench.systems import System
from plait.store.dev_login import DEV_LOGIN, ensure_dev_login
from plait.store.migrate import migrate

MIGRATE = """
import asyncio, sys
from plait.store.migrate import migrate
try:
    from plait.store.dev_login import ensure_dev_login
except ImportError:
    from plait.store.roles import ensure_dev_login  # the module's name in earlier commits
asyncio.run(migrate(sys.argv[1]))
asyncio.run(ensure_dev_login(sys.argv[1]))
"""


class JobStorage(Protocol):
    @property
    def url(self) -> str: ...
    async def stored(self) -> int:
        """The number of stored jobs, while no worker is running."""
        ...

    async def unfinished(self, asked: int) -> int:
        """The number of enqueued jobs that are not final."""
        ...

    async def finished(self) -> int | None:
        """The number of finished jobs; None if the system does not keep them."""
        ...

    async def settle_down(self) -> None:
        """Give every system the same initial state, so that no measurement pays for earlier work."""
        ...

    async def written(self) -> int:
        """The bytes written to the WAL or the append-only file."""
        ...

    def cpu_s(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Servers:
    postgres: Postgres
    redis: Redis | None

    @asynccontextmanager
    async def storage(self, system: System) -> AsyncIterator[JobStorage]:
        """Create an empty storage for a system."""
        if system.store == "redis":
            assert self.redis is not None
            await self.redis.empty()
            yield RedisStorage(self.redis, system)
            return
        async with self.postgres.fresh_database() as database:
            if system.language == "plait":
                await _migrate(system, self.postgres.url(database))
            connection = await asyncpg.connect(self.postgres.url(database))
            try:
                yield PostgresStorage(self.postgres, system, database, connection)
            finally:
                await connection.close()


async def _migrate(system: System, url: str) -> None:
    if system.commit is None:
        await migrate(url)
        await ensure_dev_login(url)
        return
    process = await asyncio.create_subprocess_exec(
        str(environments.python(system)), "-c", MIGRATE, url, cwd=environments.sources(system)
    )
    if await process.wait():
        raise environments.Missing(f"plait at {system.commit} could not migrate")


class PostgresStorage:
    def __init__(self, postgres: Postgres, system: System, database: str, connection: asyncpg.Connection) -> None:
        self._postgres = postgres
        self._system = system
        self.database = database
        self._connection = connection

    @property
    def url(self) -> str:
        """The database's URL. plait rejects superusers, so it gets another login."""
        user = DEV_LOGIN if self._system.language == "plait" else "postgres"
        return self._postgres.url(self.database, user=user)

    async def stored(self) -> int:
        return int(await self.fetchval(self._system.unfinished))

    async def unfinished(self, asked: int) -> int:  # noqa: ARG002 - the database counts them
        return await self.stored()

    async def finished(self) -> int | None:
        return int(await self.fetchval(self._system.finished)) if self._system.finished else None

    async def settle_down(self) -> None:
        await self.execute("vacuum analyze")
        await self.execute("checkpoint")

    async def written(self) -> int:
        return int(await self.fetchval("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def cpu_s(self) -> float:
        return self._postgres.cpu_s()

    async def fetchval(self, sql: str, *arguments: Any) -> Any:
        return await self._connection.fetchval(sql, *arguments)

    async def execute(self, sql: str) -> None:
        await self._connection.execute(sql)


class RedisStorage:
    """Results have their own database, so their number is the number of finished jobs."""

    def __init__(self, redis: Redis, system: System) -> None:
        self._redis = redis
        self._system = system

    @property
    def url(self) -> str:
        return self._redis.url

    async def stored(self) -> int:
        return int(await self._redis.ask("llen", self._system.queue_key))

    async def unfinished(self, asked: int) -> int:
        return asked - int(await self._redis.ask("dbsize", database=1))

    async def finished(self) -> int | None:
        return int(await self._redis.ask("dbsize", database=1))

    async def settle_down(self) -> None:
        """Redis needs no maintenance."""

    async def written(self) -> int:
        return await self._redis.written()

    def cpu_s(self) -> float:
        return self._redis.cpu_s()
