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

from ..harness import World


def _array(*ids: UUID) -> str:
    return "{" + ",".join(map(str, ids)) + "}"


async def test_a_job_starts_when_all_that_it_waits_for_have_succeeded(world: World) -> None:
    first, second = await world.enqueue_many("add", 2)
    last = await world.enqueue("other", after=_array(first, second))
    worker = await world.worker()
    leases = await worker.claim(5)
    assert {lease.job_id for lease in leases} == {first, second}
    assert await world.status(last) == "waiting"
    assert await world.explain(last) == ["waiting"]
    await worker.succeed(leases[0])
    assert await world.status(last) == "waiting"
    await worker.skip(leases[1])
    assert await world.status(last) == "queued"
    assert (await worker.claim_one()).job_id == last


@pytest.mark.parametrize("policy", ["cancel", "run"])
@pytest.mark.parametrize("ending", ["failed", "canceled", "already failed"])
async def test_a_dependency_that_fails_cancels_or_does_not(world: World, ending: str, policy: str) -> None:
    first, second = await world.enqueue_many("add", 2)
    worker = await world.worker()
    leases = {lease.job_id: lease for lease in await worker.claim(2)}
    if ending == "already failed":
        await worker.fail(leases[first], permanent=True)
    options = {"after": _array(first, second), "on_dependency_failure": policy}
    waits = await world.enqueue("other", **options)
    behind = await world.enqueue("other", after=_array(waits))
    if ending == "failed":
        await worker.fail(leases[first], permanent=True)
    elif ending == "canceled":
        await world.cancel(first)
        await worker.report_canceled(leases[first])
    if policy == "cancel":
        assert (await world.job(waits)).reason == "dependency_failed"
        assert await world.statuses([waits, behind]) == ["canceled", "canceled"]
        await worker.succeed(leases[second])
    else:
        assert await world.status(waits) == "waiting"
        await worker.succeed(leases[second])
        assert await world.statuses([waits, behind]) == ["queued", "waiting"]


async def test_a_job_that_waits_and_is_delayed_starts_when_both_are_over(world: World) -> None:
    first = await world.enqueue()
    last = await world.enqueue("other", after=_array(first), delay_s=60)
    worker = await world.worker()
    await worker.succeed(await worker.claim_one())
    assert await world.status(last) == "waiting"
    await world.advance(seconds=61)
    await world.store.leader.resume()
    assert await world.status(last) == "queued"


async def test_what_can_not_be_waited_for_is_refused(world: World) -> None:
    await world.tenant("acme")
    foreign = await world.enqueue(tenant="acme")
    before = await world.snapshot()
    for job in (new_id(), foreign):
        with pytest.raises(NotFound, match="to wait for"):
            await world.enqueue("other", after=_array(job))
    own = new_id()
    with pytest.raises(InvalidJob, match="itself"):
        await world.enqueue("other", id=own, after=_array(own))
    assert await world.snapshot() == before


async def test_what_is_asked_for_together_waits_only_for_what_comes_before_it(world: World) -> None:
    """So there are no cycles, and what a job that is canceled at once means is known to those behind it."""
    failed = await world.enqueue()
    await world.cancel(failed)
    a, b = new_id(), new_id()
    before = await world.snapshot()
    for first in (b, failed):
        jobs = [("other", a, _array(b)), ("other", b, _array(a if first == b else failed))]
        with pytest.raises(InvalidJob, match="enqueued before it"):
            await world.store.jobs.enqueue_many([await world.new_job(d, id=i, after=x) for d, i, x in jobs])
    assert await world.snapshot() == before
    jobs = [("other", a, _array(failed)), ("other", b, _array(a))]
    await world.store.jobs.enqueue_many([await world.new_job(d, id=i, after=x) for d, i, x in jobs])
    assert await world.statuses([a, b]) == ["canceled", "canceled"]


