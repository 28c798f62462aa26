"""`plait workers`: list workers and their heartbeats, and the history of workers that ended."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import plain, say, show, show_json, show_table, span
from plait.model.errors import NotFound
from plait.model.worker_states import EndState, WorkerFilter

if TYPE_CHECKING:
    from plait.store.worker_rows import LastJob, WorkerRow

group = new_group("List workers, and show those that were lost or left. Lists them by default.", "workers", lists=True)

State = Annotated[
    WorkerFilter | None,
    typer.Option("--state", help="Only workers in this state. `alive` leaves stale workers out.", show_default=False),
]
Ended = Annotated[
    EndState | None,
    typer.Option("--state", help="Only workers that were lost, or that left (`gone`).", show_default=False),
]
Host = Annotated[str | None, typer.Option("--host", help="Only workers on this host.", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of workers.")]
Before = Annotated[
    int | None,
    typer.Option("--before", min=1, help="Only workers that ended before the worker with this id.", show_default=False),
]
Id = Annotated[int, typer.Argument(metavar="ID", min=1, max=2**31 - 1, help="Id of the worker.", show_default=False)]


async def list_(cli: Invocation, state: State = None) -> None:
    """List active workers, and those that left or were lost within the last hour."""
    async with cli.store() as store:
        rows = await store.workers.list_workers(state=state)
    if cli.json:
        show_json([plain(row) for row in rows])
        return
    empty = "No workers. Start one: plait worker APP" if state is None else f"No {state} workers."
    show_table(
        ("worker", "state", "host", "pid", "running", "prefetched", "slots", "queues", "seen", "version"),
        [
            (
                row.id,
                _state(row),
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
        empty=empty,
    )
    for row in rows:
        if row.state == "alive" and row.blocked_s is not None:
            by = f"job {row.blocked_job}" if row.blocked_job else "an unknown job"
            say(f"worker {row.id}: its event loop has been blocked for {span(row.blocked_s)} by {by}")


async def history(
    cli: Invocation, state: Ended = None, host: Host = None, limit: Limit = 50, before: Before = None
) -> None:
    """List workers that were lost or left, the last first. A worker is deleted 30 days after it ended."""
    async with cli.store() as store:
        rows = await store.workers.history(state=state, host=host, before=before, limit=limit)
    if cli.json:
        show_json([plain(row) for row in rows])
        return
    show_table(
        ("worker", "state", "reason", "host", "pid", "started", "ended", "held", "requeued", "dead letters", "canceled",
         "released", "version", "build"),
        [
            (row.id, row.state, row.end_reason, row.host, row.pid, row.started_at, row.ended_at, row.held, _requeued(row),
             row.dead_lettered, row.canceled, row.released, row.version, row.build)
            for row in rows
        ],
        optional=("build", "version", "canceled", "pid", "started"),
        empty="No such worker ended in the last 30 days.",
    )  # fmt: skip
    if len(rows) == limit:
        say(f"There may be more: --before {rows[-1].id}")


async def show_(cli: Invocation, worker: Id) -> None:
    """Show a worker, how it ended, and the jobs that were assigned to it then."""
    async with cli.store() as store:
        row = await store.workers.get_worker(worker)
        if row is None:
            raise NotFound(f"there is no worker {worker}: a worker is deleted 30 days after it ended")
        jobs = await store.workers.last_jobs(worker)
    if cli.json:
        show_json({**plain(row), "last_jobs": [plain(job) for job in jobs]})
        return
    facts: list[tuple[str, Any]] = [
        ("worker", row.id),
        ("state", _state(row)),
        ("host", f"{row.host}, pid {row.pid}"),
        ("node", row.node),
        ("version", row.version),
        ("build", row.build),
        ("queues", ", ".join(row.queues)),
        ("started", plain(row.started_at)),
        ("heartbeat", f"{plain(row.seen_at)} ({span(row.seen_s)} ago)"),
        ("ended", plain(row.ended_at)),
        ("reason", row.end_reason),
        ("blocked by", row.blocked_job),
        ("jobs", _jobs(row)),
    ]
    for name, value in facts:
        if value is not None:
            show(f"{name:<10} {value}")
    if jobs:
        _show_jobs(row, jobs)


def _state(row: "WorkerRow") -> str:
    if row.expired:
        return "stale (lease expired)"
    if row.state == "alive" and row.blocked_since:
        return "blocked"
    return "stale" if row.stale else row.state


def _requeued(row: "WorkerRow") -> str:
    return f"{row.requeued} (more to come)" if row.clearing else str(row.requeued)


def _jobs(row: "WorkerRow") -> str:
    if row.state == "alive":
        return f"{row.running} running, {row.prefetched} prefetched at its last heartbeat"
    counts = f"{row.held} when it ended: {_requeued(row)} requeued, {row.dead_lettered} dead letters, {row.canceled} canceled"
    return f"{counts}; {row.released} released" if row.state == "gone" else counts


def _show_jobs(row: "WorkerRow", jobs: "list[LastJob]") -> None:
    show(f"\njobs when it ended{'' if len(jobs) == row.held else f', {len(jobs)} of {row.held}'}")
    show_table(
        ("job", "definition", "status now"),
        [(job.job_id, job.definition or "deleted", job.status) for job in jobs],
        empty="",
    )


group.callback()(command(list_))
for name, function in (("list", list_), ("history", history), ("show", show_)):
    group.command(name)(command(function))
