"""One node job through every layer: enqueue, one node's part, a quorum of one, and the leader's action."""

from plait import Nodes, Plait, Status, current
from plait.testing import Kit

from ..harness import Harness


async def test_a_node_job_runs_on_the_only_node_and_then_on_the_leader(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """Nothing is configured: the worker's host is the node, and its process leads."""
    ran: list[str] = []

    @app.node_job()
    async def compact(table: str) -> int:
        ran.append(f"{table} on {current().node}")
        return 7

    @compact.on_leader
    async def publish(nodes: Nodes[int], table: str) -> str:
        ran.append(f"{table} on the leader")
        return f"{table}: {sum(v or 0 for v in nodes.values().values())} by {nodes.rule} of {nodes.needed}"

    await kit.run_until_idle()  # the worker has been here: its node is known
    stayed = await (await app.store()).workers.register(
        host="h", pid=1, version="0", queues=["default"], definitions=list(app.definitions), lease_s=3600,
        node=(await (await app.store()).nodes.list_nodes())[0].name,
    )  # fmt: skip
    handle = await compact.enqueue("users")
    assert await handle.status() == Status.WAITING
    [part] = await (await app.store()).nodes.job_nodes(handle.id)
    assert (part.status, part.total, part.needed) == (Status.QUEUED, 1, 1)
    await kit.run_until_idle()
    assert await handle.result(120) == "users: 7 by quorum of 1"
    assert ran == [f"users on {part.node}", "users on the leader"]
    assert await app_harness.outcomes(handle.id) == ["suspended", "succeeded"]
    await (await app.store()).workers.leave(stayed)


async def test_where_no_node_is_up_yet_the_leader_asks_them_when_it_comes(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.node_job()
    async def flush() -> str:
        return current().node or ""

    @flush.on_leader
    async def tell(nodes: Nodes[str]) -> list[str]:
        return [result.node for result in nodes]

    handle = await flush.enqueue()
    assert await handle.status() == Status.QUEUED
    await kit.run_until_idle()
    assert await handle.result(120) == [(await (await app.store()).nodes.list_nodes())[0].name]
    assert await app_harness.outcomes(handle.id) == ["suspended", "succeeded"]
