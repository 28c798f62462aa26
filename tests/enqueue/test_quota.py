"""A tenant's quota, max_queued: its maximum number of unfinished jobs."""

import asyncio

import asyncpg
import pytest

from plait.model.errors import Busy, QuotaExceeded

from ..harness import Harness


async def test_a_tenant_may_have_so_many_jobs_that_are_not_final(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=3)
    await harness.enqueue_many("add", 2, tenant="acme")
    await harness.enqueue("add", tenant="acme", delay_s=60)
    with pytest.raises(QuotaExceeded, match="tenant acme may have at most 3 unfinished jobs"):
        await harness.enqueue("add", tenant="acme")
    await harness.enqueue_many("add", 10, tenant="other")


async def test_a_batch_that_exceeds_it_is_refused_whole(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=3)
    with pytest.raises(QuotaExceeded):
        await harness.enqueue_many("add", 4, tenant="acme")
    assert await harness.counts() == {}
    await harness.enqueue_many("add", 3, tenant="acme")


async def test_a_job_that_ends_makes_room(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=2)
    worker = await harness.worker()
    for _ in range(5):
        canceled, done = await harness.enqueue_many("add", 2, tenant="acme")
        await harness.cancel(canceled, tenant="acme")
        lease = await worker.claim_one()
        assert lease.job_id == done
        with pytest.raises(QuotaExceeded):
            await harness.enqueue_many("add", 2, tenant="acme")
        await worker.succeed(lease)


async def test_a_running_job_and_one_between_tries_count(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=1)
    await harness.enqueue("add", tenant="acme")
    worker = await harness.worker()
    lease = await worker.claim_one()
    with pytest.raises(QuotaExceeded):
        await harness.enqueue("add", tenant="acme")
    await worker.fail(lease)
    with pytest.raises(QuotaExceeded):
        await harness.enqueue("add", tenant="acme")


async def test_a_quota_that_is_set_later_counts_what_is_there(harness: Harness) -> None:
    await harness.enqueue_many("add", 3, tenant="acme")
    worker = await harness.worker()
    await worker.claim(1)
    await harness.tenant("acme", max_queued=4)
    await harness.enqueue("add", tenant="acme")
    with pytest.raises(QuotaExceeded):
        await harness.enqueue("add", tenant="acme")


async def test_a_quota_that_was_off_for_a_while_counts_what_came_meanwhile(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=5)
    await harness.enqueue("add", tenant="acme")
    await harness.tenant("acme", max_queued=None)
    await harness.enqueue_many("add", 3, tenant="acme")
    await harness.tenant("acme", max_queued=4)
    with pytest.raises(QuotaExceeded):
        await harness.enqueue("add", tenant="acme")


async def test_a_quota_below_what_is_there_refuses_until_enough_has_ended(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 3, tenant="acme")
    await harness.tenant("acme", max_queued=1)
    for job in jobs:
        with pytest.raises(QuotaExceeded):
            await harness.enqueue("add", tenant="acme")
        await harness.cancel(job, tenant="acme")
    await harness.enqueue("add", tenant="acme")


async def test_setting_a_quota_does_not_wait_for_a_job_that_somebody_holds(harness: Harness) -> None:
    job = await harness.enqueue("add", tenant="acme")
    async with harness.connection() as operator, operator.transaction():
        await operator.fetchval("select plait.reschedule($1, $2)", job, await harness.tenant("acme"))
        await harness.tenant("acme", max_queued=1)


async def test_sent_again_at_a_full_quota_it_is_the_same_job(harness: Harness) -> None:
    """The reply for the last job within the quota was lost."""
    await harness.tenant("acme", max_queued=1)
    job = await harness.enqueue("add", tenant="acme")
    assert await harness.enqueue("add", tenant="acme", id=job) == job


@pytest.mark.parametrize("key", ["dedupe_key", "idempotency_key"])
async def test_a_key_that_an_older_job_holds_needs_no_room(harness: Harness, key: str) -> None:
    await harness.tenant("acme", max_queued=1)
    job = await harness.enqueue("add", tenant="acme", **{key: "k"})
    assert await harness.enqueue("add", tenant="acme", **{key: "k"}) == job
    assert await harness.enqueue_many("add", 3, tenant="acme", **{key: "k"}) == [job] * 3


@pytest.mark.parametrize("key", ["dedupe_key", "idempotency_key"])
async def test_a_key_that_comes_twice_in_a_batch_needs_room_once(harness: Harness, key: str) -> None:
    await harness.tenant("acme", max_queued=1)
    assert len(set(await harness.enqueue_many("add", 3, tenant="acme", **{key: "k"}))) == 1


async def test_a_retry_needs_room_too(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=2)
    old = await harness.enqueue_many("add", 2, tenant="acme")
    for job in old:
        await harness.cancel(job, tenant="acme")
    await harness.enqueue("add", tenant="acme")
    assert await harness.retry(old[0], tenant="acme") == "queued"
    with pytest.raises(QuotaExceeded):
        await harness.retry(old[1], tenant="acme")
    with pytest.raises(QuotaExceeded):
        await harness.enqueue("add", tenant="acme")


async def test_the_quota_holds_among_many_at_once(harness: Harness) -> None:
    """A count followed by an insert once admitted 23 jobs with a limit of 10."""
    await harness.tenant("acme", max_queued=10)

    async def enqueue() -> bool:
        try:
            await harness.enqueue("add", tenant="acme")
        except QuotaExceeded:
            return False
        return True

    made = await asyncio.gather(*(enqueue() for _ in range(30)))
    assert sum(made) == 10
    assert await harness.counts() == {"queued": 10}


async def test_a_transaction_that_holds_the_quota_is_not_waited_for_long(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=10)
    async with harness.connection() as user, user.transaction():
        await user.fetchval("select plait.enqueue('add', tenant => 'acme')")
        with pytest.raises(Busy, match="another open transaction holds this tenant's quota"):
            await harness.enqueue("add", tenant="acme")


async def test_a_callers_own_lock_timeout_is_left_alone(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=10)
    async with harness.connection() as user, user.transaction():
        await user.execute("set local lock_timeout = '7s'")
        await user.fetchval("select plait.enqueue('add', tenant => 'acme')")
        assert await user.fetchval("show lock_timeout") == "7s"
        with pytest.raises(asyncpg.PostgresError):
            async with user.transaction():
                await user.fetchval("select plait.enqueue('add', tenant => 'acme', priority => 99999)")
        assert await user.fetchval("show lock_timeout") == "7s"


async def test_batches_over_several_tenants_take_quotas_in_one_order(harness: Harness) -> None:
    """T48"""
    for slug in "ab":
        await harness.tenant(slug, max_queued=1000)
    batches = [[await harness.new_job("add", tenant=slug) for slug in (slugs * 5)] for slugs in ("ab", "ba") * 8]
    await asyncio.gather(*(harness.store.jobs.enqueue_many(batch) for batch in batches))
    assert await harness.counts() == {"queued": 160}
