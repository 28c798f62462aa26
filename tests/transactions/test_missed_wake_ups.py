"""Jobs that an open transaction blocked continue when it has ended: no wake-up is lost, and nothing deadlocks."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from plait.model.errors import NotFound
from plait.model.ids import new_id
from plait.store.leader import Retention
from plait.store.workflows import Lease

from ..fake_worker import outcome
from ..harness import Harness
from ..workflows.worker_calls import CHILDREN, open_one, wait_for


async def test_a_stream_whose_parent_was_locked_as_a_child_ended_goes_on(harness: Harness) -> None:
    worker = await harness.worker(queues=["default", CHILDREN])
    parent = await harness.enqueue()
    await open_one(harness, worker, await worker.claim_one(queue="default"), 2, streamed=True)
    first, _ = await worker.claim(2, queue=CHILDREN)
    async with harness.connection() as connection, connection.transaction():
        await connection.fetchval("select plait.enqueue('add', tenant => 'default', after => array[$1::uuid])", parent)
        assert await worker.succeed(first)
        assert await harness.status(parent) == "waiting"
        await harness.rescue()
        assert await harness.status(parent) == "waiting"
    await harness.rescue()
    assert await harness.status(parent) == "queued"
    assert not await worker.claim(1, queue=CHILDREN)


async def test_enqueueing_after_running_jobs_and_settling_them_do_not_deadlock(harness: Harness) -> None:
    """They lock the same rows: one by id, the other attempt number by attempt number. A third holds one in between for a moment."""
    await harness.define("add", backoff_base_s=0)
    worker = await harness.worker()
    first = await harness.enqueue()
    await worker.release(await worker.claim_one())
    between = await harness.enqueue(delay_s=3600)
    last = await harness.enqueue()
    leases = {lease.job_id: lease for lease in await worker.claim(2)}
    assert [leases[job].attempt for job in (first, last)] == [2, 1]
    async with harness.connection() as holder, harness.connection() as user:
        await holder.execute("begin")
        await holder.fetchval("select plait.signal($1, 'x', '1', plait.tenant_id('default'))", between)
        await user.execute("begin")
        asking = asyncio.create_task(_enqueue_after(user, [first, between, last]))
        await harness.until_blocked()
        settling = asyncio.create_task(worker.cycle(0, outcome(leases[last]), outcome(leases[first])))
        cycle = await settling  # does not wait for the transaction, whatever it holds
        await holder.execute("rollback")
        await asking
        await user.execute("commit")
    left = [leases[(last, first)[position]] for position in cycle.busy]
    assert [lease.job_id for lease in left] == [first]
    assert not (await worker.cycle(0, *map(outcome, left))).busy
    assert await harness.statuses([first, last]) == ["succeeded", "succeeded"]


async def _enqueue_after(connection: object, jobs: list[UUID]) -> None:
    sql = "select plait.enqueue('add', tenant => 'default', after => $1::uuid[])"
    await connection.fetchval(sql, jobs)  # type: ignore[attr-defined]


async def test_depending_on_another_tenants_job_is_refused_without_waiting_for_it(harness: Harness) -> None:
    theirs = await harness.enqueue(tenant="theirs")
    async with harness.connection() as holder, holder.transaction():
        await holder.fetchval("select plait.signal($1, 'x', '1', plait.tenant_id('theirs'))", theirs)
        with pytest.raises(NotFound):
            async with asyncio.timeout(30):  # the other transaction stays open
                await harness.enqueue(tenant="ours", after=f"{{{theirs}}}")


async def test_a_follow_up_whose_key_is_held_comes_when_the_transaction_has_ended(harness: Harness) -> None:
    worker = await harness.worker()
    for commit in (False, True):
        job = await harness.enqueue()
        follower, older = new_id(), new_id()
        await harness.sql(
            "select plait.after($1, 'other', tenant => 'default', dedupe_key => 'k', id => $2)", job, follower
        )
        async with harness.connection() as connection:
            transaction = connection.transaction()
            await transaction.start()
            await connection.fetchval(
                "select plait.enqueue('add', tenant => 'default', dedupe_key => 'k', delay => '1 day', id => $1)", older
            )
            assert not (await worker.cycle(0, outcome(await worker.claim_one()))).busy
            assert await harness.status(job) == "succeeded"
            await harness.rescue()
            assert await harness.sql("select count(*) from plait.jobs where id = $1", follower) == 0
            await (transaction.commit() if commit else transaction.rollback())
        await harness.rescue()
        made = await harness.sql("select count(*) from plait.jobs where id = $1", follower)
        assert made == (0 if commit else 1)  # another stands for it, or none does
        assert await harness.sql("select count(*) from plait.follow_ups") == 0
        if not commit:
            await harness.cancel(follower)


async def test_a_signal_that_was_missed_is_found(harness: Harness) -> None:
    """Nothing loses one; should anything ever, the leader finds it."""
    worker = await harness.worker()
    job = await harness.enqueue()
    claimed = await worker.claim_one()
    lease = Lease(worker.id, claimed.job_id, claimed.attempt)
    await wait_for(harness, lease, "signal go", "signal", delay_s=1e6)
    assert (await harness.store.leader.resume_missed())[0] == 0
    await harness.sql(
        "insert into plait.signals (job_id, id, tenant_id, sent_at, name) select job_id, plait.uuidv7(), tenant_id, plait.now(), 'go' from plait.live where job_id = $1",
        job,
    )
    assert (await harness.store.leader.resume_missed())[0] == 1
    assert await harness.status(job) == "queued"


async def test_retention_does_not_wait_for_an_idempotency_key_that_is_used_again(harness: Harness) -> None:
    worker = await harness.worker()
    keyed = await harness.enqueue(idempotency_key="k", idempotency_ttl_s=60)
    plain = await harness.enqueue()
    for lease in await worker.claim(2):
        await worker.succeed(lease)
    await harness.advance(days=30)
    keep = Retention(succeeded=timedelta(0))
    async with harness.connection() as connection, connection.transaction():
        await connection.fetchval("select plait.enqueue('add', tenant => 'default', idempotency_key => 'k')")
        async with asyncio.timeout(30):  # the transaction stays open
            await harness.store.leader.prune(keep)
        assert await harness.sql("select array_agg(id) from plait.jobs") == [keyed]
        assert plain != keyed
    await harness.store.leader.prune(keep)
    assert await harness.sql("select count(*) from plait.jobs where id = $1", keyed) == 0
