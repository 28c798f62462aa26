"""Workers that ended: lost ones stay lost, apart from those that left, and a worker whose lease expired serves nothing."""

from datetime import timedelta

import asyncpg
import pytest

from plait.model.errors import WorkerLost
from plait.model.worker_states import EndState, WorkerFilter
from plait.store.leader import Retention
from plait.store.worker_rows import WorkerRow

from ..access.logins import connected
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


async def _ended(harness: Harness, worker: int) -> WorkerRow:
    row = await harness.store.workers.get_worker(worker)
    assert row is not None
    return row


async def test_a_lost_worker_tells_when_and_why_it_was_lost_and_how_its_jobs_were_moved(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 3)
    worker = await harness.worker()
    await worker.claim(3)
    await harness.cancel(jobs[0])
    await harness.lose(worker)
    await harness.rescue()
    row = await _ended(harness, worker.id)
    assert (row.state, row.end_reason, row.ended_at) == ("lost", "lease_expired", await harness.now())
    assert (row.held, row.requeued, row.canceled, row.dead_lettered, row.released) == (3, 2, 1, 0, 0)
    assert not row.clearing
    last = {job.job_id: job.status for job in await harness.store.workers.last_jobs(worker.id)}
    assert last == {jobs[0]: "canceled", jobs[1]: "queued", jobs[2]: "queued"}


async def test_a_worker_is_clearing_until_its_last_job_is_moved(harness: Harness) -> None:
    await harness.enqueue_many("add", 3)
    worker = await harness.worker()
    await worker.claim(3)
    await harness.expire(worker)
    await harness.sql("select plait.rescue()")
    seen = [(row.requeued, row.clearing) for row in [await _ended(harness, worker.id)]]
    for _ in range(2):
        await harness.sql("select plait.rescue(p_limit => 2)")
        row = await _ended(harness, worker.id)
        seen.append((row.requeued, row.clearing))
    assert seen == [(0, True), (2, True), (3, False)]


async def test_a_poison_job_counts_as_the_dead_letter_of_the_last_worker_that_it_killed(harness: Harness) -> None:
    job = await harness.enqueue("add")
    for _ in range(5):
        worker = await harness.worker()
        await worker.claim_one()
        await harness.lose(worker)
    assert await harness.status(job) == "dead_letter"
    history = await harness.store.workers.history(state=EndState.LOST)
    assert [(row.requeued, row.dead_lettered) for row in history] == [(0, 1), (1, 0), (1, 0), (1, 0), (1, 0)]


