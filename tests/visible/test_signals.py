"""Signals in the caller's transaction and by an id, a signal that starts its job, and handlers that wait for events."""

import asyncio
from typing import Any

import asyncpg
import pytest

from plait import (
    InvalidArguments,
    JobFailed,
    Plait,
    SignalTimeout,
    Status,
    sleep,
    wait_for_event,
    wait_for_signal,
)
from plait.leader.dispatch import Dispatch
from plait.model.errors import IllegalMove
from plait.model.ids import new_id
from plait.store.trees import Lease
from plait.testing import Kit, TestDatabase

from ..world import World


@pytest.fixture
def collects(app: Plait) -> Any:
    """Collects signals until one says that it is enough."""

    @app.job(retries=0)
    async def collects(first: str = "") -> list[Any]:
        got = [first] if first else []
        while (item := await wait_for_signal("item")) != "enough":
            got.append(item)
        return got

    return collects


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


async def test_a_signal_sent_again_with_the_same_id_is_one(collects: Any, kit: Kit, over: World) -> None:
    handle, other = await collects.enqueue(), await collects.enqueue()
    same = new_id()
    for _ in range(3):
        await handle.signal("item", 1, id="webhook 17")
        await over.advance(seconds=1)
        await handle.signal("item", 2, id=same)
    await other.signal("item", 3, id="webhook 17")
    await over.advance(seconds=1)
    for one in (handle, other):
        await one.signal("item", "enough")
    await kit.run_until_idle()
    assert [await handle.result(120), await other.result(120)] == [[1, 2], [3]]
    for wrong in ("", 7, "x" * 501):
        with pytest.raises(InvalidArguments, match="a signal's id must be a UUID, or text of 1 to 500 characters, got"):
            await handle.signal("item", id=wrong)


# signal_or_start


async def test_the_first_signal_starts_the_job_and_the_next_ones_reach_it(collects: Any, kit: Kit, over: World) -> None:
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
    assert await over.sql("select count(*) from plait.jobs") == 2


async def test_many_at_once_start_one_job_and_all_their_signals_reach_it(collects: Any, kit: Kit, over: World) -> None:
    cart = collects.options(dedupe_key="cart 7")
    handles = await asyncio.gather(*(cart.signal_or_start("item", n) for n in range(30)))
    assert len({handle.id for handle in handles}) == 1
    await handles[0].signal("item", "enough")
    await kit.run_until_idle()
    assert sorted(await handles[0].result(120)) == list(range(30))


async def test_a_job_that_ends_meanwhile_is_followed_by_a_new_one(collects: Any, kit: Kit, over: World) -> None:
    """The holder of the key ends between the lookup and the signal: held by a transaction that is still to commit."""
    cart = collects.options(dedupe_key="cart 7")
    first = await cart.signal_or_start("item", "enough")
    async with over.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.fetchval("select plait.cancel($1)", first.id)
        starting = asyncio.create_task(cart.signal_or_start("item", 1))
        await over.until_blocked()
        await transaction.commit()
    second = await starting
    assert second.id != first.id
    await kit.run_until_idle()
    assert await over.sql("select count(*) from plait.signals where job_id = $1", second.id) == 1


async def test_sent_again_after_a_lost_reply_it_is_the_same_job_and_signal(over: World) -> None:
    ids = new_id(), new_id()
    sql = "select * from plait.signal_or_start($1, 'add', '{}', 'k', 'item', '1', $2)"
    for _ in range(2):
        row = await over.admin.fetchrow(sql, *ids)
        assert (row["o_job"], row["o_started"]) == (ids[0], True)
    assert await over.sql("select count(*) from plait.signals") == 1
    await over.cancel(ids[0])
    row = await over.admin.fetchrow(sql, *ids)
    assert row["o_job"] == ids[0]


async def test_signal_or_start_is_part_of_the_callers_transaction(collects: Any, kit: Kit, over: World) -> None:
    async with over.connection() as connection:
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
    assert await over.sql("select count(*) from plait.jobs") == 1


async def test_signal_or_start_needs_a_dedupe_key(collects: Any) -> None:
    with pytest.raises(InvalidArguments, match="signal_or_start requires a dedupe_key"):
        await collects.signal_or_start("item", 1)
    with pytest.raises(InvalidArguments, match="does not support the options after"):
        await collects.options(dedupe_key="k", idempotency_key="i").signal_or_start("item", 1)


# Events


