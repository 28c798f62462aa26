"""Serial queues: one workflow at a time, its children on all workers concurrently."""

import asyncio
from datetime import timedelta

import pytest

from plait.testing import TestDatabase

from ..fake_worker import FakeWorker, Lease
from ..harness import Harness

Q = "analytics"


async def _spawn(harness: Harness, lease: Lease, n: int = 1, **options: float) -> None:
    for _ in range(n):
        await harness.store.database.fetchval(
            "select plait.spawn('other', parent => $1, queue => $2, delay => make_interval(secs => $3))",
            lease.job_id, Q, float(options.get("delay", 0)),
        )  # fmt: skip


async def _workers(harness: Harness, n: int = 3) -> list[FakeWorker]:
    return [await harness.worker(queues=[Q]) for _ in range(n)]


async def _claim_all(workers: list[FakeWorker], n: int = 1) -> list[tuple[FakeWorker, Lease]]:
    return [(worker, lease) for worker in workers for lease in await worker.claim(n)]


async def test_one_root_at_a_time_in_order_of_priority_and_its_children_on_all_workers(harness: Harness) -> None:
    await harness.queue(Q, serial=True)
    late, first, second = [await harness.enqueue(queue=Q, priority=p) for p in (200, 10, 100)]
    workers = await _workers(harness)
    [(worker, root)] = await _claim_all(workers, 5)
    assert root.job_id == first
    await _spawn(harness, root, 6)
    children = await _claim_all(workers, 2)
    assert len(children) == 6
    await worker.succeed(root)
    for one, child in children:
        assert await _claim_all(workers) == []
        await one.succeed(child)
    [(worker, root)] = await _claim_all(workers)
    assert root.job_id == second
    assert [row.root_id for row in await harness.store.queues.list_queues()] == [second]
    assert await harness.explain(late) == ["serial_queue", "next"]


@pytest.mark.parametrize("state", ["backoff", "waiting", "children in the future"])
async def test_no_other_root_slips_in(harness: Harness, state: str) -> None:
    """T23."""
    await harness.queue(Q, serial=True)
    roots = await harness.enqueue_many("add", 2, queue=Q)
    workers = await _workers(harness)
    [(worker, root)] = await _claim_all(workers, 5)
    if state == "backoff":
        await worker.fail(root)
    else:
        await _spawn(harness, root, 3, delay=3600 if state == "children in the future" else 0)
        await worker.succeed(root)
    for one, child in await _claim_all(workers, 5):
        await one.fail(child)
    assert await _claim_all(workers, 5) == []
    for _ in range(20):
        await harness.advance(hours=1)
        await harness.promote()
        for one, job in await _claim_all(workers, 5):
            if job.job_id == roots[1]:
                assert (await harness.job(roots[0])).status.final
                return
            await one.fail(job)
    raise AssertionError("the second root was never started")


async def test_the_deepest_waiting_parent_comes_first(harness: Harness) -> None:
    await harness.queue(Q, serial=True)
    await harness.enqueue(queue=Q)
    [worker] = await _workers(harness, 1)
    root = await worker.claim_one()
    await _spawn(harness, root, 3)
    await worker.succeed(root)
    child = await worker.claim_one()
    await _spawn(harness, child, 2)
    await worker.succeed(child)
    grandchildren = [await worker.claim_one(), await worker.claim_one()]
    depths = [(await harness.job(lease.job_id)).depth for lease in [*grandchildren, await worker.claim_one()]]
    assert depths == [2, 2, 1]


async def test_a_failed_root_whose_child_still_runs_keeps_the_queue(harness: Harness) -> None:
    await harness.queue(Q, serial=True)
    await harness.enqueue_many("add", 2, queue=Q)
    workers = await _workers(harness)
    [(worker, root)] = await _claim_all(workers)
    await _spawn(harness, root)
    [(other, child)] = await _claim_all(workers)
    await worker.fail(root, permanent=True)
    assert await _claim_all(workers, 5) == []
    await other.succeed(child)
    assert len(await _claim_all(workers, 5)) == 1


async def test_a_queue_is_switched_while_it_runs(harness: Harness) -> None:
    await harness.enqueue_many("add", 6, queue=Q)
    workers = await _workers(harness)
    running = await _claim_all(workers)
    assert len(running) == 3
    await harness.queue(Q, serial=True)
    assert [row.mode for row in await harness.store.queues.list_queues()] == ["serial"]
    for worker, lease in running:
        assert await _claim_all(workers, 5) == []
        await worker.succeed(lease)
    [(worker, lease)] = await _claim_all(workers, 5)
    await harness.queue(Q, serial=False)
    assert len(await _claim_all(workers, 5)) == 2
    await worker.succeed(lease)


