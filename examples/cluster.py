"""A node job: every machine of the cluster rebuilds its own cache, and when a quorum of nodes has finished, the leader publishes the version.

A single machine needs no setup: it is the only node, and the quorum is one node out of one. With five machines, start a worker on each: `plait worker
cluster.py --node a`, `--node b` and so on. Any of the machines may fail.

Prints:

    version 7 is live on 1 of 1 nodes, by quorum
    the leader rotated the keys
"""

import asyncio

from plait import Nodes, Plait, Skip, current

app = Plait()
caches: dict[str, int] = {}


@app.node_job(quorum="majority", quorum_timeout="10s", on_timeout="fail", on_node_failure="tolerate")
async def rebuild(version: int) -> int:
    """Run on every node that is live when the job is enqueued."""
    node = current().node or "?"
    if caches.get(node) == version:
        raise Skip("this node already has the version")
    caches[node] = version
    return version


@rebuild.on_leader
async def publish(nodes: Nodes[int], version: int) -> str:
    """Run on the leader when more than half of the nodes have finished."""
    return f"version {version} is live on {len(nodes.values())} of {len(nodes)} nodes, by {nodes.rule}"


@app.leader_job()
async def rotate_keys() -> str:
    """Run only on the leader."""
    return "the leader rotated the keys"


async def main() -> None:
    for job in (await rebuild.enqueue(7), await rotate_keys.enqueue()):
        print(await job.result(timeout="1m"))


if __name__ == "__main__":
    asyncio.run(main())
