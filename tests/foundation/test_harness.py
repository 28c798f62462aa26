"""The harness itself: the life of a job with its methods, and a check that finds violated invariants."""

import pytest

from ..fake_worker import outcome
from ..harness import Harness
from ..invariants import violations


async def test_a_job_is_asked_claimed_and_done(harness: Harness) -> None:
    job = await harness.enqueue("add", payload={"a": 1})
    assert await harness.status(job) == "queued"
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert (lease.job_id, lease.attempt, lease.payload) == (job, 1, '{"a": 1}')
    assert await harness.status(job) == "running"
    assert await worker.succeed(lease, 42)
    assert await harness.status(job) == "succeeded"
    assert [(a.attempt, a.status, a.result) for a in await harness.attempts(job)] == [(1, "succeeded", "42")]


async def test_a_failed_try_is_retried_when_its_time_comes(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    assert await worker.fail(await worker.claim_one())
    assert await harness.status(job) == "scheduled"
    await harness.advance(seconds=2)
    assert await harness.promote() == 1
    assert (await worker.claim_one()).attempt == 2


async def test_one_cycle_settles_and_claims(harness: Harness) -> None:
    await harness.enqueue_many("add", 3)
    worker = await harness.worker()
    first = await worker.claim(2)
    reply = await worker.cycle(2, *(outcome(lease) for lease in first))
    assert reply.alive
    assert reply.stale == []
    assert len(reply.claimed) == 1
    assert await harness.counts() == {"succeeded": 2, "running": 1}


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        ("delete from plait.live", "never neither"),
        ("insert into plait.dedupe select tenant_id, 'k', job_id from plait.live", "dedupe key"),
        ("update plait.live set attempt = 2", "without gaps"),
        ("update plait.live set failed_attempts = max_attempts", "an attempt left"),
        ("update plait.live set state = 'running', worker = 4711", "worker is alive"),
    ],
)  # fmt: skip
async def test_the_checker_finds_a_broken_database(harness: Harness, harm: str, found: str) -> None:
    await harness.enqueue("add")
    transaction = harness.admin.transaction()
    await transaction.start()
    await harness.sql(harm)
    assert found in "\n".join(await violations(harness.admin))
    await transaction.rollback()
