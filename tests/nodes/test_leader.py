"""Leader actions: the process that may run them, and fencing of a former leader."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable

import pytest

from plait.model.states import Status
from plait.store.workers import Claimed

from ..access.logins import connected
from ..fake_worker import FakeWorker
from ..harness import Harness


async def two_nodes(harness: Harness) -> tuple[FakeWorker, FakeWorker]:
    await harness.define("act", kind="node", on_leader=True, max_attempts=3)
    a, b = [await harness.worker(definitions=("act", "add"), node=name) for name in "ab"]
    assert await harness.lead("a")
    return a, b


async def take_over(harness: Harness, *, node: str = "b") -> None:
    await harness.sql("update plait.leader set expires_at = plait.now()")
    assert await harness.lead(node)


async def act(harness: Harness, worker: FakeWorker) -> Claimed:
    await harness.enqueue("act")
    return await worker.claim_one()


async def test_only_the_process_that_leads_gets_what_is_the_leader_s(harness: Harness) -> None:
    a, b = await two_nodes(harness)
    job = await harness.enqueue("act")
    assert await b.claim(5) == []
    assert await b.claim_plainly(5) == []
    assert [lease.job_id for lease in await a.claim(5)] == [job]


async def test_nobody_gets_it_while_nobody_leads(harness: Harness) -> None:
    a, b = await two_nodes(harness)
    job = await harness.enqueue("act")
    await harness.store.leader.elect("a", lease_s=10, resign=True)
    assert await a.claim(5) == await b.claim(5) == []
    assert "no_leader" in await harness.explain(job)


@pytest.mark.parametrize("report", ["succeed", "fail", "skip", "snooze", "release", "report_canceled"])
async def test_a_deposed_leader_is_refused_whatever_it_reports(harness: Harness, report: str) -> None:
    a, b = await two_nodes(harness)
    lease = await act(harness, a)
    await take_over(harness)
    assert await getattr(a, report)(lease) is False
    assert await harness.status(lease.job_id) == Status.QUEUED
    [again] = await b.claim(5)
    assert again.attempt == lease.attempt + 1
    assert await b.succeed(again)
    assert await harness.outcomes(lease.job_id) == ["lost", "succeeded"]
    assert (await harness.job(lease.job_id)).failed_attempts is None
    assert [x.reason for x in await harness.attempts(lease.job_id)] == ["deposed", None]


@pytest.mark.parametrize("report", ["succeed", "fail", "skip", "snooze", "release", "report_canceled"])
async def test_it_is_refused_too_where_the_election_had_passed_it_by(harness: Harness, report: str) -> None:
    """The election finds the row locked, and leaves it: then the settle itself gives it to the one that leads."""
    a, b = await two_nodes(harness)
    lease = await act(harness, a)
    async with harness.admin.transaction():
        await harness.sql("select 1 from plait.live where job_id = $1 for update", lease.job_id)
        await harness.store.leader.elect("a", lease_s=0)
        assert (await harness.store.leader.elect("b", lease_s=10)).leads
    assert await harness.status(lease.job_id) == Status.RUNNING
    assert await getattr(a, report)(lease) is False
    [again] = await b.claim(5)
    assert await b.succeed(again)


async def test_a_new_leader_gets_at_once_what_the_old_one_still_runs(harness: Harness) -> None:
    a, b = await two_nodes(harness)
    lease = await act(harness, a)
    await take_over(harness)
    [again] = await b.claim(5)
    assert again.job_id == lease.job_id
    beat = await a.heartbeat(holding=[lease])
    assert beat.gone == [lease.job_id]  # and its handler is stopped


async def test_what_was_canceled_ends_with_its_leader(harness: Harness) -> None:
    a, _ = await two_nodes(harness)
    lease = await act(harness, a)
    await harness.cancel(lease.job_id)
    await take_over(harness)
    assert await harness.status(lease.job_id) == Status.CANCELED
    assert await a.succeed(lease) is False


async def test_a_lease_that_nobody_has_taken_still_counts(harness: Harness) -> None:
    """The fence is the term: without another leader nothing can be done twice."""
    a, _ = await two_nodes(harness)
    lease = await act(harness, a)
    await harness.advance(seconds=15)
    assert await a.succeed(lease)
    assert await harness.status(lease.job_id) == Status.SUCCEEDED


async def test_who_leads_again_after_another_is_refused_what_it_did_before(harness: Harness) -> None:
    a, b = await two_nodes(harness)
    lease = await act(harness, a)
    await harness.advance(seconds=1)
    await take_over(harness, node="b")
    await harness.advance(seconds=1)
    await take_over(harness, node="a")
    assert await a.succeed(lease) is False
    assert await b.claim(5) == []
    assert len(await a.claim(5)) == 1


async def test_a_leader_that_resigns_does_so_when_its_own_work_is_done(harness: Harness) -> None:
    a, _ = await two_nodes(harness)
    lease = await act(harness, a)
    leader = harness.store.leader
    assert (await leader.elect("a", lease_s=10, resign=True)).leads
    assert not await harness.lead("b")
    await a.succeed(lease)
    assert not (await leader.elect("a", lease_s=10, resign=True)).leads
    assert await harness.lead("b")


async def test_a_leader_s_action_that_is_lost_twice_comes_back_as_a_suspect_of_the_next(harness: Harness) -> None:
    a, b = await two_nodes(harness)
    lease = await act(harness, a)
    await harness.lose(a)
    assert (await harness.job(lease.job_id)).lane == "leader"
    assert await b.claim(5) == []
    await take_over(harness)
    await b.claim(5)
    await harness.lose(b)
    assert (await harness.job(lease.job_id)).lane == "suspect:leader"
    b = await harness.worker(definitions=("act", "add"), node="b")
    [again] = await b.claim(5)
    assert await b.fail(again)
    assert (await harness.job(lease.job_id)).lane == "leader"


async def test_everybody_can_find_out_who_leads_and_where(harness: Harness) -> None:
    leader = harness.store.leader
    assert await leader.get_leader() is None
    register = harness.store.workers.register
    worker = await register(
        host="h", pid=1, version="1", queues=["default"], definitions=[], lease_s=30, node="a", holder="here",
        url="http://a:8000", labels={"zone": "x"},
    )  # fmt: skip
    await leader.elect("here", lease_s=10)
    found = await leader.get_leader()
    assert found is not None
    assert (found.node, found.url, found.worker, found.term) == ("a", "http://a:8000", worker, 1)
    assert found.holder == "here"
    [node] = await harness.store.nodes.list_nodes()
    assert (node.leads, node.labels) == (True, '{"zone": "x"}')


async def test_a_transaction_that_hangs_before_its_commit_keeps_nobody_from_leading(harness: Harness) -> None:
    a, b = await two_nodes(harness)
    lease = await act(harness, a)
    async with harness.connection() as hangs:
        transaction = hangs.transaction()
        await transaction.start()
        save = (
            "select plait.save_steps(p_worker => $1, p_jobs => array[$2::uuid], p_attempts => array[$3::int], p_names => '{s}', "
            "p_occurrences => '{1}', p_seqs => '{1}', p_kinds => '{transaction}')"
        )
        assert await hangs.fetchval(save, a.id, lease.job_id, lease.attempt) is None
        async with asyncio.timeout(180):
            await harness.store.leader.elect("a", lease_s=0)
            assert (await harness.store.leader.elect("b", lease_s=10)).leads
        await transaction.commit()
        assert await hangs.fetchval(save.replace("{s}", "{t}"), a.id, lease.job_id, lease.attempt) == [1]
    assert await a.succeed(lease) is False
    [again] = await b.claim(5)
    assert len(await harness.store.jobs.list_steps(again.job_id, all_tenants=True)) == 1
    assert await b.succeed(again)


async def test_a_leader_without_a_worker_is_told_of(harness: Harness) -> None:
    await two_nodes(harness)
    await take_over(harness, node="plait leader")
    job = await harness.enqueue("act")
    assert "leader_runs_no_such_job" in await harness.explain(job)
    assert "leader_runs_no_such_job" in await harness.findings()


async def later(call: Awaitable[bool], pause: float) -> bool:
    await asyncio.sleep(pause)
    return await call


async def race(harness: Harness, rounds: int) -> Counter[str]:
    """Settle and election at the same moment: whoever is second loses, and the action counts once."""
    seen: Counter[str] = Counter()
    chance = random.Random(7)
    a, b = await two_nodes(harness)
    workers = {"a": a, "b": b}
    for _ in range(rounds):
        leads = (await harness.sql("select holder from plait.leader")) or "a"
        follows = "b" if leads == "a" else "a"
        await take_over(harness, node=leads)
        lease = await act(harness, workers[leads])
        await harness.sql("update plait.leader set expires_at = plait.now()")

        settle = workers[leads].succeed if chance.random() < 0.5 else workers[leads].fail
        accepted, led = await asyncio.gather(
            later(settle(lease), chance.uniform(0, 0.002)), later(harness.lead(follows), chance.uniform(0, 0.002))
        )
        assert led is True
        if accepted and settle == workers[leads].succeed:
            assert await harness.outcomes(lease.job_id) == ["succeeded"]
        elif accepted:
            assert await harness.outcomes(lease.job_id) == ["failed"]
        else:
            assert await harness.outcomes(lease.job_id) == ["lost"]
            [again] = await workers[follows].claim(1)
            assert again.job_id == lease.job_id
            assert await workers[follows].succeed(again)
        seen["counted" if accepted else "refused"] += 1
        await harness.cancel(lease.job_id)
    return seen


async def test_a_settle_and_an_election_that_cross_agree_on_who_led(harness: Harness) -> None:
    seen = await race(harness, 40)
    assert min(seen["counted"], seen["refused"]) > 0, seen


@pytest.mark.full
async def test_a_thousand_settles_and_elections_that_cross(harness: Harness) -> None:
    seen = await race(harness, 1000)
    assert min(seen["counted"], seen["refused"]) > 50, seen


@pytest.mark.parametrize("ending", ["fail", "snooze"])
async def test_a_job_that_was_asked_for_while_its_kind_became_known_goes_on_where_it_belongs(
    harness: Harness, ending: str
) -> None:
    """An enqueue and the first worker's definitions may cross: neither sees the other, and the job is claimed as any other's."""
    async with connected(harness.database.admin_url) as connection, connection.transaction():
        job = await connection.fetchval("select plait.enqueue('job')")
        await harness.define("job/node")
        await harness.define("job", kind="node", on_node="job/node", on_leader=True)
    worker = await harness.worker(definitions=("job", "job/node"), node="a")
    lease = await worker.claim_one()
    assert await (worker.fail(lease) if ending == "fail" else worker.snooze(lease))
    assert await harness.status(job) == Status.SCHEDULED
    await harness.advance(seconds=15)
    await harness.promote()
    assert await worker.claim(1) == []  # it is the leader's now
    assert await harness.lead("a")
    assert [one.job_id for one in await worker.claim(1)] == [job]
