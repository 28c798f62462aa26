"""`plait workers`: list workers and their heartbeats."""

import json

import typer

from plait.cli.invocation import Invocation, command
from plait.cli.output import plain, say, show_json, show_table, span


def register(app: typer.Typer) -> None:
    app.command("workers", short_help="List workers.")(command(workers))


async def workers(cli: Invocation) -> None:
    """List active workers, and workers that left or were lost within the last hour."""
    async with cli.store() as store:
        rows = await store.workers.list_workers()
    if cli.json:
        show_json([plain(row) for row in rows])
        return
    show_table(
        ("worker", "state", "host", "pid", "running", "prefetched", "slots", "queues", "seen", "version"),
        [
            (
                row.id,
                "blocked" if row.state == "alive" and row.blocked_since else "stale" if row.stale else row.state,
                row.host,
                row.pid,
                row.running,
                row.prefetched,
                json.loads(row.metadata).get("concurrency"),
                row.queues,
                f"{span(row.seen_s)} ago",
                row.version,
            )
            for row in rows
        ],
        optional=("version", "prefetched", "slots", "pid"),
        empty="No workers. Start one: plait worker APP",
    )
    for row in rows:
        if row.state == "alive" and row.blocked_s is not None:
            by = f"job {row.blocked_job}" if row.blocked_job else "an unknown job"
            say(f"worker {row.id}: its event loop has been blocked for {span(row.blocked_s)} by {by}")
