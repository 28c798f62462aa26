"""Retention: what is forgotten, and what never is."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from plait.model.errors import InvalidSetting, NotFound
from plait.store.leader import Retention

from ..harness import World

NOTHING: dict[str, Any] = dict.fromkeys(Retention.__slots__)
DAY = timedelta(days=1)


def keep(**ages: timedelta) -> Retention:
    return Retention(**{**NOTHING, **ages})


async def _one_of_each(world: World, **options: str) -> dict[str, UUID]:
    """A job in each final status, and one in each live one."""
    worker = await world.worker(lease_s=86_400)
    jobs = {}
    for status in ("succeeded", "skipped", "failed", "dead_letter", "canceled", "scheduled", "running"):
        keys = {name: f"{value}-{status}" for name, value in options.items()}
        jobs[status] = job = await world.enqueue("add", max_attempts=1 if status == "dead_letter" else 5, **keys)
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
                await world.cancel(job)
                await worker.report_canceled(lease)
            case _:
                assert status == "running"
    jobs["queued"] = await world.enqueue("add")
    assert {status: await world.status(job) for status, job in jobs.items()} == {s: s for s in jobs}
    return jobs


async def _forgotten(world: World, jobs: dict[str, UUID]) -> set[str]:
    gone = set()
    for status, job in jobs.items():
        try:
            await world.job(job)
        except NotFound:
            gone.add(status)
    return gone


@pytest.mark.parametrize("status", ["succeeded", "skipped", "failed", "dead_letter", "canceled"])
async def test_each_status_has_its_own_age(world: World, status: str) -> None:
    jobs = await _one_of_each(world)
    await world.advance(days=1)
    assert (await world.store.leader.prune(keep(**{status: DAY})))[0] == 0
    await world.advance(seconds=1)
    assert await world.store.leader.prune(keep(**{status: DAY})) == (1, None)
    assert await _forgotten(world, jobs) == {status}
    assert await world.sql("select count(*) from plait.attempts where job_id = $1", jobs[status]) == 0


async def test_what_is_live_is_never_forgotten(world: World) -> None:
    jobs = await _one_of_each(world, dedupe_key="d", idempotency_key="i")
    await world.advance(days=10_000)
    pruned, _ = await world.store.leader.prune(Retention(**dict.fromkeys(NOTHING, timedelta(0))))
    assert pruned == 5
    assert await _forgotten(world, jobs) == {"succeeded", "skipped", "failed", "dead_letter", "canceled"}


async def test_a_job_that_was_retried_is_live(world: World) -> None:
    job = await world.enqueue("add")
    await world.cancel(job)
    await world.advance(days=2)
    await world.retry(job)
    assert (await world.store.leader.prune(keep(canceled=DAY)))[0] == 0


async def test_a_tenant_may_keep_its_jobs_longer_shorter_or_for_ever(world: World) -> None:
    await world.tenant("longer", retention={"canceled": 10 * 86_400})
    await world.tenant("shorter", retention={"canceled": 3600})
    await world.tenant("for_ever", retention={"canceled": None})
    await world.tenant("as_all", retention={"failed": 1})
    for tenant in ("longer", "shorter", "for_ever", "as_all", "default"):
        await world.cancel(await world.enqueue("add", tenant=tenant), tenant=tenant)

    async def left() -> set[str]:
        rows = await world.rows("select t.slug from plait.jobs j join plait.tenants t on t.id = j.tenant_id")
        return {slug for (slug,) in rows}

    await world.advance(hours=2)
    await world.store.leader.prune(keep(canceled=DAY))
    assert await left() == {"longer", "for_ever", "as_all", "default"}
    await world.advance(days=2)
    await world.store.leader.prune(keep(canceled=DAY))
    assert await left() == {"longer", "for_ever"}
    await world.advance(days=10_000)
    await world.store.leader.prune(keep())  # where a tenant has said how long, nobody else must
    assert await left() == {"for_ever"}


@pytest.mark.parametrize("bad", [{"queued": 1}, {"failed": -1}, {"failed": "7d"}, {"failed": 1e10}, [], 5, None])
async def test_a_retention_that_is_none_is_refused(world: World, bad: Any) -> None:
    with pytest.raises(InvalidSetting):
        await world.tenant("acme", retention=bad)


async def test_the_age_counts_from_the_end_not_from_the_beginning(world: World) -> None:
    await world.enqueue("add")
    worker = await world.worker(lease_s=1000)
    lease = await worker.claim_one()
    await world.advance(days=100)
    await worker.succeed(lease)
    assert (await world.store.leader.prune(keep(succeeded=DAY)))[0] == 0


async def test_an_empty_filter_is_refused(world: World) -> None:
    """T107"""
    job = await world.enqueue("add")
    await world.cancel(job)
    await world.advance(days=10_000)
    with pytest.raises(InvalidSetting, match="at least one status"):
        await world.store.leader.prune(keep())
    with pytest.raises(InvalidSetting, match="must not be negative"):
        await world.store.leader.prune(keep(canceled=-DAY))
    assert await world.status(job) == "canceled"


async def test_it_goes_on_from_its_cursor(world: World) -> None:
    jobs = await world.enqueue_many("add", 25)
    for job in jobs[::2]:
        await world.cancel(job)
    await world.advance(days=2)
    pruned, calls, cursor = 0, 0, None
    while True:
        n, cursor = await world.store.leader.prune(keep(canceled=DAY), cursor=cursor, limit=10)
        pruned += n
        calls += 1
        if cursor is None:
            break
    assert (pruned, calls) == (13, 3)
    assert await world.counts() == {"queued": 12}


async def test_the_idempotency_key_goes_with_its_job(world: World) -> None:
    job = await world.enqueue("add", idempotency_key="i", payload={"a": 1})
    await world.cancel(job)
    await world.advance(days=2)
    await world.store.leader.prune(keep(canceled=DAY))
    assert await world.enqueue("add", idempotency_key="i", payload={"a": 2}) != job


async def test_a_retry_under_way_is_passed_by(world: World) -> None:
    job = await world.enqueue("add")
    await world.cancel(job)
    await world.advance(days=2)
    async with world.connection() as operator, operator.transaction():
        await operator.fetchval("select plait.retry($1)", job)
        assert (await world.store.leader.prune(keep(canceled=DAY)))[0] == 0
    assert await world.status(job) == "queued"


async def test_a_retry_that_waited_for_prune_finds_nothing(world: World) -> None:
    job = await world.enqueue("add")
    await world.cancel(job)
    await world.advance(days=2)
    async with world.connection() as leader:
        transaction = leader.transaction()
        await transaction.start()
        await leader.fetch("select * from plait.prune(p_canceled => interval '1 day')")
        retry = asyncio.create_task(world.retry(job))
        await world.until_blocked()
        await transaction.commit()
        with pytest.raises(NotFound):
            await retry


@pytest.mark.parametrize("rounds", [15, pytest.param(300, marks=pytest.mark.full)])
async def test_retry_and_prune_at_the_same_moment(world: World, rounds: int) -> None:
    """A job is forgotten whole, or it is queued whole."""
    for _ in range(rounds):
        jobs = await world.enqueue_many("add", 8)
        for job in jobs:
            await world.cancel(job)
        await world.advance(days=2)

        async def retry(job: UUID) -> None:
            with suppress(NotFound):
                await world.retry(job)

        await asyncio.gather(*map(retry, jobs), world.store.leader.prune(keep(canceled=DAY)))
        await world.check()
        assert (await world.counts()).keys() <= {"queued"}
        for (job,) in await world.rows("select job_id from plait.live"):
            await world.cancel(job)
        await world.store.leader.prune(keep(canceled=timedelta(0)))


async def test_many_prune_at_once(world: World) -> None:
    for job in await world.enqueue_many("add", 100):
        await world.cancel(job)
    await world.advance(days=2)
    pruned = await asyncio.gather(*(world.store.leader.prune(keep(canceled=DAY)) for _ in range(5)))
    assert sum(n for n, _ in pruned) == 100


async def test_workers_long_gone_are_forgotten(world: World) -> None:
    gone, alive = await world.worker(), await world.worker(lease_s=86_400)
    await gone.leave()
    await world.advance(days=31)
    await alive.heartbeat()
    await world.store.leader.prune(keep(succeeded=DAY))
    assert [worker.id for worker in await world.store.workers.list_workers()] == [alive.id]
    assert await world.sql("select count(*) from plait.workers") == 1


async def test_the_notification_locks_of_queues_that_no_worker_serves_are_forgotten(world: World) -> None:
    sql = "select count(*) from plait.locks where name in ('wake kept', 'wake gone')"
    await world.worker(queues=["kept"])
    worker = await world.worker(queues=["gone"])
    assert await world.sql(sql) == 2
    await world.sql("delete from plait.workers where id = $1", worker.id)
    await world.store.leader.prune(Retention())
    assert await world.sql(sql) == 1
    assert await world.sql("select count(*) from plait.locks where name like 'limit %'") == 1024
