"""Checks of the connection between this process and the database: a pooler, notifications, clock skew."""

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import asyncpg

from plait.model.errors import PlaitError
from plait.store.database import UNREACHABLE, Database, say_goodbye

CHANNEL: Final = "plait"
ANSWER_S: Final = 3.0
_UNPREPARED: Final = (
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
    asyncpg.ProtocolViolationError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooling:
    transaction: bool
    """Whether two clients share one server session, as behind a pooler in transaction mode."""
    prepared: bool
    """Whether a prepared statement can still be executed later."""


async def hears_notifications(database: Database, listening: Database) -> bool:
    """Whether a notification that is sent on one connection arrives on another connection, as workers require (T108)."""
    heard = asyncio.Event()
    try:
        ear = await listening.connect()
        try:
            mouth = await database.connect()
            try:
                word = f"echo doctor {ear.get_server_pid()}"

                def receive(_connection: Any, _pid: int, _channel: str, payload: object) -> None:
                    if payload == word:
                        heard.set()

                async with asyncio.timeout(ANSWER_S):
                    await ear.add_listener(CHANNEL, receive)
                    await mouth.execute(f"select pg_notify('{CHANNEL}', '{word}')")
                    await heard.wait()
            finally:
                await say_goodbye(mouth)
        finally:
            await say_goodbye(ear)
    except (TimeoutError, PlaitError, asyncpg.PostgresError, *UNREACHABLE):
        return False
    return True


async def pooling(database: Database) -> Pooling:
    """Send queries on two connections alternately. They share a session only behind a pooler."""
    first, second = await database.connect(), await database.connect()
    try:
        seen: dict[int, set[int]] = {}
        for _ in range(3):
            for connection in (first, second):
                seen.setdefault(await _pid(connection), set()).add(id(connection))
        transaction = any(len(clients) > 1 for clients in seen.values())
        return Pooling(transaction=transaction, prepared=not transaction or await _keeps_prepared(first, second))
    finally:
        for connection in (first, second):
            await say_goodbye(connection)


async def _keeps_prepared(first: asyncpg.Connection, second: asyncpg.Connection) -> bool:
    """Prepare a statement, then execute it while another client keeps its session busy, so that a pooler uses another session."""
    try:
        async with asyncio.timeout(ANSWER_S):
            await first.fetchval("select $1::int + 1", 1)
            await second.execute("begin")
            await first.fetchval("select $1::int + 1", 1)
            await second.execute("rollback")
    except _UNPREPARED:
        return False
    except TimeoutError:
        pass  # the pooler has no other session
    return True


async def _pid(connection: asyncpg.Connection) -> int:
    """The pid of the server session, read with the simple protocol, which prepares nothing."""
    # This works behind every pooler. `execute` returns no rows, so the pid is returned as an error.
    try:
        await connection.execute(
            "do $$ begin raise exception using errcode = 'PL999', message = pg_backend_pid(); end $$"
        )
    except asyncpg.PostgresError as error:
        if error.sqlstate == "PL999":
            return int(str(error))
        raise
    raise AssertionError("unreachable: the statement raises")


async def clock_skew(database: Database) -> float:
    """How many seconds this machine's clock is ahead of the server's."""
    before = time.time()  # clock: this clock is being measured
    at: datetime = await database.fetchval("select clock_timestamp()")  # clock: the server's
    return (before + time.time()) / 2 - at.timestamp()  # clock: as above
