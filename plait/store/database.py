"""Connections to one database, and the translation of its errors.

There is no session state: a statement may run on any connection, even behind a pooler. The only exception is LISTEN, which has its own
connection.

Every wait has a limit: for a free connection, for a new connection, and for each statement. If the database does not respond to a statement in
time, its connection is terminated. All idle connections are terminated too, because they may be dead: when a host loses power or a NAT entry is
dropped, no socket is closed. Only a user's code on a connection that was lent to it has no limit. One timer watches all statements of a pool,
because one timer per statement would make a small statement about 17% slower.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Final

import asyncpg

from plait.model.errors import (
    BY_SQLSTATE,
    Busy,
    DatabaseError,
    DatabaseUnreachable,
    InvalidJob,
    NoAnswer,
    PlaitError,
    SchemaOutdated,
)
from plait.runtime.outage import Outage
from plait.store.sockets import CONNECT_S, open_connection

Row = Any
"""An asyncpg record. The store's methods convert it to a dataclass or struct."""

STATEMENT_S: Final = 10.0
"""The default timeout of a statement."""
LONG_S: Final = 120.0
"""The timeout of statements whose work grows with the database: retention, counts, a whole workflow."""
TRANSACTION_S: Final = 600.0
"""The maximum duration of a transaction of several statements."""
FREE_S: Final = 30.0
"""The maximum wait for a free connection."""
LENT_S: Final = 600.0
"""The maximum wait for a connection that is lent to a user's code."""
IDLE_S: Final = 300.0
"""An idle connection is closed after this time."""
CLOSE_S: Final = 5.0
GOODBYE_S: Final = 1.0

UNREACHABLE: Final = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # raised by asyncpg when a connection ends during its internal bookkeeping
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)
_UNAVAILABLE: Final = (
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
)
"""The server responds but cannot execute the statement now: it is read-only during a switchover, or out of disk space or memory."""
_REFUSED: Final = (
    asyncpg.InvalidPasswordError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)
_SCHEMA_MISSING: Final = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedFunctionError,
    asyncpg.InvalidSchemaNameError,
)


