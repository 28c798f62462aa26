"""Handlers that wait for events."""

import asyncio
from typing import Any

import asyncpg
import pytest

from plait import (
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
from plait.store.events import Events
from plait.store.workflows import Lease
from plait.testing import Kit

from ..harness import Harness


async def test_an_event_that_matches_resumes_who_waits_for_it_once(app: Plait, kit: Kit, app_harness: Harness) -> None:
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
    assert await app_harness.sql("select count(*) from plait.signals") == 1
    assert await app_harness.sql("select count(*) from plait.event_waits") == 1


async def test_an_event_of_another_tenant_resumes_nobody(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def order() -> Any:
        return await wait_for_event("paid")

    handle = await order.enqueue()
    await kit.run_until_idle()
    await app_harness.emit("paid", tenant="b", n=1)
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    await app_harness.emit("paid", n=2)
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
    app: Plait, kit: Kit, app_harness: Harness
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
    assert await app_harness.sql("select count(*) from plait.event_waits") == 0
    await kit.advance(minutes=61)
    await kit.run_until_idle()
    await app.emit("tick", {"n": "at last"})
    await kit.run_until_idle()
    assert await handle.result(120) == ["no event 'tick' arrived in time", {"n": "at last"}]


async def test_a_wait_that_is_canceled_while_it_is_registered_again_takes_no_event(
    app: Plait, kit: Kit, app_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay registers an unfinished wait again. If the handler cancels it before the database has answered, the wait of the earlier run must end too."""
    real, seen = Events.await_event, set[str]()

    async def await_event(events: Events, lease: Lease, branch: str, signal: str, *rest: Any) -> bool:
        if signal in seen:
            await asyncio.Event().wait()  # no answer until the wait is canceled
        seen.add(signal)
        return await real(events, lease, branch, signal, *rest)

    monkeypatch.setattr(Events, "await_event", await_event)

    @app.job(retries=0)
    async def races() -> Any:
        event, timer = asyncio.create_task(wait_for_event("tick")), asyncio.create_task(sleep("1h"))
        await asyncio.wait({event, timer}, return_when=asyncio.FIRST_COMPLETED)
        event.cancel()
        await wait_for_signal("go")

    handle = await races.enqueue()
    await kit.run_until_idle()
    await kit.advance(minutes=61)
    await kit.run_until_idle()
    await app.emit("tick", {"n": 1})
    await kit.run_until_idle()
    assert await app_harness.sql("select count(*) from plait.signals") == 0
    await handle.signal("go")
    await kit.run_until_idle()
    assert await handle.result(120) is None


async def test_a_wait_that_lost_a_race_takes_no_event(app: Plait, kit: Kit, app_harness: Harness) -> None:
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
    assert await app_harness.sql("select count(*) from plait.event_waits") <= 3, (
        "those of steps that have ended are removed"
    )
    await app.emit("tick", {"n": 1})
    await kit.run_until_idle()
    assert await handle.result(120) == {"n": 1}
    assert await app_harness.sql("select count(*) from plait.signals") == 1


async def test_an_event_in_a_users_transaction_resumes_after_its_commit(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(retries=0)
    async def waits() -> Any:
        return await wait_for_event("paid", type=dict[str, int])

    handle = await waits.enqueue()
    await kit.run_until_idle()
    async with app_harness.connection() as connection, connection.transaction():
        await app.emit("paid", {"cents": 1}, conn=connection)
        await kit.run_until_idle()
        assert await handle.status() == Status.WAITING
    await kit.run_until_idle()
    assert await handle.result(120) == {"cents": 1}


async def test_more_waiting_jobs_than_one_dispatch_tells_are_all_told(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    job = await app_harness.enqueue("add")
    await app_harness.sql(
        """insert into plait.event_waits (job_id, tenant_id, at, branch, signal, name, index_term, match)
           select job_id, tenant_id, plait.now(), '', 'event x ' || n, 'x', '', '{}' from plait.live, generate_series(1, 2500) n where job_id = $1""",
        job,
    )
    event = await app_harness.emit("x")
    await app_harness.dispatch()
    assert (await app_harness.event(event)).dispatched_at is not None
    assert await app_harness.sql("select count(*) from plait.signals") == 2500
    assert await app_harness.sql("select count(*) from plait.event_waits") == 0


async def test_a_job_that_a_users_transaction_holds_gets_its_event_later_and_no_other_waits_for_it(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(retries=0)
    async def waits(name: str) -> Any:
        return await wait_for_event(name)

    held, free = await waits.enqueue("held"), await waits.enqueue("free")
    await kit.run_until_idle()
    await app_harness.emit("held", n=1)
    await app_harness.emit("free", n=2)
    async with app_harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await held.signal("something else", conn=connection)
        await Dispatch().run(app_harness.store)
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


async def test_a_job_that_is_retried_waits_for_its_event_again(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def waits() -> Any:
        return await wait_for_event("tick")

    for drop in (False, True):
        handle = await waits.enqueue()
        await kit.run_until_idle()
        await handle.cancel()
        await handle.retry(drop_steps=drop)
        assert await app_harness.sql("select count(*) from plait.event_waits") == 0
        await kit.run_until_idle()
        await app.emit("tick", {"drop": drop})
        await kit.run_until_idle()
        assert await handle.result(120) == {"drop": drop}


async def test_a_stale_attempt_registers_no_wait_for_an_event(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    held = Lease(worker.id, lease.job_id, lease.attempt)
    events = harness.store.events
    assert await events.await_event(held, "", "event e 1", "e", "{}")
    assert await events.await_event(held, "", "event e 1", "e", "{}")
    await harness.lose(worker)
    assert not await events.await_event(held, "", "event e 2", "e", "{}")
    assert await harness.sql("select count(*) from plait.event_waits") == 1
    await harness.cancel(lease.job_id)
    with pytest.raises(IllegalMove):
        await harness.store.jobs.signal(lease.job_id, "x")
    await harness.emit("e")
    await harness.dispatch()
    assert await harness.sql("select count(*) from plait.event_waits") == 0, "its job is final"


async def test_a_waiting_job_whose_row_is_held_does_not_delay_an_event_for_others(
    app: Plait, kit: Kit, app_harness: Harness
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
    assert await app_harness.sql("select count(*) from plait.event_waits") == 0
