"""A pool of connections to one database, and the translation of its errors.

No session state anywhere: a statement may run on any connection, also behind a pooler. The one exception is `listen`, which
holds a connection of its own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg

from plait.model.errors import BY_SQLSTATE, DatabaseError, DatabaseUnreachable, PlaitError, SchemaOutdated

Row = Any
"""An asyncpg record; each method of the store turns it into a type of its own."""

UNREACHABLE: Final = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what asyncpg says when a connection ends in the middle of its own bookkeeping
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)
_SCHEMA_MISSING: Final = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedFunctionError,
    asyncpg.InvalidSchemaNameError,
)


def translate(error: BaseException) -> BaseException:
    """The error of ours that a driver's error stands for, or the error itself."""
    if isinstance(
        error,
        asyncpg.InvalidPasswordError | asyncpg.InvalidAuthorizationSpecificationError | asyncpg.InvalidCatalogNameError,
    ):
        return DatabaseUnreachable(f"the database refused the connection: {error}")
    if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
        return DatabaseError(f"the database has no place for this value: {error}")  # refused by the driver: never sent
    if isinstance(error, UNREACHABLE):
        return DatabaseUnreachable(f"the database cannot be reached: {error or type(error).__name__}")
    if isinstance(error, _SCHEMA_MISSING) and "plait" in str(error):
        return SchemaOutdated(f"{error}. Run `plait migrate`.")
    ours = BY_SQLSTATE.get(getattr(error, "sqlstate", None) or "")
    return ours(str(error)) if ours else error


def is_transient(error: BaseException) -> bool:
    """Whether the same statement may succeed a little later: deadlocks, lock timeouts, a server short of something."""
    return (getattr(error, "sqlstate", None) or "")[:2] in ("40", "53", "55", "57", "58")


class Database:
    def __init__(
        self, url: str, *, session_user: str | None = None, max_connections: int = 10, pooler: bool = False
    ) -> None:
        self.url = url
        self.session_user = session_user
        self._max = max_connections
        self.pooler = pooler
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()

    async def connect(self, **options: Any) -> asyncpg.Connection:
        """A connection of its own, for who must hold one."""
        try:
            connection = await asyncpg.connect(self.url, timeout=10, **self._options(), **options)
            await self._prepare(connection)
        except (asyncpg.PostgresError, *UNREACHABLE) as error:
            raise translate(error) from error
        return connection

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            try:
                await asyncio.wait_for(pool.close(), 5)
            except TimeoutError:
                pool.terminate()

    async def fetch(self, sql: str, *args: Any) -> list[Row]:
        async with self._connection() as connection:
            return list(await connection.fetch(sql, *args))

    async def fetchrow(self, sql: str, *args: Any) -> Row:
        async with self._connection() as connection:
            return await connection.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: Any) -> Any:
        async with self._connection() as connection:
            return await connection.fetchval(sql, *args)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection in a transaction of its own: committed at the end of the block, undone when it raises."""
        async with self._connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        try:
            pool = self._pool or await self._open()
            # No timeout here: asyncpg would make a task for each. To connect has one; to wait for others to be done needs none.
            async with pool.acquire() as connection:
                try:
                    yield connection
                except UNREACHABLE as error:
                    if not isinstance(error, ValueError):
                        connection.terminate()  # it may be in the middle of anything: nobody must get it from the pool
                    raise
        except PlaitError:
            raise
        except (asyncpg.PostgresError, *UNREACHABLE) as error:
            ours = translate(error)
            if ours is error:
                raise
            raise ours from error

    async def _open(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self.url,
                    min_size=0,
                    max_size=self._max,
                    timeout=10,
                    init=self._prepare,
                    reset=_keep,
                    **self._options(),
                )
            return self._pool

    def _options(self) -> dict[str, Any]:
        # A pooler in transaction mode hands each statement to any server connection: no prepared names there.
        return {"statement_cache_size": 0} if self.pooler else {}

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        if self.session_user is not None:
            quoted = self.session_user.replace('"', '""')
            await connection.execute(f'set session authorization "{quoted}"')


async def _keep(connection: asyncpg.Connection) -> None:
    """Nothing to reset: no session state is ever made."""