async def test_an_event_that_matches_resumes_who_waits_for_it_once(app: Plait, kit: Kit, over: World) -> None:
    @app.job(retries=0)
    async def order(number: int) -> Any:
        return await wait_for_event("order.paid", match={"order": number, "by": {"card": True}})

    handles = [await order.enqueue(n) for n in (1, 2)]
    await kit.run_until_idle()
    for data in (
        {"order": 3, "by": {"card": True}},
        {"order": 1, "by": {"card": False}},
        {"order": 1},
        {"order": "1", "by": {"card": True}},
    ):
        await app.emit("order.paid", data)
    await app.emit("order.shipped", {"order": 1, "by": {"card": True}})
    await kit.run_until_idle()
    assert [await handle.status() for handle in handles] == [Status.WAITING] * 2
    await app.emit("order.paid", {"order": 1.0, "by": {"card": True, "bank": "x"}, "cents": 5})
    await app.emit("order.paid", {"order": 1, "by": {"card": True}, "cents": 6})
    await kit.run_until_idle()
    assert (await handles[0].result(120))["cents"] == 5
    assert await handles[1].status() == Status.WAITING
    assert await over.sql("select count(*) from plait.signals") == 1
    assert await over.sql("select count(*) from plait.event_waits") == 1


async def test_an_event_of_another_tenant_resumes_nobody(app: Plait, kit: Kit, over: World) -> None:
    @app.job(retries=0)
    async def order() -> Any:
        return await wait_for_event("paid")

    handle = await order.enqueue()
    await kit.run_until_idle()
    await over.emit("paid", tenant="b", n=1)
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    await over.emit("paid", n=2)
    await kit.run_until_idle()
    assert await handle.result(120) == {"n": 2}


