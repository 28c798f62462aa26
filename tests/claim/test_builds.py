"""Builds: a durable job that started on a worker's build continues there as long as a worker of that build exists."""

from datetime import timedelta

import pytest

from plait.model.errors import PlaitError
from plait.store.workflows import Checkpoint, Lease, StepKey

from ..fake_worker import FakeWorker
from ..harness import Harness
from ..workflows.worker_calls import suspend


async def _begun(harness: Harness, worker: FakeWorker, **options: object) -> None:
    """Enqueue a job that sleeps on this worker and is then queued again."""
    await harness.enqueue(**options)  # type: ignore[arg-type]
    await suspend(harness, worker, await worker.claim_one(), 1)


async def test_a_job_resumes_on_the_build_that_it_began_on(harness: Harness) -> None:
    old, new, other = [await harness.worker(build=build, lease_s=86_400) for build in ("a1", "b2", None)]
    await _begun(harness, old)
    assert [await worker.claim(5) for worker in (new, other)] == [[], []]
    lease = await old.claim_one()
    await suspend(harness, old, lease, 1)
    assert await new.claim(5) == []
    second = await harness.worker(build="a1", lease_s=86_400)
    await second.succeed(await second.claim_one())  # any worker of its build


async def test_a_job_that_has_not_begun_runs_anywhere(harness: Harness) -> None:
    await harness.worker(build="a1")
    new = await harness.worker(build="b2", lease_s=86_400)
    jobs = await harness.enqueue_many("add", 3)
    assert {lease.job_id for lease in await new.claim(5)} == set(jobs)


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("end", ["fail", "release", "lose"])
async def test_a_retry_of_a_job_that_has_steps_on_record_stays_on_its_build(
    harness: Harness, end: str, steps: bool
) -> None:
    old = await harness.worker(build="a1", lease_s=86_400)
    new = await harness.worker(build="b2", lease_s=86_400)
    job = await harness.enqueue()
    lease = await old.claim_one()
    if steps:
        key = StepKey("", "one", 1, 1)
        saved = Checkpoint(Lease(old.id, job, lease.attempt), key, "call", 1, None, "1", None)
        assert await harness.store.workflows.save_steps(old.id, [saved]) == []
    match end:
        case "fail":
            await old.fail(lease)
        case "release":
            await old.release(lease)
        case _:
            await harness.lose(old)
            await harness.worker(build="a1", lease_s=86_400)
    await harness.advance(seconds=60)
    await harness.promote()
    assert len(await new.claim(5)) == (0 if steps else 1)


async def test_limits_hold_for_jobs_that_stay_on_a_build(harness: Harness) -> None:
    await harness.define("add", max_running=1)
    old, new = [await harness.worker(build=build, lease_s=86_400) for build in ("a1", "b2")]
    await harness.enqueue_many("add", 4)
    for _ in range(4):
        await suspend(harness, old, await old.claim_one(), 1)
    await harness.enqueue()
    assert await harness.sql("select count(*) from plait.live where lane = 'b:a1 d:add'") >= 1
    for _ in range(3):
        [lease] = await old.claim(5)
        assert await new.claim(5) == []
        await old.succeed(lease)
    assert [lease.attempt for lease in await new.claim(5)] in ([], [1])  # at most one job, which has not started


async def test_a_build_without_workers_is_given_up_after_a_bound(harness: Harness) -> None:
    old, new = [await harness.worker(build=build, lease_s=86_400) for build in ("a1", "b2")]
    await _begun(harness, old)
    [job] = [row.id for row in await harness.store.jobs.list_jobs(all_tenants=True)]
    assert await harness.store.leader.release_builds(after_s=300) == (0, [])
    await old.leave()
    assert await harness.explain(job) == ["build_away", "next"]
    await harness.advance(seconds=299)
    assert await harness.store.leader.release_builds(after_s=300) == (0, [])
    assert await new.claim(5) == []
    await harness.advance(seconds=2)
    assert await harness.store.leader.release_builds(after_s=300) == (1, ["a1"])
    assert await harness.explain(job) == ["build_gone", "next"]
    assert (await harness.attempts(job))[-1].reason == "build_gone"
    lease = await new.claim_one()
    await suspend(harness, new, lease, 1)
    third = await harness.worker(build="c3", lease_s=86_400)
    assert await third.claim(5) == []  # the job now belongs to the build b2
    await new.succeed(await new.claim_one())
    assert (await harness.job(job)).attempts_used == 1


async def test_a_build_that_comes_back_in_time_keeps_its_jobs(harness: Harness) -> None:
    old, new = [await harness.worker(build=build, lease_s=86_400) for build in ("a1", "b2")]
    await _begun(harness, old)
    await old.leave()
    await harness.advance(seconds=200)
    back = await harness.worker(build="a1", lease_s=86_400)
    await harness.advance(seconds=200)
    assert await harness.store.leader.release_builds(after_s=300) == (0, [])
    assert await new.claim(5) == []
    assert len(await back.claim(5)) == 1


async def test_suspects_and_serial_queues_keep_to_the_build(harness: Harness) -> None:
    await harness.queue("s", serial=True)
    old, new = [await harness.worker(build=b, queues=["default", "s"], lease_s=86_400) for b in ("a1", "b2")]
    await harness.enqueue(queue="s")
    await suspend(harness, old, await old.claim_one(queue="s"), 1)
    assert await new.claim(5) == []
    assert len(await old.claim(5, queue="s")) == 1
    job = await harness.enqueue()
    lease = await old.claim_one(queue="default")
    await suspend(harness, old, lease, 1)
    for _ in range(2):  # a suspect after the second loss
        dying = await harness.worker(build="a1", lease_s=86_400)
        assert (await dying.claim_one(queue="default")).job_id == job
        await harness.lose(dying)
        await harness.advance(seconds=2)
        await harness.promote()
    assert await new.claim(5, queue="default") == []
    await old.succeed(await old.claim_one(queue="default"))


async def test_a_continued_run_and_an_operators_retry_run_on_any_build(harness: Harness) -> None:
    old, new = [await harness.worker(build=build, lease_s=86_400) for build in ("a1", "b2")]
    await _begun(harness, old)
    lease = await old.claim_one()
    held = Lease(old.id, lease.job_id, lease.attempt)
    assert await harness.store.workflows.continue_as_new(held, "{}") == "suspended"
    lease = await new.claim_one()
    await new.fail(lease, permanent=True)
    await harness.retry(lease.job_id)
    await old.succeed(await old.claim_one())


async def test_a_build_has_a_name(harness: Harness) -> None:
    for bad in ("", "a b", "x" * 101):
        with pytest.raises(PlaitError, match="build"):
            await harness.worker(build=bad)
    worker = await harness.worker(build="2026-11-16.1+abc_Z")
    await harness.sql("select 1")
    [row] = [row for row in await harness.store.workers.list_workers() if row.id == worker.id]
    assert row.started_at <= await harness.now() + timedelta(seconds=1)
