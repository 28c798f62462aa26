"""The vocabulary itself: the life of a job in its words, and a checker that finds what is broken."""

import pytest

from ..fake_worker import outcome
from ..harness import World
from ..invariants import violations


async def test_a_job_is_asked_claimed_and_done(world: World) -> None:
    job = await world.enqueue("add", payload={"a": 1})
    assert await world.status(job) == "queued"
    worker = await world.worker()
    lease = await worker.claim_one()
    assert (lease.job_id, lease.attempt, lease.payload) == (job, 1, '{"a": 1}')
    assert await world.status(job) == "running"
    assert await worker.succeed(lease, 42)
    assert await world.status(job) == "succeeded"
    assert [(a.attempt, a.status, a.result) for a in await world.attempts(job)] == [(1, "succeeded", "42")]


async def test_a_failed_try_is_retried_when_its_time_comes(world: World) -> None:
    job = await world.enqueue("add")
    worker = await world.worker()
    assert await worker.fail(await worker.claim_one())
    assert await world.status(job) == "scheduled"
    await world.advance(seconds=2)
    assert await world.promote() == 1
    assert (await worker.claim_one()).attempt == 2


async def test_one_cycle_settles_and_claims(world: World) -> None:
    await world.enqueue_many("add", 3)
    worker = await world.worker()
    first = await worker.claim(2)
    reply = await worker.cycle(2, *(outcome(lease) for lease in first))
    assert reply.alive
    assert reply.stale == []
    assert len(reply.claimed) == 1
    assert await world.counts() == {"succeeded": 2, "running": 1}


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        ("delete from plait.live", "never neither"),
        ("insert into plait.dedupe select tenant_id, 'k', job_id from plait.live", "dedupe key"),
        ("update plait.live set attempt = 2", "without gaps"),
        ("update plait.live set tries = max_attempts", "a try left"),
        ("update plait.live set state = 'running', worker = 4711", "worker is alive"),
    ],
)  # fmt: skip
async def test_the_checker_finds_a_broken_database(world: World, harm: str, found: str) -> None:
    await world.enqueue("add")
    transaction = world.admin.transaction()
    await transaction.start()
    await world.sql(harm)
    assert found in "\n".join(await violations(world.admin))
    await transaction.rollback()
