"""Cancel: in every state, with every outcome, and in every race."""

import asyncio
import random

import pytest

from plait.model.errors import NotFound
from plait.model.ids import new_id

from ..fake_worker import outcome
from ..harness import Harness

ROUNDS = pytest.mark.parametrize("rounds", [150, pytest.param(2_000, marks=pytest.mark.full)], ids=["150", "2,000"])


@pytest.mark.parametrize("options", [{}, {"delay_s": 60}, {"limit_key": "k"}], ids=str)
async def test_a_job_that_has_not_begun_is_canceled_now(harness: Harness, options: dict[str, object]) -> None:
    job = await harness.enqueue("add", **options)
    assert await harness.cancel(job) == "canceled"
    [attempt] = await harness.attempts(job)
    assert (attempt.status, attempt.final, attempt.claimed_at, attempt.worker) == (
        "canceled", "canceled", None, None,
    )  # fmt: skip
    await harness.advance(minutes=2)
    await harness.promote()
    assert await (await harness.worker()).claim(5) == []


async def test_between_two_tries(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.fail(await worker.claim_one())
    assert await harness.cancel(job) == "canceled"
    assert await harness.outcomes(job) == ["failed", "canceled"]


async def test_while_it_waits(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.claim_one()
    await harness.sql("update plait.live set state = 'waiting', worker = null")
    await harness.sql(
        """insert into plait.attempts (job_id, tenant_id, finished_at, attempt, worker, status)
           select job_id, tenant_id, plait.now(), 1, $1, 'suspended' from plait.live""",
        worker.id,
    )
    assert await harness.cancel(job) == "canceled"


@pytest.mark.parametrize("ending", ["failed", "timeout", "skipped", "snoozed", "released", "canceled"])
async def test_whatever_a_canceled_handler_reports_but_a_success_it_is_canceled(harness: Harness, ending: str) -> None:
    """T51: the job never returns to the queue."""
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert await harness.cancel(job) == "running"
    assert (await harness.job(job)).cancel_requested == await harness.now()
    assert await worker.settle(outcome(lease, ending, delay_s=5)) == [True]
    assert await harness.status(job) == "canceled"
    assert await harness.outcomes(job) == ["canceled"]
    assert await worker.claim(5) == []


async def test_a_success_that_arrives_still_counts(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.cancel(job)
    assert await worker.succeed(lease, 1)
    assert await harness.status(job) == "succeeded"


async def test_the_worker_is_told_by_its_next_cycle_and_heartbeat(harness: Harness) -> None:
    await harness.enqueue_many("add", 2)
    worker, other = await harness.worker(), await harness.worker()
    lease = await worker.claim_one()
    await other.claim_one()
    await harness.cancel(lease.job_id)
    told = [(lease.job_id, 1)]
    assert (await worker.cycle(0)).cancels == told
    assert (await worker.heartbeat()).cancels == told
    assert (await other.cycle(0)).cancels == []


async def test_canceling_twice_keeps_the_first_time(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.claim_one()
    await harness.cancel(job)
    asked = (await harness.job(job)).cancel_requested
    await harness.advance(seconds=10)
    assert await harness.cancel(job) == "running"
    assert (await harness.job(job)).cancel_requested == asked


async def test_the_reason_given_for_a_cancel_is_kept(harness: Harness) -> None:
    worker = await harness.worker()
    queued, running = await harness.enqueue("add", priority=2), await harness.enqueue("add", priority=1)
    lease = await worker.claim_one()
    assert lease.job_id == running
    for job in (queued, running):
        await harness.store.jobs.cancel(job, reason="ordered twice")
    await worker.report_canceled(lease)
    assert [(await harness.job(job)).error for job in (queued, running)] == ["ordered twice", "ordered twice"]


async def test_a_final_job_keeps_its_status(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    before = await harness.snapshot()
    assert await harness.cancel(job) == "succeeded"
    assert await harness.snapshot() == before


async def test_no_job_and_another_tenants_job_look_the_same(harness: Harness) -> None:
    job = await harness.enqueue("add", tenant="acme")
    for missing in (job, new_id()):
        with pytest.raises(NotFound, match=f"there is no job {missing}"):
            await harness.cancel(missing, tenant="other")


async def test_past_its_grace_it_is_canceled_by_force(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker(lease_s=600)
    lease = await worker.claim_one()
    await worker.progress(lease, {"done": 1})
    await harness.cancel(job)
    await harness.advance(seconds=30)
    assert (await harness.rescue()).canceled == 0
    await harness.advance(seconds=1)
    assert (await harness.rescue()).canceled == 1
    [attempt] = await harness.attempts(job)
    assert (attempt.status, attempt.final, attempt.reason) == ("canceled", "canceled", "cancel_forced")
    assert attempt.progress == '{"done": 1}'


@pytest.mark.parametrize("how", ["leave", "forget", "lose"])
async def test_a_request_to_stop_is_not_forgotten_when_the_job_comes_back(harness: Harness, how: str) -> None:
    """T51: its worker leaves, never received the claim's reply, or is lost."""
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.claim_one()
    await harness.cancel(job)
    match how:
        case "leave":
            await worker.leave()
        case "forget":
            assert (await worker.heartbeat(holding=[])).released == 1
        case _:
            await harness.lose(worker)
    assert await harness.status(job) == "canceled"


@ROUNDS
async def test_cancel_and_settle_at_the_same_moment(harness: Harness, rounds: int) -> None:
    """Either call may be first. The job ends once, and both calls return its actual status."""
    worker = await harness.worker(lease_s=86_400)
    dice = random.Random(1)
    for _ in range(rounds // 10):
        await harness.enqueue_many("add", 10, dedupe_key=None)
        leases = await worker.claim(10)
        endings = [dice.choice(["succeeded", "failed", "skipped", "released"]) for _ in leases]
        settlements = [outcome(*pair) for pair in zip(leases, endings, strict=True)]
        settle = asyncio.create_task(worker.cycle(0, *settlements))
        told = await asyncio.gather(*(harness.cancel(lease.job_id) for lease in leases))
        cycle = await settle
        while cycle.busy:  # a cancel held its row just then
            assert cycle.stale == []
            settlements = [settlements[position] for position in cycle.busy]
            cycle = await worker.cycle(0, *settlements)
        assert cycle.stale == []
        for lease, ending, answer in zip(leases, endings, told, strict=True):
            status = await harness.status(lease.job_id)
            if ending == "succeeded":
                assert status == "succeeded"
                assert answer in ("running", "succeeded")
            elif ending == "skipped":
                assert (answer, status) in {("running", "canceled"), ("skipped", "skipped")}
            else:
                # The cancel came while the job ran, or just after it was queued again. It is canceled in both cases.
                assert (answer, status) in {("running", "canceled"), ("canceled", "canceled")}
        await harness.check()


@ROUNDS
async def test_cancel_and_claim_at_the_same_moment(harness: Harness, rounds: int) -> None:
    worker = await harness.worker(lease_s=86_400)
    for _ in range(rounds // 10):
        jobs = await harness.enqueue_many("add", 10)
        claim = asyncio.create_task(worker.claim(10))
        told = await asyncio.gather(*(harness.cancel(job) for job in jobs))
        leases = await claim
        claimed = {lease.job_id for lease in leases}
        for job, answer in zip(jobs, told, strict=True):
            if job in claimed:
                assert answer == "running"
            else:
                assert answer == "canceled"
        await worker.settle(*(outcome(lease, "released") for lease in leases))
        assert (await harness.counts()).keys() == {"canceled"}
