"""Suspended handlers that stay in memory: they continue without a replay, within limits. Correctness does not depend on the cache."""

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from plait import Plait, call, sleep, wait_for_signal
from plait.model.ids import DEFAULT_TENANT, new_id
from plait.model.states import Status
from plait.sdk.handle import Handle
from plait.store.workers import Claimed
from plait.worker.cached_handlers import CachedHandlers
from plait.worker.run import Run
from tests.waiting import eventually
from tests.worker.conftest import Running

began: Counter[str] = Counter()
stepped: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    began.clear()
    stepped.clear()


async def step(name: str) -> str:
    stepped[name] += 1
    return name


async def until_waiting(handle: Handle[Any]) -> None:
    async def waits() -> bool:
        return await handle.status() is Status.WAITING

    await eventually(waits, what="the wait")


async def test_a_waiting_handler_continues_where_it_is(app: Plait, running: Running) -> None:
    @app.job
    async def order() -> list[object]:
        began["order"] += 1
        first = await call(step, "first")
        answer = await wait_for_signal("go")
        both = await asyncio.gather(call(step, "second"), wait_for_signal("again"))
        return [first, answer, *both]

    async with running(app):
        handle = await order.enqueue()
        await until_waiting(handle)
        await handle.signal("go", 1)
        await until_waiting_again(app, handle, "again")
        await handle.signal("again", 2)
        assert await handle.result(60) == ["first", 1, "second", 2]
    assert began == {"order": 1}
    assert stepped == {"first": 1, "second": 1}
    attempts = await (await app.store()).jobs.list_attempts(handle.id)
    assert sorted(attempt.status for attempt in attempts) == ["succeeded", "suspended", "suspended"]


async def until_waiting_again(app: Plait, handle: Handle[Any], name: str) -> None:
    jobs = (await app.store()).jobs

    async def waits() -> bool:
        steps = await jobs.list_steps(handle.id)
        return any(one.name == f"signal {name}" for one in steps) and await handle.status() is Status.WAITING

    await eventually(waits, what="the second wait")


async def test_a_worker_that_stops_drops_its_waiting_handlers_without_effects(app: Plait, running: Running) -> None:
    @app.job
    async def guarded() -> str:
        began["guarded"] += 1
        try:
            await wait_for_signal("go")
        finally:
            await call(step, "release")
        return "done"

    async with running(app):
        handle = await guarded.enqueue()
        await until_waiting(handle)
    assert not stepped
    async with running(app):
        await handle.signal("go")
        assert await handle.result(60) == "done"
    assert (began["guarded"], stepped["release"]) == (2, 1)


async def test_a_job_that_is_canceled_while_its_handler_is_in_memory_does_nothing_more(
    app: Plait, running: Running
) -> None:
    @app.job
    async def guarded() -> None:
        try:
            await sleep("1d")
        finally:
            await call(step, "release")

    async with running(app):
        handle = await guarded.enqueue()
        await until_waiting(handle)
        await handle.cancel()
        assert await handle.status() is Status.CANCELED
    assert not stepped


plait = Plait()


@plait.job
async def nothing() -> None: ...


def run_of(job_id: UUID | None = None, attempt: int = 1) -> Run:
    claimed = Claimed(job_id or new_id(), attempt, 0, 5, DEFAULT_TENANT, "nothing", "default", "{}", None, None)
    return Run(claimed, nothing.definition, (claimed.job_id, claimed.attempt), 0.0)


def cache(*, count: int = 2, age_s: float = 60, size: int = 100) -> CachedHandlers:
    return CachedHandlers(count=count, age_s=age_s, size=size, free_slot=lambda _: None)


async def test_the_oldest_gives_way_where_there_are_too_many() -> None:
    cached = cache(count=2)
    ends = [cached.keep(run_of(), 10) for _ in range(3)]
    assert [end is not None and end.done() and end.result() for end in ends] == [False, False, False]
    assert [end is not None and end.done() for end in ends] == [True, False, False]
    assert len(cached) == 2


