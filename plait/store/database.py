"""Connections to one database, and the translation of its errors.

No session state anywhere: a statement may run on any connection, also behind a pooler. The one exception is `listen`, which
holds a connection of its own.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

import asyncpg

from plait.model.errors import BY_SQLSTATE, Busy, DatabaseError, DatabaseUnreachable, SchemaOutdated

Row = Any
"""An asyncpg record; each method of the store turns it into a type of its own."""

IDLE_S: Final = 300.0
"""A connection that nobody needs for so long is ended."""
CLOSE_S: Final = 5.0

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
    if ours is None:
        return error
    translated = ours(getattr(error, "message", None) or str(error))
    translated.detail = getattr(error, "detail", None)
    return translated


def is_transient(error: BaseException) -> bool:
    """Whether the same statement may succeed a little later: deadlocks, lock timeouts, a server short of something."""
    return (getattr(error, "sqlstate", None) or "")[:2] in ("40", "53", "55", "57", "58")


def is_held(error: BaseException) -> bool:
    """Whether a statement gave up because another transaction holds a row or a key that it needs."""
    return getattr(error, "sqlstate", None) in ("55P03", Busy.sqlstate)


class Database:
    def __init__(
        self, url: str, *, session_user: str | None = None, max_connections: int = 10, pooler: bool = False
    ) -> None:
        self.url = url
        self.session_user = session_user
        self._max = max_connections
        self.pooler = pooler
        self._idle: list[tuple[asyncpg.Connection, float]] = []
        """Who was used last comes last, and is used next; and since when it is idle."""
        self._used: set[asyncpg.Connection] = set()
        self._free = asyncio.Semaphore(max_connections)
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def unaudited(self) -> "Database":
        """For statements that change nothing, of a call that changes something."""
        return self

    async def connect(self, **options: Any) -> asyncpg.Connection:
        """A connection of its own, for who must hold one."""
        try:
            connection = await asyncpg.connect(self.url, timeout=10, **self._options(), **options)
            await self._prepare(connection)
        except (asyncpg.PostgresError, *UNREACHABLE) as error:
            raise translate(error) from error
        return connection

    async def close(self) -> None:
        """Wait a little for who is in the middle of something, then end all connections. A later call opens new ones."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._returned(), CLOSE_S)
        for connection in list(self._used):
            connection.terminate()
        while connection := self._last():
            with contextlib.suppress(asyncpg.PostgresError, *UNREACHABLE):
                await connection.close(timeout=CLOSE_S)

    async def fetch(self, sql: str, *args: Any) -> list[Row]:
        async with self._connection() as connection:
            return list(await connection.fetch(sql, *args))

    async def fetchrow(self, sql: str, *args: Any) -> Row:
        async with self._connection() as connection:
            return await connection.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: Any) -> Any:
        async with self._connection() as connection:
            return await connection.fetchval(sql, *args)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection in a transaction of its own: committed at the end of the block, undone when it raises."""
        async with self._connection() as connection, connection.transaction():
            yield connection

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[asyncpg.Connection]:
        """One for the length of the block. asyncpg's own pool makes a task for each return, a third of what a small one costs here."""
        async with self._free:
            connection = self._last() or await self.connect()
            self._used.add(connection)
            try:
                yield connection
            except asyncpg.PostgresError as error:
                ours = translate(error)
                if ours is error:
                    raise
                raise ours from error
            except UNREACHABLE as error:
                if not isinstance(error, ValueError):
                    connection.terminate()  # it may be in the middle of anything: nobody must get it again
                raise translate(error) from error
            except (asyncio.CancelledError, GeneratorExit):
                connection.terminate()
                raise
            finally:
                self._return(connection)

    def _last(self) -> asyncpg.Connection | None:
        while self._idle:
            connection, _ = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _return(self, connection: asyncpg.Connection) -> None:
        self._used.discard(connection)
        if not connection.is_closed():
            loop = asyncio.get_running_loop()
            self._idle.append((connection, loop.time()))
            if self._expiry is None:
                self._expiry = loop.call_later(IDLE_S, self._expire, loop)

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """End those that nobody has needed for a while."""
        self._expiry = None
        while self._idle and (left := self._idle[0][1] + IDLE_S - loop.time()) <= 0:
            self._idle.pop(0)[0].terminate()
        if self._idle:
            self._expiry = loop.call_later(left, self._expire, loop)

    async def _returned(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(self._max):
                await stack.enter_async_context(self._free)

    def _options(self) -> dict[str, Any]:
        # A pooler in transaction mode hands each statement to any server connection: no prepared names there.
        return {"statement_cache_size": 0} if self.pooler else {}

    async def _prepare(self, connection: asyncpg.Connection) -> None:
        if self.session_user is not None:
            quoted = self.session_user.replace('"', '""')
            await connection.execute(f'set session authorization "{quoted}"')
