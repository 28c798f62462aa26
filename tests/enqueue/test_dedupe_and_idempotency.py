"""Dedupe keys: one unfinished job per key. Idempotency keys: one job per request, regardless of its outcome."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from plait.model.errors import DedupeConflict, IdempotencyConflict

from ..fake_worker import FakeWorker
from ..harness import Harness

End = Callable[[Harness, FakeWorker], Awaitable[object]]


async def _succeed(harness: Harness, worker: FakeWorker) -> None:
    await worker.succeed(await worker.claim_one())


async def _succeed_in_a_cycle_of_several(harness: Harness, worker: FakeWorker) -> None:
    await harness.enqueue_many("add", 3)
    for lease in await worker.claim(4):
        await worker.succeed(lease)


async def _fail_for_good(harness: Harness, worker: FakeWorker) -> None:
    await worker.fail(await worker.claim_one(), permanent=True)


async def _die(harness: Harness, worker: FakeWorker) -> None:
    await harness.sql("update plait.live set max_attempts = 1")
    await worker.time_out(await worker.claim_one())


async def _skip(harness: Harness, worker: FakeWorker) -> None:
    await worker.skip(await worker.claim_one())


async def _cancel_queued(harness: Harness, worker: FakeWorker) -> None:
    await harness.cancel(await harness.sql("select job_id from plait.live"))


async def _cancel_running(harness: Harness, worker: FakeWorker) -> None:
    lease = await worker.claim_one()
    await harness.cancel(lease.job_id)
    await worker.report_canceled(lease)


async def _cancel_by_force(harness: Harness, worker: FakeWorker) -> None:
    await harness.cancel((await worker.claim_one()).job_id)
    await harness.advance(seconds=31)
    await worker.heartbeat()
    await harness.rescue()


async def _lose_the_worker_too_often(harness: Harness, worker: FakeWorker) -> None:
    for _ in range(5):
        victim = await harness.worker()
        await victim.claim_one()
        await harness.lose(victim)


ENDS: list[End] = [
    _succeed, _succeed_in_a_cycle_of_several, _fail_for_good, _die, _skip, _cancel_queued, _cancel_running,
    _cancel_by_force, _lose_the_worker_too_often,
]  # fmt: skip


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__.strip("_"))
async def test_every_kind_of_end_frees_the_dedupe_key(harness: Harness, end: End) -> None:
    first = await harness.enqueue("add", dedupe_key="k")
    await end(harness, await harness.worker())
    assert (await harness.status(first)).final
    second = await harness.enqueue("add", dedupe_key="k")
    assert second != first
    assert await harness.status(second) == "queued"


async def test_a_dedupe_key_is_held_while_the_job_is_not_final(harness: Harness) -> None:
    """An enqueue returns the same job while it is queued, running, between attempts, promoted or snoozed."""
    job = await harness.enqueue("add", dedupe_key="k")
    worker = await harness.worker()

    async def asked_again() -> bool:
        return await harness.enqueue("add", dedupe_key="k") == job

    assert await asked_again()
    lease = await worker.claim_one()
    assert await asked_again()
    await worker.fail(lease)
    assert await asked_again()
    await harness.advance(hours=1)
    await harness.promote()
    assert await asked_again()
    await worker.snooze(await worker.claim_one())
    assert await asked_again()
    await harness.cancel(job)
    assert not await asked_again()


async def test_a_dedupe_key_is_a_tenants_own(harness: Harness) -> None:
    """T128"""
    assert await harness.enqueue("add", tenant="a", dedupe_key="k") != await harness.enqueue(
        "add", tenant="b", dedupe_key="k"
    )


async def test_a_dedupe_key_is_shared_by_all_definitions(harness: Harness) -> None:
    assert await harness.enqueue("add", dedupe_key="k") == await harness.enqueue("other", dedupe_key="k")


async def test_within_one_batch_the_first_holds_the_key(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 3, dedupe_key="k")
    assert jobs == [min(jobs)] * 3
    assert await harness.counts() == {"queued": 1}


async def test_a_retry_takes_the_dedupe_key_again(harness: Harness) -> None:
    job = await harness.enqueue("add", dedupe_key="k")
    await harness.cancel(job)
    await harness.retry(job)
    assert await harness.enqueue("add", dedupe_key="k") == job


async def test_a_retry_is_refused_while_another_holds_the_key(harness: Harness) -> None:
    job = await harness.enqueue("add", dedupe_key="k")
    await harness.cancel(job)
    other = await harness.enqueue("add", dedupe_key="k")
    with pytest.raises(DedupeConflict):
        await harness.retry(job)
    await harness.cancel(other)
    assert await harness.retry(job) == "queued"


@pytest.mark.parametrize("key", ["dedupe_key", "idempotency_key"])
@pytest.mark.parametrize("first_commits", [True, False], ids=["commits", "rolls back"])
async def test_the_second_of_two_transactions_waits_for_the_first(
    harness: Harness, key: str, first_commits: bool
) -> None:
    sql = f"select plait.enqueue('add', {key} => 'k')"
    async with harness.connection() as one, harness.connection() as two:
        transaction = one.transaction()
        await transaction.start()
        first = await one.fetchval(sql)
        answer = asyncio.create_task(two.fetchval(sql))
        await harness.until_blocked()
        await (transaction.commit() if first_commits else transaction.rollback())
        second = await answer
    assert (second == first) == first_commits
    assert await harness.counts() == {"queued": 1}


async def test_many_at_once_with_few_keys_make_few_jobs(harness: Harness) -> None:
    """Batches that name the keys in different orders do not deadlock (T48)."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                harness.store.jobs.enqueue_many(
                    [
                        await harness.new_job("add", dedupe_key=f"d{key}", idempotency_key=f"i{key}")
                        for key in (range(10) if n % 2 else range(9, -1, -1))
                    ]
                )
            )
            for n in range(16)
        ]
    assert await harness.counts() == {"queued": 10}
    live = {job.id for job in await harness.store.jobs.list_jobs(limit=100)}
    assert {job for task in tasks for job in task.result().values()} <= live


