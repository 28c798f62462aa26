"""`plait workers`: who runs jobs, and since when nobody has heard of whom."""

import json

import typer

from plait.cli.command import Invocation, command
from plait.cli.output import show_json, show_table, span


def register(app: typer.Typer) -> None:
    app.command("workers", short_help="Show the workers.")(command(workers))


async def workers(cli: Invocation) -> None:
    """Show the workers that live, and those that left or were lost within the last hour."""
    async with cli.store() as store:
        rows = await store.workers.list_workers()
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("worker", "state", "host", "pid", "running", "at most", "queues", "seen", "version"),
        [
            (
                row.id,
                "stale" if row.stale else row.state,
                row.host,
                row.pid,
                row.running,
                json.loads(row.metadata).get("concurrency"),
                row.queues,
                f"{span(row.seen_s)} ago",
                row.version,
            )
            for row in rows
        ],
        optional=("version", "at most", "pid"),
        empty="No workers. Start one: plait worker APP",
    )
