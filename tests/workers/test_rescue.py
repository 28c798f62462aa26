"""Lost workers: their jobs come back, the innocent are not condemned, and nothing is taken from who lives."""

import asyncio
from uuid import UUID

import pytest

from plait.model.errors import WorkerLost

from ..fake_worker import outcome
from ..harness import World


async def test_a_worker_that_does_not_answer_is_lost_and_its_jobs_come_back(world: World) -> None:
    job = await world.enqueue("add")
    worker = await world.worker(lease_s=30)
    lease = await worker.claim_one()
    await worker.progress(lease, {"done": 1})
    await world.advance(seconds=30)
    assert (await world.rescue()).lost == 0
    await world.advance(seconds=1)
    rescued = await world.rescue()
    assert (rescued.lost, rescued.requeued, rescued.dead) == (1, 1, 0)
    [lost] = await world.store.workers.list_workers()
    assert rescued.workers == [f"{worker.id} ({lost.host}:{lost.pid})"]
    row = await world.job(job)
    assert (row.status, row.lane, row.tries, row.run_at) == ("queued", "", 0, await world.now())
    [attempt] = await world.attempts(job)
    assert (attempt.status, attempt.reason, attempt.worker) == ("lost", "worker_lost", worker.id)
    assert attempt.progress == '{"done": 1}'
    assert {w.id: w.state for w in await world.store.workers.list_workers()} == {worker.id: "gone"}


async def test_a_crashed_attempt_leaves_a_row_with_its_own_times(world: World) -> None:
    """T49"""
    job = await world.enqueue("add")
    began = []
    for _ in range(3):
        worker = await world.worker()
        began.append(await world.now())
        await worker.claim_one()
        await world.advance(seconds=100)
        await world.lose(worker)
    assert [a.claimed_at for a in await world.attempts(job)] == began
    assert len({a.finished_at for a in await world.attempts(job)}) == 3


async def test_a_job_that_is_claimed_again_lives_by_its_new_worker(world: World) -> None:
    """T30: it is not reclaimed at once because of its old lease."""
    job = await world.enqueue("add")
    victim = await world.worker(lease_s=30)
    await victim.claim_one()
    await world.advance(seconds=60)
    await world.rescue()
    worker = await world.worker(lease_s=30)
    lease = await worker.claim_one()
    assert (await world.rescue()).requeued == 0
    await world.advance(seconds=29)
    assert (await world.rescue()).requeued == 0
    assert await worker.succeed(lease)
    assert await world.status(job) == "succeeded"


async def test_a_heartbeat_renews_all_that_a_worker_runs(world: World) -> None:
    await world.enqueue_many("add", 5)
    worker = await world.worker(lease_s=30)
    leases = await worker.claim(5)
    for _ in range(5):
        await world.advance(seconds=29)
        assert (await worker.heartbeat(holding=leases)).running == 5
        assert (await world.rescue()).lost == 0


async def test_a_late_heartbeat_is_in_time_until_somebody_noticed(world: World) -> None:
    await world.enqueue("add")
    worker = await world.worker(lease_s=30)
    await worker.claim_one()
    await world.advance(seconds=60)
    await worker.heartbeat()
    assert (await world.rescue()).lost == 0


async def test_a_heartbeat_under_way_is_not_overtaken(world: World) -> None:
    """T32: who looks whether a lease has ended looks again when it holds the row."""
    worker = await world.worker(lease_s=30)
    await world.advance(seconds=60)
    async with world.connection() as connection, connection.transaction():
        await connection.fetch("select * from plait.heartbeat($1)", worker.id)
        assert (await world.rescue()).lost == 0
    assert (await world.rescue()).lost == 0


async def test_a_lost_worker_is_told_so(world: World) -> None:
    await world.enqueue("add")
    worker = await world.worker()
    lease = await worker.claim_one()
    await world.lose(worker)
    with pytest.raises(WorkerLost, match="register again"):
        await worker.heartbeat(holding=[lease])
    reply = await worker.cycle(5, outcome(lease))
    assert not reply.alive
    assert reply.stale == [0]
    assert reply.claimed == []


async def test_what_a_lost_worker_settles_before_its_jobs_are_moved_counts(world: World) -> None:
    """Its result is there and nobody else has the job: better than to run it again."""
    job = await world.enqueue("add")
    worker = await world.worker()
    lease = await worker.claim_one()
    await world.expire(worker)
    await world.sql("select plait.rescue()")  # declares it lost, and moves nothing yet
    assert await world.status(job) == "running"
    assert await worker.succeed(lease)
    assert (await world.rescue()).requeued == 0
    assert await world.status(job) == "succeeded"