async def test_a_key_freed_while_somebody_waits_for_it(harness: Harness) -> None:
    """The job that holds the key ends in an open transaction. The enqueue waits, and then creates a new job."""
    job = await harness.enqueue("add", dedupe_key="k")
    async with harness.connection() as operator:
        transaction = operator.transaction()
        await transaction.start()
        await operator.fetchval("select plait.cancel($1)", job)
        asked = asyncio.create_task(harness.enqueue("add", dedupe_key="k"))
        await harness.until_blocked()
        await transaction.commit()
        assert await asked != job
    assert await harness.counts() == {"canceled": 1, "queued": 1}


# Idempotency


async def test_the_same_request_is_the_same_job_for_ever(harness: Harness) -> None:
    job = await harness.enqueue("add", idempotency_key="k", payload={"a": 1})
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    await harness.advance(days=1000)
    assert await harness.enqueue("add", idempotency_key="k", payload={"a": 1}) == job
    assert await harness.counts() == {"succeeded": 1}


async def test_another_payload_is_a_conflict(harness: Harness) -> None:
    await harness.enqueue("add", idempotency_key="k", payload={"a": 1})
    with pytest.raises(IdempotencyConflict, match="'k' was used with another payload"):
        await harness.enqueue("add", idempotency_key="k", payload={"a": 2})


async def test_payloads_are_compared_as_json(harness: Harness) -> None:
    job = await harness.enqueue("add", idempotency_key="k", payload='{"a": 1, "b": [1, 2]}')
    assert await harness.enqueue("add", idempotency_key="k", payload='{"b":[1,2],"a":1}') == job
    with pytest.raises(IdempotencyConflict):
        await harness.enqueue("add", idempotency_key="k", payload='{"a": 1, "b": [2, 1]}')


async def test_an_idempotency_key_is_a_tenants_and_a_definitions_own(harness: Harness) -> None:
    """T128"""
    jobs = {
        await harness.enqueue("add", tenant="a", idempotency_key="k"),
        await harness.enqueue("add", tenant="b", idempotency_key="k", payload={"a": 1}),
        await harness.enqueue("other", tenant="a", idempotency_key="k", payload={"a": 2}),
    }
    assert len(jobs) == 3


async def test_a_key_with_a_ttl_is_free_after_it(harness: Harness) -> None:
    options = {"idempotency_key": "k", "idempotency_ttl_s": 60.0}
    first = await harness.enqueue("add", payload={"a": 1}, **options)
    await harness.advance(seconds=59)
    assert await harness.enqueue("add", payload={"a": 1}, **options) == first
    await harness.advance(seconds=1)
    second = await harness.enqueue("add", payload={"a": 2}, **options)
    assert second != first
    await harness.advance(seconds=59)
    assert await harness.enqueue("add", payload={"a": 2}, **options) == second


async def test_within_one_batch_a_request_is_made_once(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 3, idempotency_key="k")
    assert jobs == [min(jobs)] * 3


async def test_within_one_batch_another_payload_is_a_conflict(harness: Harness) -> None:
    jobs = [await harness.new_job("add", idempotency_key="k", payload={"a": n}) for n in range(2)]
    with pytest.raises(IdempotencyConflict):
        await harness.store.jobs.enqueue_many(jobs)
    assert await harness.counts() == {}


# Both


async def test_a_request_that_a_dedupe_key_answered_is_answered_the_same_again(harness: Harness) -> None:
    """The request created no job, so its idempotency key must refer to the existing job."""
    old = await harness.enqueue("add", dedupe_key="d")
    assert await harness.enqueue("add", dedupe_key="d", idempotency_key="i") == old
    await harness.cancel(old)
    assert await harness.enqueue("add", dedupe_key="d", idempotency_key="i") == old
    assert await harness.counts() == {"canceled": 1}


async def test_in_one_batch_all_answers_name_jobs_that_exist(harness: Harness) -> None:
    old = await harness.enqueue("add", dedupe_key="d")
    assert await harness.enqueue_many("add", 2, dedupe_key="d", idempotency_key="i") == [old, old]


async def test_a_request_that_was_answered_holds_no_dedupe_key(harness: Harness) -> None:
    """Its idempotency key refers to a final job, so the dedupe key stays free."""
    first = await harness.enqueue("add", idempotency_key="i")
    await harness.cancel(first)
    assert await harness.enqueue("add", idempotency_key="i", dedupe_key="d") == first
    assert await harness.enqueue("add", dedupe_key="d") != first
