"""Connections: each wait has a timeout, and a connection that timed out is not used again."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator

import asyncpg
import pytest
import structlog

from plait import Backoff, Plait
from plait.model.errors import DatabaseUnreachable, NoAnswer
from plait.store import listener, sockets
from plait.store.database import Database, translate
from plait.store.listener import Listener
from plait.testing import TestDatabase
from tests.proxy import Proxy
from tests.waiting import eventually
from tests.worker.conftest import run_worker

LONG = "select pg_sleep(600)"  # of the server's: a statement that is not answered is the point


@pytest.fixture
async def proxied(real_clock_database: TestDatabase) -> AsyncIterator[tuple[Database, Proxy]]:
    async with Proxy(real_clock_database.url).running() as proxy:
        database = Database(proxy.url, statement_s=1.0)
        yield database, proxy
        await database.close()


async def test_a_statement_that_is_not_answered_ends_with_an_error(real_clock_database: TestDatabase) -> None:
    database = Database(real_clock_database.url, statement_s=0.2)
    with pytest.raises(NoAnswer, match=r"no answer within 0\.2 s"):
        await database.fetchval(LONG)
    assert await database.fetchval("select 1", timeout=60) == 1
    with pytest.raises(NoAnswer):
        async with database.transaction() as connection:
            await connection.fetchval(LONG, timeout=database.statement_s)
    await database.close()


async def test_a_connection_that_is_terminated_within_a_statement_was_not_answered_in_time(
    real_clock_database: TestDatabase,
) -> None:
    """After a loop that was blocked, the reply to the first message and the end of the bound are handled in one turn."""
    database = Database(real_clock_database.url, statement_s=0.2)
    await database.fetchval("select 1", timeout=60)
    statement = asyncio.create_task(database.fetchval("select 2"))
    await asyncio.sleep(0)
    time.sleep(1)  # sleep: a loop that is blocked is the point
    with pytest.raises(NoAnswer):
        await statement
    assert await database.fetchval("select 3", timeout=60) == 3
    await database.close()


async def test_a_users_statement_in_a_lent_transaction_has_no_bound(real_clock_database: TestDatabase) -> None:
    database = Database(real_clock_database.url, statement_s=0.5)
    async with database.lend() as connection:
        assert await connection.fetchval("select 1 from pg_sleep(1.5)") == 1
    with pytest.raises(TimeoutError):  # and what its code raises stays what it is
        async with database.lend() as connection:
            raise TimeoutError
    assert await database.fetchval("select 1", timeout=60) == 1
    await database.close()


async def test_users_who_hold_all_lent_connections_do_not_keep_plaits_own_statements_waiting(
    real_clock_database: TestDatabase,
) -> None:
    database = Database(real_clock_database.url, max_connections=1)
    async with database.lend():
        assert await database.fetchval("select 1") == 1
    await database.close()


async def test_after_one_connection_was_dead_the_idle_ones_are_not_tried_in_turn(
    proxied: tuple[Database, Proxy],
) -> None:
    database, proxy = proxied
    await asyncio.gather(*(database.fetchval("select pg_sleep(0.05)", timeout=60) for _ in range(8)))
    before = proxy.passing
    assert before > 1
    proxy.swallow()
    with pytest.raises(NoAnswer):
        await database.fetchval("select 1")
    assert await database.fetchval("select 1", timeout=60) == 1
    assert proxy.passing == 1


async def test_a_dead_peer_is_noticed_by_the_kernel(proxied: tuple[Database, Proxy]) -> None:
    connection = await proxied[0].connect()
    ours = connection._transport.get_extra_info("socket")
    assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 25_000
    assert await connection.fetchval("show client_connection_check_interval") == "5s"
    assert await connection.fetchval("show default_transaction_isolation") == "read committed"
    connection.terminate()


async def test_a_pooler_that_does_not_know_a_setting_of_the_session_is_asked_without(
    real_clock_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "_SESSION", {"no_such_setting_of_plait": "1"})
    database = Database(real_clock_database.url)
    assert await database.fetchval("select 1") == 1
    await database.close()


@pytest.mark.parametrize(
    "error",
    [asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress"), TimeoutError()],
)
def test_an_error_says_nothing_of_the_drivers_internals(error: Exception) -> None:
    ours = translate(error)
    assert isinstance(ours, DatabaseUnreachable)
    assert "state" not in str(ours)
    assert "the database cannot be reached" in str(ours)


async def test_dead_notifications_are_logged_once(
    real_clock_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "ANSWER_S", 0.01)
    tries = 0

    class Deaf(Listener):
        async def _listen(self) -> None:
            nonlocal tries
            tries += 1
            await super()._listen()

        def _receive(self, *_: object) -> None: ...

    async def tried() -> bool:
        return tries > 3

    with structlog.testing.capture_logs() as lines:
        listening = asyncio.ensure_future(Deaf(Database(real_clock_database.url), lambda _kind, _name: None).run())
        await eventually(tried)
        listening.cancel()
        await asyncio.wait({listening})
    assert [line["event"] for line in lines] == ["notifications do not arrive, polling instead"]


async def test_a_failure_that_is_retried_is_no_warning(real_clock_database: TestDatabase) -> None:
    app = Plait(real_clock_database.url)

    @app.job(retries=1, backoff=Backoff(base=0.01))
    async def fails() -> None:
        raise ValueError

    with structlog.testing.capture_logs() as lines:
        async with run_worker(app):
            handle = await fails.enqueue()
            with pytest.raises(Exception, match="ValueError"):
                await handle.result(60)
    failures = [(line["log_level"], line["attempts_left"]) for line in lines if line["event"] == "attempt failed"]
    assert failures == [("info", 1), ("warning", 0)]
    await app.close()
