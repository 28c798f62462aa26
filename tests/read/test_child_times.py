"""The slowest children of a fan-out, their percentiles, and a job compared with earlier ones of its definition."""

from uuid import UUID

import pytest

from plait.model.errors import InvalidJob, NotFound
from plait.model.ids import new_id
from plait.store.statistics import ChildOrder, ChildRow
from plait.store.workers import Claimed

from ..fake_worker import FakeWorker, outcome
from ..harness import Harness
from ..workflows.worker_calls import CHILDREN, claim_children, open_one

TAKES = (4, 1, 7, 2)
"""How long the children with these indexes run, in seconds."""


async def _fan_out(harness: Harness, children: int) -> tuple[UUID, FakeWorker]:
    job = await harness.enqueue("add")
    parent = await harness.worker()
    await open_one(harness, parent, await parent.claim_one(), children)
    await parent.leave()
    return job, await harness.worker(queues=[CHILDREN], lease_s=86_400)


async def _end_all(harness: Harness, worker: FakeWorker, leases: list[Claimed]) -> None:
    """End each child after its time in TAKES."""
    for second in range(1, max(TAKES) + 1):
        await harness.advance(seconds=1)
        for index, takes in enumerate(TAKES):
            if takes == second:
                await worker.succeed(leases[index])


async def _ordered(
    harness: Harness, job: UUID, sort: ChildOrder, *, descending: bool = False, start: int = 0, limit: int = 100
) -> list[ChildRow]:
    return await harness.store.statistics.list_children(
        job, all_tenants=True, sort=sort, descending=descending, start=start, limit=limit
    )


def _indexes(rows: list[ChildRow]) -> list[int]:
    return [row.fan_out_index for row in rows]


async def test_children_are_sorted_by_duration_over_all_of_them_and_not_within_a_page(harness: Harness) -> None:
    job, worker = await _fan_out(harness, 4)
    leases = sorted(await worker.claim(4, queue=CHILDREN), key=lambda lease: lease.job_id)
    await _end_all(harness, worker, leases)
    slowest = await _ordered(harness, job, "duration", descending=True)
    assert _indexes(slowest) == [2, 0, 3, 1]
    assert [row.run_s for row in slowest] == [7, 4, 2, 1]
    assert _indexes(await _ordered(harness, job, "duration")) == [1, 3, 0, 2]
    pages = [await _ordered(harness, job, "duration", descending=True, start=at, limit=2) for at in (0, 2, 4)]
    assert [_indexes(page) for page in pages] == [[2, 0], [3, 1], []]
    assert _indexes(await _ordered(harness, job, "index", descending=True, limit=3)) == [3, 2, 1]
    assert _indexes(await _ordered(harness, job, "index", start=1, limit=2)) == [1, 2]


async def test_a_running_child_has_run_until_now_and_one_that_never_ran_comes_last(harness: Harness) -> None:
    job, worker = await _fan_out(harness, 4)
    leases = await worker.claim(2, queue=CHILDREN)
    await harness.advance(seconds=3)
    await worker.succeed(leases[0])
    rows = await _ordered(harness, job, "index")
    queued, canceled = (row for row in rows if row.status == "queued")
    await harness.cancel(canceled.id)
    await harness.advance(seconds=5)
    rows = await _ordered(harness, job, "duration", descending=True)
    assert [(row.id, row.run_s, row.wait_s) for row in rows] == [
        (leases[1].job_id, 8, 0),
        (leases[0].job_id, 3, 0),
        (queued.id, None, 8),
        (canceled.id, None, None),
    ]
    longest = await _ordered(harness, job, "wait", descending=True)
    assert (longest[0].id, longest[-1].id) == (queued.id, canceled.id)


async def test_children_that_need_attention_come_first_by_status(harness: Harness) -> None:
    job, worker = await _fan_out(harness, 5)
    leases = await worker.claim(4, queue=CHILDREN)
    await worker.succeed(leases[0])
    await worker.fail(leases[1], permanent=True)
    await worker.fail(leases[2])
    statuses = [row.status for row in await _ordered(harness, job, "status")]
    assert statuses == ["failed", "running", "scheduled", "queued", "succeeded"]
    assert [row.status for row in await _ordered(harness, job, "status", descending=True)] == statuses[::-1]
    with pytest.raises(InvalidJob, match="sort must be index, duration, wait or status, got name"):
        await _ordered(harness, job, "name")  # type: ignore[arg-type]


