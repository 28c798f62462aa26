"""The parts of a node job: which nodes have one, and the effects of retries, losses and cancels."""

from typing import Any

from plait.model.states import Status

from ..harness import Harness
from .cluster import PARTS, Cluster


async def test_the_set_of_nodes_is_fixed_when_the_job_is_made(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(quorum="all")
    cluster.nodes["d"] = await harness.worker(definitions=PARTS, node="d")
    await cluster.nodes["c"].leave()
    assert set(await cluster.states(job)) == {"a", "b", "c"}
    assert await cluster.nodes["d"].claim(5) == []
    assert set(await cluster.states(await cluster.ask())) == {"a", "b", "d"}


async def test_nodes_that_drain_are_lost_or_can_not_run_it_have_no_part(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "draining", "lost", "late")
    cluster.nodes["other"] = await harness.worker(definitions=("other",), node="other")
    cluster.nodes["elsewhere"] = await harness.worker(definitions=PARTS, queues=("q",), node="elsewhere")
    await harness.store.workers.drain(cluster.nodes["draining"].id)
    await harness.lose(cluster.nodes["lost"])
    await harness.expire(cluster.nodes["late"])  # nobody has noticed yet
    assert set(await cluster.states(await cluster.ask())) == {"a"}
    states = {node.name: node.state for node in await harness.store.nodes.list_nodes()}
    assert states == {
        "a": "active", "draining": "draining", "lost": "lost", "late": "lost", "other": "active", "elsewhere": "active"
    }  # fmt: skip


async def test_a_node_lives_for_as_long_as_one_of_its_workers_does(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a")
    second = await harness.worker(definitions=PARTS, node="a")

    async def state() -> str:
        return (await harness.store.nodes.list_nodes())[0].state

    await harness.store.workers.drain(second.id)
    assert await state() == "active"
    await second.leave()
    assert await state() == "active"
    await harness.store.workers.drain(cluster.nodes["a"].id)
    assert await state() == "draining"
    await cluster.nodes["a"].leave()
    assert await state() == "left"
    await cluster.start("a")
    assert await state() == "active"


async def test_fewer_nodes_than_the_quorum_asks_for_are_waited_for(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b")
    job = await cluster.ask(quorum="3", on_timeout="fail")
    assert await harness.status(job) == Status.QUEUED
    assert "nodes_not_asked" in await harness.explain(job)
    [lease] = await cluster.nodes["a"].claim(1)
    opened = await harness.sql("select plait.open_nodes($1, $2, $3, 1)", cluster.nodes["a"].id, job, lease.attempt)
    assert opened == "none"
    await cluster.nodes["a"].snooze(lease, 5)
    cluster.nodes["c"] = await harness.worker(definitions=PARTS, node="c")
    await harness.advance(seconds=6)
    await harness.promote()
    [lease] = await cluster.nodes["a"].claim(1)
    sql = "select plait.open_nodes($1, $2, $3, 1)"
    assert await harness.sql(sql, cluster.nodes["a"].id, job, lease.attempt) == "suspended"
    assert await harness.sql(sql, cluster.nodes["a"].id, job, lease.attempt) == "suspended"  # its reply was lost
    assert set(await cluster.states(job)) == {"a", "b", "c"}


async def test_only_its_own_node_gets_a_part_also_after_a_retry_and_a_loss(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b")
    job = await cluster.ask(quorum="all")
    [lease] = await cluster.nodes["b"].claim(5)
    assert await cluster.nodes["b"].fail(lease, delay_s=3)
    assert (await cluster.states(job))["b"] == Status.SCHEDULED  # it holds no slot meanwhile
    await harness.advance(seconds=4)
    await harness.promote()
    await cluster.done("a")
    assert await cluster.nodes["a"].claim(5) == []
    [lease] = await cluster.nodes["b"].claim(5)
    await harness.lose(cluster.nodes["b"])
    assert await cluster.nodes["a"].claim(5) == []
    assert "node_away" in await harness.explain(lease.job_id)
    cluster.nodes["b"] = await harness.worker(definitions=PARTS, node="b")
    await cluster.done("b")
    assert await harness.status(job) == Status.QUEUED


async def test_a_part_that_loses_its_node_too_often_has_failed(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b")
    job = await cluster.ask(quorum="all")
    for _ in range(4):
        [_] = await cluster.nodes["b"].claim(5)
        await harness.lose(cluster.nodes["b"])
        cluster.nodes["b"] = await harness.worker(definitions=PARTS, node="b")
    [_] = await cluster.nodes["b"].claim(5)
    await harness.lose(cluster.nodes["b"])
    assert (await harness.job(job)).reason == "node_failed"


async def test_when_the_job_has_ended_well_a_node_at_work_finishes_and_the_others_need_not(
    harness: Harness, cluster: Cluster
) -> None:
    await cluster.start("a", "b", "c", "d", "e")
    job = await cluster.ask()
    await cluster.done("a", "b")
    [at_work] = await cluster.nodes["d"].claim(1)
    await cluster.done("c")
    [lease] = await cluster.nodes["a"].claim(1)
    await harness.store.leader.resume()
    assert (await cluster.states(job))["e"] == Status.QUEUED  # the job is not final: it may still come
    await cluster.nodes["a"].succeed(lease)
    await harness.store.leader.resume()
    states = await cluster.states(job)
    assert (states["d"], states["e"]) == (Status.RUNNING, Status.CANCELED)
    assert {a.reason for a in await harness.attempts((await cluster.parts(job))[4].job_id)} == {"job_final"}
    assert await cluster.nodes["d"].fail(at_work)  # and it would try again: it need not
    await harness.store.leader.resume()
    assert (await cluster.states(job))["d"] == Status.CANCELED
    assert await harness.status(job) == Status.SUCCEEDED


async def test_a_job_that_is_canceled_cancels_its_nodes_also_those_at_work(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    [at_work] = await cluster.nodes["a"].claim(1)
    await harness.cancel(job)
    await harness.store.leader.resume()
    beat = await cluster.nodes["a"].heartbeat()
    assert beat.cancels == [(at_work.job_id, at_work.attempt)]
    assert await cluster.nodes["a"].report_canceled(at_work)
    assert set((await cluster.states(job)).values()) == {Status.CANCELED}


async def test_a_dedupe_key_is_held_until_the_node_job_is_final(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a")
    first = await cluster.ask()
    again = [await harness.enqueue("job", dedupe_key="once") for _ in range(2)]
    assert again[0] == again[1] != first
    assert len(await cluster.parts(again[0])) == 1


async def test_a_failed_node_job_is_retried_with_the_nodes_of_today(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask()
    await cluster.fail("c")
    await harness.store.leader.resume()
    await cluster.nodes["c"].leave()
    await harness.retry(job)
    [lease] = await cluster.nodes["a"].claim(1)
    assert await harness.sql("select plait.open_nodes($1, $2, $3, 1)", cluster.nodes["a"].id, job, lease.attempt)
    assert set(await cluster.states(job)) == {"a", "b"}


async def test_a_failed_node_job_is_retried_as_a_tree_where_it_failed(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b", "c")
    job = await cluster.ask(quorum="all")
    await cluster.done("a", "b")
    await cluster.fail("c")
    assert await harness.store.jobs.retry_tree(job) == 2
    assert await cluster.states(job) == {"a": Status.SUCCEEDED, "b": Status.SUCCEEDED, "c": Status.QUEUED}
    await cluster.done("c")


async def test_delayed_and_dependent_node_jobs_ask_the_nodes_when_their_time_has_come(
    harness: Harness, cluster: Cluster
) -> None:
    await cluster.start("a")
    first = await cluster.ask()
    later = await harness.enqueue("job", delay_s=60)
    after = await harness.enqueue("job", after=f"{{{first}}}")
    assert await harness.statuses([later, after]) == [Status.SCHEDULED, Status.WAITING]
    assert await cluster.parts(later) == await cluster.parts(after) == []
    await cluster.done("a")
    [lease] = await cluster.nodes["a"].claim(1)
    await cluster.nodes["a"].succeed(lease)
    [lease] = await cluster.nodes["a"].claim(1)
    assert lease.job_id == after
    assert await harness.sql("select plait.open_nodes($1, $2, 1, 1)", cluster.nodes["a"].id, after) == "suspended"


async def test_a_node_job_counts_for_the_fan_out_that_it_is_a_child_of(harness: Harness, cluster: Cluster) -> None:
    """Its end cascades upward, also when it ends by its timeout."""
    await cluster.start("a", "b")
    job = await cluster.ask(on_timeout="fail", quorum="all")
    waits = await harness.enqueue("add", after=f"{{{job}}}")
    await cluster.time_out()
    assert await harness.statuses([job, waits]) == [Status.FAILED, Status.CANCELED]


async def test_jobs_of_a_node_job_that_nobody_knew_yet_are_the_leader_s_once_it_is_known(
    harness: Harness, cluster: Cluster
) -> None:
    await cluster.start("a", "b")
    job = await harness.enqueue("job")
    await cluster.ask()
    assert (await harness.job(job)).lane == "leader"
    assert job not in [lease.job_id for lease in await cluster.nodes["b"].claim(5)]


async def test_a_fork_goes_on_with_the_nodes_of_the_old_job(harness: Harness, cluster: Cluster) -> None:
    await cluster.start("a", "b")
    job = await cluster.ask()
    await cluster.done("a", "b")
    forked = await harness.store.jobs.fork(job, from_seq=2)
    assert await harness.store.nodes.gather_nodes(forked) == await harness.store.nodes.gather_nodes(job)
    part = (await cluster.parts(job))[1]
    again = await harness.job(await harness.store.jobs.fork(part.job_id))
    assert (again.node, again.lane) == ("b", "n:b")


async def test_a_restarted_node_has_the_labels_and_address_that_it_says_now(harness: Harness) -> None:
    async def register(**given: Any) -> int:
        return await harness.store.workers.register(
            host="h", pid=1, version="0", queues=["default"], definitions=[], lease_s=30, node="a", **given
        )

    async def node() -> tuple[str, str | None]:
        [row] = await harness.store.nodes.list_nodes()
        return row.labels, row.url

    first = await register(labels={"zone": "x"}, url="http://a")
    await register()  # beside it: changes nothing
    assert await node() == ('{"zone": "x"}', "http://a")
    await harness.advance(seconds=31)
    await register()
    assert await node() == ("{}", None)
    assert first
