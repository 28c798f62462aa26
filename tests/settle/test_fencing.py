"""Fencing by (job, attempt): a worker that has lost its lease cannot change anything, and a reported outcome may be
sent again.

T34, T45, T51. Five ways to lose a lease, each with every outcome and with both calls that report outcomes.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from plait.model.states import AttemptOutcome

from ..fake_worker import FakeWorker, Lease, outcome
from ..harness import Harness

OUTCOMES = ("succeeded", "failed", "timeout", "skipped", "snoozed", "released", "canceled")
DETAILS: dict[str, dict[str, Any]] = {"snoozed": {"delay_s": 10}, "failed": {"error": "it broke"}}
Loss = Callable[[Harness], Awaitable[tuple[FakeWorker, Lease]]]


async def _its_worker_was_lost(harness: Harness) -> tuple[FakeWorker, Lease]:
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.lose(worker)
    return worker, lease


async def _another_worker_runs_it(harness: Harness) -> tuple[FakeWorker, Lease]:
    worker, lease = await _its_worker_was_lost(harness)
    await (await harness.worker()).claim_one()
    return worker, lease


async def _its_own_worker_runs_it_again(harness: Harness) -> tuple[FakeWorker, Lease]:
    """`locked_by` alone would not detect this: the same worker holds both attempts."""
    worker = await harness.worker()
    lease = await worker.claim_one()
    await worker.heartbeat(holding=[])
    assert (await worker.claim_one()).attempt == 2
    return worker, lease


async def _it_was_canceled_by_force(harness: Harness) -> tuple[FakeWorker, Lease]:
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.cancel(lease.job_id)
    await harness.advance(seconds=31)
    await worker.heartbeat()
    await harness.rescue()
    assert await harness.status(lease.job_id) == "canceled"
    return worker, lease


async def _its_worker_left(harness: Harness) -> tuple[FakeWorker, Lease]:
    worker = await harness.worker()
    lease = await worker.claim_one()
    await worker.leave()
    return worker, lease


async def _it_runs_again_after_a_retry(harness: Harness) -> tuple[FakeWorker, Lease]:
    worker, lease = await _it_was_canceled_by_force(harness)
    await harness.retry(lease.job_id)
    await worker.claim_one()
    return worker, lease


LOSSES = [
    _its_worker_was_lost, _another_worker_runs_it, _its_own_worker_runs_it_again, _it_was_canceled_by_force,
    _it_runs_again_after_a_retry,
]  # fmt: skip
named = pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__.strip("_"))


@named
async def test_no_outcome_of_a_stale_attempt_changes_anything(harness: Harness, lose: Loss) -> None:
    await harness.enqueue("add", dedupe_key="k")
    worker, lease = await lose(harness)
    before = await harness.snapshot()
    for ending in OUTCOMES:
        stale = outcome(lease, ending, **DETAILS.get(ending, {}))
        assert await worker.settle(stale) == [False], ending
        assert await harness.snapshot() == before, ending
        assert (await worker.cycle(0, stale)).stale == [0], ending
        assert await harness.snapshot() == before, ending


@named
async def test_a_stale_attempt_reports_no_progress(harness: Harness, lose: Loss) -> None:
    await harness.enqueue("add")
    worker, lease = await lose(harness)
    before = await harness.snapshot()
    assert not await worker.progress(lease, {"done": 1})
    assert await harness.snapshot() == before


@pytest.mark.parametrize("ending", [ending for ending in OUTCOMES if ending != "released"])
async def test_what_was_given_back_by_leaving_is_stale(harness: Harness, ending: str) -> None:
    """The handler ends just after its worker left. Its outcome is not recorded, and must not be reported as recorded."""
    await harness.enqueue("add")
    worker, lease = await _its_worker_left(harness)
    before = await harness.snapshot()
    detail = DETAILS.get(ending, {})
    # No cancellation was requested, so this outcome only releases the job.
    expected = ending == "canceled"
    assert await worker.settle(outcome(lease, ending, **detail)) == [expected]
    assert await harness.snapshot() == before


async def test_a_list_of_what_is_held_gives_back_no_newer_attempt_of_another(harness: Harness) -> None:
    await harness.enqueue("add")
    _, lease = await _another_worker_runs_it(harness)
    alive = await harness.worker()
    before = await harness.snapshot()
    assert (await alive.heartbeat(holding=[lease])).released == 0
    assert await harness.snapshot() == before


async def test_holding_an_old_attempt_is_not_holding_the_new_one(harness: Harness) -> None:
    """The reply to the claim of attempt 2 was lost, and the worker still holds attempt 1."""
    job = await harness.enqueue("add")
    worker, lease = await _its_own_worker_runs_it_again(harness)
    assert (await worker.heartbeat(holding=[lease])).released == 1
    assert await harness.status(job) == "queued"


async def test_a_lost_worker_leaves_without_a_trace(harness: Harness) -> None:
    await harness.enqueue("add")
    worker, _ = await _another_worker_runs_it(harness)
    before = await harness.snapshot()
    assert await worker.leave() == 0
    assert await harness.snapshot() == before


async def test_another_worker_cannot_settle_what_it_does_not_run(harness: Harness) -> None:
    job = await harness.enqueue("add")
    lease = await (await harness.worker()).claim_one()
    thief = await harness.worker()
    before = await harness.snapshot()
    for ending in OUTCOMES:
        assert await thief.settle(outcome(lease, ending, **DETAILS.get(ending, {}))) == [False]
        assert not await thief.progress(lease, 1)
    assert await harness.snapshot() == before
    assert await harness.status(job) == "running"


async def test_an_attempt_that_is_not_yet_is_stale(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert await worker.settle(outcome((lease.job_id, 2))) == [False]


# Sent again


@pytest.mark.parametrize("ending", OUTCOMES)
@pytest.mark.parametrize("canceling", [False, True], ids=["", "asked to stop"])
async def test_an_outcome_sent_again_is_accepted_and_changes_nothing(
    harness: Harness, ending: str, canceling: bool
) -> None:
    """T45: the reply was lost. The job may have continued since."""
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    if canceling:
        await harness.cancel(lease.job_id)
    settlement = outcome(lease, ending, **DETAILS.get(ending, {}))
    assert await worker.settle(settlement) == [True]
    before = await harness.snapshot()
    assert await worker.settle(settlement) == [True]
    assert (await worker.cycle(0, settlement)).stale == []
    assert await harness.snapshot() == before
    await harness.advance(minutes=1)
    await harness.promote()
    await worker.claim(1)
    before = await harness.snapshot()
    assert await worker.settle(settlement) == [True]
    assert await harness.snapshot() == before


async def test_another_outcome_of_an_attempt_that_has_ended_is_stale(harness: Harness) -> None:
    """The recorded outcome stays, and the second report must not count as recorded."""
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert await worker.release(lease)
    before = await harness.snapshot()
    assert not await worker.succeed(lease)
    assert not await worker.fail(lease)
    assert await harness.snapshot() == before
    assert await harness.outcomes(job) == ["released"]


async def test_only_the_stale_part_of_a_batch_is_stale(harness: Harness) -> None:
    """T38"""
    jobs = await harness.enqueue_many("add", 5)
    worker = await harness.worker()
    leases = await worker.claim(5)
    await worker.succeed(leases[1], 1)
    await worker.heartbeat(holding=[leases[0], leases[2], leases[3]])  # the fifth is released
    endings = [
        AttemptOutcome.SUCCEEDED,
        AttemptOutcome.SUCCEEDED,
        AttemptOutcome.FAILED,
        AttemptOutcome.SKIPPED,
        AttemptOutcome.SUCCEEDED,
    ]
    reply = await worker.cycle(0, *(outcome(*pair) for pair in zip(leases, endings, strict=True)))
    assert reply.stale == [4]
    assert await harness.statuses(jobs) == ["succeeded", "succeeded", "scheduled", "skipped", "queued"]


async def test_two_attempts_of_one_job_in_one_batch(harness: Harness) -> None:
    """A worker holds a stale attempt and the current one, and reports both at once."""
    job = await harness.enqueue("add")
    worker, old = await _its_own_worker_runs_it_again(harness)
    new = (job, 2)
    assert await worker.settle(outcome(old, "failed"), outcome(new, result=2)) == [False, True]
    assert [a.status for a in await harness.attempts(job)] == ["released", "succeeded"]