async def test_the_percentiles_of_a_fan_out_are_those_of_all_children_that_ran(harness: Harness) -> None:
    """And it says how many did not: unfinished ones, and those that ended without a start."""
    job, worker = await _fan_out(harness, 6)
    await harness.advance(seconds=10)
    leases = sorted(await worker.claim(4, queue=CHILDREN), key=lambda lease: lease.job_id)
    await _end_all(harness, worker, leases)
    rest = [row for row in await _ordered(harness, job, "index") if row.status == "queued"]
    await harness.cancel(rest[0].id)
    times = await harness.store.statistics.fan_out_times(job, all_tenants=True)
    assert times is not None
    assert (times.total, times.children, times.ran, times.started) == (6, 6, 4, 4)
    assert (times.unfinished, times.never_ran) == (1, 1)
    assert (times.run_p50_s, times.run_max_s, times.run_mean_s) == (3, 7, 3.5)
    assert times.run_p95_s == pytest.approx(4 + 0.85 * 3)
    assert (times.wait_p50_s, times.wait_p95_s, times.wait_max_s) == (10, 10, 10)


async def test_a_job_that_was_released_before_its_start_or_retried_has_one_run_time(harness: Harness) -> None:
    job, worker = await _fan_out(harness, 1)
    await worker.settle(outcome(await worker.claim_one(queue=CHILDREN), "released", ran_ms=0.0))
    await harness.advance(seconds=2)
    lease = await worker.claim_one(queue=CHILDREN)
    await harness.advance(seconds=3)
    await worker.fail(lease)
    await harness.advance(seconds=60)
    await harness.promote()
    lease = await worker.claim_one(queue=CHILDREN)
    await harness.advance(seconds=1)
    await worker.succeed(lease)
    [row] = await _ordered(harness, job, "duration")
    assert (row.wait_s, row.run_s) == (2, 64)
    shown = await harness.store.jobs.job_times(row.id, all_tenants=True)
    assert shown is not None
    assert shown.total_s == row.run_s


async def test_a_fan_out_of_another_job_or_tenant_has_no_times(harness: Harness) -> None:
    job, _ = await _fan_out(harness, 1)
    stranger = await harness.tenant("stranger")
    statistics = harness.store.statistics
    assert await statistics.fan_out_times(job, new_id(), all_tenants=True) is None
    for read in (statistics.fan_out_times, statistics.earlier_runs, statistics.list_children):
        with pytest.raises(NotFound):
            await read(job, tenant_id=stranger)


async def test_a_job_is_compared_with_the_earlier_ones_that_succeeded(harness: Harness) -> None:
    """Failed and unfinished jobs, later ones, other definitions and other tenants do not count."""
    await harness.define("other")
    worker = await harness.worker(definitions=("add", "other"), lease_s=86_400)

    async def run(seconds: float, definition: str = "add", *, fail: bool = False, tenant: str = "default") -> UUID:
        job = await harness.enqueue(definition, tenant=tenant)
        lease = await worker.claim_one()
        await harness.advance(seconds=seconds)
        await (worker.fail(lease, permanent=True) if fail else worker.succeed(lease))
        return job

    first = await run(2)
    await run(4)
    await run(100, fail=True)
    await run(100, "other")
    await run(100, tenant="stranger")
    measured = await run(9)
    await run(100)
    found = await harness.store.statistics.earlier_runs(measured, all_tenants=True)
    assert (found.runs, found.mean_s, found.p50_s, found.complete) == (2, 3, 3, True)
    assert found.since == (await harness.job(first)).created_at
    none = await harness.store.statistics.earlier_runs(first, all_tenants=True)
    assert (none.runs, none.mean_s, none.since, none.complete) == (0, None, None, True)


async def test_a_workflow_is_compared_with_earlier_workflows_however_many_children_they_had(harness: Harness) -> None:
    runs: list[UUID] = []
    for seconds in (10, 20):
        job = await harness.enqueue("add")
        runs.append(job)
        parent = await harness.worker()
        await open_one(harness, parent, await parent.claim_one(), 30)
        worker, leases = await claim_children(harness, 30)
        await harness.advance(seconds=seconds)
        for lease in leases:
            await worker.succeed(lease)
        await parent.succeed(await parent.claim_one())
    sql = "select runs, mean_s, complete from plait.earlier_runs($1, p_all => true, p_scan => 10)"
    assert [tuple(row) for row in await harness.rows(sql, runs[1])] == [(1, 10, True)]
    # a child of the second is compared with children, and there are more than it looks through
    [child, *_] = await harness.store.statistics.list_children(runs[1], all_tenants=True, start=29)
    assert [tuple(row) for row in await harness.rows(sql, child.id)] == [(10, 20, False)]


async def test_only_the_children_of_this_fan_out_are_read(harness: Harness) -> None:
    await _fan_out(harness, 500)
    job, _ = await _fan_out(harness, 5)
    # The counters of this session alone: other connections may report the rows that they read before at any time.
    count = "select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint from pg_stat_xact_user_tables where schemaname = 'plait'"
    async with harness.admin.transaction():
        before = await harness.admin.fetchval(count)
        assert await harness.admin.fetchval("select children from plait.fan_out_times($1, p_all => true)", job) == 5
        children = "select * from plait.list_children($1, p_all => true, p_sort => 'duration', p_descending => true)"
        assert len(await harness.admin.fetch(children, job)) == 5
        read = await harness.admin.fetchval(count) - before
    assert 0 < read < 150
