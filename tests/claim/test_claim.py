"""Claims: their order, the jobs that they skip, and their limit."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import asyncpg
import pytest

from plait.model.errors import IllegalMove, WorkerLost

from ..fake_worker import FakeWorker, Lease
from ..harness import Harness


async def test_lower_priority_numbers_run_first(harness: Harness) -> None:
    jobs = [await harness.enqueue("add", priority=priority) for priority in (100, 0, -5, 50)]
    worker = await harness.worker()
    claimed = [(await worker.claim_one()).job_id for _ in jobs]
    assert claimed == [jobs[2], jobs[1], jobs[3], jobs[0]]


async def test_among_equals_the_one_that_waits_longest_runs_first(harness: Harness) -> None:
    """The wait is measured from the time when the job was queued, not created."""
    late = await harness.enqueue("add", delay_s=60)
    early = await harness.enqueue("add")
    await harness.advance(seconds=60)
    await harness.promote()
    last = await harness.enqueue("add")
    worker = await harness.worker()
    assert [(await worker.claim_one()).job_id for _ in range(3)] == [early, late, last]


async def test_a_batch_comes_in_the_order_in_which_to_start_it(harness: Harness) -> None:
    jobs = [await harness.enqueue("add", priority=priority) for priority in (3, 1, 2)]
    worker = await harness.worker()
    assert [lease.job_id for lease in await worker.claim(3)] == [jobs[1], jobs[2], jobs[0]]


async def test_each_lease_has_its_own_attempt_and_tenant_where_they_differ(harness: Harness) -> None:
    again, others = await harness.enqueue("add"), await harness.enqueue("add", tenant="acme", max_attempts=7)
    worker = await harness.worker(definitions=["add", "mul"])
    leases = {lease.job_id: lease for lease in await worker.claim(2)}
    assert leases[others].tenant_id == await harness.tenant("acme") != leases[again].tenant_id
    assert leases[others].max_attempts == 7 != leases[again].max_attempts
    await worker.release(leases[again])
    new = await harness.enqueue("mul")
    leases = {lease.job_id: lease for lease in await worker.claim(3)}
    assert {job: (lease.attempt, lease.definition) for job, lease in leases.items()} == {
        again: (2, "add"),
        new: (1, "mul"),
    }


async def test_values_that_all_claimed_jobs_share_are_returned_once(harness: Harness) -> None:
    jobs = [await harness.enqueue("add") for _ in range(3)]
    worker = await harness.worker()
    call = (
        "select * from plait.cycle(p_worker => $1, p_queues => '{default}', p_limits => '{5}', p_cursors => '{null}', "
        "p_lane_cursors => '{null}', p_jobs => null, p_attempts => null, p_outcomes => null, p_results => null, "
        "p_details => null, p_ran_ms => null, p_sleep => false, p_bounds => '{null}'"
    )
    [row] = await harness.rows(f"{call})", worker.id)
    assert row["o_jobs"] == jobs
    for column in ("o_attempts", "o_failed_attempts", "o_max", "o_tenants", "o_definitions"):
        assert len(row[column]) == 1, column
    assert len(row["o_payloads"]) == 3


async def test_a_lease_carries_what_a_handler_needs(harness: Harness) -> None:
    acme = await harness.tenant("acme")
    job = await harness.enqueue("add", tenant="acme", payload={"a": 1}, timeout_s=7, correlation_id="c", max_attempts=3)
    worker = await harness.worker()
    for lease in (await worker.claim_one(), *(await _plainly_after_release(worker))):
        assert (lease.job_id, lease.tenant_id, lease.definition, lease.queue) == (job, acme, "add", "default")
        assert (lease.payload, lease.timeout_s, lease.correlation_id) == ('{"a": 1}', 7, "c")
        assert (lease.failed_attempts, lease.max_attempts) == (0, 3)


async def _plainly_after_release(worker: FakeWorker) -> list[Lease]:
    await worker.heartbeat(holding=[])
    return await worker.claim_plainly(1)


async def test_a_claim_says_how_long_the_definition_lets_a_job_run(harness: Harness) -> None:
    await harness.define("add", timeout_s=90)
    await harness.enqueue("add")
    await harness.enqueue("add", timeout_s=5)
    worker = await harness.worker()
    assert {lease.timeout_s for lease in await harness.store.workers.claim(worker.id, "default", 2)} == {90, 5}


@pytest.mark.parametrize("limit", [0, -1])
async def test_who_asks_for_nothing_gets_nothing(harness: Harness, limit: int) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    assert await worker.claim(limit) == []
    assert await worker.claim_plainly(limit) == []


async def test_only_the_queues_that_were_asked_for(harness: Harness) -> None:
    mail = await harness.enqueue("add", queue="mail")
    await harness.enqueue("add", queue="post")
    worker = await harness.worker(queues=["mail", "default"])
    assert [lease.job_id for lease in await worker.claim(5)] == [mail]


async def test_several_queues_in_one_cycle_each_by_its_own_limit(harness: Harness) -> None:
    await harness.enqueue_many("add", 3, queue="a")
    await harness.enqueue_many("add", 3, queue="b")
    worker = await harness.worker(queues=["a", "b"])
    assert sorted(lease.queue for lease in await worker.claim(2)) == ["a", "a", "b", "b"]


async def test_a_future_dated_backlog_is_not_in_the_claim(harness: Harness) -> None:
    """T36: scheduled jobs are not in the index that the claim reads."""
    await harness.enqueue_many("add", 200, delay_s=3600)
    due = await harness.enqueue("add", priority=200)
    worker = await harness.worker()
    assert [lease.job_id for lease in await worker.claim(10)] == [due]


async def test_a_worker_that_knows_no_definition_claims_nothing(harness: Harness) -> None:
    """T40"""
    await harness.enqueue("add")
    assert await (await harness.worker(definitions=[])).claim(5) == []


async def test_jobs_of_unknown_definitions_are_left_for_others(harness: Harness) -> None:
    """T40: also if they fill whole windows of tenants, and come before a known job in the same tenant."""
    for n in range(12):
        await harness.enqueue_many("strange", 3, tenant=f"t{n:02}", priority=1)
    known = await harness.enqueue("add", tenant="t07")
    worker = await harness.worker()
    for limit in (1, 4):
        [lease] = await worker.claim(limit)
        assert lease.job_id == known
        await worker.release(lease)
    [lease] = await worker.claim_plainly(1)
    assert lease.job_id == known


async def test_unknown_definitions_in_limited_lanes_are_passed_by(harness: Harness) -> None:
    await harness.define("strange", max_running=1)
    await harness.enqueue_many("strange", 3)
    for key in range(5):
        await harness.enqueue("odd", limit_key=str(key))
    known = await harness.enqueue("add", limit_key="k")
    assert [lease.job_id for lease in await (await harness.worker()).claim(5)] == [known]


async def test_no_claim_for_a_worker_that_is_lost_or_gone_or_unknown(harness: Harness) -> None:
    await harness.enqueue("add")
    lost, gone = await harness.worker(), await harness.worker()
    await harness.lose(lost)
    await gone.leave()
    for worker in (lost, gone, FakeWorker(harness.store, 4711, ["default"])):
        reply = await worker.cycle(1)
        assert not reply.alive
        assert reply.claimed == []
        with pytest.raises(WorkerLost):
            await worker.claim_plainly(1)
        await worker.disconnect()


async def test_a_worker_is_not_declared_lost_while_it_claims(harness: Harness) -> None:
    """Otherwise it would get jobs that no rescue would requeue."""
    await harness.enqueue("add")
    worker = await harness.worker()
    async with harness.connection() as connection, connection.transaction():
        await connection.fetch("select * from plait.claim($1, 'default', 1)", worker.id)
        await harness.advance(seconds=60)
        assert (await harness.rescue()).lost == 0
    rescued = await harness.rescue()
    assert (rescued.lost, rescued.requeued) == (1, 1)


async def test_a_claim_never_takes_more_than_its_limit(harness: Harness) -> None:
    """T35: while other sessions claim, reschedule and cancel."""
    jobs = await harness.enqueue_many("add", 600)
    workers = [await harness.worker() for _ in range(4)]
    taken: list[tuple[object, int]] = []

    async def claim(worker: FakeWorker) -> None:
        while leases := await worker.claim(7):
            assert len(leases) <= 7
            taken.extend((lease.job_id, lease.attempt) for lease in leases)

    async def disturb() -> None:
        for job in jobs[::-5]:
            with suppress(IllegalMove):  # the job may already be running
                await harness.reschedule(job, run_at=await harness.now() - timedelta(seconds=1), max_attempts=9)

    await asyncio.gather(*map(claim, workers), disturb())
    while leases := await workers[0].claim(7):
        taken.extend((lease.job_id, lease.attempt) for lease in leases)
    assert sorted(taken, key=str) == sorted(((job, 1) for job in jobs), key=str)


# Pause


async def test_a_paused_queue_is_claimed_no_more_and_then_again(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    await harness.queue(paused=True)
    assert await worker.claim(1) == []
    await harness.queue(paused=False)
    assert len(await worker.claim(1)) == 1


async def test_a_pause_waits_for_the_claim_under_way_and_stops_the_next(harness: Harness) -> None:
    """T37: after set_queue returns, no job of that queue is claimed."""
    await harness.enqueue_many("add", 5)
    worker = await harness.worker()
    async with harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        assert len(await connection.fetch("select * from plait.claim($1, 'default', 1)", worker.id)) == 1
        pause = asyncio.create_task(harness.queue(paused=True))
        await harness.until_blocked()
        # A claim that arrives while the pause waits gets no jobs and does not wait.
        assert await worker.claim(1) == []
        assert not pause.done()
        await transaction.commit()
        await pause
    assert await worker.claim(1) == []
    assert await harness.counts() == {"queued": 4, "running": 1}


async def test_a_paused_tenant_is_passed_by(harness: Harness) -> None:
    await harness.enqueue_many("add", 3, tenant="a")
    job = await harness.enqueue("add", tenant="b")
    await harness.tenant("a", paused=True)
    worker = await harness.worker()
    assert [lease.job_id for lease in await worker.claim(2)] == [job]
    await harness.tenant("a", paused=False)
    assert len(await worker.claim(5)) == 3


async def test_whole_windows_of_paused_tenants_are_passed_by(harness: Harness) -> None:
    for n in range(20):
        await harness.enqueue("add", tenant=f"t{n:02}")
        await harness.tenant(f"t{n:02}", paused=True)
    job = await harness.enqueue("add", tenant="zz")
    worker = await harness.worker()
    for limit in (1, 3):
        [lease] = await worker.claim(limit)
        assert lease.job_id == job
        await worker.release(lease)


async def test_a_claim_passes_by_what_somebody_holds(harness: Harness) -> None:
    """A claim never waits, not even for an operator's open transaction."""
    held, free = await harness.enqueue_many("add", 2)
    worker = await harness.worker()
    async with harness.connection() as operator, operator.transaction():
        await operator.fetchval("select plait.reschedule($1, p_max_attempts => 9)", held)
        assert [lease.job_id for lease in await worker.claim(2)] == [free]


