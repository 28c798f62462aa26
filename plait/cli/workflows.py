"""`plait jobs tree | children | steps | history | signal | fork`: workflows and durable functions."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command
from plait.cli.jobs import Id, Tenant, Text, find_job
from plait.cli.output import show, show_json, show_table, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plait.store.job_rows import NodeRow, StepView
    from plait.store.statistics import FanOutTimes

SHOWN = 1000


class Order(StrEnum):
    INDEX = "index"
    DURATION = "duration"
    WAIT = "wait"
    STATUS = "status"


async def tree(
    cli: Invocation,
    job_id: Id,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of jobs.")] = SHOWN,
    tenant: Tenant = None,
) -> None:
    """Show the workflow of a job as a tree, from its root."""
    wanted = arguments.job_id(job_id)
    nodes: list[NodeRow] = []
    async with cli.store() as store:
        job = await find_job(store, wanted, tenant)
        while len(nodes) < limit:
            page = await store.jobs.job_tree(
                wanted,
                tenant_id=job.tenant_id,
                after=nodes[-1] if nodes else None,
                limit=min(10_000, limit - len(nodes)),
            )
            nodes += page
            if not page:
                break
    if cli.json:
        show_json(nodes)
        return
    for line in drawn(nodes):
        show(line)
    if len(nodes) == limit:
        show(f"… there may be more jobs: use --limit {limit * 10}")


def drawn(nodes: "Sequence[NodeRow]") -> list[str]:
    """The tree as lines, each job below its parent."""
    below: dict[UUID | None, list[NodeRow]] = {}
    for node in nodes:
        below.setdefault(node.parent_id, []).append(node)
    lines: list[str] = []
    left = [(node, "", "") for node in reversed(below.get(None, []))]
    while left:
        node, branch, indent = left.pop()
        waits = f" ({node.wait_on.partition(' ')[0].replace('_', '-')})" if node.wait_on else ""
        error = f": {' '.join(node.error.split())[:100]}" if node.error else ""
        where = f" on {node.node}" if node.node else ""
        lines.append(f"{branch}{node.definition}{where} {node.id} {node.status}{waits}{_took(node)}{error}")
        children = below.get(node.id, [])
        for number, child in reversed(list(enumerate(children))):
            last = number == len(children) - 1
            left.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return lines


def _took(node: "NodeRow") -> str:
    """The run time of the handler, and the total time including children and waits if it is longer."""
    if node.own_s is None:
        return ""
    in_all = f", {span(node.total_s)} in total" if node.total_s is not None and node.total_s - node.own_s >= 0.1 else ""
    return f" {span(node.own_s)}{in_all}"


async def children(
    cli: Invocation,
    job_id: Id,
    sort: Annotated[
        Order, typer.Option("--sort", metavar="ORDER", help="Order: index, duration, wait or status.")
    ] = Order.DURATION,
    ascending: Annotated[bool, typer.Option("--ascending", help="The shortest duration or wait first.")] = False,
    fan_out: Annotated[
        UUID | None, typer.Option("--fan-out", metavar="ID", help="A fan-out of the job. Default: the first.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=1000, help="Maximum number of sub-jobs.")
    ] = 10,
    tenant: Tenant = None,
) -> None:
    """Show the sub-jobs of a fan-out, the slowest first, and the percentiles of all of them."""
    wanted = arguments.job_id(job_id)
    async with cli.store() as store:
        job = await find_job(store, wanted, tenant)
        rows = await store.statistics.list_children(
            wanted,
            fan_out,
            tenant_id=job.tenant_id,
            limit=limit,
            sort=sort.value,
            descending=sort in (Order.DURATION, Order.WAIT) and not ascending,
        )
        times = await store.statistics.fan_out_times(wanted, fan_out, tenant_id=job.tenant_id)
    if cli.json:
        show_json({"children": rows, "times": times})
        return
    show_table(
        ("index", "id", "definition", "status", "wait", "run time", "error"),
        [
            (row.fan_out_index, row.id, row.definition, row.status, _span(row.wait_s), _span(row.run_s), row.error)
            for row in rows
        ],
        optional=("definition",),
        empty="This job has no sub-jobs.",
    )
    if times is not None:
        show(_percentiles(times))


def _span(seconds: float | None) -> str | None:
    return None if seconds is None else span(seconds)


def _percentiles(times: "FanOutTimes") -> str:
    """The percentiles, of which sub-jobs they are, and which they leave out."""
    parts = [f"{times.ran:,} of {times.total:,} have run"]
    for name, p50, p95, most in (
        ("run time", times.run_p50_s, times.run_p95_s, times.run_max_s),
        ("wait", times.wait_p50_s, times.wait_p95_s, times.wait_max_s),
    ):
        if p50 is not None and p95 is not None and most is not None:
            parts.append(f"{name} p50 {span(p50)}, p95 {span(p95)}, max {span(most)}")
    left = [
        f"{count:,} {words}"
        for count, words in (
            (times.unfinished, "unfinished"),
            (times.never_ran, "never started"),
            (times.total - times.children, "not read"),
        )
        if count > 0
    ]
    return "; ".join([*parts, *([f"not in the run times: {', '.join(left)}"] if left else [])])


async def steps(cli: Invocation, job_id: Id, tenant: Tenant = None) -> None:
    """Show the steps of a durable function."""
    wanted = arguments.job_id(job_id)
    async with cli.store() as store:
        job = await find_job(store, wanted, tenant)
        rows = await store.jobs.list_steps(wanted, tenant_id=job.tenant_id)
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("step", "name", "kind", "took", "attempt", "done", "details"),
        [
            (
                row.seq,
                _name(row),
                row.kind,
                _span(row.took_s),
                row.attempt,
                row.at,
                _outcome(row),
            )
            for row in rows
        ],
        optional=("attempt", "done"),
        empty="This job has no steps.",
    )


async def history(cli: Invocation, job_id: Id, tenant: Tenant = None) -> None:
    """Export the recorded history of a durable function as JSON, to replay it against other code in a test.

    The document contains the job's arguments and results as they are stored. Replay it with `plait.testing.replay`.
    """
    wanted = arguments.job_id(job_id)
    async with cli.store() as store:
        job = await find_job(store, wanted, tenant)
        show(await store.jobs.job_history(wanted, tenant_id=job.tenant_id))


def _name(row: "StepView") -> str:
    return row.name if row.occurrence == 1 else f"{row.name}:{row.occurrence}"


def _outcome(row: "StepView") -> str | None:
    if row.fan_out_id is not None:
        return f"{row.decision or 'open'}: {row.succeeded} of {row.total} succeeded, {row.failed} failed, {row.canceled} canceled"
    if row.error is not None:
        return f"error: {row.error}"
    if row.kind == "sleep":
        return f"until {row.due_at}"
    return row.value if row.done else "not yet"


async def signal(
    cli: Invocation,
    job_id: Id,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the signal that the job waits for.", show_default=False)
    ],
    payload: Annotated[
        str, typer.Argument(metavar="JSON", help="Payload of the signal, as JSON.", show_default=False)
    ] = "null",
    tenant: Tenant = None,
) -> None:
    """Send a signal to a job. The signal is stored until the job reads it."""
    wanted = arguments.job_id(job_id)
    try:
        json.loads(payload)
    except ValueError as error:
        raise BadUsage(f"payload is not valid JSON: {error}. Quote text: '\"yes\"'") from None
    async with cli.store() as store:
        job = await find_job(store, wanted, tenant)
        status = await store.jobs.signal(wanted, name, payload, tenant_id=job.tenant_id)
    if cli.json:
        show_json({"id": wanted, "status": status})
    else:
        show(f"{wanted}  {status}")


async def fork(
    cli: Invocation,
    job_id: Id,
    from_: Annotated[
        Text,
        typer.Option(
            "--from",
            metavar="STEP",
            help="First step to run again: its number, its name, or name:2 for the second step of that name.",
        ),
    ] = None,
    tenant: Tenant = None,
) -> None:
    """Start a new job that begins at a step of an existing job and reuses the results of the earlier steps. Default: from the beginning."""
    wanted = arguments.job_id(job_id)
    async with cli.store() as store:
        job = await find_job(store, wanted, tenant)
        rows = await store.jobs.list_steps(wanted, tenant_id=job.tenant_id)
        forked = await store.jobs.fork(wanted, tenant_id=job.tenant_id, from_seq=_seq(rows, from_))
    if cli.json:
        show_json({"id": forked, "forked_from": wanted})
    else:
        show(str(forked))


def _seq(rows: "Sequence[StepView]", wanted: str | None) -> int:
    if wanted is None:
        return 1
    for row in rows:
        if wanted in (str(row.seq), _name(row), f"{row.name}:{row.occurrence}"):
            return row.seq
    there = ", ".join(f"{row.seq} {_name(row)}" for row in rows) or "none"
    raise BadUsage(f"step {wanted!r} not found; the job's steps: {there}")


def register(group: typer.Typer) -> None:
    for name, function, short_help in (
        ("tree", tree, "Show a job's workflow as a tree."),
        ("children", children, "Show the slowest sub-jobs of a fan-out."),
        ("steps", steps, "Show the steps of a durable function."),
        ("history", history, "Export a job's history for a replay."),
        ("signal", signal, "Send a signal to a job."),
        ("fork", fork, "Start a new job from a step of an existing job."),
    ):
        group.command(name, short_help=short_help)(command(function))