def translate(error: BaseException, *, statement_s: float | None = None) -> BaseException:
    """Translate a driver's error into plait's error. Other errors are returned unchanged."""
    if isinstance(error, PlaitError):
        return error
    if isinstance(error, _REFUSED):
        return DatabaseUnreachable(f"the database refused the connection: {error}")
    if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
        return DatabaseError(f"the value is out of range: {error}")  # rejected by the driver before sending
    if isinstance(error, TimeoutError):
        within = "in time" if statement_s is None else f"within {statement_s:g} s"
        return NoAnswer(f"the database cannot be reached: no answer {within}")
    if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError):
        return DatabaseUnreachable("the database cannot be reached: the connection was lost")
    if isinstance(error, UNREACHABLE):
        return DatabaseUnreachable(f"the database cannot be reached: {error or type(error).__name__}")
    if isinstance(error, _UNAVAILABLE):
        return DatabaseUnreachable(f"the database cannot execute the statement now: {error}")
    if isinstance(error, _SCHEMA_MISSING) and "plait" in str(error):
        return SchemaOutdated(f"{error}. Run `plait migrate`.")
    ours = BY_SQLSTATE.get(getattr(error, "sqlstate", None) or "")
    if ours is None:
        return error
    translated = ours(getattr(error, "message", None) or str(error))
    translated.detail = getattr(error, "detail", None)
    return translated


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed: after a deadlock, a lock timeout, or on a server that is out of resources."""
    return isinstance(error, DatabaseUnreachable) or _sqlstate(error)[:2] in ("08", "25", "40", "53", "55", "57", "58")


def is_own_fault(error: BaseException) -> bool:
    """Whether the database cannot store the data that was sent, so that no retry can succeed. Any other error may be temporary. A unique
    violation (23505) may be a race within plait: retry it once."""
    return type(error) is DatabaseError or _sqlstate(error)[:2] in ("22", "23", "54") or isinstance(error, InvalidJob)


def is_refusal(error: BaseException) -> bool:
    """Whether the server rejects this login or database. At startup this means a wrong setting; later the password may have changed."""
    return isinstance(error.__cause__, _REFUSED)


def _sqlstate(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""


def is_held(error: BaseException) -> bool:
    """Whether a statement gave up because another transaction locks a row or key that it needs."""
    return getattr(error, "sqlstate", None) in ("55P03", Busy.sqlstate)


class Database:
    def __init__(
        self,
        url: str,
        *,
        session_user: str | None = None,
        max_connections: int = 10,
        pooler: bool = False,
        statement_s: float | None = STATEMENT_S,
        outage: Outage | None = None,
    ) -> None:
        """`statement_s`: the timeout of each statement. None: no timeout, for a user's statements."""
        self.url = url
        self.session_user = session_user
        self._max = max_connections
        self.pooler = pooler
        self.statement_s = statement_s
        self.outage = outage or Outage()
        self._idle: list[tuple[asyncpg.Connection, float]] = []
        """Idle connections, with the time when each became idle. The last connection is the most recently used and is used next."""
        self._used: dict[asyncpg.Connection, float] = {}
        """The time by which each connection in use must be returned."""
        self._overdue: asyncio.TimerHandle | None = None
        self._free = asyncio.Semaphore(max_connections)
        self._expiry: asyncio.TimerHandle | None = None
        self._session_settings = not pooler
        self._tick_s = min(0.5, (statement_s or STATEMENT_S) / 4)
        self._lent: Database | None = None

    @property
    def unaudited(self) -> "Database":
        """For statements that only read, within a call that makes a change."""
        return self

    def beside(self, *, url: str | None = None, max_connections: int | None = None) -> "Database":
        """Another `Database` with the same options and the same `Outage`, for another event loop or for a URL that bypasses a pooler."""
        return Database(
            url or self.url,
            session_user=None if url else self.session_user,
            max_connections=max_connections or self._max,
            pooler=self.pooler and url is None,
            statement_s=self.statement_s,
            outage=self.outage,
        )

    async def connect(self, *, watched: bool = False) -> asyncpg.Connection:
        """Open a separate connection for a caller that must keep it. asyncpg limits each of its statements to this database's timeout, unless
        this object watches the connection (`watched`)."""
        # Short leases require short waits, but a busy server needs some time to accept a connection.
        within = CONNECT_S if self.statement_s is None else min(CONNECT_S, max(5.0, self.statement_s))
        try:
            connection, self._session_settings = await open_connection(
                self.url,
                statement_s=None if watched else self.statement_s,
                within=within,
                # A pooler in transaction mode may send each statement to another server connection, so named prepared statements cannot be used.
                prepare=not self.pooler,
                session_settings=self._session_settings,
            )
            await self._prepare(connection, within)
        except (asyncpg.PostgresError, *UNREACHABLE) as error:
            raise translate(error, statement_s=within) from error
        return connection

    async def close(self) -> None:
        """Wait up to 5 seconds for running statements, then close all connections. Later calls open new connections."""
        lent, self._lent = self._lent, None
        if lent is not None:
            await lent.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._returned()
        for connection in list(self._used):
            connection.terminate()
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
        idle = []
        while connection := self._last():
            idle.append(connection)
        await asyncio.gather(*(say_goodbye(connection) for connection in idle))

    async def fetch(self, sql: str, *args: Any, timeout: float | None = None) -> list[Row]:
        async with self._connection(timeout or self.statement_s) as connection:
            return list(await connection.fetch(sql, *args))

    async def fetchrow(self, sql: str, *args: Any, timeout: float | None = None) -> Row:
        async with self._connection(timeout or self.statement_s) as connection:
            return await connection.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: Any, timeout: float | None = None) -> Any:
        async with self._connection(timeout or self.statement_s) as connection:
            return await connection.fetchval(sql, *args)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection in a transaction: committed at the end of the block, rolled back if the block raises. Callers set the timeout of each
        statement."""
        async with self._connection(TRANSACTION_S) as connection:
            transaction = connection.transaction()
            async with asyncio.timeout(self.statement_s):
                await transaction.start()
            try:
                yield connection
            except Exception:
                if not connection.is_closed():
                    async with asyncio.timeout(self.statement_s):
                        await transaction.rollback()
                raise
            async with asyncio.timeout(self.statement_s):
                await transaction.commit()

    @contextlib.asynccontextmanager
    async def lend(self) -> AsyncIterator[asyncpg.Connection]:
        """A transaction for a user's code. Its statements have no timeout except the job's. plait's own BEGIN and COMMIT have a timeout.
        Lent connections are separate from the pool, so plait's own statements never wait for them."""
        if self._lent is None:
            self._lent = self.beside()
            self._lent.statement_s = None
        async with self._lent._connection(None, LENT_S) as connection:  # noqa: SLF001 - the same class
            transaction = connection.transaction()
            failure: Exception | None = None
            async with asyncio.timeout(self.statement_s):
                await transaction.start()
            try:
                yield connection
            except Exception as error:
                if isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError) and connection.is_closed():
                    raise
                failure = error  # raised by the user's code: it must not be treated as a connection error
            async with asyncio.timeout(self.statement_s):
                await (transaction.commit() if failure is None else transaction.rollback())
        if failure is not None:
            raise failure

    @contextlib.asynccontextmanager
    async def _connection(self, within: float | None, free_s: float = FREE_S) -> AsyncIterator[asyncpg.Connection]:
        """A connection for the duration of the block, which must end within `within` seconds. asyncpg's own pool is not used: it creates a task
        whenever a connection is returned, which is a third of the cost of a small statement."""
        if self._free.locked():
            try:
                async with asyncio.timeout(free_s):
                    await self._free.acquire()
            except TimeoutError:
                raise DatabaseUnreachable(
                    f"the database cannot be reached: none of {self._max} connections was free within {free_s:g} s"
                ) from None
        else:
            await self._free.acquire()
        try:
            connection = self._last() or await self.connect(watched=True)
            self._watch(connection, within)
            try:
                yield connection
            except (AttributeError, asyncpg.PostgresError, *UNREACHABLE) as error:
                if isinstance(error, AttributeError):
                    if not connection.is_closed():
                        raise
                    # Raised by asyncpg if a connection is terminated between two messages of one statement.
                    error = asyncpg.ConnectionDoesNotExistError("the connection was terminated")
                late = self._used.get(connection) == -math.inf
                ours = translate(TimeoutError() if late else error, statement_s=within if late else self.statement_s)
                if isinstance(ours, DatabaseUnreachable):
                    connection.terminate()  # its state is unknown: it must not be used again
                    self._distrust()
                if ours is error:
                    raise
                raise ours from error
            except (asyncio.CancelledError, GeneratorExit):
                connection.terminate()
                raise
            finally:
                self._return(connection)
        finally:
            self._free.release()

    def _last(self) -> asyncpg.Connection | None:
        while self._idle:
            connection, _ = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _return(self, connection: asyncpg.Connection) -> None:
        self._used.pop(connection, None)
        if not connection.is_closed():
            loop = asyncio.get_running_loop()
            self._idle.append((connection, loop.time()))
            if self._expiry is None:
                self._expiry = loop.call_later(IDLE_S, self._expire, loop)

    def _watch(self, connection: asyncpg.Connection, within: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._used[connection] = math.inf if within is None else loop.time() + within
        if self._overdue is None:
            self._overdue = loop.call_later(self._tick_s, self._end_overdue, loop)

    def _end_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Terminate overdue connections. Callers that wait for their statements get an error."""
        self._overdue = loop.call_later(self._tick_s, self._end_overdue, loop) if self._used else None
        now = loop.time()
        for connection, until in list(self._used.items()):
            if -math.inf < until <= now:
                self._used[connection] = -math.inf
                connection.terminate()

    def _distrust(self) -> None:
        """Close the idle connections. Another connection to the same server has just failed, so they may be dead too."""
        while self._idle:
            self._idle.pop()[0].terminate()

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections that have been idle for `IDLE_S`."""
        self._expiry = None
        while self._idle and (left := self._idle[0][1] + IDLE_S - loop.time()) <= 0:
            self._idle.pop(0)[0].terminate()
        if self._idle:
            self._expiry = loop.call_later(left, self._expire, loop)

    async def _returned(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(self._max):
                await stack.enter_async_context(self._free)

    async def _prepare(self, connection: asyncpg.Connection, within: float) -> None:
        if self.session_user is not None:
            quoted = self.session_user.replace('"', '""')
            await connection.execute(f'set session authorization "{quoted}"', timeout=within)


async def say_goodbye(connection: asyncpg.Connection) -> None:
    """Close the connection properly. Terminate it if the server does not respond within a second."""
    try:
        await connection.close(timeout=GOODBYE_S)
    except (asyncpg.PostgresError, *UNREACHABLE):
        connection.terminate()


async def briefly(work: Awaitable[object], within: float) -> None:
    """Do work before the process stops, for at most `within` seconds. Errors are ignored."""
    with contextlib.suppress(PlaitError, asyncpg.PostgresError, TimeoutError):
        async with asyncio.timeout(within):
            await work