async def test_no_worker_is_needed_to_rescue(world: World) -> None:
    """T46: it is no job; any process may call it, with no worker alive."""
    await world.enqueue("add")
    worker = await world.worker()
    await worker.claim_one()
    assert (await world.lose(worker)).requeued == 1


# First losses


@pytest.mark.parametrize("rounds", [60, pytest.param(1_000, marks=pytest.mark.full)])
async def test_settle_and_rescue_at_the_same_moment(world: World, rounds: int) -> None:
    """The outcome counts, or it is stale and the job runs again: never both, never neither."""
    for n in range(rounds):
        jobs = await world.enqueue_many("add", 3)
        worker = await world.worker()
        leases = await worker.claim(3)
        await world.expire(worker)
        if n % 2:
            await world.sql("select plait.rescue()")
        settle = asyncio.create_task(worker.cycle(0, *(outcome(lease, "skipped") for lease in leases)))
        await world.rescue()
        stale = (await settle).stale
        await world.rescue()
        for position, lease in enumerate(leases):
            expected = "queued" if position in stale else "skipped"
            assert await world.status(lease.job_id) == expected
        for job in jobs:
            await world.cancel(job)
        await worker.disconnect()


async def test_many_rescue_at_once(world: World) -> None:
    jobs = await world.enqueue_many("add", 60)
    workers = [await world.worker() for _ in range(6)]
    for worker in workers:
        await worker.claim(10)
    await world.expire(*workers)
    rescued = await asyncio.gather(*(world.rescue() for _ in range(6)))
    await world.rescue()
    assert sum(r.lost for r in rescued) == 6
    assert {a.status for job in jobs for a in await world.attempts(job)} == {"lost"}
    assert await world.counts() == {"queued": 60}


async def test_a_limit_of_rescue_is_no_end_of_it(world: World) -> None:
    await world.enqueue_many("add", 25)
    worker = await world.worker()
    await worker.claim(25)
    await world.expire(worker)
    assert (await world.store.leader.rescue(limit=10)).requeued == 25


# What the worker does not know of


async def test_a_lost_reply_to_a_claim_is_made_good_by_the_next_heartbeat(world: World) -> None:
    known, unknown = await world.enqueue_many("add", 2, max_attempts=1)
    worker = await world.worker()
    leases = await worker.claim(1)
    await worker.claim(1)  # its reply never arrived
    beat = await worker.heartbeat()
    assert (beat.running, beat.released) == (2, 0)
    beat = await worker.heartbeat(holding=leases)
    assert (beat.running, beat.released) == (1, 1)
    assert await world.statuses([known, unknown]) == ["running", "queued"]
    [attempt] = await world.attempts(unknown)
    assert (attempt.status, attempt.reason, attempt.started_at) == ("released", "not_held", None)
    row = await world.job(unknown)
    assert (row.tries, row.lane) == (0, "")
    assert (await worker.claim_one()).job_id == unknown


async def test_leaving_gives_back_what_runs(world: World) -> None:
    jobs: list[UUID] = await world.enqueue_many("add", 3, max_attempts=1)
    worker = await world.worker()
    done, *_ = await worker.claim(3)
    await worker.succeed(done)
    assert await worker.leave() == 2
    assert sorted(await world.statuses(jobs)) == ["queued", "queued", "succeeded"]
    assert len(await (await world.worker()).claim(5)) == 2
    assert await worker.leave() == 0


async def test_a_claim_under_way_when_its_worker_leaves_gets_nothing_for_ever(world: World) -> None:
    """The connection broke, its statement runs on, the worker leaves: no job stays with who is gone."""
    await world.enqueue_many("add", 2)
    worker = await world.worker()
    async with world.connection() as broken:
        transaction = broken.transaction()
        await transaction.start()
        await broken.fetch("select * from plait.claim($1, 'default', 1)", worker.id)
        leaving = asyncio.create_task(worker.leave())
        await world.until_blocked()
        await transaction.commit()
        assert await leaving == 1
    assert await world.counts() == {"queued": 2}


async def test_a_settle_under_way_when_its_worker_leaves_counts_or_is_made_good(world: World) -> None:
    for commits in (True, False):
        job = await world.enqueue("add")
        worker = await world.worker()
        lease = await worker.claim_one()
        async with world.connection() as broken:
            transaction = broken.transaction()
            await transaction.start()
            await broken.fetch(
                "select * from plait.settle($1, array[$2::uuid], array[1], array['succeeded'])",
                worker.id,
                lease.job_id,
            )
            assert await worker.leave() == 0  # it does not wait, and passes the row by
            await (transaction.commit() if commits else transaction.rollback())
        await world.rescue()
        assert await world.status(job) == ("succeeded" if commits else "queued")
        await world.cancel(job)
