"""Signals sent in the caller's transaction, signals with an id, and `signal_or_start`."""

import asyncio
from typing import Any

import asyncpg
import pytest

from plait import (
    InvalidArguments,
    InvalidJob,
    Plait,
    Status,
    wait_for_signal,
)
from plait.model.ids import new_id
from plait.testing import Kit, TestDatabase

from ..harness import Harness


@pytest.fixture
def collects(app: Plait) -> Any:
    """A job that collects signals until one tells it to stop."""

    @app.job(retries=0)
    async def collects(first: str = "") -> list[Any]:
        got = [first] if first else []
        while (item := await wait_for_signal("item")) != "enough":
            got.append(item)
        return got

    return collects


async def test_a_name_has_one_limit_for_those_who_send_and_those_who_wait(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def waits(name: str) -> Any:
        return await wait_for_signal(name)

    handle = await waits.enqueue("x" * 180)
    await kit.run_until_idle()
    await handle.signal("x" * 180, "arrived")
    await kit.run_until_idle()
    assert await handle.result(120) == "arrived"
    with pytest.raises(InvalidJob, match="a signal name must have 1 to 180 characters"):
        await (await app.store()).jobs.signal(handle.id, "x" * 181, "1")


# In the caller's transaction, and by an id


async def test_a_signal_with_conn_is_sent_when_the_transaction_commits(
    collects: Any, kit: Kit, plait_database: TestDatabase
) -> None:
    handle = await collects.enqueue()
    await kit.run_until_idle()
    connection = await asyncpg.connect(plait_database.url)
    transaction = connection.transaction()
    await transaction.start()
    assert await handle.signal("item", "undone", conn=connection) == Status.QUEUED
    await transaction.rollback()
    assert await handle.status() == Status.WAITING
    async with connection.transaction():
        await handle.signal("item", "kept", conn=connection)
        assert await handle.status() == Status.WAITING, "nobody else sees it yet"
    await handle.signal("item", "enough")
    await kit.run_until_idle()
    assert await handle.result(120) == ["kept"]
    with pytest.raises(InvalidArguments, match="conn is an async connection: use signal"):
        handle.signal_sync("item", conn=connection)
    await connection.close()


async def test_a_signal_with_a_sync_connection(collects: Any, kit: Kit, plait_database: TestDatabase) -> None:
    psycopg = pytest.importorskip("psycopg")
    handle = await collects.enqueue()

    def send() -> Status:
        with psycopg.connect(plait_database.url) as connection:
            status: Status = handle.signal_sync("item", {"n": 1}, id="delivery 1", conn=connection)
            handle.signal_sync("item", {"n": 1}, id="delivery 1", conn=connection)
            return status

    assert await asyncio.to_thread(send) == Status.QUEUED
    await kit.advance(seconds=1)
    await asyncio.to_thread(handle.signal_sync, "item", "enough", id="last")
    await kit.run_until_idle()
    assert await handle.result(120) == [{"n": 1}]


async def test_a_signal_sent_again_with_the_same_id_is_one(collects: Any, kit: Kit, app_harness: Harness) -> None:
    handle, other = await collects.enqueue(), await collects.enqueue()
    same = new_id()
    for _ in range(3):
        await handle.signal("item", 1, id="webhook 17")
        await app_harness.advance(seconds=1)
        await handle.signal("item", 2, id=same)
    await other.signal("item", 3, id="webhook 17")
    await app_harness.advance(seconds=1)
    for one in (handle, other):
        await one.signal("item", "enough")
    await kit.run_until_idle()
    assert [await handle.result(120), await other.result(120)] == [[1, 2], [3]]
    for wrong in ("", 7, "x" * 501):
        with pytest.raises(InvalidArguments, match="a signal's id must be a UUID, or text of 1 to 500 characters, got"):
            await handle.signal("item", id=wrong)


# signal_or_start


async def test_the_first_signal_starts_the_job_and_the_next_ones_reach_it(
    collects: Any, kit: Kit, app_harness: Harness
) -> None:
    cart = collects.options(dedupe_key="cart 7")
    first = await cart.signal_or_start("item", 1, "started")
    second = await cart.signal_or_start("item", 2, "not started again")
    assert (first.id, first.deduplicated, second.deduplicated) == (second.id, False, True)
    await kit.run_until_idle()
    third = await asyncio.to_thread(cart.signal_or_start_sync, "item", 3, "nor now")
    assert third.id == first.id
    await first.signal("item", "enough")
    await kit.run_until_idle()
    assert await first.result(120) == ["started", 1, 2, 3]
    again = await cart.signal_or_start("item", 4, "a new one")
    assert again.id != first.id
    assert await app_harness.sql("select count(*) from plait.jobs") == 2


async def test_many_at_once_start_one_job_and_all_their_signals_reach_it(
    collects: Any, kit: Kit, app_harness: Harness
) -> None:
    cart = collects.options(dedupe_key="cart 7")
    handles = await asyncio.gather(*(cart.signal_or_start("item", n) for n in range(30)))
    assert len({handle.id for handle in handles}) == 1
    await handles[0].signal("item", "enough")
    await kit.run_until_idle()
    assert sorted(await handles[0].result(120)) == list(range(30))


async def test_a_job_that_ends_meanwhile_is_followed_by_a_new_one(
    collects: Any, kit: Kit, app_harness: Harness
) -> None:
    """The job that holds the key ends between the lookup and the signal, in a transaction that has not committed yet."""
    cart = collects.options(dedupe_key="cart 7")
    first = await cart.signal_or_start("item", "enough")
    async with app_harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.fetchval("select plait.cancel($1)", first.id)
        starting = asyncio.create_task(cart.signal_or_start("item", 1))
        await app_harness.until_blocked()
        await transaction.commit()
    second = await starting
    assert second.id != first.id
    await kit.run_until_idle()
    assert await app_harness.sql("select count(*) from plait.signals where job_id = $1", second.id) == 1


async def test_sent_again_after_a_lost_reply_it_is_the_same_job_and_signal(app_harness: Harness) -> None:
    ids = new_id(), new_id()
    sql = "select * from plait.signal_or_start($1, 'add', '{}', 'k', 'item', '1', $2)"
    for _ in range(2):
        row = await app_harness.admin.fetchrow(sql, *ids)
        assert (row["o_job"], row["o_started"]) == (ids[0], True)
    assert await app_harness.sql("select count(*) from plait.signals") == 1
    await app_harness.cancel(ids[0])
    row = await app_harness.admin.fetchrow(sql, *ids)
    assert row["o_job"] == ids[0]


async def test_signal_or_start_is_part_of_the_callers_transaction(
    collects: Any, kit: Kit, app_harness: Harness
) -> None:
    async with app_harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        cart = collects.options(dedupe_key="cart 7", conn=connection)
        undone = await cart.signal_or_start("item", 1, "undone")
        await transaction.rollback()
        async with connection.transaction():
            kept = await cart.signal_or_start("item", 2, "kept")
    assert undone.id != kept.id
    await kept.signal("item", "enough")
    await kit.run_until_idle()
    assert await kept.result(120) == ["kept", 2]
    assert await app_harness.sql("select count(*) from plait.jobs") == 1


async def test_signal_or_start_needs_a_dedupe_key(collects: Any) -> None:
    with pytest.raises(InvalidArguments, match="signal_or_start requires a dedupe_key"):
        await collects.signal_or_start("item", 1)
    with pytest.raises(InvalidArguments, match="does not support the options `after`"):
        await collects.options(dedupe_key="k", idempotency_key="i").signal_or_start("item", 1)


# Events
