"""Jobs in a durable sleep or waiting for a signal hold no worker, and no wake-up is lost."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plait import (
    JobFailed,
    NotFound,
    Plait,
    SignalTimeout,
    Status,
    call,
    signal,
    sleep,
    sleep_until,
    wait_for_signal,
)
from plait.model.errors import IllegalMove
from plait.model.ids import new_id
from plait.sdk.context import attempt
from plait.store.workflows import Lease
from plait.testing import Kit
from plait.worker.run import Run, Stopping

from ..harness import Harness
from .worker_calls import wait_for


async def test_an_hour_long_sleep_takes_no_time_and_no_worker(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def nap() -> str:
        await sleep("1h")
        return "rested"

    handle = await nap.enqueue()
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    assert await app_harness.explain(handle.id) == ["waiting"]
    await kit.advance(minutes=59)
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    await kit.advance(minutes=1)
    await kit.run_until_idle()
    assert await handle.result(120) == "rested"
    assert (await app_harness.job(handle.id)).attempt == 2


async def test_a_sleep_that_is_woken_early_sleeps_only_the_rest(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T69."""

    @app.job(retries=0)
    async def nap() -> None:
        await sleep("1h")

    handle = await nap.enqueue()
    await kit.run_until_idle()
    await kit.advance(minutes=50)
    await app_harness.sql(
        "update plait.live set state = 'queued', wait_on = null, wake_at = null where job_id = $1", handle.id
    )
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    await kit.advance(minutes=11)
    await kit.run_until_idle()
    assert await handle.status() == Status.SUCCEEDED


