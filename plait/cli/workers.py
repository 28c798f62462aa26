"""`plait workers`: list workers and their heartbeats."""

import json

import typer

from plait.cli.command import Invocation, command
from plait.cli.output import plain, say, show_json, show_table, span


def register(app: typer.Typer) -> None:
    app.command("workers", short_help="List workers.")(command(workers))


async def workers(cli: Invocation) -> None:
    """List active workers, and those that left or were lost within the last hour."""
    async with cli.store() as store:
        rows, blocked = await store.workers.list_workers(), await store.workers.list_blocked()
        prefetched = await store.workers.list_prefetched()
    if cli.json:
        show_json(
            [
                {
                    **plain(row),
                    "prefetched": prefetched.get(row.id, 0),
                    "blocked_since": blocked[row.id].since if row.id in blocked else None,
                    "blocked_job": blocked[row.id].job_id if row.id in blocked else None,
                }
                for row in rows
            ]
        )
        return
    show_table(
        ("worker", "state", "host", "pid", "running", "prefetched", "slots", "queues", "seen", "version"),
        [
            (
                row.id,
                "blocked" if row.state == "alive" and row.id in blocked else "stale" if row.stale else row.state,
                row.host,
                row.pid,
                row.running,
                prefetched.get(row.id, 0),
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
        if row.state == "alive" and row.id in blocked:
            block = blocked[row.id]
            by = f"job {block.job_id}" if block.job_id else "an unknown job"
            say(f"worker {row.id}: its event loop has been blocked for {span(block.blocked_s)} by {by}")
