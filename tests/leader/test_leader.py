"""Leader election, and the duties, which any process may run concurrently."""

import asyncio
from datetime import timedelta

import pytest

from plait.model.errors import InvalidSetting

from ..harness import Harness


async def test_the_first_to_ask_leads_and_goes_on_leading(harness: Harness) -> None:
    elect = harness.store.leader.elect
    first = await elect("a", lease_s=10)
    assert (first.leads, first.term, first.holder) == (True, 1, "a")
    await harness.advance(seconds=9)
    assert (await elect("a", lease_s=10)).term == 1
    await harness.advance(seconds=9)
    other = await elect("b", lease_s=10)
    assert (other.leads, other.term, other.holder) == (False, 1, "a")


async def test_who_does_not_renew_is_followed_by_another_with_a_new_term(harness: Harness) -> None:
    elect = harness.store.leader.elect
    await elect("a", lease_s=10)
    await harness.advance(seconds=10)
    second = await elect("b", lease_s=10)
    assert (second.leads, second.term) == (True, 2)
    deposed = await elect("a", lease_s=10)
    assert (deposed.leads, deposed.term, deposed.holder) == (False, 2, "b")


async def test_a_lease_that_ended_is_a_new_term_for_its_old_holder_too(harness: Harness) -> None:
    """Somebody may have led in between, and gone."""
    elect = harness.store.leader.elect
    await elect("a", lease_s=10)
    await harness.advance(seconds=10)
    assert (await elect("a", lease_s=10)).term == 2


async def test_who_resigns_is_followed_at_once(harness: Harness) -> None:
    elect = harness.store.leader.elect
    await elect("a", lease_s=10)
    assert not (await elect("b", lease_s=10, resign=True)).leads  # not its own to give
    assert (await elect("a", lease_s=10)).leads
    assert not (await elect("a", lease_s=10, resign=True)).leads
    assert (await elect("b", lease_s=10)).term == 2


async def test_nobody_resigns_from_nothing(harness: Harness) -> None:
    election = await harness.store.leader.elect("a", lease_s=10, resign=True)
    assert (election.leads, election.term, election.holder) == (False, None, None)


async def test_of_many_at_once_one_leads(harness: Harness) -> None:
    for term in range(1, 6):
        elections = await asyncio.gather(*(harness.store.leader.elect(f"n{n}", lease_s=10) for n in range(8)))
        assert sum(election.leads for election in elections) == 1
        assert {election.term for election in elections if election.leads} == {term}
        await harness.advance(seconds=10)


# Promote


async def test_what_is_due_is_queued_since_now(harness: Harness) -> None:
    due, later = await harness.enqueue("add", delay_s=10), await harness.enqueue("add", delay_s=60)
    await harness.advance(seconds=15)
    assert await harness.store.leader.promote() == (1, 45.0)
    row = await harness.job(due)
    assert (row.status, row.run_at) == ("queued", await harness.now())
    assert await harness.status(later) == "scheduled"


async def test_nothing_is_due(harness: Harness) -> None:
    assert await harness.store.leader.promote() == (0, None)
    await harness.enqueue("add", delay_s=10)
    assert await harness.store.leader.promote() == (0, 10.0)


async def test_more_is_due_than_one_call_takes(harness: Harness) -> None:
    await harness.enqueue_many("add", 25, delay_s=10)
    await harness.advance(seconds=11)
    assert [await harness.store.leader.promote(10) for _ in range(3)] == [(10, 0.0), (10, 0.0), (5, None)]


async def test_the_longest_due_come_first(harness: Harness) -> None:
    jobs = [await harness.enqueue("add", delay_s=delay) for delay in (30, 10, 20)]
    await harness.advance(seconds=60)
    await harness.promote(2)
    assert await harness.statuses(jobs) == ["scheduled", "queued", "queued"]


async def test_a_promoted_job_keeps_its_lane(harness: Harness) -> None:
    await harness.define("add", max_running=1)
    await harness.enqueue_many("add", 3, delay_s=10)
    await harness.advance(seconds=10)
    await harness.promote()
    assert len(await (await harness.worker()).claim(5)) == 1


async def test_many_promote_at_once(harness: Harness) -> None:
    await harness.enqueue_many("add", 300, delay_s=10)
    await harness.advance(seconds=10)
    promoted = await asyncio.gather(*(harness.promote(50) for _ in range(10)))
    assert sum(promoted) <= 300
    assert sum(promoted) + await harness.promote() == 300
    assert await harness.counts() == {"queued": 300}


async def test_a_job_that_is_canceled_or_moved_at_this_moment_is_passed_by(harness: Harness) -> None:
    job, other = await harness.enqueue_many("add", 2, delay_s=10)
    await harness.advance(seconds=10)
    async with harness.connection() as operator, operator.transaction():
        await operator.fetchval("select plait.reschedule($1, p_run_at => $2)", job, await harness.now() + timedelta(1))
        assert await harness.promote() == 1
    assert await harness.statuses([job, other]) == ["scheduled", "queued"]


@pytest.mark.parametrize("lease_s", [0.0, -1.0, float("nan")])
async def test_a_lease_that_ends_at_once_makes_no_worker(harness: Harness, lease_s: float) -> None:
    with pytest.raises(InvalidSetting):
        await harness.worker(lease_s=lease_s)
