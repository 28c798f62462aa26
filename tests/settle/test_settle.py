"""Settle: recorded outcomes; one invalid outcome does not affect the others (T38, T100)."""

import json
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from plait.model.errors import InvalidJob
from plait.model.states import AttemptOutcome
from plait.store.workers import Settlement

from ..fake_worker import outcome
from ..harness import Harness


async def test_what_an_attempt_leaves_behind(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.advance(seconds=10)
    detail = {"error": "it broke", "traceback": "line 1", "reason": "boom", "pid": 7, "exit_code": 3}
    await worker.settle(outcome(lease, "failed", result={"partial": 1}, ran_ms=4000.0, **detail))
    [attempt] = await harness.attempts(job)
    now = await harness.now()
    assert (attempt.claimed_at, attempt.started_at, attempt.finished_at) == (
        now - timedelta(seconds=10), now - timedelta(seconds=4), now,
    )  # fmt: skip
    assert (attempt.error, attempt.traceback, attempt.reason) == ("it broke", "line 1", "boom")
    assert (attempt.pid, attempt.exit_code, attempt.worker, attempt.host) == (7, 3, worker.id, "here")
    assert attempt.result == '{"partial": 1}'


async def test_each_attempt_has_its_own_times(harness: Harness) -> None:
    """T49"""
    job = await harness.enqueue("add")
    worker = await harness.worker()
    began = []
    for _ in range(3):
        lease = await worker.claim_one()
        began.append(await harness.now())
        await harness.advance(seconds=5)
        await worker.fail(lease)
        await harness.advance(hours=1)
        await worker.heartbeat()
        await harness.promote()
    assert [a.claimed_at for a in await harness.attempts(job)] == began
    assert [a.started_at for a in await harness.attempts(job)] == began


@pytest.mark.parametrize("ran_ms", [-5.0, 1e300, float("nan"), float("inf"), 1e12])
async def test_a_handler_never_began_before_its_claim(harness: Harness, ran_ms: float) -> None:
    """A worker's clock is not trusted (T31), and an absurd value does no harm."""
    jobs = await harness.enqueue_many("add", 2)
    worker = await harness.worker()
    claimed_at = await harness.now()
    first, second = await worker.claim(2)
    await harness.advance(seconds=1)
    assert await worker.settle(outcome(first, ran_ms=ran_ms), outcome(second, "failed", ran_ms=ran_ms)) == [
        True, True,
    ]  # fmt: skip
    for job in jobs:
        [attempt] = await harness.attempts(job)
        assert attempt.started_at is not None
        assert claimed_at <= attempt.started_at <= attempt.finished_at


async def test_progress_is_shown_while_it_runs_and_kept_with_its_attempt(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert await worker.progress(lease, {"done": 1})
    assert await worker.progress(lease, {"done": 2})
    assert (await harness.job(job)).progress == '{"done": 2}'
    await worker.fail(lease)
    await harness.advance(hours=1)
    await worker.heartbeat()
    await harness.promote()
    await worker.succeed(await worker.claim_one())
    assert [a.progress for a in await harness.attempts(job)] == ['{"done": 2}', None]


async def test_progress_is_not_inherited_by_the_next_attempt(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await worker.progress(lease, {"done": 99})
    await worker.release(lease)
    await worker.claim_one()
    assert (await harness.job(job)).progress is None


ODD_DETAILS: list[Any] = [
    '{"error": "a\\u0000b"}',
    '{"error": "\\ud800"}',
    '{"error": "x", "traceback": "\\u0000"}',
    '{"delay_s": 1e400}',
    '{"delay_s": 1e300}',
    '{"delay_s": -5}',
    '{"delay_s": "soon"}',
    '{"delay_s": null}',
    '{"delay_s": "NaN"}',
    '{"pid": 99999999999, "exit_code": "x"}',
    '{"permanent": "maybe"}',
    '{"error": {"not": "text"}}',
    "not json",
    "[1]",
    "null",
    "",
    json.dumps({"error": "x" * 1_000_000}),
]


@pytest.mark.parametrize("ending", ["failed", "snoozed", "skipped", "timeout"])
async def test_whatever_a_worker_says_of_a_failure_it_is_recorded(harness: Harness, ending: str) -> None:
    """T100: a failure can always be recorded, and so can the other outcomes in its batch."""
    worker = await harness.worker()
    for detail in ODD_DETAILS:
        odd, plain = await harness.enqueue_many("add", 2)
        await worker.claim(2)
        settlement = Settlement(odd, 1, AttemptOutcome(ending), detail=detail)
        settled = await worker.settle(settlement, outcome((plain, 1), "failed", error="it broke"))
        assert settled == [True, True], detail
        [attempt] = await harness.attempts(odd)
        assert attempt.status == ending, detail
        assert attempt.error or "error" not in detail, detail
        [attempt] = await harness.attempts(plain)
        assert attempt.error == "it broke", detail
        run_at = (await harness.job(odd)).run_at
        now = await harness.now()
        assert run_at is None or now <= run_at < now + timedelta(days=40_000), detail
        for job in (odd, plain):
            await harness.cancel(job)


async def test_a_result_may_hold_what_jsonb_refuses(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    result = '{"nul": "\\u0000", "lone": "\\udfff", "big": 1e99999}'
    assert await worker.settle(Settlement(lease.job_id, 1, AttemptOutcome.SUCCEEDED, result=result)) == [True]
    assert (await harness.job(job)).result == result


async def test_a_result_that_is_not_json_is_refused_in_words(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    with pytest.raises(InvalidJob, match="JSON"):
        await worker.settle(Settlement(lease.job_id, 1, AttemptOutcome.SUCCEEDED, result="{"))
    assert await worker.succeed(lease)


@pytest.mark.parametrize("endings", ["succeeded succeeded", "failed failed", "succeeded failed"])
async def test_an_attempt_named_twice_is_refused(harness: Harness, endings: str) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    with pytest.raises(InvalidJob, match="each attempt only once"):
        await worker.settle(*(outcome(lease, ending) for ending in endings.split()))
    with pytest.raises(asyncpg.UniqueViolationError):  # plait's worker never sends this, so any error will do
        await worker.cycle(0, *(outcome(lease, ending) for ending in endings.split()))
    assert await worker.succeed(lease)


@pytest.mark.parametrize(
    "arrays",
    [
        "array[$2]::uuid[], array[1, 2], array['succeeded']",
        "array[$2]::uuid[], array[1], array['succeeded', 'failed']",
        "array[$2]::uuid[], array[1], array['lost']",
        "array[$2]::uuid[], array[1], array[null]::text[]",
        "array[$2]::uuid[], array[1], array['suspended']",
        "array[$2]::uuid[], array[1], array['succeeded'], array['1', '2']",
        "null::uuid[], null, null, array[$2::uuid::text]",
    ],
)
async def test_a_malformed_batch_is_refused(harness: Harness, arrays: str) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    async with harness.connection() as connection:
        with pytest.raises(asyncpg.PostgresError) as caught:
            await connection.fetch(f"select plait.settle($1, {arrays})", worker.id, lease.job_id)
    assert caught.value.sqlstate == "PL001"


async def test_a_batch_of_many_with_all_outcomes_and_attempt_numbers(harness: Harness) -> None:
    endings = ["succeeded", "failed", "timeout", "skipped", "snoozed", "released", "canceled"]
    await harness.enqueue_many("add", 70)
    worker = await harness.worker()
    for _ in range(3):
        leases = await worker.claim(100)
        settlements = [
            outcome(lease, endings[n % 7], delay_s=1) if n % 7 == 4 else outcome(lease, endings[n % 7])
            for n, lease in enumerate(leases)
        ]
        assert (await worker.cycle(0, *settlements)).stale == []
        await harness.advance(minutes=1)
        await worker.heartbeat()
        await harness.promote()
        await harness.check()
