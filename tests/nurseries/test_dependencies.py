"""Jobs that wait for others without a parent: `after=[ids]`."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from plait import PermanentError, Plait, Skip, Status, dependencies, dependencies_sync
from plait.model.errors import InvalidJob, NotFound
from plait.model.ids import new_id
from plait.testing import Kit

from ..harness import Harness


def _array(*ids: UUID) -> str:
    return "{" + ",".join(map(str, ids)) + "}"


async def test_a_job_starts_when_all_that_it_waits_for_have_succeeded(harness: Harness) -> None:
    first, second = await harness.enqueue_many("add", 2)
    last = await harness.enqueue("other", after=_array(first, second))
    worker = await harness.worker()
    leases = await worker.claim(5)
    assert {lease.job_id for lease in leases} == {first, second}
    assert await harness.status(last) == "waiting"
    assert await harness.explain(last) == ["waiting"]
    await worker.succeed(leases[0])
    assert await harness.status(last) == "waiting"
    await worker.skip(leases[1])
    assert await harness.status(last) == "queued"
    assert (await worker.claim_one()).job_id == last


@pytest.mark.parametrize("policy", ["cancel", "run"])
@pytest.mark.parametrize("ending", ["failed", "canceled", "already failed"])
async def test_a_dependency_that_fails_cancels_or_does_not(harness: Harness, ending: str, policy: str) -> None:
    first, second = await harness.enqueue_many("add", 2)
    worker = await harness.worker()
    leases = {lease.job_id: lease for lease in await worker.claim(2)}
    if ending == "already failed":
        await worker.fail(leases[first], permanent=True)
    options = {"after": _array(first, second), "on_dependency_failure": policy}
    waits = await harness.enqueue("other", **options)
    behind = await harness.enqueue("other", after=_array(waits))
    if ending == "failed":
        await worker.fail(leases[first], permanent=True)
    elif ending == "canceled":
        await harness.cancel(first)
        await worker.report_canceled(leases[first])
    if policy == "cancel":
        assert (await harness.job(waits)).reason == "dependency_failed"
        assert await harness.statuses([waits, behind]) == ["canceled", "canceled"]
        await worker.succeed(leases[second])
    else:
        assert await harness.status(waits) == "waiting"
        await worker.succeed(leases[second])
        assert await harness.statuses([waits, behind]) == ["queued", "waiting"]


async def test_a_job_that_waits_and_is_delayed_starts_when_both_are_over(harness: Harness) -> None:
    first = await harness.enqueue()
    last = await harness.enqueue("other", after=_array(first), delay_s=60)
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    assert await harness.status(last) == "waiting"
    await harness.advance(seconds=61)
    await harness.store.leader.resume()
    assert await harness.status(last) == "queued"


async def test_what_can_not_be_waited_for_is_refused(harness: Harness) -> None:
    await harness.tenant("acme")
    foreign = await harness.enqueue(tenant="acme")
    before = await harness.snapshot()
    for job in (new_id(), foreign):
        with pytest.raises(NotFound, match="to wait for"):
            await harness.enqueue("other", after=_array(job))
    own = new_id()
    with pytest.raises(InvalidJob, match="itself"):
        await harness.enqueue("other", id=own, after=_array(own))
    assert await harness.snapshot() == before


async def test_what_is_asked_for_together_waits_only_for_what_comes_before_it(harness: Harness) -> None:
    """So there are no cycles, and what a job that is canceled at once means is known to those behind it."""
    failed = await harness.enqueue()
    await harness.cancel(failed)
    a, b = new_id(), new_id()
    before = await harness.snapshot()
    for first in (b, failed):
        jobs = [("other", a, _array(b)), ("other", b, _array(a if first == b else failed))]
        with pytest.raises(InvalidJob, match="enqueued before it"):
            await harness.store.jobs.enqueue_many([await harness.new_job(d, id=i, after=x) for d, i, x in jobs])
    assert await harness.snapshot() == before
    jobs = [("other", a, _array(failed)), ("other", b, _array(a))]
    await harness.store.jobs.enqueue_many([await harness.new_job(d, id=i, after=x) for d, i, x in jobs])
    assert await harness.statuses([a, b]) == ["canceled", "canceled"]


@pytest.mark.parametrize("dependency", ["runs again", "stays failed"])
async def test_who_is_retried_waits_again_for_what_runs_again(harness: Harness, dependency: str) -> None:
    """An operator may overrule a permanent failure."""
    first, done = await harness.enqueue_many("add", 2)
    last = await harness.enqueue("other", after=_array(first, done))
    worker = await harness.worker()
    leases = {lease.job_id: lease for lease in await worker.claim(2)}
    await worker.succeed(leases[done])
    await worker.fail(leases[first], permanent=True)
    assert await harness.status(last) == "canceled"
    if dependency == "stays failed":
        assert await harness.retry(last) == "queued"
        return
    await harness.retry(first)
    assert await harness.retry(last) == "waiting"
    await worker.fail(await worker.claim_one(), permanent=True)
    assert await harness.status(last) == "canceled"
    await harness.retry(first)
    await harness.retry(last)
    await worker.succeed(await worker.claim_one())
    assert (await worker.claim_one()).job_id == last


async def test_a_long_chain_ends_with_its_first_job(harness: Harness) -> None:
    """An end that cascades looks at each job once: not at all that came before, again and again."""
    ids = [new_id() for _ in range(400)]
    afters = [None, *(_array(one) for one in ids)]
    await harness.store.jobs.enqueue_many(
        [await harness.new_job("other", id=one, after=after) for one, after in zip(ids, afters, strict=False)]
    )
    await harness.cancel(ids[0])
    assert await harness.counts() == {Status.CANCELED: 400}


async def test_an_enqueue_that_is_sent_again_waits_once(harness: Harness) -> None:
    first, own = await harness.enqueue(), new_id()
    for _ in range(2):
        await harness.enqueue("other", id=own, after=_array(first))
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    assert await harness.status(own) == "queued"


@pytest.mark.parametrize("races", [20, pytest.param(500, marks=pytest.mark.full)])
async def test_a_dependency_that_ends_while_it_is_named_is_not_missed(harness: Harness, races: int) -> None:
    """T1: the end of a job and the enqueue of one that waits for it cross."""
    worker = await harness.worker()
    for _ in range(races):
        await harness.enqueue()
        lease = await worker.claim_one()
        waits, _ = await asyncio.gather(harness.enqueue("other", after=_array(lease.job_id)), worker.succeed(lease))
        assert await harness.status(waits) == "queued"
        await harness.cancel(waits)


async def test_options_name_what_a_job_waits_for(app: Plait, kit: Kit, app_harness: Harness) -> None:
    ran: list[int] = []

    @app.job
    async def step(n: int) -> None:
        ran.append(n)

    late = [await step.options(delay="1m").enqueue(n) for n in (1, 2)]
    await step.options(after=late).enqueue(3)
    await step.options(after=[str(late[0].id)], on_dependency_failure="run").enqueue(4)
    await kit.run_until_idle()
    assert ran == []
    await late[0].cancel()
    await kit.advance(minutes=1)
    await kit.run_until_idle()
    assert ran == [4, 2] or ran == [2, 4]
    with pytest.raises(InvalidJob):
        step.options(after=["no id"])


@pytest.mark.parametrize("verb", ["retry", "retry_tree", "reschedule"])
@pytest.mark.parametrize("ended_by", ["an operator", "another dependency"])
async def test_a_canceled_job_is_opened_again_while_a_job_that_it_depends_on_is_live(
    harness: Harness, verb: str, ended_by: str
) -> None:
    first, second = await harness.enqueue_many("add", 2)
    waits = await harness.enqueue("other", after=_array(first, second))
    if ended_by == "an operator":
        await harness.cancel(waits)
    else:
        await harness.cancel(first)
        await harness.retry(first)
    assert await harness.status(waits) == "canceled"
    await getattr(harness.store.jobs, verb)(waits)
    assert await harness.status(waits) == "waiting"
    worker = await harness.worker()
    leases = await worker.claim(3)
    assert {lease.job_id for lease in leases} == {first, second}
    await worker.succeed(leases[0])
    assert await harness.status(waits) == "waiting"
    await worker.succeed(leases[1])
    assert await harness.status(waits) == "queued"


@pytest.mark.parametrize("verb", ["retry", "reschedule"])
async def test_the_time_of_a_retry_is_kept_while_the_job_waits_for_its_dependency(harness: Harness, verb: str) -> None:
    first = await harness.enqueue("add")
    waits = await harness.enqueue("other", after=_array(first))
    await harness.cancel(waits)
    later = await harness.now() + timedelta(hours=1)
    await getattr(harness, verb)(waits, run_at=later)
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    await harness.store.leader.resume()
    assert await harness.status(waits) == "waiting"
    await harness.advance(minutes=61)
    await harness.store.leader.resume()
    assert await harness.status(waits) == "queued"


async def test_a_dependent_reads_what_its_dependencies_came_to(app: Plait, kit: Kit, app_harness: Harness) -> None:
    seen: list[Any] = []

    @dataclass
    class Point:
        x: int

    @app.job
    async def point(x: int) -> Point:
        return Point(x)

    @app.job(retries=0)
    async def bad() -> int:
        raise PermanentError("no")

    @app.job
    async def skipped() -> int:
        raise Skip("not today")

    @app.job
    async def summary() -> int:
        for one in await dependencies():
            seen.append(one.value if one.error is None else one.error.error)
            assert one.skipped == (one.index == 3)
        return len(seen)

    @app.job
    def in_a_thread() -> int:
        return len(dependencies_sync())

    first = [await point.enqueue(1), await bad.enqueue(), await point.enqueue(2), await skipped.enqueue()]
    last = await summary.options(after=first, on_dependency_failure="run").enqueue()
    sync = await in_a_thread.options(after=first[:1]).enqueue()
    alone = await summary.enqueue()
    await kit.run_until_idle()
    assert await last.result(timeout=120) == 4
    assert seen == [Point(1), "no", Point(2), None]
    assert await sync.result(timeout=120) == 1
    assert await alone.result(timeout=120) >= 0


async def test_results_of_dependencies_are_read_in_pages_of_bytes(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def large(n: int) -> str:
        return f"{n}".ljust(900_000, "x")

    @app.job
    async def lengths() -> list[str]:
        return [one.value[0] for one in await dependencies() if one.value]

    first = [await large.enqueue(n) for n in range(12)]
    last = await lengths.options(after=first).enqueue()
    await kit.run_until_idle()
    assert await last.result(timeout=120) == [str(n)[0] for n in range(12)]
    page = await app_harness.store.nurseries.list_dependencies(last.id, await app_harness.tenant())
    assert [row.index for row in page] == list(range(len(page)))
    assert 1 <= len(page) < 12
