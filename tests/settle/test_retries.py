"""Failures and retries: by the retry policy, and by an operator."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from plait.model.errors import IllegalMove, InvalidJob, NotFound
from plait.model.ids import new_id

from ..fake_worker import FakeWorker, outcome
from ..harness import Harness


async def _fail_and_come_back(harness: Harness, worker: FakeWorker) -> float:
    """Fail one attempt. Returns how many seconds the job waits for the next."""
    lease = await worker.claim_one()
    await worker.fail(lease)
    run_at = (await harness.job(lease.job_id)).run_at
    assert run_at
    wait = (run_at - await harness.now()).total_seconds()
    await harness.advance(seconds=wait)
    await worker.heartbeat()
    assert await harness.promote() == 1
    return wait


async def test_the_wait_doubles_up_to_an_hour(harness: Harness) -> None:
    await harness.define("add", backoff_jitter=0, max_attempts=20)
    await harness.enqueue("add")
    worker = await harness.worker()
    waits = [await _fail_and_come_back(harness, worker) for _ in range(15)]
    assert waits == [min(2**n, 3600) for n in range(15)]


async def test_a_definition_says_otherwise(harness: Harness) -> None:
    await harness.define("add", backoff_jitter=0, backoff_base_s=10, backoff_factor=3, backoff_max_s=100)
    await harness.enqueue("add")
    worker = await harness.worker()
    assert [await _fail_and_come_back(harness, worker) for _ in range(4)] == [10, 30, 90, 100]


async def test_the_wait_varies_by_a_fifth(harness: Harness) -> None:
    await harness.enqueue_many("add", 200)
    worker = await harness.worker()
    leases = await worker.claim(200)
    await worker.settle(*(outcome(lease, "failed") for lease in leases))
    waits = [
        (job.run_at - await harness.now()).total_seconds()
        for job in await harness.store.jobs.list_jobs(limit=200)
        if job.run_at
    ]
    assert len(waits) == 200
    assert 0.8 <= min(waits) < 0.9
    assert 1.1 < max(waits) <= 1.2


@pytest.mark.parametrize("failed", [31, 32, 33, 63, 64, 1000, 9998])
async def test_a_failure_is_recorded_after_any_number_of_failed_attempts(harness: Harness, failed: int) -> None:
    """`power(2, n)::int` overflows at attempt 32: the failure itself could not be recorded."""
    job = await harness.enqueue("add", max_attempts=10_000)
    await harness.sql("update plait.live set failed_attempts = $1", failed)
    worker = await harness.worker()
    assert await worker.fail(await worker.claim_one())
    row = await harness.job(job)
    assert (row.status, row.failed_attempts) == ("scheduled", failed + 1)


async def test_the_most_extreme_policy_that_is_allowed_overflows_nothing(harness: Harness) -> None:
    await harness.define("add", backoff_base_s=3.2e9, backoff_factor=100, backoff_max_s=3.2e9, backoff_jitter=1)
    job = await harness.enqueue("add", max_attempts=10_000)
    await harness.sql("update plait.live set failed_attempts = 9000")
    worker = await harness.worker()
    assert await worker.fail(await worker.claim_one())
    assert await harness.status(job) in ("scheduled", "queued")


async def test_no_wait_at_all(harness: Harness) -> None:
    await harness.define("add", backoff_base_s=0)
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.fail(await worker.claim_one())
    assert await harness.status(job) == "queued"


async def test_the_last_try_ends_in_the_dead_letters(harness: Harness) -> None:
    job = await harness.enqueue("add", max_attempts=3)
    worker = await harness.worker()
    for _ in range(2):
        await _fail_and_come_back(harness, worker)
    await worker.time_out(await worker.claim_one())
    assert await harness.status(job) == "dead_letter"
    assert await harness.outcomes(job) == ["failed", "failed", "timeout"]
    last = (await harness.attempts(job))[-1]
    assert (last.final, last.reason, last.error) == ("dead_letter", "attempts_exhausted", "it took too long")


async def test_a_permanent_error_ends_it_at_once(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.fail(await worker.claim_one(), permanent=True)
    assert await harness.status(job) == "failed"
    assert (await harness.attempts(job))[-1].reason == "permanent"


async def test_a_handler_says_when_to_try_again(harness: Harness) -> None:
    """RetryLater uses an attempt."""
    job = await harness.enqueue("add", max_attempts=2)
    worker = await harness.worker()
    await worker.fail(await worker.claim_one(), delay_s=1234)
    row = await harness.job(job)
    assert row.run_at == await harness.now() + timedelta(seconds=1234)
    assert row.failed_attempts == 1
    await harness.advance(seconds=1234)
    await worker.heartbeat()
    await harness.promote()
    await worker.fail(await worker.claim_one(), delay_s=1)
    assert await harness.status(job) == "dead_letter"


async def test_a_snooze_and_a_release_burn_no_try(harness: Harness) -> None:
    job = await harness.enqueue("add", max_attempts=1)
    worker = await harness.worker(lease_s=3600)
    for _ in range(3):
        await worker.snooze(await worker.claim_one(), 60)
        assert await harness.status(job) == "scheduled"
        await harness.advance(seconds=60)
        await harness.promote()
        await worker.release(await worker.claim_one())
        assert await harness.status(job) == "queued"
        await worker.report_canceled(await worker.claim_one())  # no cancel was requested: released
        assert await harness.status(job) == "queued"
    row = await harness.job(job)
    assert (row.failed_attempts, row.attempt) == (0, 9)
    assert await harness.outcomes(job) == ["snoozed", "released", "released"] * 3


async def test_a_skip_is_final_and_no_failure(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.skip(await worker.claim_one())
    assert await harness.status(job) == "skipped"


# An operator's retry


async def test_a_retry_starts_the_tries_again_and_the_attempts_go_on(harness: Harness) -> None:
    """T50: no attempt 6 of 5."""
    job = await harness.enqueue("add", max_attempts=2)
    worker = await harness.worker()
    for life in range(3):
        await _fail_and_come_back(harness, worker)
        lease = await worker.claim_one()
        assert (lease.failed_attempts, lease.max_attempts, lease.attempt) == (1, 2, 3 * life + 2)
        await worker.fail(lease)
        assert await harness.status(job) == "dead_letter"
        assert await harness.retry(job) == "queued"
        assert (await harness.job(job)).failed_attempts == 0
    assert [a.attempt for a in await harness.attempts(job)] == list(range(1, 10))


async def test_a_retry_at_a_time(harness: Harness) -> None:
    job = await harness.enqueue("add")
    await harness.cancel(job)
    at = await harness.now() + timedelta(hours=1)
    assert await harness.retry(job, run_at=at) == "scheduled"
    assert (await harness.job(job)).run_at == at


@pytest.mark.parametrize("at", [datetime.max.replace(tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)])
async def test_a_time_that_never_comes_is_refused(harness: Harness, at: datetime) -> None:
    """Infinity in `run_at` made promote fail for everybody."""
    job, live = await harness.enqueue_many("add", 2)
    await harness.cancel(job)
    for change in (
        harness.retry(job, run_at=at),
        harness.reschedule(job, run_at=at),
        harness.reschedule(live, run_at=at),
    ):
        with pytest.raises(InvalidJob, match="within 100 years"):
            await change


@pytest.mark.parametrize("ending", ["failed", "canceled", "skipped", "dead_letter"])
async def test_whatever_ended_but_did_not_succeed_can_be_retried(harness: Harness, ending: str) -> None:
    job = await harness.enqueue("add", max_attempts=1)
    worker = await harness.worker()
    lease = await worker.claim_one()
    if ending == "canceled":
        await harness.cancel(job)
    match ending:
        case "skipped":
            await worker.skip(lease)
        case _:
            await worker.fail(lease, permanent=ending == "failed")
    assert await harness.status(job) == ending
    assert await harness.retry(job) == "queued"
    again = await worker.claim_one()
    assert await worker.succeed(again, 7)
    assert (await harness.job(job)).result == "7"


async def test_a_succeeded_a_live_and_a_missing_job_are_not_retried(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    with pytest.raises(IllegalMove, match="a queued job"):
        await harness.retry(job)
    lease = await worker.claim_one()
    with pytest.raises(IllegalMove, match="a running job"):
        await harness.retry(job)
    await worker.succeed(lease)
    with pytest.raises(IllegalMove, match="a succeeded job"):
        await harness.retry(job)
    with pytest.raises(NotFound):
        await harness.retry(new_id())
    with pytest.raises(NotFound):
        await harness.retry(job, tenant="other")


@pytest.mark.parametrize("options", [{}, {"dedupe_key": "k"}], ids=["plain", "with a key"])
async def test_of_two_operators_at_once_one_is_told_that_it_is_queued(
    harness: Harness, options: dict[str, str]
) -> None:
    job = await harness.enqueue("add", **options)
    await harness.cancel(job)
    async with harness.connection() as first:
        transaction = first.transaction()
        await transaction.start()
        await first.fetchval("select plait.retry($1)", job)
        second = asyncio.create_task(harness.retry(job))
        await harness.until_blocked()
        await transaction.commit()
        with pytest.raises(IllegalMove, match="a queued job cannot be retried"):
            await second
    assert await harness.outcomes(job) == ["canceled"]


# Reschedule


async def test_reschedule_moves_a_job_in_time(harness: Harness) -> None:
    job = await harness.enqueue("add")
    later = await harness.now() + timedelta(hours=1)
    assert await harness.reschedule(job, run_at=later) == "scheduled"
    assert (await harness.job(job)).run_at == later
    assert await harness.reschedule(job, run_at=await harness.now()) == "queued"
    assert (await harness.job(job)).run_at == await harness.now()


async def test_reschedule_gives_more_attempts(harness: Harness) -> None:
    job = await harness.enqueue("add", max_attempts=1)
    assert await harness.reschedule(job, max_attempts=3) == "queued"
    worker = await harness.worker()
    await worker.fail(await worker.claim_one())
    assert await harness.status(job) == "scheduled"
    with pytest.raises(InvalidJob, match="must be more than the 1 attempts that the job has used, got 1"):
        await harness.reschedule(job, max_attempts=1)
    assert await harness.reschedule(job, max_attempts=2) == "scheduled"


async def test_reschedule_of_a_dead_job_is_a_retry(harness: Harness) -> None:
    """T50"""
    job = await harness.enqueue("add", max_attempts=1)
    worker = await harness.worker()
    await worker.fail(await worker.claim_one())
    assert await harness.reschedule(job, run_at=await harness.now() + timedelta(hours=1)) == "scheduled"
    row = await harness.job(job)
    assert (row.failed_attempts, row.max_attempts) == (0, 1)


async def test_a_running_and_a_succeeded_job_are_not_rescheduled(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    with pytest.raises(IllegalMove, match="a running job cannot be rescheduled"):
        await harness.reschedule(job, max_attempts=9)
    await worker.succeed(lease)
    with pytest.raises(IllegalMove):
        await harness.reschedule(job, max_attempts=9)
    with pytest.raises(InvalidJob):
        await harness.reschedule(job, max_attempts=0)
