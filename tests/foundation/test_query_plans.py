"""Plans with outdated statistics: no verb of the hot path reads a large table completely.

The statistics are those of empty tables, before 20,000 jobs were added, and are not updated.
"""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from plait.testing import TestDatabase

from ..fake_worker import outcome
from ..harness import Harness

JOBS = 20_000
LARGE = ("live", "jobs", "attempts", "dedupe")


@pytest.fixture(params=["fresh", "stale"])
async def crowded(database: TestDatabase, request: pytest.FixtureRequest) -> AsyncIterator[Harness]:
    admin = await asyncpg.connect(database.admin_url)
    for table in LARGE:
        await admin.execute(f"alter table plait.{table} set (autovacuum_enabled = false)")
    await admin.execute("analyze")
    harness = await Harness.open(database)
    await harness.enqueue_many("strange", JOBS // 4, queue="elsewhere")
    await harness.enqueue_many("add", JOBS // 4, tenant="acme", delay_s=3600)
    for n in range(JOBS // 2 // 1000):
        await harness.enqueue_many("add", 900, tenant=f"t{n}")
        jobs = [await harness.new_job("add", tenant=f"t{n}", dedupe_key=f"d{i}") for i in range(100)]
        await harness.store.jobs.enqueue_many(jobs)
    if request.param == "fresh":
        await admin.execute("analyze")
    await admin.close()
    yield harness
    await harness.close()


async def _scans(harness: Harness) -> tuple[dict[str, int], int]:
    """How often each large table was read from end to end, and how many entries of the claim's index."""
    await harness.sql("select pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    rows = await harness.rows(
        "select relname, seq_scan from pg_stat_user_tables where schemaname = 'plait' and relname = any($1)",
        list(LARGE),
    )
    read = await harness.sql("select idx_tup_read from pg_stat_user_indexes where indexrelname = 'live_claim'")
    return dict(map(tuple, rows)), read


async def _flush(harness: Harness) -> Harness:
    """Their backends end, which writes their counters."""
    await harness.close()
    return await Harness.open(harness.database)


async def test_no_verb_reads_a_large_table_whole(crowded: Harness) -> None:
    harness = await _flush(crowded)
    before, _ = await _scans(harness)

    worker = await harness.worker()
    leases = await worker.claim(200)
    assert len(leases) == 200
    endings = ["succeeded"] * 6 + ["failed", "skipped", "released", "snoozed"]
    for _ in range(3):
        settlements = [outcome(lease, endings[n % 10], delay_s=5) for n, lease in enumerate(leases)]
        reply = await worker.cycle(200, *settlements)
        assert reply.stale == []
        leases = reply.claimed
        assert (await worker.cycle(0, *settlements)).stale == []  # sent again
    [first, second, *held] = leases
    await worker.progress(first, {"done": 1})
    await worker.settle(outcome(first), outcome(second, "failed"))
    await worker.heartbeat(holding=held[1:])
    tenant = held[-1].tenant_id
    await harness.store.jobs.cancel(held[-1].job_id, tenant_id=tenant)
    assert len((await worker.cycle(0)).cancels) == 1
    await worker.claim_plainly(10)
    job = await harness.enqueue("add", tenant="t1", dedupe_key="d1")
    await harness.cancel(job, tenant="t1")
    await harness.retry(job, tenant="t1")
    await harness.enqueue_many("add", 100, tenant="t2")
    await harness.advance(seconds=10)
    assert await harness.promote() > 0
    await harness.expire(worker)
    await harness.rescue()
    await (await harness.worker()).leave()
    await harness.store.jobs.get_outcomes([(held[-1].job_id, tenant)])
    await harness.store.jobs.get_job(job, tenant_id=await harness.tenant("t1"))
    await harness.store.jobs.list_jobs(tenant_id=await harness.tenant("t1"), limit=10)
    await worker.disconnect()

    harness = await _flush(harness)
    after, _ = await _scans(harness)
    await harness.close()
    assert after == before


async def test_a_claim_reads_about_as_many_rows_as_it_takes(crowded: Harness) -> None:
    """T36, T40: not the future, not other queues, not the whole backlog of ten tenants."""
    harness = await _flush(crowded)
    _, before = await _scans(harness)
    worker = await harness.worker()
    for _ in range(10):
        assert len(await worker.claim(20)) == 20
    await worker.disconnect()
    harness = await _flush(harness)
    _, after = await _scans(harness)
    await harness.close()
    # About 500; 2,100 where something holds the horizon, and what was just claimed is read again (T114).
    assert after - before < 3_000


async def test_with_limits_weights_and_pauses_too(crowded: Harness) -> None:
    harness = await _flush(crowded)
    before, _ = await _scans(harness)
    await harness.queue(max_running=1000, rate_count=1000, rate_period_s=1)
    await harness.tenant("t1", max_running=5, weight=3)
    await harness.tenant("t2", paused=True)
    worker = await harness.worker()
    leases = await worker.claim(50)
    assert len(leases) == 50
    await worker.cycle(50, *(outcome(lease) for lease in leases))
    await worker.disconnect()
    harness = await _flush(harness)
    after, _ = await _scans(harness)
    await harness.close()
    assert after == before