async def test_a_worker_whose_event_loop_was_blocked_is_lost_for_that_reason(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.claim_one()
    await harness.store.workers.heartbeat(worker.id, running=1, blocked_s=12.0, blocked_job=job)
    await harness.lose(worker)
    row = await _ended(harness, worker.id)
    assert (row.state, row.end_reason, row.blocked_job) == ("lost", "blocked_loop", job)


async def test_a_worker_that_left_tells_how_many_jobs_it_released(harness: Harness) -> None:
    await harness.enqueue_many("add", 2)
    worker = await harness.worker()
    await worker.claim(2)
    await harness.store.workers.leave(worker.id, released=3)
    row = await _ended(harness, worker.id)
    assert (row.state, row.end_reason, row.ended_at) == ("gone", "left", await harness.now())
    assert (row.held, row.released, row.requeued, row.clearing) == (2, 5, 0, False)


async def test_a_worker_that_left_while_a_row_was_locked_is_gone_and_rescue_requeues_the_job(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.claim_one()
    async with connected(harness.database.admin_url) as user, user.transaction():
        await user.execute("select from plait.live where job_id = $1 for update", job)
        assert await worker.leave() == 0
    row = await _ended(harness, worker.id)
    assert (row.state, row.clearing) == ("gone", True)
    await harness.rescue()
    row = await _ended(harness, worker.id)
    assert (row.state, row.end_reason, row.clearing, row.requeued) == ("gone", "left", False, 1)


async def test_a_worker_that_was_declared_lost_can_neither_claim_nor_renew_its_lease(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    await harness.lose(worker)
    await harness.rescue()
    assert not (await worker.cycle(1)).alive
    with pytest.raises(WorkerLost):
        await worker.heartbeat()
    assert await worker.leave() == 0
    assert await _state(harness, worker.id) == "lost"


async def test_history_lists_ended_workers_page_by_page_the_last_first(harness: Harness) -> None:
    workers = [await harness.worker(lease_s=3600) for _ in range(5)]
    await harness.lose(workers[0], workers[1])  # at one instant
    await harness.advance(minutes=1)
    await workers[2].leave()
    await harness.lose(workers[3])
    read = harness.store.workers.history
    order = [workers[number].id for number in (3, 2, 1, 0)]
    assert [row.id for row in await read()] == order
    pages, before = [], None
    while page := await read(before=before, limit=1):
        before = page[-1].id
        pages.append(before)
    assert pages == order
    assert [row.id for row in await read(state=EndState.LOST, before=workers[3].id)] == order[2:]
    assert [row.id for row in await read(state=EndState.GONE)] == [workers[2].id]
    assert await read(host="nowhere") == []


async def test_a_list_of_workers_can_be_filtered_by_state(harness: Harness) -> None:
    alive, stale, lost, gone = [await harness.worker(lease_s=60) for _ in range(4)]
    await harness.lose(lost)
    await gone.leave()
    await harness.advance(seconds=40)
    await alive.heartbeat()
    for state, worker in zip(WorkerFilter, (alive, stale, lost, gone), strict=True):
        assert [row.id for row in await harness.store.workers.list_workers(state=state)] == [worker.id]
    await harness.advance(minutes=61)
    assert {row.id for row in await harness.store.workers.list_workers()} == {alive.id, stale.id}
    assert (await _ended(harness, lost.id)).state == "lost"


async def test_an_unknown_state_is_refused(harness: Harness) -> None:
    for call in ("list_workers(p_state => 'dead')", "worker_history('alive')"):
        with pytest.raises(asyncpg.PostgresError) as refused:
            await harness.sql(f"select plait.{call}")
        assert refused.value.sqlstate == "PL012"


async def test_ended_workers_are_kept_for_30_days_and_those_that_are_not_cleared_for_longer(harness: Harness) -> None:
    lost, gone, clearing = [await harness.worker() for _ in range(3)]
    await harness.enqueue("add")
    await harness.lose(lost)
    await gone.leave()
    await clearing.claim_one()
    await harness.expire(clearing)
    await harness.sql("select plait.rescue()")
    kept = Retention(succeeded=timedelta(days=1))
    await harness.advance(days=30)
    await harness.store.leader.prune(kept)
    assert len(await harness.store.workers.history()) == 3
    await harness.advance(seconds=1)
    await harness.store.leader.prune(kept)
    assert [row.id for row in await harness.store.workers.history()] == [clearing.id]


async def test_a_job_on_a_worker_whose_lease_expired_is_explained(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.claim_one()
    assert "lease_expired" not in await harness.explain(job)
    await harness.expire(worker)
    assert "lease_expired" in await harness.explain(job)


async def test_doctor_and_metrics_report_workers_that_were_lost_within_the_hour(harness: Harness) -> None:
    await harness.lose(await harness.worker())
    assert "lost_workers" in await harness.findings()
    assert (await harness.store.metrics.read()).workers == {"lost": 1}
    await harness.advance(minutes=61)
    assert "lost_workers" not in await harness.findings()
    assert (await harness.store.metrics.read()).workers == {}


async def test_a_build_with_only_an_expired_worker_is_released_after_its_time(harness: Harness) -> None:
    """The leader may release builds before it has declared the worker lost."""
    worker = await harness.worker(build="b1")
    await harness.sql("update plait.workers set seen_at = plait.now() - interval '10 min' where id = $1", worker.id)
    job = await harness.enqueue("add")
    await harness.sql(
        "update plait.live set lane = plait._lane('add', tenant_id, null, '', 'b1') where job_id = $1", job
    )
    assert await harness.store.leader.release_builds(after_s=300) == (0, [])
    await harness.expire(worker)
    assert await harness.store.leader.release_builds(after_s=300) == (1, ["b1"])
