"""A deadline limits a whole job: its waits, its retries and its time in the queue."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from plait import (
    Backoff,
    Handle,
    JobFailed,
    Plait,
    Status,
    collect_all,
    fan_out,
    sleep,
    spawn,
    sub,
    wait_for_signal,
)
from plait.model.errors import InvalidJob
from plait.store.leader import Retention
from plait.testing import Kit

from ..harness import Harness

PAST = "it did not end within its deadline of {} s"


async def assert_failed(handle: Handle[Any], deadline_s: float) -> None:
    with pytest.raises(JobFailed, match=PAST.format(deadline_s)) as raised:
        await handle.result(120)
    assert type(raised.value) is JobFailed
    assert (raised.value.reason, raised.value.error_type, raised.value.cause) == ("deadline", "TimeoutError", None)


async def test_a_job_that_waits_past_its_deadline_fails(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(deadline="1h")
    async def sleeper() -> None:
        await sleep("1d")

    @app.job
    async def listener() -> None:
        await wait_for_signal("never")

    handles = [await sleeper.enqueue(), await listener.options(deadline="1h").enqueue()]
    await kit.run_until_idle()
    await kit.advance(minutes=59)
    await kit.run_until_idle()
    assert [await handle.status() for handle in handles] == [Status.WAITING] * 2
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    for handle in handles:
        await assert_failed(handle, 3600)
    assert await app_harness.sql("select count(*) from plait.live") == 0


async def test_the_leader_is_told_when_the_next_deadline_is(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(deadline=90)
    async def listener() -> None:
        await wait_for_signal("never")

    await listener.enqueue()
    await kit.run_until_idle()
    assert (await app_harness.store.leader.resume()).next_s == 90


async def test_the_time_in_the_queue_and_between_retries_counts(app: Plait, kit: Kit) -> None:
    @app.job(deadline="1h")
    async def queued() -> None: ...

    @app.job(deadline="1h", retries=9, backoff=Backoff(base="50m", jitter=0))
    async def fails() -> None:
        raise ValueError("always")

    handles = [await queued.options(queue="elsewhere").enqueue(), await fails.enqueue()]
    later = await queued.options(delay="30m", queue="elsewhere").enqueue()
    await kit.run_until_idle()
    await kit.advance(minutes=61)
    await kit.run_until_idle()
    for handle in handles:
        await assert_failed(handle, 3600)
    assert await later.status() is Status.QUEUED, "the deadline is measured from the time when the job was due"
    await kit.advance(minutes=30)
    await assert_failed(later, 3600)


async def test_a_handler_that_runs_is_stopped_at_the_deadline(app: Plait, kit: Kit) -> None:
    """Its worker stops it immediately. The job is not retried after the deadline."""

    @app.job(deadline=0.2, retries=5, timeout=600)
    async def hangs() -> None:
        await asyncio.sleep(600)  # sleep: longer than any test, until the deadline

    @app.job(deadline="1h", timeout=0.05, retries=0)
    async def too_long() -> None:
        await asyncio.sleep(600)  # sleep: as above, until the timeout

    handle, other = await hangs.enqueue(), await too_long.enqueue()
    running = asyncio.create_task(kit.run_until_idle())
    await kit.clock.advance(seconds=0.2)  # the database's clock is frozen
    await running
    await kit.advance(seconds=1)
    await assert_failed(handle, 0.2)
    with pytest.raises(JobFailed, match=r"timed out after 0\.05 s") as raised:
        await other.result(120)
    assert (raised.value.reason, raised.value.error_type) == ("timeout", "TimeoutError")
    assert raised.value.error_message == "timed out after 0.05 s"


async def test_a_parent_past_its_deadline_leaves_its_children_as_any_that_fails(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job
    async def child() -> None: ...

    @app.job(deadline="1h", cancel_on_parent_failure=True)
    async def spawns() -> None:
        await spawn(child, queue="elsewhere")

    @app.job(deadline="1h")
    async def waits() -> None:
        await fan_out([sub(child, queue="elsewhere")], cancel_on_parent_failure=True)

    @app.job(deadline="1h")
    async def lets_run() -> None:
        await fan_out([sub(child, queue="elsewhere")])

    handles = [await job.enqueue() for job in (spawns, waits, lets_run)]
    await kit.run_until_idle()
    await kit.advance(hours=2)
    await kit.run_until_idle()
    for handle in handles:
        await assert_failed(handle, 3600)
    await app_harness.store.leader.resume()
    children = [(await kit.sub_jobs(handle))[0].status for handle in handles]
    assert children == [Status.CANCELED, Status.CANCELED, Status.QUEUED]


async def test_a_sub_job_past_its_deadline_fails_for_its_parent(app: Plait, kit: Kit) -> None:
    @app.job(deadline="1h", retries=0)
    async def child() -> None:
        await wait_for_signal("never")

    @app.job
    async def parent() -> list[str | None]:
        results = await fan_out([sub(child)], collect_all())
        return [result.error.error_type if result.error else None for result in results]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=2)
    await kit.run_until_idle()
    assert await handle.result(120) == ["TimeoutError"]


async def test_a_retried_job_has_its_deadline_again(app: Plait, kit: Kit) -> None:
    @app.job
    async def listener() -> str:
        return str(await wait_for_signal("go"))

    handle = await listener.options(deadline="1h").enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=2)
    await assert_failed(handle, 3600)
    await handle.retry()
    await kit.run_until_idle()
    assert await handle.status() is Status.WAITING
    await kit.advance(hours=2)
    await assert_failed(handle, 3600)


async def test_what_ends_in_time_is_left_alone_and_forgotten_with_its_job(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(deadline="1h")
    async def quick() -> str:
        return "done"

    handles = await quick.enqueue_many([(), ()])
    await kit.run_until_idle()
    await kit.advance(hours=2)
    assert [await handle.result(120) for handle in handles] == ["done", "done"]
    assert [len(await app_harness.attempts(handle.id)) for handle in handles] == [1, 1]
    assert await app_harness.sql("select count(due_at) from plait.deadlines") == 0
    await app_harness.store.leader.prune(Retention(succeeded=timedelta(hours=1)))
    assert await app_harness.sql("select count(*) from plait.deadlines") == 0


async def test_a_deadline_that_is_none_is_refused(app: Plait, harness: Harness) -> None:
    @app.job
    async def job() -> None: ...

    with pytest.raises(InvalidJob, match="deadline must be more than 0"):
        job.options(deadline=0)
    new = await harness.new_job()
    for bad in (0, -1, float("nan"), 4e9):
        with pytest.raises(InvalidJob, match="a deadline must be more than 0 and at most 100 years"):
            await harness.store.jobs.enqueue_many([replace(new, deadline_s=bad)])