async def test_handlers_are_bounded_by_their_bytes() -> None:
    cached = cache(count=10, size=100)
    assert cached.keep(run_of(), 101) is None
    first, second = cached.keep(run_of(), 60), cached.keep(run_of(), 60)
    assert first is not None
    assert first.done()
    assert second is not None
    assert not second.done()
    assert cache(count=0).keep(run_of(), 1) is None


async def test_a_handler_is_dropped_when_it_is_too_old() -> None:
    cached = cache(age_s=0)
    end = cached.keep(run_of(), 1)
    cached.sweep()
    assert end is not None
    assert end.done()
    assert end.result() is False
    assert not cached


async def test_only_the_attempt_that_follows_continues_a_handler() -> None:
    cached, run = cache(), run_of(attempt=3)
    end = cached.keep(run, 1)
    assert end is not None
    later = run_of(run.claimed.job_id, attempt=5).claimed  # another worker ran attempt 4
    assert cached.claim(later) is None
    assert end.result() is False

    end = cached.keep(run, 1)
    assert end is not None
    assert cached.claim(run_of(run.claimed.job_id, attempt=4).claimed) is run
    assert run.key == (run.claimed.job_id, 4)
    assert not end.done()  # the handler continues when it has a slot
    assert cached.start(run)
    assert end.result() is True
    assert not cached.start(run)


async def test_a_handler_whose_job_is_given_back_is_dropped() -> None:
    cached, run = cache(), run_of()
    end = cached.keep(run, 1)
    assert end is not None
    cached.claim(run_of(run.claimed.job_id, attempt=2).claimed)
    cached.give_back(run)
    assert end.result() is False
    assert not cached.start(run)


async def test_a_handler_in_memory_receives_a_cancellation_where_it_is(app: Plait, running: Running) -> None:
    @app.job(cancel_grace="1h")
    async def guarded() -> None:
        began["guarded"] += 1
        try:
            await wait_for_signal("go")
        finally:
            await call(step, "release")

    async with running(app):
        handle = await guarded.enqueue()
        await until_waiting(handle)
        await handle.cancel()
        await until(handle, Status.CANCELED)
    assert (began["guarded"], stepped["release"]) == (1, 1)


async def test_a_running_handler_receives_a_cancellation_at_its_await(app: Plait, running: Running) -> None:
    working = asyncio.Event()

    @app.job(cancel_grace="1h")
    async def guarded() -> None:
        try:
            working.set()
            await asyncio.sleep(3600)  # work of the handler
        except asyncio.CancelledError:
            await call(step, "release")

    async with running(app):
        handle = await guarded.enqueue()
        await working.wait()
        await handle.cancel()
        await until(handle, Status.CANCELED)
    assert stepped["release"] == 1


async def until(handle: Handle[Any], status: Status) -> None:
    async def is_it() -> bool:
        return await handle.status() is status

    await eventually(is_it, what=f"that it is {status}")


async def test_a_handler_is_suspended_once_though_a_cancellation_is_noticed_meanwhile(
    app: Plait, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two concurrent queries once suspended the job twice. The handler then waited forever for the first of two continuations."""
    flush, handles = Run.flush, list[Handle[Any]]()

    async def noticed(self: Run) -> None:
        await flush(self)
        if asyncio.current_task() is self.task:
            self.durable().delivery.ask_now()
            for _ in range(20):
                await asyncio.sleep(0)
        else:  # a second query, whose response arrives after the first response
            await until_waiting(handles[0])

    monkeypatch.setattr(Run, "flush", noticed)

    @app.job
    async def order() -> object:
        await call(step, "first")
        return await wait_for_signal("go")

    async with running(app):
        handles.append(await order.enqueue())
        await until_waiting(handles[0])
        await handles[0].signal("go", 1)
        assert await handles[0].result(60) == 1
