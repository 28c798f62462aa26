"""`plait nodes`: the nodes of the cluster, and which of them is the leader."""

import json

import typer

from plait.cli.invocation import Invocation, command
from plait.cli.output import show, show_json, show_table, span


def register(app: typer.Typer) -> None:
    app.command("nodes", short_help="Show the nodes.")(command(nodes))


async def nodes(cli: Invocation) -> None:
    """Show the nodes that workers run on, with the state of each: active, draining, lost or left."""
    async with cli.store() as store:
        rows = await store.nodes.list_nodes()
        leader = await store.leader.get_leader()
    if cli.json:
        show_json({"leader": leader, "nodes": rows})
        return
    show_table(
        ("node", "state", "leads", "workers", "running", "open parts", "seen", "labels", "api", "version"),
        [
            (
                row.name,
                row.state,
                "leads" if row.leads else None,
                row.workers,
                row.running,
                row.open,
                f"{span(row.seen_s)} ago",
                ", ".join(f"{key}={value}" for key, value in json.loads(row.labels).items()),
                row.url,
                row.version,
            )
            for row in rows
        ],
        optional=("labels", "api", "version", "running"),
        empty="No nodes. Start a worker: plait worker APP --node NAME",
    )
    if leader is None:
        show("No leader is running: leader actions wait. Run plait worker without --no-leader.")
    elif leader.node is None:
        show(f"The leader {leader.holder} runs no jobs: leader actions wait.")
