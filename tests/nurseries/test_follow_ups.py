"""Follow-ups (`after`): enqueued once, when a job has succeeded."""

import asyncio
from typing import Any

import pytest

from plait import PermanentError, Plait, Skip, Status, after, after_sync, sleep, spawn
from plait.model.errors import InvalidId
from plait.model.ids import new_id
from plait.testing import Kit

from ..harness import Harness

AFTER = "select plait.after($1, 'other', id => $2)"


async def test_follow_ups_come_once_and_only_after_a_success(app: Plait, kit: Kit, app_harness: Harness) -> None:
    ran: list[str] = []

    @app.job
    async def uncle(who: str) -> None:
        ran.append(who)

    @app.job(retries=0)
    async def parent(n: int) -> None:
        await after(uncle, "both", dedupe_key="both", delay="1m")
        await after(uncle, f"of {n}")
        if n == 2:
            raise Skip("nothing to do")
        if n == 3:
            raise PermanentError("no")

    for n in range(4):
        await parent.enqueue(n)
    await kit.run_until_idle()
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    assert sorted(ran) == ["both", "of 0", "of 1"]


async def test_a_follow_up_whose_id_is_taken_is_refused_when_it_is_asked_for(harness: Harness) -> None:
    await harness.tenant("acme")
    foreign, own = await harness.enqueue("other", tenant="acme"), await harness.enqueue("other", delay_s=60)
    job = await harness.enqueue()
    before = await harness.snapshot()
    for taken in (foreign, own):
        with pytest.raises(InvalidId):
            await harness.store.database.fetchval(AFTER, job, taken)
    assert await harness.snapshot() == before


async def test_a_follow_up_whose_id_is_taken_meanwhile_does_not_keep_the_job_from_succeeding(harness: Harness) -> None:
    job, taken = await harness.enqueue(), new_id()
    await harness.store.database.fetchval("select plait.after($1, 'other', id => $2, dedupe_key => 'k')", job, taken)
    await harness.store.database.fetchval(AFTER, job, new_id())
    await harness.enqueue("other", id=taken, delay_s=60)
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    assert await harness.status(job) == "succeeded"
    assert await harness.counts() == {Status.SUCCEEDED: 1, Status.SCHEDULED: 1, Status.QUEUED: 1}


@pytest.mark.parametrize("last", ["succeeds", "fails"])
async def test_a_job_that_was_retried_by_hand_is_followed_once(
    app: Plait, kit: Kit, app_harness: Harness, last: str
) -> None:
    ran: list[str] = []
    broken = True

    @app.job
    async def uncle() -> None:
        ran.append("uncle")

    @app.job(retries=0)
    async def parent() -> None:
        await after(uncle)
        await after(uncle, delay="1h")
        if broken:
            raise PermanentError("no")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    broken = last == "fails"
    await handle.retry()
    await kit.run_until_idle()
    await handle.retry(drop_steps=True) if broken else None
    await kit.run_until_idle()
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert ran == ([] if broken else ["uncle", "uncle"])


async def test_a_fork_takes_neither_children_nor_follow_ups_with_it(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Decision 45: what the kept steps did is the old job's."""
    ran: list[Any] = []

    @app.job
    async def uncle() -> None:
        ran.append("uncle")

    @app.job
    async def child(n: int) -> None:
        ran.append(n)

    @app.job
    async def parent() -> None:
        await spawn(child, 1)
        await after(uncle)
        await spawn(child, 2)

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert sorted(map(str, ran)) == ["1", "2", "uncle"]
    ran.clear()
    forked = await (await app.store()).jobs.fork(handle.id, from_seq=3)
    await kit.run_until_idle()
    assert ran == [2]
    assert await app_harness.status(forked) == "succeeded"


async def test_what_follows_is_asked_for_while_its_job_ends(harness: Harness) -> None:
    """Both orders are right: it follows, or is refused; it is never forgotten."""
    worker = await harness.worker()
    for _ in range(20):
        await harness.enqueue()
        lease = await worker.claim_one()
        asking = harness.store.database.fetchval(AFTER, lease.job_id, new_id())
        answers: Any = await asyncio.gather(asking, worker.succeed(lease), return_exceptions=True)
        follows = await worker.claim(1)
        assert len(follows) == (not isinstance(answers[0], Exception))
        for one in follows:
            await worker.succeed(one)


async def test_a_follow_up_with_when_always_comes_whatever_the_outcome(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    ran: list[str] = []

    @app.job
    async def uncle(who: str) -> None:
        ran.append(who)

    @app.job
    async def child() -> None: ...

    @app.job(retries=1)
    async def parent(outcome: str) -> None:
        await after(uncle, outcome, when="always")
        await after(uncle, f"{outcome} only after a success")
        await spawn(child)
        if outcome == "dead":
            raise ValueError
        if outcome == "failed":
            raise PermanentError("no")
        if outcome == "skipped":
            raise Skip("nothing to do")

    @app.job
    def threaded() -> None:
        after_sync(uncle, "threaded", when="always")
        raise PermanentError("no")

    for outcome in ("fine", "dead", "failed", "skipped"):
        await parent.enqueue(outcome)
    await threaded.enqueue()
    for _ in range(3):
        await kit.run_until_idle()
        await kit.advance(minutes=10)
    assert sorted(ran) == ["dead", "failed", "fine", "fine only after a success", "skipped", "threaded"]


async def test_a_follow_up_for_any_outcome_is_made_once_and_waits_until_the_job_is_final(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    ran: list[int] = []

    @app.job
    async def uncle(n: int) -> None:
        ran.append(n)

    @app.job
    async def parent() -> None:
        made = await after(uncle, 1, when="always", queue="uncles", dedupe_key="one")
        again = await after(uncle, 2, when="always", dedupe_key="one")
        assert (again.id, again.deduplicated) == (made.id, True)
        await sleep("1h")
        await sleep("1h")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=1)
    await kit.run_until_idle()
    [waiting] = await kit.enqueued(uncle)
    assert (waiting.status, waiting.queue) == (Status.WAITING, "uncles")
    await handle.cancel()
    assert [row.status for row in await kit.enqueued(uncle)] == [Status.QUEUED]
    await kit.run_until_idle()


async def test_when_is_success_or_always(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def parent() -> None:
        await after("anything", when="sometimes")  # type: ignore[arg-type]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert "when must be 'success' or 'always', got 'sometimes'" in str((await handle.info()).error)
