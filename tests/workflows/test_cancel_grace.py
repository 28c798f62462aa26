"""cancel_grace: a canceled handler receives CancelledError, compensates with recorded steps, and its job ends as canceled."""

import asyncio
from collections import Counter

import pytest

from plait import Plait, call, fan_out, sleep, sub, wait_for_signal
from plait.model.errors import InvalidDefinition
from plait.model.states import Status
from plait.testing import Kit

from ..harness import Harness

ran: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    ran.clear()


async def step(name: str) -> str:
    ran[name] += 1
    return name


async def test_a_waiting_job_compensates_and_ends_as_canceled(app: Plait, kit: Kit) -> None:
    @app.job(cancel_grace="1m")
    async def saga() -> None:
        await call(step, "reserve")
        try:
            await wait_for_signal("go")
            await call(step, "ship")
        except asyncio.CancelledError:
            await call(step, "release")
            raise

    handle = await saga.enqueue()
    await kit.run_until_idle()
    assert await handle.cancel("no longer wanted") is Status.QUEUED
    await kit.run_until_idle()
    job = await handle.info()
    assert (job.status, job.error) == (Status.CANCELED, "no longer wanted")
    assert ran == {"reserve": 1, "release": 1}


async def test_compensation_may_wait_and_the_cancellation_is_replayed(app: Plait, kit: Kit) -> None:
    """Each replay runs from the start and is canceled at the same place, and only there."""

    @app.job
    async def undo(name: str) -> str:
        return await step(name)

    @app.job(cancel_grace="10m")
    async def saga() -> None:
        await call(step, "reserve")
        try:
            await asyncio.gather(sleep("1d"), wait_for_signal("go"))
        finally:
            await fan_out([sub(undo, "release"), sub(undo, "refund")])
            await sleep(60)
            await call(step, "tell")

    handle = await saga.enqueue()
    await kit.run_until_idle()
    await handle.cancel()
    await kit.run_until_idle()
    assert await handle.status() is Status.WAITING
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    assert await handle.status() is Status.CANCELED
    assert ran == {"reserve": 1, "release": 1, "refund": 1, "tell": 1}


async def test_past_its_grace_period_a_job_is_canceled_wherever_it_stands(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(cancel_grace="10s")
    async def stubborn() -> None:
        try:
            await sleep("1d")
        finally:
            await sleep("1d")
            await call(step, "late")

    handle = await stubborn.enqueue()
    await kit.run_until_idle()
    await handle.cancel()
    await kit.run_until_idle()
    assert await handle.status() is Status.WAITING
    await kit.advance(seconds=11)
    await app_harness.rescue()
    job = await handle.info()
    assert (job.status, job.reason) == (Status.CANCELED, "cancel_forced")
    await kit.run_until_idle()
    assert not ran


async def test_a_job_that_was_never_started_is_canceled_at_once(app: Plait, kit: Kit) -> None:
    @app.job(cancel_grace="1m")
    async def saga() -> None:
        await call(step, "reserve")

    handle = await saga.enqueue()
    assert await handle.cancel() is Status.CANCELED
    await kit.run_until_idle()
    assert not ran


async def test_without_a_grace_period_a_job_ends_at_once(app: Plait, kit: Kit) -> None:
    @app.job
    async def saga() -> None:
        try:
            await wait_for_signal("go")
        finally:
            await call(step, "release")

    handle = await saga.enqueue()
    await kit.run_until_idle()
    assert await handle.cancel() is Status.CANCELED
    await kit.run_until_idle()
    assert not ran


async def test_a_failing_compensation_is_tried_again(app: Plait, kit: Kit) -> None:
    @app.job(cancel_grace="1d", retries=3)
    async def saga() -> None:
        try:
            await wait_for_signal("go")
        finally:
            await call(failing_once)

    async def failing_once() -> None:
        ran["tries"] += 1
        if ran["tries"] == 1:
            raise ConnectionError("the bank does not answer")

    handle = await saga.enqueue()
    await kit.run_until_idle()
    await handle.cancel()
    await kit.run_until_idle()
    assert await handle.status() is Status.SCHEDULED
    await kit.advance(minutes=1)
    await kit.run_until_idle()
    assert await handle.status() is Status.CANCELED
    assert ran["tries"] == 2


async def test_children_are_asked_too_when_their_tree_is_canceled(app: Plait, kit: Kit) -> None:
    @app.job(cancel_grace="1m", retries=0)
    async def child() -> None:
        await call(step, "book")
        try:
            await wait_for_signal("go")
        finally:
            await call(step, "unbook")

    @app.job
    async def parent() -> None:
        await fan_out([sub(child), sub(child)])

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await handle.cancel_tree()
    await kit.run_until_idle()
    assert ran == {"book": 2, "unbook": 2}
    assert {node.status for node in await handle.tree()} == {"canceled"}


async def test_a_job_that_was_canceled_and_is_retried_starts_anew(app: Plait, kit: Kit) -> None:
    @app.job(cancel_grace="1m")
    async def saga() -> str:
        await call(step, "reserve")
        try:
            answer: str = await wait_for_signal("go")
        except asyncio.CancelledError:
            await call(step, "release")
            raise
        return answer

    handle = await saga.enqueue()
    await kit.run_until_idle()
    await handle.cancel()
    await kit.run_until_idle()
    await handle.retry()
    await kit.run_until_idle()
    await handle.signal("go", "done")
    await kit.run_until_idle()
    assert await handle.result(60) == "done"
    assert ran == {"reserve": 2, "release": 1}


@pytest.mark.parametrize("grace", [0, -1, "soon"])
def test_a_grace_period_is_a_time(grace: object) -> None:
    with pytest.raises(Exception, match="cancel_grace"):

        @Plait().job(cancel_grace=grace)  # type: ignore[call-overload,untyped-decorator]
        async def job() -> None: ...


def test_only_an_async_job_can_have_a_grace_period() -> None:
    with pytest.raises(InvalidDefinition, match="async def"):

        @Plait().job(cancel_grace=5)
        def job() -> None: ...
