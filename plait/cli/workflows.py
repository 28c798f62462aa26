"""`plait jobs tree | steps | history | signal | fork`: workflows and durable functions."""

import json
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

SHOWN = 1000


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
        show(f"… there may be more: --limit {limit * 10}")


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
    """The run time of its handler, and its total time including children and waits, if that is longer."""
    if node.own_s is None:
        return ""
    in_all = f", {span(node.total_s)} in total" if node.total_s is not None and node.total_s - node.own_s >= 0.1 else ""
    return f" {span(node.own_s)}{in_all}"


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
                span(row.took_s) if row.took_s is not None else None,
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
    """Send a signal to a job. It is stored until the job waits for it."""
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
        typer.Option("--from", metavar="STEP", help="First step to run again: its number, name or name:2."),
    ] = None,
    tenant: Tenant = None,
) -> None:
    """Start a new job from a step of an existing one, with the results of the steps before it. Default: from the beginning."""
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
    raise BadUsage(f"step {wanted!r} not found; the job has the steps {there}")


def register(group: typer.Typer) -> None:
    for name, function, short_help in (
        ("tree", tree, "Show a job's workflow as a tree."),
        ("steps", steps, "Show the steps of a durable function."),
        ("history", history, "Export a job's history for a replay."),
        ("signal", signal, "Send a signal to a job."),
        ("fork", fork, "Start a new job from a step of an existing one."),
    ):
        group.command(name, short_help=short_help)(command(function))
