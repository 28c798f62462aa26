"""`plait nodes`, and the results of each node of a node job."""

import asyncio

from plait import Nodes
from plait import Plait as App
from plait.testing import Kit, TestDatabase

from .conftest import RunPlait


def compacted(database: TestDatabase) -> str:
    """A node job that has run."""
    app = App()

    @app.node_job()
    async def compact(table: str) -> int:
        return len(table)

    @compact.on_leader
    async def publish(nodes: Nodes[int], table: str) -> int:
        return len(nodes)

    async def run() -> str:
        kit = Kit(app, database)
        kit.enter()
        handle = await compact.enqueue("users")
        await kit.run_until_idle()
        await kit.exit()
        return str(handle.id)

    return asyncio.run(run())


def test_plait_nodes_tells_of_each_and_that_nobody_is_there(plait_on: RunPlait, database: TestDatabase) -> None:
    assert plait_on("nodes").err == "No nodes. Start a worker: plait worker APP --node NAME\n"
    compacted(database)
    shown = plait_on("nodes", "--json").json
    [node] = shown["nodes"]
    assert (node["state"], node["workers"], node["open"]) == ("left", 0, 0)
    assert shown["leader"]["node"] is None
    told = plait_on("nodes").out
    assert " left " in told
    assert "runs no jobs: leader actions wait" in told


def test_a_job_is_shown_with_its_nodes_and_the_rule_that_decided_it(plait_on: RunPlait, database: TestDatabase) -> None:
    job = compacted(database)
    told = plait_on("jobs", "show", job).out
    assert "nodes (1 of 1 must finish; decided: quorum reached)" in told
    [node] = plait_on("jobs", "show", job, "--json").json["nodes"]
    assert (node["status"], node["rule"], node["late"]) == ("succeeded", "quorum", False)
    tree = plait_on("jobs", "tree", job).out.splitlines()
    assert tree[0].startswith(f"compact {job} succeeded ")
    assert tree[1].startswith(f"└─ compact/node on {node['node']} ")
