"""A tenant's max_queued: how many jobs it may have that are not final."""

import asyncio

import asyncpg
import pytest

from plait.model.errors import Busy, QuotaExceeded

from ..harness import World


async def test_a_tenant_may_have_so_many_jobs_that_are_not_final(world: World) -> None:
    await world.tenant("acme", max_queued=3)
    await world.enqueue_many("add", 2, tenant="acme")
    await world.enqueue("add", tenant="acme", delay_s=60)
    with pytest.raises(QuotaExceeded, match="tenant acme may have 3 unfinished jobs"):
        await world.enqueue("add", tenant="acme")
    await world.enqueue_many("add", 10, tenant="other")


async def test_a_batch_that_exceeds_it_is_refused_whole(world: World) -> None:
    await world.tenant("acme", max_queued=3)
    with pytest.raises(QuotaExceeded):
        await world.enqueue_many("add", 4, tenant="acme")
    assert await world.counts() == {}
    await world.enqueue_many("add", 3, tenant="acme")


async def test_a_job_that_ends_makes_room(world: World) -> None:
    await world.tenant("acme", max_queued=2)
    worker = await world.worker()
    for _ in range(5):
        canceled, done = await world.enqueue_many("add", 2, tenant="acme")
        await world.cancel(canceled, tenant="acme")
        lease = await worker.claim_one()
        assert lease.job_id == done
        with pytest.raises(QuotaExceeded):
            await world.enqueue_many("add", 2, tenant="acme")
        await worker.succeed(lease)


async def test_a_running_job_and_one_between_tries_count(world: World) -> None:
    await world.tenant("acme", max_queued=1)
    await world.enqueue("add", tenant="acme")
    worker = await world.worker()
    lease = await worker.claim_one()
    with pytest.raises(QuotaExceeded):
        await world.enqueue("add", tenant="acme")
    await worker.fail(lease)
    with pytest.raises(QuotaExceeded):
        await world.enqueue("add", tenant="acme")


async def test_a_quota_that_is_set_later_counts_what_is_there(world: World) -> None:
    await world.enqueue_many("add", 3, tenant="acme")
    worker = await world.worker()
    await worker.claim(1)
    await world.tenant("acme", max_queued=4)
    await world.enqueue("add", tenant="acme")
    with pytest.raises(QuotaExceeded):
        await world.enqueue("add", tenant="acme")


async def test_a_quota_that_was_off_for_a_while_counts_what_came_meanwhile(world: World) -> None:
    await world.tenant("acme", max_queued=5)
    await world.enqueue("add", tenant="acme")
    await world.tenant("acme", max_queued=None)
    await world.enqueue_many("add", 3, tenant="acme")
    await world.tenant("acme", max_queued=4)
    with pytest.raises(QuotaExceeded):
        await world.enqueue("add", tenant="acme")


async def test_a_quota_below_what_is_there_refuses_until_enough_has_ended(world: World) -> None:
    jobs = await world.enqueue_many("add", 3, tenant="acme")
    await world.tenant("acme", max_queued=1)
    for job in jobs:
        with pytest.raises(QuotaExceeded):
            await world.enqueue("add", tenant="acme")
        await world.cancel(job, tenant="acme")
    await world.enqueue("add", tenant="acme")


async def test_setting_a_quota_does_not_wait_for_a_job_that_somebody_holds(world: World) -> None:
    job = await world.enqueue("add", tenant="acme")
    async with world.connection() as operator, operator.transaction():
        await operator.fetchval("select plait.reschedule($1, $2)", job, await world.tenant("acme"))
        await world.tenant("acme", max_queued=1)


async def test_sent_again_at_a_full_quota_it_is_the_same_job(world: World) -> None:
    """The reply to the last one that fitted was lost."""
    await world.tenant("acme", max_queued=1)
    job = await world.enqueue("add", tenant="acme")
    assert await world.enqueue("add", tenant="acme", id=job) == job


@pytest.mark.parametrize("key", ["dedupe_key", "idempotency_key"])
async def test_a_key_that_an_older_job_holds_needs_no_room(world: World, key: str) -> None:
    await world.tenant("acme", max_queued=1)
    job = await world.enqueue("add", tenant="acme", **{key: "k"})
    assert await world.enqueue("add", tenant="acme", **{key: "k"}) == job
    assert await world.enqueue_many("add", 3, tenant="acme", **{key: "k"}) == [job] * 3


@pytest.mark.parametrize("key", ["dedupe_key", "idempotency_key"])
async def test_a_key_that_comes_twice_in_a_batch_needs_room_once(world: World, key: str) -> None:
    await world.tenant("acme", max_queued=1)
    assert len(set(await world.enqueue_many("add", 3, tenant="acme", **{key: "k"}))) == 1


async def test_a_retry_needs_room_too(world: World) -> None:
    await world.tenant("acme", max_queued=2)
    old = await world.enqueue_many("add", 2, tenant="acme")
    for job in old:
        await world.cancel(job, tenant="acme")
    await world.enqueue("add", tenant="acme")
    assert await world.retry(old[0], tenant="acme") == "queued"
    with pytest.raises(QuotaExceeded):
        await world.retry(old[1], tenant="acme")
    with pytest.raises(QuotaExceeded):
        await world.enqueue("add", tenant="acme")


async def test_the_quota_holds_among_many_at_once(world: World) -> None:
    """Count, then insert, let 23 jobs in for a limit of 10."""
    await world.tenant("acme", max_queued=10)

    async def enqueue() -> bool:
        try:
            await world.enqueue("add", tenant="acme")
        except QuotaExceeded:
            return False
        return True

    made = await asyncio.gather(*(enqueue() for _ in range(30)))
    assert sum(made) == 10
    assert await world.counts() == {"queued": 10}


async def test_a_transaction_that_holds_the_quota_is_not_waited_for_long(world: World) -> None:
    await world.tenant("acme", max_queued=10)
    async with world.connection() as user, user.transaction():
        await user.fetchval("select plait.enqueue('add', tenant => 'acme')")
        with pytest.raises(Busy, match="another open transaction holds this tenant's quota"):
            await world.enqueue("add", tenant="acme")


async def test_a_callers_own_lock_timeout_is_left_alone(world: World) -> None:
    await world.tenant("acme", max_queued=10)
    async with world.connection() as user, user.transaction():
        await user.execute("set local lock_timeout = '7s'")
        await user.fetchval("select plait.enqueue('add', tenant => 'acme')")
        assert await user.fetchval("show lock_timeout") == "7s"
        with pytest.raises(asyncpg.PostgresError):
            async with user.transaction():
                await user.fetchval("select plait.enqueue('add', tenant => 'acme', priority => 99999)")
        assert await user.fetchval("show lock_timeout") == "7s"


async def test_batches_over_several_tenants_take_quotas_in_one_order(world: World) -> None:
    """T48"""
    for slug in "ab":
        await world.tenant(slug, max_queued=1000)
    batches = [[await world.new_job("add", tenant=slug) for slug in (slugs * 5)] for slugs in ("ab", "ba") * 8]
    await asyncio.gather(*(world.store.jobs.enqueue_many(batch) for batch in batches))
    assert await world.counts() == {"queued": 160}
