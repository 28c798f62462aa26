"""Retention: the jobs that it deletes, and the jobs that it must keep."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from plait.model.errors import InvalidSetting, NotFound
from plait.store.leader import Retention

from ..harness import Harness

NOTHING: dict[str, Any] = dict.fromkeys(Retention.__slots__)
DAY = timedelta(days=1)


def keep(**ages: timedelta) -> Retention:
    return Retention(**{**NOTHING, **ages})


async def _one_of_each(harness: Harness, **options: str) -> dict[str, UUID]:
    """A job in each final status and in each live status."""
    worker = await harness.worker(lease_s=86_400)
    jobs = {}
    for status in ("succeeded", "skipped", "failed", "dead_letter", "canceled", "scheduled", "running"):
        keys = {name: f"{value}-{status}" for name, value in options.items()}
        jobs[status] = job = await harness.enqueue("add", max_attempts=1 if status == "dead_letter" else 5, **keys)
        lease = await worker.claim_one()
        match status:
            case "succeeded":
                await worker.succeed(lease)
            case "skipped":
                await worker.skip(lease)
            case "failed":
                await worker.fail(lease, permanent=True)
            case "dead_letter" | "scheduled":
                await worker.fail(lease)
            case "canceled":
                await harness.cancel(job)
                await worker.report_canceled(lease)
            case _:
                assert status == "running"
    jobs["queued"] = await harness.enqueue("add")
    assert {status: await harness.status(job) for status, job in jobs.items()} == {s: s for s in jobs}
    return jobs


async def _forgotten(harness: Harness, jobs: dict[str, UUID]) -> set[str]:
    gone = set()
    for status, job in jobs.items():
        try:
            await harness.job(job)
        except NotFound:
            gone.add(status)
    return gone


@pytest.mark.parametrize("status", ["succeeded", "skipped", "failed", "dead_letter", "canceled"])
async def test_each_status_has_its_own_age(harness: Harness, status: str) -> None:
    jobs = await _one_of_each(harness)
    await harness.advance(days=1)
    assert (await harness.store.leader.prune(keep(**{status: DAY})))[0] == 0
    await harness.advance(seconds=1)
    assert await harness.store.leader.prune(keep(**{status: DAY})) == (1, None)
    assert await _forgotten(harness, jobs) == {status}
    assert await harness.sql("select count(*) from plait.attempts where job_id = $1", jobs[status]) == 0


async def test_what_is_live_is_never_forgotten(harness: Harness) -> None:
    jobs = await _one_of_each(harness, dedupe_key="d", idempotency_key="i")
    await harness.advance(days=10_000)
    pruned, _ = await harness.store.leader.prune(Retention(**dict.fromkeys(NOTHING, timedelta(0))))
    assert pruned == 5
    assert await _forgotten(harness, jobs) == {"succeeded", "skipped", "failed", "dead_letter", "canceled"}


async def test_a_job_that_was_retried_is_live(harness: Harness) -> None:
    job = await harness.enqueue("add")
    await harness.cancel(job)
    await harness.advance(days=2)
    await harness.retry(job)
    assert (await harness.store.leader.prune(keep(canceled=DAY)))[0] == 0


async def test_a_tenant_may_keep_its_jobs_longer_shorter_or_for_ever(harness: Harness) -> None:
    await harness.tenant("longer", retention={"canceled": 10 * 86_400})
    await harness.tenant("shorter", retention={"canceled": 3600})
    await harness.tenant("for_ever", retention={"canceled": None})
    await harness.tenant("as_all", retention={"failed": 1})
    for tenant in ("longer", "shorter", "for_ever", "as_all", "default"):
        await harness.cancel(await harness.enqueue("add", tenant=tenant), tenant=tenant)

    async def left() -> set[str]:
        rows = await harness.rows("select t.slug from plait.jobs j join plait.tenants t on t.id = j.tenant_id")
        return {slug for (slug,) in rows}

    await harness.advance(hours=2)
    await harness.store.leader.prune(keep(canceled=DAY))
    assert await left() == {"longer", "for_ever", "as_all", "default"}
    await harness.advance(days=2)
    await harness.store.leader.prune(keep(canceled=DAY))
    assert await left() == {"longer", "for_ever"}
    await harness.advance(days=10_000)
    await harness.store.leader.prune(keep())  # the tenant's setting is sufficient
    assert await left() == {"for_ever"}


@pytest.mark.parametrize("bad", [{"queued": 1}, {"failed": -1}, {"failed": "7d"}, {"failed": 1e10}, [], 5, None])
async def test_a_retention_that_is_none_is_refused(harness: Harness, bad: Any) -> None:
    with pytest.raises(InvalidSetting):
        await harness.tenant("acme", retention=bad)


async def test_the_age_counts_from_the_end_not_from_the_beginning(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker(lease_s=1000)
    lease = await worker.claim_one()
    await harness.advance(days=100)
    await worker.succeed(lease)
    assert (await harness.store.leader.prune(keep(succeeded=DAY)))[0] == 0


async def test_an_empty_filter_is_refused(harness: Harness) -> None:
    """T107"""
    job = await harness.enqueue("add")
    await harness.cancel(job)
    await harness.advance(days=10_000)
    with pytest.raises(InvalidSetting, match="at least one status"):
        await harness.store.leader.prune(keep())
    with pytest.raises(InvalidSetting, match="must not be negative"):
        await harness.store.leader.prune(keep(canceled=-DAY))
    assert await harness.status(job) == "canceled"


async def test_it_goes_on_from_its_cursor(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 25)
    for job in jobs[::2]:
        await harness.cancel(job)
    await harness.advance(days=2)
    pruned, calls, cursor = 0, 0, None
    while True:
        n, cursor = await harness.store.leader.prune(keep(canceled=DAY), cursor=cursor, limit=10)
        pruned += n
        calls += 1
        if cursor is None:
            break
    assert (pruned, calls) == (13, 3)
    assert await harness.counts() == {"queued": 12}


async def test_the_idempotency_key_goes_with_its_job(harness: Harness) -> None:
    job = await harness.enqueue("add", idempotency_key="i", payload={"a": 1})
    await harness.cancel(job)
    await harness.advance(days=2)
    await harness.store.leader.prune(keep(canceled=DAY))
    assert await harness.enqueue("add", idempotency_key="i", payload={"a": 2}) != job


async def test_a_retry_under_way_is_passed_by(harness: Harness) -> None:
    job = await harness.enqueue("add")
    await harness.cancel(job)
    await harness.advance(days=2)
    async with harness.connection() as operator, operator.transaction():
        await operator.fetchval("select plait.retry($1)", job)
        assert (await harness.store.leader.prune(keep(canceled=DAY)))[0] == 0
    assert await harness.status(job) == "queued"


async def test_a_retry_that_waited_for_prune_finds_nothing(harness: Harness) -> None:
    job = await harness.enqueue("add")
    await harness.cancel(job)
    await harness.advance(days=2)
    async with harness.connection() as leader:
        transaction = leader.transaction()
        await transaction.start()
        await leader.fetch("select * from plait.prune(p_canceled => interval '1 day')")
        retry = asyncio.create_task(harness.retry(job))
        await harness.until_blocked()
        await transaction.commit()
        with pytest.raises(NotFound):
            await retry


@pytest.mark.parametrize("rounds", [15, pytest.param(300, marks=pytest.mark.full)])
async def test_retry_and_prune_at_the_same_moment(harness: Harness, rounds: int) -> None:
    """The job is deleted completely or queued completely."""
    for _ in range(rounds):
        jobs = await harness.enqueue_many("add", 8)
        for job in jobs:
            await harness.cancel(job)
        await harness.advance(days=2)

        async def retry(job: UUID) -> None:
            with suppress(NotFound):
                await harness.retry(job)

        await asyncio.gather(*map(retry, jobs), harness.store.leader.prune(keep(canceled=DAY)))
        await harness.check()
        assert (await harness.counts()).keys() <= {"queued"}
        for (job,) in await harness.rows("select job_id from plait.live"):
            await harness.cancel(job)
        await harness.store.leader.prune(keep(canceled=timedelta(0)))


async def test_many_prune_at_once(harness: Harness) -> None:
    for job in await harness.enqueue_many("add", 100):
        await harness.cancel(job)
    await harness.advance(days=2)
    pruned = await asyncio.gather(*(harness.store.leader.prune(keep(canceled=DAY)) for _ in range(5)))
    assert sum(n for n, _ in pruned) == 100


async def test_workers_long_gone_are_forgotten(harness: Harness) -> None:
    gone, alive = await harness.worker(), await harness.worker(lease_s=86_400)
    await gone.leave()
    await harness.advance(days=31)
    await alive.heartbeat()
    await harness.store.leader.prune(keep(succeeded=DAY))
    assert [worker.id for worker in await harness.store.workers.list_workers()] == [alive.id]
    assert await harness.sql("select count(*) from plait.workers") == 1


async def test_the_notification_locks_of_queues_that_no_worker_serves_are_forgotten(harness: Harness) -> None:
    sql = "select count(*) from plait.locks where name in ('wake kept', 'wake gone')"
    await harness.worker(queues=["kept"])
    worker = await harness.worker(queues=["gone"])
    assert await harness.sql(sql) == 2
    await harness.sql("delete from plait.workers where id = $1", worker.id)
    await harness.store.leader.prune(Retention())
    assert await harness.sql(sql) == 1
    assert await harness.sql("select count(*) from plait.locks where name like 'limit %'") == 1024
