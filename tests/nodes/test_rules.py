"""When the nodes of a job are done: quorum, timeout, failures, skips; and what becomes of who is late."""

import random
from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from plait.model.states import Status
from plait.store.nodes import JobNode

from ..fake_worker import FakeWorker
from ..world import World

PARTS = ("job", "job/node")


class Cluster:
    """Nodes by name, each with a worker that does what a test says; the first leads."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.nodes: dict[str, FakeWorker] = {}

    async def start(self, *names: str) -> None:
        for name in names:
            self.nodes[name] = await self.world.worker(definitions=PARTS, node=name)
        await self.world.lead(next(iter(self.nodes)))

    async def ask(self, **policy: object) -> UUID:
        await self.world.define("job/node", max_attempts=2)
        await self.world.define("job", kind="node", on_node="job/node", **{"on_leader": True, **policy})
        return await self.world.enqueue("job")

    async def done(self, *names: str) -> None:
        for name in names:
            [lease] = await self.nodes[name].claim(1)
            assert await self.nodes[name].succeed(lease, name)

    async def skip(self, *names: str) -> None:
        for name in names:
            [lease] = await self.nodes[name].claim(1)
            assert await self.nodes[name].skip(lease)

    async def fail(self, name: str) -> None:
        [lease] = await self.nodes[name].claim(1)
        assert await self.nodes[name].fail(lease, permanent=True)

    async def time_out(self) -> None:
        await self.world.advance(seconds=11)
        for name in self.nodes:
            await self.nodes[name].heartbeat()
        await self.world.lead(next(iter(self.nodes)))
        await self.world.store.leader.resume()

    async def states(self, job: UUID) -> dict[str, Status | None]:
        return {node.node: node.status for node in await self.parts(job)}

    async def parts(self, job: UUID) -> list[JobNode]:
        return await self.world.store.nodes.job_nodes(job)

    async def rule(self, job: UUID) -> str | None:
        return (await self.parts(job))[0].rule


@pytest.fixture
async def cluster(world: World) -> Cluster:
    return Cluster(world)


@pytest.mark.parametrize(("quorum", "needed"), [("majority", 3), ("all", 5), ("2", 2)])
async def test_the_leader_acts_as_soon_as_the_quorum_is_there(
    world: World, cluster: Cluster, quorum: str, needed: int
) -> None:
    await cluster.start("a", "b", "c", "d", "e")
    job = await cluster.ask(quorum=quorum)
    await cluster.done(*"abcde"[: needed - 1])
    assert await world.status(job) == Status.WAITING
    await cluster.done("abcde"[needed - 1])
    assert await world.status(job) == Status.QUEUED
    assert await cluster.nodes["b"].claim(1) == [] or needed < 2
    lease = next(lease for lease in await cluster.nodes["a"].claim(5) if lease.definition == "job")
    assert await cluster.nodes["a"].succeed(lease, "done")
    assert await world.status(job) == Status.SUCCEEDED
    assert await cluster.rule(job) == "quorum"


@pytest.mark.parametrize(("nodes", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4)])
async def test_a_majority_is_more_than_half(world: World, cluster: Cluster, nodes: int, needed: int) -> None:
    await cluster.start(*"abcdef"[:nodes])
    assert {(part.total, part.needed) for part in await cluster.parts(await cluster.ask())} == {(nodes, needed)}


async def test_past_the_timeout_the_leader_proceeds_and_the_job_says_so(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.done("a")
    await cluster.time_out()
    assert await world.status(job) == Status.QUEUED
    assert await cluster.rule(job) == "timeout"
    gathered = await world.store.nodes.gather_nodes(job)
    assert [(node.node, node.status, node.late) for node in gathered] == [
        ("a", Status.SUCCEEDED, False), ("b", None, True), ("c", None, True)
    ]  # fmt: skip
    await cluster.done("b")  # late: kept, and the leader sees the same as before
    assert (await cluster.states(job))["b"] == Status.SUCCEEDED
    assert await world.store.nodes.gather_nodes(job) == gathered


async def test_past_the_timeout_a_job_that_must_not_proceed_fails_and_no_leader_runs_it(
    world: World, cluster: Cluster
) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(on_timeout="fail")
    await cluster.done("a")
    await cluster.time_out()
    found = await world.job(job)
    assert (found.status, found.reason) == (Status.FAILED, "quorum_timeout")
    assert found.error == "1 of 3 nodes were done within 10 s, and 2 had to be; not heard of: b, c"
    assert await cluster.rule(job) == "timeout"
    assert await cluster.states(job) == {"a": Status.SUCCEEDED, "b": Status.CANCELED, "c": Status.CANCELED}
    assert all([await worker.claim(5) == [] for worker in cluster.nodes.values()])


async def test_one_node_that_fails_is_the_job_s_end(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.done("a")
    await cluster.fail("b")
    found = await world.job(job)
    assert (found.status, found.reason) == (Status.FAILED, "node_failed")
    assert "job/node" in (found.error or "")
    await world.store.leader.resume()
    assert (await cluster.states(job))["c"] == Status.CANCELED


async def test_failures_are_tolerated_for_as_long_as_a_quorum_can_be_reached(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(on_node_failure="tolerate")
    await cluster.fail("a")
    assert await world.status(job) == Status.WAITING
    await cluster.done("b", "c")
    assert await world.status(job) == Status.QUEUED
    other = await cluster.ask(on_node_failure="tolerate")
    await cluster.fail("b")
    await cluster.fail("c")
    found = await world.job(other)
    assert (found.status, found.reason, await cluster.rule(other)) == (Status.FAILED, "quorum_lost", "quorum_lost")


async def test_a_job_of_which_no_node_had_anything_to_do_is_skipped(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.skip("a", "b")
    assert await world.status(job) == Status.WAITING  # the third may have something
    await cluster.skip("c")
    assert (await world.job(job)).reason == "nodes_skipped"
    assert await world.status(job) == Status.SKIPPED


async def test_one_node_that_did_something_is_enough_for_the_leader_to_act(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.skip("a", "b")
    await cluster.done("c")
    assert await world.status(job) == Status.QUEUED


async def test_a_quorum_of_nodes_without_anything_to_do_is_one_when_the_time_is_up(
    world: World, cluster: Cluster
) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(on_timeout="fail")
    await cluster.skip("a", "b")
    await cluster.time_out()
    assert (await world.status(job), await cluster.rule(job)) == (Status.QUEUED, "quorum")


async def test_without_a_leader_s_part_the_nodes_results_are_the_job_s(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(on_leader=False)
    await cluster.done("a", "c")
    assert (await world.job(job)).result == '{ "a" : "a", "c" : "c" }'


async def test_the_set_of_nodes_is_fixed_when_the_job_is_made(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(quorum="all")
    cluster.nodes["d"] = await world.worker(definitions=PARTS, node="d")
    await cluster.nodes["c"].leave()
    assert set(await cluster.states(job)) == {"a", "b", "c"}
    assert await cluster.nodes["d"].claim(5) == []
    assert set(await cluster.states(await cluster.ask())) == {"a", "b", "d"}


async def test_nodes_that_drain_are_lost_or_can_not_run_it_have_no_part(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "draining", "lost", "late")
    cluster.nodes["other"] = await world.worker(definitions=("other",), node="other")
    cluster.nodes["elsewhere"] = await world.worker(definitions=PARTS, queues=("q",), node="elsewhere")
    await world.store.workers.drain(cluster.nodes["draining"].id)
    await world.lose(cluster.nodes["lost"])
    await world.expire(cluster.nodes["late"])  # nobody has noticed yet
    assert set(await cluster.states(await cluster.ask())) == {"a"}
    states = {node.name: node.state for node in await world.store.nodes.list_nodes()}
    assert states == {
        "a": "active", "draining": "draining", "lost": "lost", "late": "lost", "other": "active", "elsewhere": "active"
    }  # fmt: skip


async def test_a_node_lives_for_as_long_as_one_of_its_workers_does(world: World, cluster: Cluster) -> None:
    await cluster.start("a")
    second = await world.worker(definitions=PARTS, node="a")

    async def state() -> str:
        return (await world.store.nodes.list_nodes())[0].state

    await world.store.workers.drain(second.id)
    assert await state() == "active"
    await second.leave()
    assert await state() == "active"
    await world.store.workers.drain(cluster.nodes["a"].id)
    assert await state() == "draining"
    await cluster.nodes["a"].leave()
    assert await state() == "left"
    await cluster.start("a")
    assert await state() == "active"


async def test_fewer_nodes_than_the_quorum_asks_for_are_waited_for(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b")
    job = await cluster.ask(quorum="3", on_timeout="fail")
    assert await world.status(job) == Status.QUEUED
    assert "nodes_not_asked" in await world.explain(job)
    [lease] = await cluster.nodes["a"].claim(1)
    opened = await world.sql("select plait.open_nodes($1, $2, $3, 1)", cluster.nodes["a"].id, job, lease.attempt)
    assert opened == "none"
    await cluster.nodes["a"].snooze(lease, 5)
    cluster.nodes["c"] = await world.worker(definitions=PARTS, node="c")
    await world.advance(seconds=6)
    await world.promote()
    [lease] = await cluster.nodes["a"].claim(1)
    sql = "select plait.open_nodes($1, $2, $3, 1)"
    assert await world.sql(sql, cluster.nodes["a"].id, job, lease.attempt) == "suspended"
    assert await world.sql(sql, cluster.nodes["a"].id, job, lease.attempt) == "suspended"  # its reply was lost
    assert set(await cluster.states(job)) == {"a", "b", "c"}


async def test_only_its_own_node_gets_a_part_also_after_a_retry_and_a_loss(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b")
    job = await cluster.ask(quorum="all")
    [lease] = await cluster.nodes["b"].claim(5)
    assert await cluster.nodes["b"].fail(lease, delay_s=3)
    assert (await cluster.states(job))["b"] == Status.SCHEDULED  # it holds no slot meanwhile
    await world.advance(seconds=4)
    await world.promote()
    await cluster.done("a")
    assert await cluster.nodes["a"].claim(5) == []
    [lease] = await cluster.nodes["b"].claim(5)
    await world.lose(cluster.nodes["b"])
    assert await cluster.nodes["a"].claim(5) == []
    assert "node_away" in await world.explain(lease.job_id)
    cluster.nodes["b"] = await world.worker(definitions=PARTS, node="b")
    await cluster.done("b")
    assert await world.status(job) == Status.QUEUED


async def test_a_part_that_loses_its_node_too_often_has_failed(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b")
    job = await cluster.ask(quorum="all")
    for _ in range(4):
        [_] = await cluster.nodes["b"].claim(5)
        await world.lose(cluster.nodes["b"])
        cluster.nodes["b"] = await world.worker(definitions=PARTS, node="b")
    [_] = await cluster.nodes["b"].claim(5)
    await world.lose(cluster.nodes["b"])
    assert (await world.job(job)).reason == "node_failed"


async def test_when_the_job_has_ended_well_a_node_at_work_finishes_and_the_others_need_not(
    world: World, cluster: Cluster
) -> None:
    await cluster.start("a", "b", "c", "d", "e")
    job = await cluster.ask()
    await cluster.done("a", "b")
    [at_work] = await cluster.nodes["d"].claim(1)
    await cluster.done("c")
    [lease] = await cluster.nodes["a"].claim(1)
    await world.store.leader.resume()
    assert (await cluster.states(job))["e"] == Status.QUEUED  # the job is not final: it may still come
    await cluster.nodes["a"].succeed(lease)
    await world.store.leader.resume()
    states = await cluster.states(job)
    assert (states["d"], states["e"]) == (Status.RUNNING, Status.CANCELED)
    assert {a.reason for a in await world.attempts((await cluster.parts(job))[4].job_id)} == {"job_final"}
    assert await cluster.nodes["d"].fail(at_work)  # and it would try again: it need not
    await world.store.leader.resume()
    assert (await cluster.states(job))["d"] == Status.CANCELED
    assert await world.status(job) == Status.SUCCEEDED


async def test_a_job_that_is_canceled_cancels_its_nodes_also_those_at_work(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    [at_work] = await cluster.nodes["a"].claim(1)
    await world.cancel(job)
    await world.store.leader.resume()
    beat = await cluster.nodes["a"].heartbeat()
    assert beat.cancels == [(at_work.job_id, at_work.attempt)]
    assert await cluster.nodes["a"].report_canceled(at_work)
    assert set((await cluster.states(job)).values()) == {Status.CANCELED}


async def test_a_dedupe_key_is_held_until_the_node_job_is_final(world: World, cluster: Cluster) -> None:
    await cluster.start("a")
    first = await cluster.ask()
    again = [await world.enqueue("job", dedupe_key="once") for _ in range(2)]
    assert again[0] == again[1] != first
    assert len(await cluster.parts(again[0])) == 1


async def test_a_failed_node_job_is_retried_with_the_nodes_of_today(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.fail("c")
    await world.store.leader.resume()
    await cluster.nodes["c"].leave()
    await world.retry(job)
    [lease] = await cluster.nodes["a"].claim(1)
    assert await world.sql("select plait.open_nodes($1, $2, $3, 1)", cluster.nodes["a"].id, job, lease.attempt)
    assert set(await cluster.states(job)) == {"a", "b"}


async def test_a_failed_node_job_is_retried_as_a_tree_where_it_failed(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(quorum="all")
    await cluster.done("a", "b")
    await cluster.fail("c")
    assert await world.store.jobs.retry_tree(job) == 2
    assert await cluster.states(job) == {"a": Status.SUCCEEDED, "b": Status.SUCCEEDED, "c": Status.QUEUED}
    await cluster.done("c")


async def test_delayed_and_dependent_node_jobs_ask_the_nodes_when_their_time_has_come(
    world: World, cluster: Cluster
) -> None:
    await cluster.start("a")
    first = await cluster.ask()
    later = await world.enqueue("job", delay_s=60)
    after = await world.enqueue("job", after=f"{{{first}}}")
    assert await world.statuses([later, after]) == [Status.SCHEDULED, Status.WAITING]
    assert await cluster.parts(later) == await cluster.parts(after) == []
    await cluster.done("a")
    [lease] = await cluster.nodes["a"].claim(1)
    await cluster.nodes["a"].succeed(lease)
    [lease] = await cluster.nodes["a"].claim(1)
    assert lease.job_id == after
    assert await world.sql("select plait.open_nodes($1, $2, 1, 1)", cluster.nodes["a"].id, after) == "suspended"


async def test_a_node_job_counts_for_the_fan_out_that_it_is_a_child_of(world: World, cluster: Cluster) -> None:
    """Its end cascades upward, also when it ends by its timeout."""
    await cluster.start("a", "b")
    job = await cluster.ask(on_timeout="fail", quorum="all")
    waits = await world.enqueue("add", after=f"{{{job}}}")
    await cluster.time_out()
    assert await world.statuses([job, waits]) == [Status.FAILED, Status.CANCELED]


async def test_jobs_of_a_node_job_that_nobody_knew_yet_are_the_leader_s_once_it_is_known(
    world: World, cluster: Cluster
) -> None:
    await cluster.start("a", "b")
    job = await world.enqueue("job")
    await cluster.ask()
    assert (await world.job(job)).lane == "leader"
    assert job not in [lease.job_id for lease in await cluster.nodes["b"].claim(5)]


async def test_a_fork_goes_on_with_the_nodes_of_the_old_job(world: World, cluster: Cluster) -> None:
    await cluster.start("a", "b")
    job = await cluster.ask()
    await cluster.done("a", "b")
    forked = await world.store.jobs.fork(job, from_seq=2)
    assert await world.store.nodes.gather_nodes(forked) == await world.store.nodes.gather_nodes(job)
    part = (await cluster.parts(job))[1]
    again = await world.job(await world.store.jobs.fork(part.job_id))
    assert (again.node, again.lane) == ("b", "n:b")


def expected(total: int, needed: int, policy: dict[str, str], outcomes: list[str]) -> tuple[str, str]:
    """What becomes of a job, and by which rule, when its nodes end one after the other and then the time is up."""
    seen: Counter[str] = Counter()
    for outcome in outcomes:
        seen[outcome] += 1
        good, bad = seen["done"] + seen["skip"], seen["fail"]
        if bad and policy["on_node_failure"] == "fail":
            return "failed", "node_failed"
        if total - bad < needed:
            return "failed", "quorum_lost"
        if good >= needed and (seen["done"] or good + bad == total):
            return "skipped" if seen["skip"] == total else "queued", "quorum"
    if seen["done"] + seen["skip"] >= needed:
        return "queued", "quorum"
    return ("queued" if policy["on_timeout"] == "proceed" else "failed"), "timeout"


async def check_some_fates(world: World, cluster: Cluster, rounds: int, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(rounds):
        await world.empty()
        cluster.nodes.clear()
        total = chance.randint(1, 6)
        await cluster.start(*"abcdef"[:total])
        quorum = chance.choice(["majority", "all", str(chance.randint(1, total))])
        needed = {"majority": total // 2 + 1, "all": total}.get(quorum) or int(quorum)
        policy = {
            "on_timeout": chance.choice(["proceed", "fail"]),
            "on_node_failure": chance.choice(["fail", "tolerate"]),
        }
        job = await cluster.ask(quorum=quorum, **policy)
        names = chance.sample(list(cluster.nodes), chance.randint(0, total))
        outcomes = [chance.choice(["done", "done", "skip", "fail"]) for _ in names]
        for name, outcome in zip(names, outcomes, strict=True):
            leases = [lease for lease in await cluster.nodes[name].claim(5) if lease.definition == "job/node"]
            for lease in leases:  # none: it was canceled when the job ended before
                worker = cluster.nodes[name]
                if outcome == "fail":
                    await worker.fail(lease, permanent=True)
                else:
                    await (worker.succeed(lease) if outcome == "done" else worker.skip(lease))
        decided = await cluster.rule(job)
        await cluster.time_out()
        found = await world.status(job)
        fate = "queued" if found == Status.RUNNING else str(found)  # the leader of this test claims it too
        assert (fate, await cluster.rule(job)) == expected(total, needed, policy, outcomes), (quorum, policy, outcomes)
        assert decided in (None, await cluster.rule(job)), "a decision has changed"
        await world.check()
        for worker in cluster.nodes.values():
            await worker.disconnect()


async def test_whatever_nodes_do_the_rules_are_those_on_paper(world: World, cluster: Cluster) -> None:
    await check_some_fates(world, cluster, 40, random.randrange(10**6))


@pytest.mark.full
async def test_the_rules_hold_in_a_thousand_cases(world: World, cluster: Cluster) -> None:
    await check_some_fates(world, cluster, 1000, random.randrange(10**6))


@pytest.mark.parametrize("way", ["cancel", "cancel_tree"])
async def test_no_rule_decides_a_node_job_that_a_person_cancels(world: World, cluster: Cluster, way: str) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await getattr(world.store.jobs, way)(job)
    await world.store.leader.resume()
    row = await world.job(job)
    assert (row.status, row.reason) == ("canceled", "canceled")
    assert {part.rule for part in await cluster.parts(job)} == {None}


async def test_a_restarted_node_has_the_labels_and_address_that_it_says_now(world: World) -> None:
    async def register(**given: Any) -> int:
        return await world.store.workers.register(
            host="h", pid=1, version="0", queues=["default"], definitions=[], lease_s=30, node="a", **given
        )

    async def node() -> tuple[str, str | None]:
        [row] = await world.store.nodes.list_nodes()
        return row.labels, row.url

    first = await register(labels={"zone": "x"}, url="http://a")
    await register()  # beside it: changes nothing
    assert await node() == ('{"zone": "x"}', "http://a")
    await world.advance(seconds=31)
    await register()
    assert await node() == ("{}", None)
    assert first