# Sleep and wake


async def test_a_worker_that_found_nothing_is_woken_by_the_next_enqueue(harness: Harness) -> None:
    worker = await harness.worker()
    heard: list[str] = []

    async def told() -> list[str]:
        await listener.execute("select 1")
        await listener.execute("select 1")
        said, heard[:] = list(heard), []
        return said

    async with harness.connection() as listener:
        await listener.add_listener("plait", lambda *event: heard.append(event[-1]))
        await harness.enqueue("add")
        assert await told() == []  # no worker sleeps
        await worker.cycle(1, sleep=True)
        await worker.cycle(1, sleep=True)  # claimed no job, so the worker sleeps
        await harness.enqueue("add", queue="elsewhere")
        assert await told() == []
        await harness.enqueue("add")
        assert await told() == ["queue default"]
        await worker.claim(1)  # a full batch, so the worker is awake
        await harness.enqueue("add")
        assert await told() == []


async def test_statements_of_a_lost_worker_are_refused_by_name(harness: Harness) -> None:
    worker = await harness.worker()
    await harness.lose(worker)
    async with harness.connection() as connection:
        with pytest.raises(asyncpg.PostgresError, match="register again"):
            await connection.fetch("select * from plait.claim($1, 'default', 1)", worker.id)


async def test_a_busy_worker_is_told_whether_others_work_on_its_queues(harness: Harness) -> None:
    await harness.enqueue_many("add", 305)
    worker = await harness.worker()
    assert (await harness.worker(queues=["other"])).id
    assert (await worker.cycle(100)).alone is True
    assert (await worker.cycle(5)).alone is None  # not checked for a small claim
    other = await harness.worker()
    assert (await worker.cycle(100)).alone is False
    await harness.store.workers.leave(other.id)
    assert (await worker.cycle(100)).alone is True
