"""Rescue: jobs of lost workers are requeued without using an attempt, and live workers keep their jobs."""

import asyncio
from uuid import UUID

import pytest

from plait.model.errors import WorkerLost

from ..fake_worker import outcome
from ..harness import Harness


async def test_a_worker_that_does_not_answer_is_lost_and_its_jobs_come_back(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker(lease_s=30)
    lease = await worker.claim_one()
    await worker.progress(lease, {"done": 1})
    await harness.advance(seconds=30)
    assert (await harness.rescue()).lost == 0
    await harness.advance(seconds=1)
    rescued = await harness.rescue()
    assert (rescued.lost, rescued.requeued, rescued.dead) == (1, 1, 0)
    [lost] = await harness.store.workers.list_workers()
    assert rescued.workers == [f"{worker.id} ({lost.host}:{lost.pid})"]
    row = await harness.job(job)
    assert (row.status, row.lane, row.failed_attempts, row.run_at) == ("queued", "", 0, await harness.now())
    [attempt] = await harness.attempts(job)
    assert (attempt.status, attempt.reason, attempt.worker) == ("lost", "worker_lost", worker.id)
    assert attempt.progress == '{"done": 1}'
    assert {w.id: w.state for w in await harness.store.workers.list_workers()} == {worker.id: "lost"}


async def test_a_crashed_attempt_leaves_a_row_with_its_own_times(harness: Harness) -> None:
    """T49"""
    job = await harness.enqueue("add")
    began = []
    for _ in range(3):
        worker = await harness.worker()
        began.append(await harness.now())
        await worker.claim_one()
        await harness.advance(seconds=100)
        await harness.lose(worker)
    assert [a.claimed_at for a in await harness.attempts(job)] == began
    assert len({a.finished_at for a in await harness.attempts(job)}) == 3


async def test_a_job_that_is_claimed_again_lives_by_its_new_worker(harness: Harness) -> None:
    """T30: it is not rescued again because of its old lease."""
    job = await harness.enqueue("add")
    victim = await harness.worker(lease_s=30)
    await victim.claim_one()
    await harness.advance(seconds=60)
    await harness.rescue()
    worker = await harness.worker(lease_s=30)
    lease = await worker.claim_one()
    assert (await harness.rescue()).requeued == 0
    await harness.advance(seconds=29)
    assert (await harness.rescue()).requeued == 0
    assert await worker.succeed(lease)
    assert await harness.status(job) == "succeeded"


async def test_a_heartbeat_renews_all_that_a_worker_runs(harness: Harness) -> None:
    await harness.enqueue_many("add", 5)
    worker = await harness.worker(lease_s=30)
    leases = await worker.claim(5)
    for _ in range(5):
        await harness.advance(seconds=29)
        assert (await worker.heartbeat(holding=leases)).running == 5
        assert (await harness.rescue()).lost == 0


async def test_a_late_heartbeat_is_in_time_until_somebody_noticed(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker(lease_s=30)
    await worker.claim_one()
    await harness.advance(seconds=60)
    await worker.heartbeat()
    assert (await harness.rescue()).lost == 0


async def test_a_heartbeat_under_way_is_not_overtaken(harness: Harness) -> None:
    """T32: the expiry of a lease is checked again when its row is locked."""
    worker = await harness.worker(lease_s=30)
    await harness.advance(seconds=60)
    async with harness.connection() as connection, connection.transaction():
        await connection.fetch("select * from plait.heartbeat($1)", worker.id)
        assert (await harness.rescue()).lost == 0
    assert (await harness.rescue()).lost == 0


async def test_a_lost_worker_is_told_so(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.lose(worker)
    with pytest.raises(WorkerLost, match="register again"):
        await worker.heartbeat(holding=[lease])
    reply = await worker.cycle(5, outcome(lease))
    assert not reply.alive
    assert reply.stale == [0]
    assert reply.claimed == []


async def test_what_a_lost_worker_settles_before_its_jobs_are_moved_counts(harness: Harness) -> None:
    """The result is available and no other worker has the job, so it is accepted instead of running the job again."""
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.expire(worker)
    await harness.sql("select plait.rescue()")  # declares the worker lost, and moves no jobs yet
    assert await harness.status(job) == "running"
    assert await worker.succeed(lease)
    assert (await harness.rescue()).requeued == 0
    assert await harness.status(job) == "succeeded"


async def test_no_worker_is_needed_to_rescue(harness: Harness) -> None:
    """T46: rescue is not a job. Any process can call it, even if no worker is alive."""
    await harness.enqueue("add")
    worker = await harness.worker()
    await worker.claim_one()
    assert (await harness.lose(worker)).requeued == 1


# First losses


@pytest.mark.parametrize("rounds", [60, pytest.param(1_000, marks=pytest.mark.full)])
async def test_settle_and_rescue_at_the_same_moment(harness: Harness, rounds: int) -> None:
    """Either the outcome is recorded, or it is stale and the job runs again."""
    for n in range(rounds):
        jobs = await harness.enqueue_many("add", 3)
        worker = await harness.worker()
        leases = await worker.claim(3)
        await harness.expire(worker)
        if n % 2:
            await harness.sql("select plait.rescue()")
        settle = asyncio.create_task(worker.cycle(0, *(outcome(lease, "skipped") for lease in leases)))
        await harness.rescue()
        stale = (await settle).stale
        await harness.rescue()
        for position, lease in enumerate(leases):
            expected = "queued" if position in stale else "skipped"
            assert await harness.status(lease.job_id) == expected
        for job in jobs:
            await harness.cancel(job)
        await worker.disconnect()


async def test_many_rescue_at_once(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 60)
    workers = [await harness.worker() for _ in range(6)]
    for worker in workers:
        await worker.claim(10)
    await harness.expire(*workers)
    rescued = await asyncio.gather(*(harness.rescue() for _ in range(6)))
    await harness.rescue()
    assert sum(r.lost for r in rescued) == 6
    assert {a.status for job in jobs for a in await harness.attempts(job)} == {"lost"}
    assert await harness.counts() == {"queued": 60}


async def test_a_limit_of_rescue_is_no_end_of_it(harness: Harness) -> None:
    await harness.enqueue_many("add", 25)
    worker = await harness.worker()
    await worker.claim(25)
    await harness.expire(worker)
    assert (await harness.store.leader.rescue(limit=10)).requeued == 25


# Jobs that the worker does not know of


async def test_a_lost_reply_to_a_claim_is_made_good_by_the_next_heartbeat(harness: Harness) -> None:
    known, unknown = await harness.enqueue_many("add", 2, max_attempts=1)
    worker = await harness.worker()
    leases = await worker.claim(1)
    await worker.claim(1)  # the reply was lost
    beat = await worker.heartbeat()
    assert (beat.running, beat.released) == (2, 0)
    beat = await worker.heartbeat(holding=leases)
    assert (beat.running, beat.released) == (1, 1)
    assert await harness.statuses([known, unknown]) == ["running", "queued"]
    [attempt] = await harness.attempts(unknown)
    assert (attempt.status, attempt.reason, attempt.started_at) == ("released", "not_held", None)
    row = await harness.job(unknown)
    assert (row.failed_attempts, row.lane) == (0, "")
    assert (await worker.claim_one()).job_id == unknown


async def test_leaving_gives_back_what_runs(harness: Harness) -> None:
    jobs: list[UUID] = await harness.enqueue_many("add", 3, max_attempts=1)
    worker = await harness.worker()
    done, *_ = await worker.claim(3)
    await worker.succeed(done)
    assert await worker.leave() == 2
    assert sorted(await harness.statuses(jobs)) == ["queued", "queued", "succeeded"]
    assert len(await (await harness.worker()).claim(5)) == 2
    assert await worker.leave() == 0


async def test_a_claim_under_way_when_its_worker_leaves_gets_nothing_for_ever(harness: Harness) -> None:
    """The connection broke, its statement continues, and the worker leaves. No job stays claimed by that worker."""
    await harness.enqueue_many("add", 2)
    worker = await harness.worker()
    async with harness.connection() as broken:
        transaction = broken.transaction()
        await transaction.start()
        await broken.fetch("select * from plait.claim($1, 'default', 1)", worker.id)
        leaving = asyncio.create_task(worker.leave())
        await harness.until_blocked()
        await transaction.commit()
        assert await leaving == 1
    assert await harness.counts() == {"queued": 2}


async def test_a_settle_under_way_when_its_worker_leaves_counts_or_is_made_good(harness: Harness) -> None:
    for commits in (True, False):
        job = await harness.enqueue("add")
        worker = await harness.worker()
        lease = await worker.claim_one()
        async with harness.connection() as broken:
            transaction = broken.transaction()
            await transaction.start()
            await broken.fetch(
                "select * from plait.settle($1, array[$2::uuid], array[1], array['succeeded'])",
                worker.id,
                lease.job_id,
            )
            assert await worker.leave() == 0  # leave does not wait for the locked row, and skips it
            await (transaction.commit() if commits else transaction.rollback())
        await harness.rescue()
        assert await harness.status(job) == ("succeeded" if commits else "queued")
        await harness.cancel(job)
