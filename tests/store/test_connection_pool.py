"""The store's connection pool: bounded, reused, and no connection is returned in the middle of a statement."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from plait.model.errors import DatabaseUnreachable
from plait.store import database as module
from plait.store.database import Database
from plait.testing import TestDatabase

PID = "select pg_backend_pid()"


@pytest.fixture
async def two(database: TestDatabase) -> AsyncIterator[Database]:
    database_ = Database(database.url, max_connections=2)
    yield database_
    await database_.close()


async def test_one_after_another_use_one_connection(two: Database) -> None:
    assert len({await two.fetchval(PID) for _ in range(5)}) == 1


async def test_many_at_once_use_as_many_as_there_may_be(two: Database) -> None:
    pids = await asyncio.gather(*(two.fetchval("select pg_backend_pid() from pg_sleep(0.01)") for _ in range(10)))
    assert len(set(pids)) == 2


async def test_a_connection_on_which_somebody_was_canceled_is_not_used_again(two: Database) -> None:
    pid = await two.fetchval(PID)
    asked = asyncio.create_task(two.fetchval("select pg_sleep(60)"))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await two.fetchval(PID) != pid


async def test_an_error_of_the_server_leaves_the_connection_usable(two: Database) -> None:
    pid = await two.fetchval(PID)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await two.fetchval("select 1/0")
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with two.transaction() as connection:
            await connection.execute("create temporary table undone (); select 1/0")
    assert await two.fetchval(PID) == pid
    assert await two.fetchval("select to_regclass('undone')") is None


async def test_a_connection_that_the_server_ended_is_replaced(two: Database, database: TestDatabase) -> None:
    pid = await two.fetchval(PID)
    admin = await asyncpg.connect(database.admin_url)
    await admin.fetchval("select pg_terminate_backend($1, 5000)", pid)
    await admin.close()
    try:
        assert await two.fetchval(PID) != pid
    except DatabaseUnreachable:  # it had not been noticed yet
        assert await two.fetchval(PID) != pid


async def test_what_nobody_needs_is_ended(two: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_S", 0.01)
    pid = await two.fetchval(PID)
    ended = asyncio.get_running_loop().create_future()
    (connection, _), *_ = two._idle
    connection.add_termination_listener(lambda _: ended.set_result(None))
    await asyncio.wait_for(ended, 180)
    assert await two.fetchval(PID) != pid


async def test_close_waits_for_who_is_in_the_middle_of_something(two: Database) -> None:
    async with two.transaction() as connection:
        closing = asyncio.create_task(two.close())
        await asyncio.sleep(0)
        assert await connection.fetchval("select 1") == 1
        assert not closing.done()
    await closing
    assert connection.is_closed()
    assert await two.fetchval("select 2") == 2, "a later call opens a new one"