async def test_several_waits_for_one_event_each_get_it_and_the_next_wait_gets_the_next(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def listens() -> list[Any]:
        both = await asyncio.gather(wait_for_event("tick"), wait_for_event("tick", match={"n": 1}))
        return [*both, await wait_for_event("tick")]

    handle = await listens.enqueue()
    await kit.run_until_idle()
    await app.emit("tick", {"n": 1})
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    await app.emit("tick", {"n": 2})
    await kit.run_until_idle()
    assert await handle.result(120) == [{"n": 1}, {"n": 1}, {"n": 2}]


async def test_an_event_that_does_not_come_times_out_and_one_that_comes_later_is_nobodys(
    app: Plait, kit: Kit, over: World
) -> None:
    @app.job(retries=0)
    async def waits() -> list[Any]:
        got: list[Any] = []
        try:
            await wait_for_event("tick", timeout="1h")
        except SignalTimeout as error:
            got.append(str(error))
        await sleep("1h")
        got.append(await wait_for_event("tick"))
        return got

    handle = await waits.enqueue()
    await kit.run_until_idle()
    await kit.advance(minutes=61)
    await kit.run_until_idle()
    await app.emit("tick", {"n": "between"})
    await kit.run_until_idle()
    assert await over.sql("select count(*) from plait.event_waits") == 0
    await kit.advance(minutes=61)
    await kit.run_until_idle()
    await app.emit("tick", {"n": "at last"})
    await kit.run_until_idle()
    assert await handle.result(120) == ["no event 'tick' arrived in time", {"n": "at last"}]


async def test_a_wait_that_lost_a_race_takes_no_event(app: Plait, kit: Kit, over: World) -> None:
    @app.job(retries=0)
    async def races() -> Any:
        for _ in range(3):
            event, timer = asyncio.create_task(wait_for_event("tick")), asyncio.create_task(sleep("1h"))
            done, left = await asyncio.wait({event, timer}, return_when=asyncio.FIRST_COMPLETED)
            for task in left:
                task.cancel()
            if event in done:
                return event.result()
        return None

    handle = await races.enqueue()
    for _ in range(2):
        await kit.run_until_idle()
        await kit.advance(minutes=61)
    await kit.run_until_idle()
    assert await over.sql("select count(*) from plait.event_waits") <= 3, "those of steps that have ended are removed"
    await app.emit("tick", {"n": 1})
    await kit.run_until_idle()
    assert await handle.result(120) == {"n": 1}
    assert await over.sql("select count(*) from plait.signals") == 1


async def test_an_event_in_a_users_transaction_resumes_after_its_commit(app: Plait, kit: Kit, over: World) -> None:
    @app.job(retries=0)
    async def waits() -> Any:
        return await wait_for_event("paid", type=dict[str, int])

    handle = await waits.enqueue()
    await kit.run_until_idle()
    async with over.connection() as connection, connection.transaction():
        await app.emit("paid", {"cents": 1}, conn=connection)
        await kit.run_until_idle()
        assert await handle.status() == Status.WAITING
    await kit.run_until_idle()
    assert await handle.result(120) == {"cents": 1}


async def test_more_waiting_jobs_than_one_dispatch_tells_are_all_told(app: Plait, kit: Kit, over: World) -> None:
    job = await over.enqueue("add")
    await over.sql(
        """insert into plait.event_waits (job_id, tenant_id, at, branch, signal, name, probe, match)
           select job_id, tenant_id, plait.now(), '', 'event x ' || n, 'x', '', '{}' from plait.live, generate_series(1, 2500) n where job_id = $1""",
        job,
    )
    event = await over.emit("x")
    await over.dispatch()
    assert (await over.event(event)).dispatched_at is not None
    assert await over.sql("select count(*) from plait.signals") == 2500
    assert await over.sql("select count(*) from plait.event_waits") == 0


async def test_a_job_that_a_users_transaction_holds_gets_its_event_later_and_no_other_waits_for_it(
    app: Plait, kit: Kit, over: World
) -> None:
    @app.job(retries=0)
    async def waits(name: str) -> Any:
        return await wait_for_event(name)

    held, free = await waits.enqueue("held"), await waits.enqueue("free")
    await kit.run_until_idle()
    await over.emit("held", n=1)
    await over.emit("free", n=2)
    async with over.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await held.signal("something else", conn=connection)
        await Dispatch().run(over.store)
        assert [await held.status(), await free.status()] == [Status.WAITING, Status.QUEUED]
        await transaction.rollback()
    await kit.run_until_idle()
    assert [await held.result(120), await free.result(120)] == [{"n": 1}, {"n": 2}]


async def test_a_bad_event_name_or_match_is_refused(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def waits(name: str, match: Any) -> None:
        await wait_for_event(name, match=match)

    handles = [
        await waits.enqueue("no spaces", None),
        await waits.enqueue("x", [1]),
        await waits.enqueue("x", {"a": "x" * 9000}),
    ]
    await kit.run_until_idle()
    for handle, said in zip(
        handles, ("an event's name must be", "match must be a mapping", "at most 8 KiB"), strict=True
    ):
        with pytest.raises(JobFailed, match=said):
            await handle.result(120)


async def test_a_job_that_is_retried_waits_for_its_event_again(app: Plait, kit: Kit, over: World) -> None:
    @app.job(retries=0)
    async def waits() -> Any:
        return await wait_for_event("tick")

    for drop in (False, True):
        handle = await waits.enqueue()
        await kit.run_until_idle()
        await handle.cancel()
        await handle.retry(drop_steps=drop)
        assert await over.sql("select count(*) from plait.event_waits") == 0
        await kit.run_until_idle()
        await app.emit("tick", {"drop": drop})
        await kit.run_until_idle()
        assert await handle.result(120) == {"drop": drop}


async def test_a_stale_attempt_registers_no_wait_for_an_event(world: World) -> None:
    await world.enqueue("add")
    worker = await world.worker()
    lease = await worker.claim_one()
    held = Lease(worker.id, lease.job_id, lease.attempt)
    events = world.store.events
    assert await events.await_event(held, "", "event e 1", "e", "{}")
    assert await events.await_event(held, "", "event e 1", "e", "{}")
    await world.lose(worker)
    assert not await events.await_event(held, "", "event e 2", "e", "{}")
    assert await world.sql("select count(*) from plait.event_waits") == 1
    await world.cancel(lease.job_id)
    with pytest.raises(IllegalMove):
        await world.store.jobs.signal(lease.job_id, "x")
    await world.emit("e")
    await world.dispatch()
    assert await world.sql("select count(*) from plait.event_waits") == 0, "its job is final"


async def test_a_waiting_job_whose_row_is_held_does_not_delay_an_event_for_others(
    app: Plait, kit: Kit, over: World
) -> None:
    @app.job
    async def waits() -> int:
        return int((await wait_for_event("tick"))["n"])

    held, free = await waits.enqueue(), await waits.enqueue()
    await kit.run_until_idle()
    connection = await asyncpg.connect(kit.database.admin_url)
    async with connection.transaction():
        await connection.execute("select from plait.live where job_id = $1 for update", held.id)
        await app.emit("tick", {"n": 7})
        await kit.run_until_idle()
        assert await free.result(60) == 7
        assert await held.status() == "waiting"
    await connection.close()
    await kit.run_until_idle()
    assert await held.result(60) == 7
    assert await over.sql("select count(*) from plait.event_waits") == 0
