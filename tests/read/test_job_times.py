"""When a job started, how long it ran and waited, and its attempts used."""

from uuid import UUID

from ..fake_worker import outcome
from ..harness import Harness
from ..workflows.worker_calls import suspend


async def _used(harness: Harness, job: UUID) -> int:
    return (await harness.job(job)).attempts_used


async def test_a_durable_job_started_when_it_first_started(harness: Harness) -> None:
    job = await harness.enqueue()
    worker = await harness.worker(lease_s=86_400)
    assert (await harness.job(job)).started_at is None
    began = await harness.advance(seconds=5)
    lease = await worker.claim_one()
    assert (await harness.job(job)).started_at == began
    await harness.advance(seconds=2)
    await suspend(harness, worker, lease, 3600)
    assert (await harness.job(job)).started_at == began
    lease = await worker.claim_one()
    assert (await harness.job(job)).started_at == began
    assert (await harness.job(job)).claimed_at == await harness.now()
    await worker.succeed(lease)
    assert (await harness.job(job)).started_at == began


async def test_a_job_that_was_claimed_and_given_back_unstarted_has_not_started(harness: Harness) -> None:
    job = await harness.enqueue()
    worker = await harness.worker()
    await worker.settle(outcome(await worker.claim_one(), "released", ran_ms=0.0))
    assert (await harness.job(job)).started_at is None
    began = await harness.advance(seconds=5)
    await worker.succeed(await worker.claim_one())
    assert (await harness.job(job)).started_at == began


async def test_run_time_own_time_and_waiting_time_are_separate(harness: Harness) -> None:
    job = await harness.enqueue()
    worker = await harness.worker(lease_s=86_400)
    assert await harness.store.jobs.job_times(job, all_tenants=True) is None
    await harness.advance(seconds=100)  # time in the queue counts as neither
    lease = await worker.claim_one()
    await harness.advance(seconds=2)
    times = await harness.store.jobs.job_times(job, all_tenants=True)
    assert times is not None
    assert (times.total_s, times.own_s, times.waiting_s) == (2, 2, 0)
    await suspend(harness, worker, lease, 3600)
    lease = await worker.claim_one()
    await harness.advance(seconds=3)
    await worker.fail(lease)
    await harness.advance(seconds=10)
    times = await harness.store.jobs.job_times(job, all_tenants=True)
    assert times is not None
    assert (times.total_s, times.own_s, times.waiting_s) == (3615, 5, 3610)
    await harness.promote()
    lease = await worker.claim_one()
    await harness.advance(seconds=4)
    await worker.succeed(lease)
    await harness.advance(seconds=1000)
    times = await harness.store.jobs.job_times(job, all_tenants=True)
    assert times is not None
    assert (times.total_s, times.own_s, times.waiting_s) == (3619, 9, 3610)


async def test_suspensions_snoozes_losses_and_releases_use_up_no_attempt(harness: Harness) -> None:
    job = await harness.enqueue(max_attempts=3)
    worker = await harness.worker(lease_s=86_400)
    assert await _used(harness, job) == 0
    lease = await worker.claim_one()
    assert await _used(harness, job) == 1  # the first attempt is running
    for _ in range(3):
        await suspend(harness, worker, lease, 60)
        assert await _used(harness, job) == 1
        lease = await worker.claim_one()
    await worker.snooze(lease)
    assert await _used(harness, job) == 0
    await harness.advance(seconds=10)
    await harness.promote()
    await worker.release(await worker.claim_one())
    other = await harness.worker()
    lease = await other.claim_one()
    await harness.lose(other)
    assert await _used(harness, job) == 0
    lease = await worker.claim_one()
    assert (lease.attempt, await _used(harness, job)) == (7, 1)
    await worker.fail(lease)
    assert await _used(harness, job) == 1
    await harness.advance(seconds=60)
    await harness.promote()
    lease = await worker.claim_one()
    assert await _used(harness, job) == 2
    await suspend(harness, worker, lease, 60)
    await worker.succeed(await worker.claim_one())
    assert await _used(harness, job) == 2


async def test_a_final_job_shows_the_attempts_that_it_used(harness: Harness) -> None:
    worker = await harness.worker(lease_s=86_400)
    dead = await harness.enqueue(max_attempts=2)
    await worker.fail(await worker.claim_one())
    await harness.advance(seconds=60)
    await harness.promote()
    await worker.time_out(await worker.claim_one())
    assert await _used(harness, dead) == 2
    await harness.retry(dead)
    assert await _used(harness, dead) == 0  # a retry resets the count
    await worker.fail(await worker.claim_one(), permanent=True)
    assert await _used(harness, dead) == 1
    for end, used in (("cancel", 0), ("stop", 1), ("skip", 1)):
        job = await harness.enqueue()
        if end == "cancel":
            await harness.cancel(job)
        else:
            lease = await worker.claim_one()
            if end == "stop":
                await harness.cancel(job)
                await worker.report_canceled(lease)
            else:
                await worker.skip(lease)
        assert await _used(harness, job) == used


async def test_trees_and_lists_show_the_same_number_of_attempts(harness: Harness) -> None:
    job = await harness.enqueue(max_attempts=3)
    worker = await harness.worker(lease_s=86_400)
    await suspend(harness, worker, await worker.claim_one(), 60)
    await suspend(harness, worker, await worker.claim_one(), 60)
    for status in ("queued", "succeeded"):
        [listed] = await harness.store.jobs.list_jobs(all_tenants=True)
        [node] = await harness.store.jobs.job_tree(job, all_tenants=True)
        assert (listed.status, listed.attempts_used, node.attempt) == (status, 1, 1)
        if status == "queued":
            await worker.succeed(await worker.claim_one())
