"""Builds: a durable job that has begun on a worker's build goes on there, for as long as a worker of that build is left."""

from datetime import timedelta

import pytest

from plait.model.errors import PlaitError
from plait.store.workflows import Checkpoint, Lease, StepKey

from ..fake_worker import FakeWorker
from ..harness import World
from ..workflows.worker_calls import suspend


async def _begun(world: World, worker: FakeWorker, **options: object) -> None:
    """A job that has slept on this worker, and is queued again."""
    await world.enqueue(**options)  # type: ignore[arg-type]
    await suspend(world, worker, await worker.claim_one(), 1)


async def test_a_job_resumes_on_the_build_that_it_began_on(world: World) -> None:
    old, new, other = [await world.worker(build=build, lease_s=86_400) for build in ("a1", "b2", None)]
    await _begun(world, old)
    assert [await worker.claim(5) for worker in (new, other)] == [[], []]
    lease = await old.claim_one()
    await suspend(world, old, lease, 1)
    assert await new.claim(5) == []
    second = await world.worker(build="a1", lease_s=86_400)
    await second.succeed(await second.claim_one())  # any of its build


async def test_a_job_that_has_not_begun_runs_anywhere(world: World) -> None:
    await world.worker(build="a1")
    new = await world.worker(build="b2", lease_s=86_400)
    jobs = await world.enqueue_many("add", 3)
    assert {lease.job_id for lease in await new.claim(5)} == set(jobs)


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("end", ["fail", "release", "lose"])
async def test_a_retry_of_a_job_that_has_steps_on_record_stays_on_its_build(
    world: World, end: str, steps: bool
) -> None:
    old = await world.worker(build="a1", lease_s=86_400)
    new = await world.worker(build="b2", lease_s=86_400)
    job = await world.enqueue()
    lease = await old.claim_one()
    if steps:
        key = StepKey("", "one", 1, 1)
        saved = Checkpoint(Lease(old.id, job, lease.attempt), key, "call", 1, None, "1", None)
        assert await world.store.workflows.save_steps(old.id, [saved]) == []
    match end:
        case "fail":
            await old.fail(lease)
        case "release":
            await old.release(lease)
        case _:
            await world.lose(old)
            await world.worker(build="a1", lease_s=86_400)
    await world.advance(seconds=60)
    await world.promote()
    assert len(await new.claim(5)) == (0 if steps else 1)


async def test_limits_hold_for_jobs_that_stay_on_a_build(world: World) -> None:
    await world.define("add", max_running=1)
    old, new = [await world.worker(build=build, lease_s=86_400) for build in ("a1", "b2")]
    await world.enqueue_many("add", 4)
    for _ in range(4):
        await suspend(world, old, await old.claim_one(), 1)
    await world.enqueue()
    assert await world.sql("select count(*) from plait.live where lane = 'b:a1 d:add'") >= 1
    for _ in range(3):
        [lease] = await old.claim(5)
        assert await new.claim(5) == []
        await old.succeed(lease)
    assert [lease.attempt for lease in await new.claim(5)] in ([], [1])  # one at most, of those that have not begun


async def test_a_build_without_workers_is_given_up_after_a_bound(world: World) -> None:
    old, new = [await world.worker(build=build, lease_s=86_400) for build in ("a1", "b2")]
    await _begun(world, old)
    [job] = [row.id for row in await world.store.jobs.list_jobs(all_tenants=True)]
    assert await world.store.leader.release_builds(after_s=300) == (0, [])
    await old.leave()
    assert await world.explain(job) == ["build_away", "next"]
    await world.advance(seconds=299)
    assert await world.store.leader.release_builds(after_s=300) == (0, [])
    assert await new.claim(5) == []
    await world.advance(seconds=2)
    assert await world.store.leader.release_builds(after_s=300) == (1, ["a1"])
    assert await world.explain(job) == ["build_gone", "next"]
    assert (await world.attempts(job))[-1].reason == "build_gone"
    lease = await new.claim_one()
    await suspend(world, new, lease, 1)
    third = await world.worker(build="c3", lease_s=86_400)
    assert await third.claim(5) == []  # it is the new one's now
    await new.succeed(await new.claim_one())
    assert (await world.job(job)).attempts_used == 1


async def test_a_build_that_comes_back_in_time_keeps_its_jobs(world: World) -> None:
    old, new = [await world.worker(build=build, lease_s=86_400) for build in ("a1", "b2")]
    await _begun(world, old)
    await old.leave()
    await world.advance(seconds=200)
    back = await world.worker(build="a1", lease_s=86_400)
    await world.advance(seconds=200)
    assert await world.store.leader.release_builds(after_s=300) == (0, [])
    assert await new.claim(5) == []
    assert len(await back.claim(5)) == 1


async def test_suspects_and_serial_queues_keep_to_the_build(world: World) -> None:
    await world.queue("s", serial=True)
    old, new = [await world.worker(build=b, queues=["default", "s"], lease_s=86_400) for b in ("a1", "b2")]
    await world.enqueue(queue="s")
    await suspend(world, old, await old.claim_one(queue="s"), 1)
    assert await new.claim(5) == []
    assert len(await old.claim(5, queue="s")) == 1
    job = await world.enqueue()
    lease = await old.claim_one(queue="default")
    await suspend(world, old, lease, 1)
    for _ in range(2):  # a suspect after the second
        dying = await world.worker(build="a1", lease_s=86_400)
        assert (await dying.claim_one(queue="default")).job_id == job
        await world.lose(dying)
        await world.advance(seconds=2)
        await world.promote()
    assert await new.claim(5, queue="default") == []
    await old.succeed(await old.claim_one(queue="default"))


async def test_a_continued_run_and_an_operators_retry_run_on_any_build(world: World) -> None:
    old, new = [await world.worker(build=build, lease_s=86_400) for build in ("a1", "b2")]
    await _begun(world, old)
    lease = await old.claim_one()
    held = Lease(old.id, lease.job_id, lease.attempt)
    assert await world.store.workflows.continue_as_new(held, "{}") == "suspended"
    lease = await new.claim_one()
    await new.fail(lease, permanent=True)
    await world.retry(lease.job_id)
    await old.succeed(await old.claim_one())


async def test_a_build_has_a_name(world: World) -> None:
    for bad in ("", "a b", "x" * 101):
        with pytest.raises(PlaitError, match="build"):
            await world.worker(build=bad)
    worker = await world.worker(build="2026-11-16.1+abc_Z")
    await world.sql("select 1")
    [row] = [row for row in await world.store.workers.list_workers() if row.id == worker.id]
    assert row.started_at <= await world.now() + timedelta(seconds=1)
