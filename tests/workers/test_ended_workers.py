"""Workers that ended: lost ones stay lost, apart from those that left, and a worker whose lease expired serves nothing."""

from ..harness import Harness


async def _state(harness: Harness, worker: int) -> str:
    [row] = [row for row in await harness.store.workers.list_workers() if row.id == worker]
    return row.state


async def test_a_lost_worker_stays_lost_after_its_jobs_are_requeued(harness: Harness) -> None:
    await harness.enqueue_many("add", 3)
    worker = await harness.worker()
    await worker.claim(3)
    await harness.lose(worker)
    await harness.rescue()
    assert await _state(harness, worker.id) == "lost"


async def test_a_worker_that_left_is_gone_and_not_lost(harness: Harness) -> None:
    worker = await harness.worker()
    await worker.leave()
    assert await _state(harness, worker.id) == "gone"


async def test_a_worker_whose_lease_expired_serves_no_queue_before_it_is_declared_lost(harness: Harness) -> None:
    worker, other = await harness.worker(), await harness.worker()
    await harness.expire(worker)
    [queue] = await harness.store.queues.list_queues()
    assert queue.workers == 1
    await harness.expire(other)
    [queue] = await harness.store.queues.list_queues()
    assert queue.workers == 0


async def test_a_queued_job_is_not_explained_by_a_worker_whose_lease_expired(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    assert "no_worker" not in await harness.explain(job)
    await harness.expire(worker)
    assert "no_worker" in await harness.explain(job)


async def test_doctor_finds_no_worker_if_only_expired_ones_serve_the_queue(harness: Harness) -> None:
    await harness.enqueue("add")
    await harness.expire(await harness.worker())
    codes = [finding.code for finding in await harness.store.health.diagnose()]
    assert "no_worker" in codes


async def test_the_metric_of_alive_workers_counts_no_expired_one(harness: Harness) -> None:
    worker = await harness.worker(lease_s=30)
    await harness.expire(worker)
    reading = await harness.store.metrics.read()
    assert (reading.workers.get("alive", 0), reading.workers.get("stale", 0)) == (0, 1)