async def test_limits_tenants_and_suspects_hold_in_a_serial_queue(harness: Harness) -> None:
    await harness.queue(Q, serial=True)
    await harness.define("other", max_running=2)
    await harness.tenant("acme", paused=True)
    await harness.enqueue(queue=Q, tenant="acme", priority=1)
    await harness.enqueue(queue=Q)
    workers = await _workers(harness, 2)
    [(worker, root)] = await _claim_all(workers)
    await _spawn(harness, root, 4)
    children = await _claim_all(workers, 5)
    assert len(children) == 2
    await harness.lose(worker)
    [survivor] = [one for one in workers if one is not worker]
    for one, child in children:
        if one is survivor:
            await one.succeed(child)
    seen = []
    while leases := await survivor.claim(5):
        seen += leases
        for lease in leases:
            await survivor.succeed(lease)
    assert root.job_id in {lease.job_id for lease in seen}
    assert [row.status for row in [await harness.job(root.job_id)]] == ["succeeded"]


async def test_trees_that_wait_for_each_others_queue_are_named(harness: Harness) -> None:
    for queue in ("a", "b"):
        await harness.queue(queue, serial=True)
    roots = {queue: await harness.enqueue(queue=queue) for queue in ("a", "b")}
    worker = await harness.worker(queues=["a", "b"])
    leases = {lease.job_id: lease for lease in await worker.claim(2)}
    assert len(leases) == 2
    spawn = "select plait.spawn('other', parent => $1, queue => $2)"
    child = await harness.store.database.fetchval(spawn, roots["a"], "b")
    assert "serial_deadlock" not in await harness.explain(child)
    assert "serial_deadlock" not in await harness.findings()
    await harness.store.database.fetchval(spawn, roots["b"], "a")
    for lease in leases.values():
        await worker.succeed(lease)
    assert await worker.claim(5) == []
    assert {"serial_queue", "serial_deadlock"} <= set(await harness.explain(child))
    assert "serial_deadlock" in await harness.findings()
    await harness.store.jobs.cancel_tree(roots["b"])
    assert (await worker.claim_one()).job_id == child
    assert "serial_deadlock" not in await harness.findings()


@pytest.mark.parametrize("roots", [20, pytest.param(300, marks=pytest.mark.full)])
async def test_workers_that_claim_at_the_same_moment_start_one_root(shared_database: TestDatabase, roots: int) -> None:
    harness = await Harness.open(shared_database, max_connections=16)
    await harness.empty()
    await harness.queue(Q, serial=True)
    await harness.enqueue_many("add", roots, queue=Q)
    workers = await _workers(harness, 6)
    for _ in range(roots):
        claimed = await asyncio.gather(*(worker.claim(3) for worker in workers))
        got = [(worker, lease) for worker, leases in zip(workers, claimed, strict=True) for lease in leases]
        assert len(got) == 1
        await got[0][0].succeed(got[0][1])
    await harness.check()
    await harness.close()


async def test_a_retried_job_that_has_not_started_again_does_not_hold_a_queue_that_becomes_serial(
    harness: Harness,
) -> None:
    retried, other = await harness.enqueue_many("add", 2, queue=Q)
    await harness.cancel(retried)
    await harness.retry(retried, run_at=await harness.now() + timedelta(days=1))
    assert "retrying" not in await harness.explain(retried)  # it has failed no try
    await harness.queue(Q, serial=True)
    [(_, lease)] = await _claim_all(await _workers(harness))
    assert lease.job_id == other


async def test_a_claim_under_way_when_the_queue_becomes_serial_counts_as_begun(harness: Harness) -> None:
    """It took the queue for parallel, and nobody sees what it has taken before it commits."""
    await harness.enqueue_many("add", 5, queue=Q)
    workers = await _workers(harness, 2)
    async with harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        claimed = await connection.fetch("select * from plait.claim($1, $2, 2)", workers[0].id, Q)
        becoming = asyncio.create_task(harness.queue(Q, serial=True))
        await harness.until_blocked()
        assert await workers[1].claim(1) == [], "it is not known yet which trees have begun"
        await transaction.commit()
        await becoming
    assert await _claim_all(workers) == []
    [serial] = [row for row in await harness.store.queues.list_queues() if row.name == Q]
    assert serial.root_id in {row["job_id"] for row in claimed}


async def test_a_queue_that_sql_makes_serial_begins_by_itself(harness: Harness) -> None:
    first = await harness.enqueue(queue=Q)
    [worker] = await _workers(harness, 1)
    await harness.sql("select plait.set_queue($1, '{\"serial\": true}')", Q)
    assert await worker.claim(5) == []
    await harness.advance(seconds=11)
    [lease] = await worker.claim(5)
    assert lease.job_id == first