@pytest.mark.parametrize("dependency", ["runs again", "stays failed"])
async def test_who_is_retried_waits_again_for_what_runs_again(world: World, dependency: str) -> None:
    """What has failed for good is the operator's to overrule."""
    first, done = await world.enqueue_many("add", 2)
    last = await world.enqueue("other", after=_array(first, done))
    worker = await world.worker()
    leases = {lease.job_id: lease for lease in await worker.claim(2)}
    await worker.succeed(leases[done])
    await worker.fail(leases[first], permanent=True)
    assert await world.status(last) == "canceled"
    if dependency == "stays failed":
        assert await world.retry(last) == "queued"
        return
    await world.retry(first)
    assert await world.retry(last) == "waiting"
    await worker.fail(await worker.claim_one(), permanent=True)
    assert await world.status(last) == "canceled"
    await world.retry(first)
    await world.retry(last)
    await worker.succeed(await worker.claim_one())
    assert (await worker.claim_one()).job_id == last


async def test_a_long_chain_ends_with_its_first_job(world: World) -> None:
    """An end that cascades looks at each job once: not at all that came before, again and again."""
    ids = [new_id() for _ in range(400)]
    afters = [None, *(_array(one) for one in ids)]
    await world.store.jobs.enqueue_many(
        [await world.new_job("other", id=one, after=after) for one, after in zip(ids, afters, strict=False)]
    )
    await world.cancel(ids[0])
    assert await world.counts() == {Status.CANCELED: 400}


async def test_an_enqueue_that_is_sent_again_waits_once(world: World) -> None:
    first, own = await world.enqueue(), new_id()
    for _ in range(2):
        await world.enqueue("other", id=own, after=_array(first))
    worker = await world.worker()
    await worker.succeed(await worker.claim_one())
    assert await world.status(own) == "queued"


@pytest.mark.parametrize("races", [20, pytest.param(500, marks=pytest.mark.full)])
async def test_a_dependency_that_ends_while_it_is_named_is_not_missed(world: World, races: int) -> None:
    """T1: the end of a job and the enqueue of one that waits for it cross."""
    worker = await world.worker()
    for _ in range(races):
        await world.enqueue()
        lease = await worker.claim_one()
        waits, _ = await asyncio.gather(world.enqueue("other", after=_array(lease.job_id)), worker.succeed(lease))
        assert await world.status(waits) == "queued"
        await world.cancel(waits)


async def test_options_name_what_a_job_waits_for(app: Plait, kit: Kit, over: World) -> None:
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
    world: World, verb: str, ended_by: str
) -> None:
    first, second = await world.enqueue_many("add", 2)
    waits = await world.enqueue("other", after=_array(first, second))
    if ended_by == "an operator":
        await world.cancel(waits)
    else:
        await world.cancel(first)
        await world.retry(first)
    assert await world.status(waits) == "canceled"
    await getattr(world.store.jobs, verb)(waits)
    assert await world.status(waits) == "waiting"
    worker = await world.worker()
    leases = await worker.claim(3)
    assert {lease.job_id for lease in leases} == {first, second}
    await worker.succeed(leases[0])
    assert await world.status(waits) == "waiting"
    await worker.succeed(leases[1])
    assert await world.status(waits) == "queued"


@pytest.mark.parametrize("verb", ["retry", "reschedule"])
async def test_the_time_of_a_retry_is_kept_while_the_job_waits_for_its_dependency(world: World, verb: str) -> None:
    first = await world.enqueue("add")
    waits = await world.enqueue("other", after=_array(first))
    await world.cancel(waits)
    later = await world.now() + timedelta(hours=1)
    await getattr(world, verb)(waits, run_at=later)
    worker = await world.worker()
    await worker.succeed(await worker.claim_one())
    await world.store.leader.resume()
    assert await world.status(waits) == "waiting"
    await world.advance(minutes=61)
    await world.store.leader.resume()
    assert await world.status(waits) == "queued"


async def test_a_dependent_reads_what_its_dependencies_came_to(app: Plait, kit: Kit, over: World) -> None:
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


async def test_results_of_dependencies_are_read_in_pages_of_bytes(app: Plait, kit: Kit, over: World) -> None:
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
    page = await over.store.nurseries.list_dependencies(last.id, await over.tenant())
    assert [row.index for row in page] == list(range(len(page)))
    assert 1 <= len(page) < 12
