"""`plait queues`: list, pause, resume and limit queues."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import show, show_json, show_table, span

if TYPE_CHECKING:
    from plait.store.queues import QueueRow

group = new_group("List, pause, resume and limit queues. Lists them by default.", "queues", lists=True)


class Mode(StrEnum):
    PARALLEL = "parallel"
    SERIAL = "serial"


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the queue.", show_default=False)]


async def list_(cli: Invocation) -> None:
    """List all queues: queued and running jobs, limits and workers."""
    async with cli.store() as store:
        rows = await store.queues.list_queues()
    if cli.json:
        show_json(rows)
        return
    show_table(
        (
            "queue",
            "state",
            "queued",
            "scheduled",
            "running",
            "waiting",
            "oldest",
            "workers",
            "max running",
            "rate",
            "mode",
            "root",
        ),
        [
            (
                row.name,
                "paused" if row.paused else "open",
                row.queued,
                row.scheduled,
                row.running,
                row.waiting,
                span(row.oldest_s) if row.queued and row.oldest_s is not None else None,
                row.workers,
                row.max_running,
                _rate(row),
                row.mode,
                row.root_id,
            )
            for row in rows
        ],
        optional=("waiting", "rate", "max running", "root"),
        empty="No queues yet. A queue is created by its first job, worker or limit.",
    )


async def pause(
    cli: Invocation,
    name: Name,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Reason, shown with the queue.")
    ] = None,
) -> None:
    """Pause a queue, so that none of its jobs start. Running jobs continue. New jobs are accepted and wait."""
    await _set(cli, name, {"paused": True, "paused_by": "command line", "pause_reason": reason})


async def resume(cli: Invocation, name: Name) -> None:
    """Resume a paused queue."""
    await _set(cli, name, {"paused": False})


async def set_(
    cli: Invocation,
    name: Name,
    max_running: Annotated[
        str | None,
        typer.Option("--max-running", metavar="N", help="Concurrency limit across all workers; none removes it."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="N/TIME", help="Rate limit: starts per period, such as 10/1s, 100/1m; none removes it."
        ),
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option("--mode", help="parallel, or serial: run one workflow at a time, a root and all its descendants."),
    ] = None,
) -> None:
    """Set a queue's limits or mode for all workers. Settings whose options are omitted stay unchanged. The value none removes a limit."""
    settings: dict[str, Any] = {}
    if max_running is not None:
        settings["max_running"] = arguments.limit(max_running, what="--max-running")
    if rate is not None:
        settings["rate_count"], settings["rate_period_s"] = arguments.rate(rate) or (None, None)
    if mode is not None:
        settings["serial"] = mode is Mode.SERIAL
    if not settings:
        raise BadUsage("no setting given: use --max-running, --rate or --mode")
    await _set(cli, name, settings)


async def _set(cli: Invocation, name: str, settings: dict[str, Any]) -> None:
    async with cli.store() as store:
        known = {row.name for row in await store.queues.list_queues()}
        await store.queues.set_queue(name, settings)
        [row] = [row for row in await store.queues.list_queues() if row.name == name]
    if cli.json:
        show_json(row)
        return
    limits = [
        "paused" if row.paused else "open",
        *([f"at most {row.max_running} running"] if row.max_running is not None else []),
        *([f"at most {_rate(row)}"] if row.rate_count is not None else []),
        *(["serial"] if row.mode == "serial" else []),
    ]
    show(f"queue {name}: {', '.join(limits)}" + ("" if name in known else " (nothing uses it yet)"))


def _rate(row: "QueueRow") -> str | None:
    return None if row.rate_count is None else f"{row.rate_count}/{span(row.rate_period_s or 1)}"


group.callback()(command(list_))
for name, function in (("list", list_), ("pause", pause), ("resume", resume), ("set", set_)):
    group.command(name)(command(function))