async def test_the_doctor_sees_who_waits_too_long(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def nap() -> None:
        await sleep("1h")

    await nap.enqueue()
    await kit.run_until_idle()
    assert "overdue_waits" not in await app_harness.findings()
    await app_harness.advance(hours=2)  # no leader runs, so nothing resumes it
    assert "overdue_waits" in await app_harness.findings()


async def test_a_moment_that_has_passed_is_not_waited_for(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def nap(at: datetime) -> None:
        await sleep_until(at)
        await sleep(0)

    now = await app_harness.now()
    past, soon = await nap.enqueue(now - timedelta(hours=1)), await nap.enqueue(now + timedelta(hours=1))
    await kit.run_until_idle()
    assert [await past.status(), await soon.status()] == [Status.SUCCEEDED, Status.WAITING]
    assert await app_harness.outcomes(past.id) == ["succeeded"]
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await soon.status() == Status.SUCCEEDED


async def test_a_moment_without_a_time_zone_is_refused(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def nap() -> None:
        await sleep_until(datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None))

    handle = await nap.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="a datetime with a time zone"):
        await handle.result(120)


@pytest.fixture
def approval(app: Plait) -> Any:
    @app.job(retries=0)
    async def approval(timeout: str | None = None) -> Any:
        try:
            return await wait_for_signal("approved", timeout=timeout)
        except SignalTimeout as error:
            return str(error)

    return approval


async def test_a_signal_resumes_who_waits_for_it(approval: Any, kit: Kit) -> None:
    handle = await approval.enqueue()
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    assert await handle.signal("other", 1) == Status.WAITING
    assert await handle.signal("approved", {"by": "ada"}) == Status.QUEUED
    await kit.run_until_idle()
    assert await handle.result(120) == {"by": "ada"}


async def test_a_signal_that_comes_before_the_wait_is_kept(approval: Any, kit: Kit) -> None:
    """T68."""
    handle = await approval.enqueue()
    assert await handle.signal("approved", 1) == Status.QUEUED
    await kit.run_until_idle()
    assert await handle.result(120) == 1
    with pytest.raises(IllegalMove, match="final"):
        await handle.signal("approved", 2)


async def test_signals_are_given_out_once_and_in_order_and_a_repeated_one_is_one(app: Plait, kit: Kit) -> None:
    """T68: a signal that is sent twice with the same id is one signal. Once consumed, it is not delivered again."""

    @app.job(retries=0)
    async def three() -> list[Any]:
        got = []
        for _ in range(3):
            got.append(await wait_for_signal("n"))
            await sleep("1m")
        return got

    handle = await three.enqueue()
    jobs, same = (await app.store()).jobs, new_id()
    for _ in range(3):
        await jobs.signal(handle.id, "n", "1", signal_id=same)
    await kit.run_until_idle()
    await jobs.signal(handle.id, "n", "1", signal_id=same)
    await handle.signal("n", 2)
    await kit.advance(minutes=2)
    await handle.signal("n", 3)
    for _ in range(3):
        await kit.run_until_idle()
        await kit.advance(minutes=2)
    await kit.run_until_idle()
    assert await handle.result(120) == [1, 2, 3]


async def test_a_signal_that_does_not_come_times_out_once(approval: Any, kit: Kit, app_harness: Harness) -> None:
    """T69: if another event wakes the job, it then waits only for the remaining time."""
    handle = await approval.enqueue("10m")
    await kit.run_until_idle()
    await kit.advance(minutes=9)
    await app_harness.sql("update plait.live set state = 'queued', wait_on = null, wake_at = null")
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    assert await handle.result(120) == "no signal 'approved' arrived in time"


async def test_no_sweeper_resumes_who_waits_for_a_signal(approval: Any, kit: Kit, app_harness: Harness) -> None:
    """T70."""
    handle = await approval.enqueue()
    await kit.run_until_idle()
    for _ in range(3):
        await kit.advance(days=30)
        assert (await app_harness.rescue()).resumed == 0
        await kit.run_until_idle()
    assert await app_harness.outcomes(handle.id) == ["suspended"]


async def test_a_signal_and_a_wait_that_cross_find_each_other(
    approval: Any, app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """T68, F17, in small: a signal sent while the job suspends itself is never lost."""
    handles = [await approval.enqueue() for _ in range(100)]
    running = asyncio.create_task(kit.run_until_idle())
    await asyncio.gather(*(handle.signal("approved", n) for n, handle in enumerate(handles)))
    await running
    await kit.run_until_idle()
    assert [await handle.result(120) for handle in handles] == list(range(100))
    assert await app_harness.sql("select count(*) from plait.signals where consumed") == 100


async def test_a_signal_read_by_who_lost_the_lease_is_not_consumed(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T67: a signal is consumed and checkpointed in one fenced transaction."""
    job = await app_harness.enqueue("add")
    worker = await app_harness.worker()
    lease = await worker.claim_one()
    await app_harness.store.jobs.signal(job, "go", "7")
    await app_harness.lose(worker)
    stale = Lease(worker.id, job, lease.attempt)
    assert await wait_for(app_harness, stale, "signal go", "signal") == ("stale", None)
    other = await app_harness.worker()
    again = await other.claim_one()
    held = Lease(other.id, job, again.attempt)
    assert await wait_for(app_harness, held, "signal go", "signal") == ("ready", "7")
    # The reply was lost: a repeated call returns the same recorded signal.
    assert await wait_for(app_harness, held, "signal go", "signal") == ("ready", "7")
    assert (await wait_for(app_harness, held, "signal go", "signal", occurrence=2))[0] == "suspended"
    assert (await wait_for(app_harness, held, "signal go", "signal", occurrence=2))[0] == "suspended"


async def test_a_payload_is_checked_by_its_type(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def wants_a_number() -> int:
        return await wait_for_signal("n", type=int)

    good, bad = await wants_a_number.enqueue(), await wants_a_number.enqueue()
    await good.signal("n", 3)
    await bad.signal("n", "three")
    await kit.run_until_idle()
    assert await good.result(120) == 3
    with pytest.raises(JobFailed, match="payload that does not fit"):
        await bad.result(120)


async def test_a_job_signals_another_once_however_often_it_is_replayed(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(retries=0)
    async def hears() -> list[Any]:
        return [await wait_for_signal("n"), await wait_for_signal("n")]

    heard = await hears.enqueue()

    @app.job(retries=0)
    async def tells() -> None:
        await signal(heard.id, "n", 1)
        await sleep("1h")
        await signal(heard.id, "n", 2)

    await tells.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await heard.result(120) == [1, 2]
    assert await app_harness.sql("select count(*) from plait.signals") == 2


async def test_a_signal_to_nobody_is_refused(app: Plait, kit: Kit) -> None:
    with pytest.raises(NotFound):
        await app.handle(new_id()).signal("n")


async def test_a_canceled_wait_is_canceled(approval: Any, kit: Kit) -> None:
    handle = await approval.enqueue("10m")
    await kit.run_until_idle()
    assert await handle.cancel() == Status.CANCELED
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await handle.status() == Status.CANCELED


async def test_a_thousand_who_wait_hold_nothing(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """They occupy no worker, connection or memory, only rows."""
    done: list[int] = []

    async def note(n: int) -> None:
        done.append(n)

    @app.job
    async def waits(n: int) -> None:
        await sleep("1h")
        await call(note, n)

    await waits.enqueue_many(range(1000))
    await kit.run_until_idle()
    assert await app_harness.counts() == {Status.WAITING: 1000}
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await app_harness.counts() == {Status.SUCCEEDED: 1000}
    assert sorted(done) == list(range(1000))


async def test_a_job_that_waits_has_not_lost_its_lease(app: Plait, kit: Kit) -> None:
    """T15: the worker learns that it no longer holds the job while the handler still cleans up after its wait."""
    ended: list[str] = []

    @app.job(retries=0)
    async def tidy() -> str:
        try:
            await sleep("1h")
        finally:
            run = attempt()
            assert isinstance(run, Run)
            run.stop(Stopping.LOST)  # as a heartbeat would if the job was gone
            await asyncio.sleep(0)
            ended.append("cleaned up")
        return "slept"

    handle = await tidy.enqueue()
    await kit.run_until_idle()
    assert (await handle.status(), ended) == (Status.WAITING, ["cleaned up"])
