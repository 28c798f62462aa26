"""The decision of a node job: quorum, timeout, failures, skips and late nodes."""

import random
from collections import Counter

import pytest

from plait.model.states import Status

from ..harness import Harness
from .cluster import Cluster


@pytest.mark.parametrize(("quorum", "needed"), [("majority", 3), ("all", 5), ("2", 2)])
async def test_the_leader_acts_as_soon_as_the_quorum_is_there(
    harness: Harness, cluster: Cluster, quorum: str, needed: int
) -> None:
    await cluster.start("a", "b", "c", "d", "e")
    job = await cluster.ask(quorum=quorum)
    await cluster.done(*"abcde"[: needed - 1])
    assert await harness.status(job) == Status.WAITING
    await cluster.done("abcde"[needed - 1])
    assert await harness.status(job) == Status.QUEUED
    assert await cluster.nodes["b"].claim(1) == [] or needed < 2
    lease = next(lease for lease in await cluster.nodes["a"].claim(5) if lease.definition == "job")
    assert await cluster.nodes["a"].succeed(lease, "done")
    assert await harness.status(job) == Status.SUCCEEDED
    assert await cluster.rule(job) == "quorum"


@pytest.mark.parametrize(("nodes", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4)])
async def test_a_majority_is_more_than_half(harness: Harness, cluster: Cluster, nodes: int, needed: int) -> None:
    await cluster.start(*"abcdef"[:nodes])
    assert {(part.total, part.needed) for part in await cluster.parts(await cluster.ask())} == {(nodes, needed)}


async def test_past_the_timeout_the_leader_proceeds_and_the_job_says_so(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.done("a")
    await cluster.time_out()
    assert await harness.status(job) == Status.QUEUED
    assert await cluster.rule(job) == "timeout"
    gathered = await harness.store.nodes.gather_nodes(job)
    assert [(node.node, node.status, node.late) for node in gathered] == [
        ("a", Status.SUCCEEDED, False), ("b", None, True), ("c", None, True)
    ]  # fmt: skip
    await cluster.done("b")  # late: kept, and the leader sees the same as before
    assert (await cluster.states(job))["b"] == Status.SUCCEEDED
    assert await harness.store.nodes.gather_nodes(job) == gathered


async def test_past_the_timeout_a_job_that_must_not_proceed_fails_and_no_leader_runs_it(
    harness: Harness, cluster: Cluster
) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(on_timeout="fail")
    await cluster.done("a")
    await cluster.time_out()
    found = await harness.job(job)
    assert (found.status, found.reason) == (Status.FAILED, "quorum_timeout")
    assert found.error == "1 of 3 nodes finished within 10 s, but 2 were required; no outcome from: b, c"
    assert await cluster.rule(job) == "timeout"
    assert await cluster.states(job) == {"a": Status.SUCCEEDED, "b": Status.CANCELED, "c": Status.CANCELED}
    assert all([await worker.claim(5) == [] for worker in cluster.nodes.values()])


async def test_one_node_that_fails_is_the_job_s_end(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.done("a")
    await cluster.fail("b")
    found = await harness.job(job)
    assert (found.status, found.reason) == (Status.FAILED, "node_failed")
    assert "job/node" in (found.error or "")
    await harness.store.leader.resume()
    assert (await cluster.states(job))["c"] == Status.CANCELED


async def test_failures_are_tolerated_for_as_long_as_a_quorum_can_be_reached(
    harness: Harness, cluster: Cluster
) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(on_node_failure="tolerate")
    await cluster.fail("a")
    assert await harness.status(job) == Status.WAITING
    await cluster.done("b", "c")
    assert await harness.status(job) == Status.QUEUED
    other = await cluster.ask(on_node_failure="tolerate")
    await cluster.fail("b")
    await cluster.fail("c")
    found = await harness.job(other)
    assert (found.status, found.reason, await cluster.rule(other)) == (Status.FAILED, "quorum_lost", "quorum_lost")


async def test_a_job_of_which_no_node_had_anything_to_do_is_skipped(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.skip("a", "b")
    assert await harness.status(job) == Status.WAITING  # the third may have something
    await cluster.skip("c")
    assert (await harness.job(job)).reason == "nodes_skipped"
    assert await harness.status(job) == Status.SKIPPED


async def test_one_node_that_did_something_is_enough_for_the_leader_to_act(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.skip("a", "b")
    await cluster.done("c")
    assert await harness.status(job) == Status.QUEUED


async def test_a_quorum_of_nodes_without_anything_to_do_is_one_when_the_time_is_up(
    harness: Harness, cluster: Cluster
) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(on_timeout="fail")
    await cluster.skip("a", "b")
    await cluster.time_out()
    assert (await harness.status(job), await cluster.rule(job)) == (Status.QUEUED, "quorum")


async def test_without_a_leader_s_part_the_nodes_results_are_the_job_s(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(on_leader=False)
    await cluster.done("a", "c")
    assert (await harness.job(job)).result == '{ "a" : "a", "c" : "c" }'


def expected(total: int, needed: int, policy: dict[str, str], outcomes: list[str]) -> tuple[str, str]:
    """The outcome of a job, and the rule that decided it, when its nodes end one after the other and then its timeout expires."""
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


async def check_some_fates(harness: Harness, cluster: Cluster, rounds: int, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(rounds):
        await harness.empty()
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
        found = await harness.status(job)
        fate = "queued" if found == Status.RUNNING else str(found)  # the leader of this test claims it too
        assert (fate, await cluster.rule(job)) == expected(total, needed, policy, outcomes), (quorum, policy, outcomes)
        assert decided in (None, await cluster.rule(job)), "a decision has changed"
        await harness.check()
        for worker in cluster.nodes.values():
            await worker.disconnect()


async def test_whatever_nodes_do_the_rules_are_those_on_paper(harness: Harness, cluster: Cluster) -> None:
    await check_some_fates(harness, cluster, 40, random.randrange(10**6))


@pytest.mark.full
async def test_the_rules_hold_in_a_thousand_cases(harness: Harness, cluster: Cluster) -> None:
    await check_some_fates(harness, cluster, 1000, random.randrange(10**6))


@pytest.mark.parametrize("way", ["cancel", "cancel_tree"])
async def test_no_rule_decides_a_node_job_that_a_person_cancels(harness: Harness, cluster: Cluster, way: str) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await getattr(harness.store.jobs, way)(job)
    await harness.store.leader.resume()
    row = await harness.job(job)
    assert (row.status, row.reason) == ("canceled", "canceled")
    assert {part.rule for part in await cluster.parts(job)} == {None}
