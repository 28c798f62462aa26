"""F15, F17: races. Each has one winner, and no resume is lost, early or repeated."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from plait.model.errors import IllegalMove
from plait.model.states import AttemptOutcome, Status
from plait.store.workers import Claimed
from plait.store.workflows import Lease
from plait.testing import TestDatabase

from ..fake_worker import outcome
from ..harness import Harness
from .worker_calls import by_parent, claim_children, open_fan_outs, open_one, wait_for

FULL = [pytest.mark.full, pytest.mark.timeout(900)]
scaled = pytest.mark.parametrize("races", [20, pytest.param(1000, marks=FULL)])


@pytest.fixture
async def wide(shared_database: TestDatabase) -> AsyncIterator[Harness]:
    """A harness with as many connections as there are concurrent calls."""
    harness = await Harness.open(shared_database, max_connections=16)
    await harness.empty()
    yield harness
    await harness.check()
    await harness.close()


async def _states(harness: Harness, parents: list[UUID]) -> dict[UUID, tuple[str, int]]:
    rows = await harness.rows("select job_id, state::text, attempt from plait.live where job_id = any($1)", parents)
    return {row[0]: (row[1], row[2]) for row in rows}


@pytest.mark.parametrize(
    ("parents", "children"),
    [
        (20, 2),
        (10, 4),
        (5, 16),
        (2, 64),
        *(pytest.param(2500, n, marks=FULL, id=f"2500-{n}") for n in (2, 4, 16, 64)),
    ],
)
async def test_children_that_end_together_resume_their_parent_once(wide: Harness, parents: int, children: int) -> None:
    """F15, T1: all children of a parent are settled at once, each on its own connection."""
    for start in range(0, parents, 100):
        batch = min(100, parents - start)
        await wide.empty()
        jobs = await open_fan_outs(wide, batch, children, strategy="fail_fast", needed=children)
        worker, leases = await claim_children(wide, batch * children)
        for parent, last in (await by_parent(wide, leases)).items():
            *most, final = last
            assert (await _states(wide, [parent]))[parent] == ("waiting", 1)
            if children > 2:  # all but the last: not early
                await asyncio.gather(*(worker.succeed(lease) for lease in most[1:]))
                assert (await _states(wide, [parent]))[parent] == ("waiting", 1)
                most = most[:1]
            assert await asyncio.gather(*(worker.succeed(lease) for lease in [*most, final])) == [True, True]
        assert set((await _states(wide, jobs)).values()) == {("queued", 1)}
        assert await wide.sql("select count(*) from plait.fan_outs where decision = 'succeeded'") == batch
        assert await wide.sql("select count(*) from plait.fan_outs where waited_for is not null") == 0


async def test_a_batch_of_ends_is_one_update_of_its_fan_out(wide: Harness) -> None:
    """A counter that is updated once for each child would be the most contended row of the database."""
    [parent] = await open_fan_outs(wide, 1, 500)
    worker, leases = await claim_children(wide, 500)
    before = await wide.sql("select xmin::text::bigint from plait.fan_outs")
    await worker.settle(*(outcome(lease) for lease in leases))
    assert await wide.sql("select xmin::text::bigint from plait.fan_outs") != before
    assert (await _states(wide, [parent]))[parent] == ("queued", 1)
    assert await wide.sql("select succeeded from plait.fan_outs") == 500


@scaled
async def test_cancel_and_complete_of_a_child(wide: Harness, races: int) -> None:
    """F17, T7: one of the two calls wins, and the fan-out counts the child once."""
    [parent] = await open_fan_outs(wide, 1, races)
    worker, leases = await claim_children(wide, races)

    async def race(lease: Claimed) -> tuple[Status, bool]:
        return await asyncio.gather(wide.cancel(lease.job_id), worker.succeed(lease))

    ends = [end for n in range(0, races, 10) for end in await asyncio.gather(*map(race, leases[n : n + 10]))]
    assert all(done for _, done in ends)  # a success that arrives after the request still counts
    assert (await _states(wide, [parent]))[parent] == ("queued", 1)


@scaled
async def test_cancel_of_a_queued_child_and_its_claim(wide: Harness, races: int) -> None:
    [parent] = await open_fan_outs(wide, 1, races)
    worker = await wide.worker(queues=["children"])
    children = [row[0] for row in await wide.rows("select job_id from plait.live where fan_out_id is not null")]

    async def claim_all() -> None:
        while leases := await worker.claim(5):
            await worker.settle(*(outcome(lease) for lease in leases))

    async def cancel_all() -> None:
        for child in random.Random(7).sample(children, len(children)):
            await wide.cancel(child)

    await asyncio.gather(claim_all(), cancel_all())
    await claim_all()
    while (await _states(wide, [parent]))[parent][0] == "waiting":
        for job_id, attempt in await wide.rows("select job_id, attempt from plait.live where state = 'running'"):
            await worker.settle(outcome((job_id, attempt), AttemptOutcome.CANCELED))
    counts = await wide.rows("select succeeded, canceled from plait.fan_outs")
    assert sum(counts[0]) == races


@scaled
async def test_timeout_and_last_child(wide: Harness, races: int) -> None:
    """F17: the fan-out is decided once, and its parent resumed once, by whichever comes first."""
    decisions: dict[str, int] = {}
    for start in range(0, races, 100):
        n = min(100, races - start)
        await wide.empty()
        jobs = await open_fan_outs(wide, n, 1, timeout_s=10)
        worker, leases = await claim_children(wide, n)
        await wide.advance(seconds=11)
        await asyncio.gather(
            *(worker.succeed(lease) for lease in leases), *(wide.store.leader.resume(5) for _ in range(n // 5))
        )
        await wide.store.leader.resume()
        assert set((await _states(wide, jobs)).values()) == {("queued", 1)}
        for decision, count in await wide.rows("select decision, count(*) from plait.fan_outs group by 1"):
            decisions[decision] = decisions.get(decision, 0) + count
    assert sum(decisions.values()) == races
    assert None not in decisions


@scaled
async def test_fail_fast_and_late_children(wide: Harness, races: int) -> None:
    """F17, T9: the first failure decides. Late children change the counts and nothing else."""
    for start in range(0, races, 50):
        n = min(50, races - start)
        await wide.empty()
        jobs = await open_fan_outs(wide, n, 4, strategy="fail_fast", needed=4)
        worker, leases = await claim_children(wide, n * 4)
        groups = (await by_parent(wide, leases)).values()
        for a, b, c, d in groups:
            await asyncio.gather(
                worker.fail(a, permanent=True), worker.fail(b, permanent=True), worker.succeed(c), worker.succeed(d)
            )
        assert set((await _states(wide, jobs)).values()) == {("queued", 1)}
        rows = await wide.rows(
            "select decision, succeeded, failed, decided_ended, cardinality(left_open) from plait.fan_outs"
        )
        for decision, succeeded, failed, ended, left in rows:
            assert (decision, succeeded, failed) == ("failed", 2, 2)
            assert ended + (left or 0) == 4


@scaled
async def test_parents_death_and_its_fan_out(wide: Harness, races: int) -> None:
    """F17, T2, T3: the worker is declared lost while it opens the fan-out. All of the fan-out exists, or none of it."""
    for start in range(0, races, 20):
        n = min(20, races - start)
        await wide.empty()
        jobs = await wide.enqueue_many("add", n)
        workers = [await wide.worker() for _ in range(n)]
        leases = [(await worker.claim_plainly())[0] for worker in workers]
        await wide.expire(*workers)
        opens = [open_one(wide, worker, lease, 3) for worker, lease in zip(workers, leases, strict=True)]
        half = [asyncio.ensure_future(o) for o in opens]
        await asyncio.gather(wide.rescue(), *half)
        await wide.rescue()
        states = await _states(wide, jobs)
        for job, answer in zip((lease.job_id for lease in leases), (h.result() for h in half), strict=True):
            children = await wide.sql("select count(*) from plait.jobs where parent_id = $1", job)
            assert (answer, states[job], children) in (
                ("suspended", ("waiting", 1), 3),
                ("stale", ("queued", 1), 0),
            )


@scaled
async def test_cancel_of_a_tree_and_a_descendants_new_fan_out(wide: Harness, races: int) -> None:
    """F17, T16: every job of the workflow was canceled or asked to stop."""
    for start in range(0, races, 20):
        n = min(20, races - start)
        await wide.empty()
        jobs = await open_fan_outs(wide, n, 2)
        worker, leases = await claim_children(wide, n * 2)
        held = await by_parent(wide, leases)

        async def race(job: UUID, mine: list[Claimed], worker: Any = worker) -> None:
            opens = [open_one(wide, worker, lease, 2) for lease in mine]
            await asyncio.gather(*opens, wide.store.jobs.cancel_tree(job))

        await asyncio.gather(*(race(job, held[job]) for job in jobs))
        left = await wide.sql("select count(*) from plait.live where cancel_requested is null or state <> 'running'")
        assert left == 0


async def test_many_at_once_never_stand_in_each_others_way(wide: Harness) -> None:
    """T48: several workers settle children of the same fan-outs during cancels and rescues: no deadlock, no lost count."""
    jobs = await open_fan_outs(wide, 12, 20)
    nested_worker, leases = await claim_children(wide, 240)
    chance = random.Random(1)
    for lease in leases[::20]:
        await open_one(wide, nested_worker, lease, 10)
    workers = [(await claim_children(wide, 0))[0] for _ in range(4)]

    async def settle_some(worker: Any) -> None:
        while batch := await worker.claim(15):
            chance.shuffle(batch)
            ends = [outcome(b, chance.choice(["succeeded", "failed"]), permanent=True) for b in batch]
            await worker.settle_freely(*ends)

    async def settle_first() -> None:
        mine = [lease for n, lease in enumerate(leases) if n % 20]
        chance.shuffle(mine)
        for n in range(0, len(mine), 15):
            await nested_worker.settle_freely(*(outcome(lease) for lease in mine[n : n + 15]))

    async def meddle() -> None:
        for job in jobs[:4]:
            await wide.store.jobs.cancel_tree(job)
            await wide.rescue()
            await wide.store.leader.resume()

    await asyncio.gather(settle_first(), meddle(), *map(settle_some, workers))


async def test_a_fan_out_whose_reply_was_lost_may_be_opened_again(harness: Harness) -> None:
    """T4, T45: a repeated call gets the same reply. A call by another attempt is stale."""
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert await open_one(harness, worker, lease, 3) == "suspended"
    before = await harness.snapshot()
    assert await open_one(harness, worker, lease, 3) == "suspended"
    assert await harness.snapshot() == before


async def test_who_has_lost_the_lease_opens_nothing_and_waits_for_nothing(harness: Harness) -> None:
    """T34."""
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.lose(worker)
    before = await harness.snapshot()
    assert await open_one(harness, worker, lease, 3) == "stale"
    held = Lease(worker.id, lease.job_id, lease.attempt)
    assert await wait_for(harness, held, "s", "sleep", delay_s=1) == ("stale", None)
    assert await harness.snapshot() == before


async def test_a_failure_in_the_middle_leaves_nothing_of_a_fan_out(harness: Harness) -> None:
    """T2, T3: one transaction."""
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    before = await harness.snapshot()
    for bad in ({"needed": 5}, {"timeout_s": -1.0}, {"strategy": "hope"}):
        with pytest.raises(Exception, match=r".+"):
            await open_one(harness, worker, lease, 3, **bad)
        assert await harness.snapshot() == before
    with pytest.raises(IllegalMove):
        await harness.retry(lease.job_id)
