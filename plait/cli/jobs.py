"""`plait jobs`: list, show and manage jobs.

A job is identified by its full id. Without --tenant, all tenants that the login may see are searched.
"""

import json
from collections.abc import Awaitable, Callable
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage, is_forbidden
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import is_terminal, plain, say, show, show_json, show_table
from plait.model.errors import DatabaseError, ForeignTenant
from plait.model.states import Status

if TYPE_CHECKING:
    from plait.store import Store
    from plait.store.job_rows import JobRow

group = new_group("List, show, cancel, retry and reschedule jobs. Lists them by default.", "jobs", lists=True)

Ids = Annotated[
    list[str], typer.Argument(metavar="ID", help="Full ids, as shown by plait jobs list.", show_default=False)
]
Id = Annotated[str, typer.Argument(metavar="ID", help="Full id, as shown by plait jobs list.", show_default=False)]
Tenant = Annotated[
    str | None, typer.Option("--tenant", "-t", metavar="SLUG", help="Tenant of the job.", show_default=False)
]
Text = str | None

STATUSES = " or ".join([", ".join(list(Status)[:-1]), list(Status)[-1]])


def _canceled(status: Status) -> str | None:
    """Describe what a cancellation did, given the resulting status. Returns None if the job already had a final status other than canceled."""
    match status:
        case Status.CANCELED:
            return "canceled"
        case Status.RUNNING:
            return "cancellation requested; the job runs until its handler stops"
        case _:  # with cancel_grace, a waiting job is queued so that its handler can clean up
            return None if status.final else "cancellation requested; its handler runs to clean up"


async def list_(
    cli: Invocation,
    statuses: Annotated[
        list[Status] | None,
        typer.Option(
            "--status",
            "-s",
            metavar="STATUS",
            help=f"Only jobs with this status: {STATUSES}; can be repeated.",
            show_default=False,
        ),
    ] = None,
    queue: Annotated[Text, typer.Option("--queue", "-q", metavar="NAME", help="Only jobs in this queue.")] = None,
    definition: Annotated[
        Text, typer.Option("--definition", "-d", metavar="NAME", help="Only jobs of this definition.")
    ] = None,
    correlation_id: Annotated[
        Text, typer.Option("--correlation-id", metavar="ID", help="Only jobs with this correlation id.")
    ] = None,
    tenant: Annotated[
        Text, typer.Option("--tenant", "-t", metavar="SLUG", help="Tenant. Default: the default tenant.")
    ] = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", "-A", help="Jobs of all tenants.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=1000, help="Maximum number of jobs, up to 1000.")
    ] = 50,
    before: Annotated[Text, typer.Option("--before", metavar="ID", help="Last id of the previous page.")] = None,
    parent: Annotated[Text, typer.Option("--parent", metavar="ID", help="Only children of this job.")] = None,
    root_id: Annotated[
        Text, typer.Option("--root", metavar="ID", help="Only jobs of the workflow with this root.")
    ] = None,
    with_sub_jobs: Annotated[
        bool | None,
        typer.Option("--with-sub-jobs/--without-sub-jobs", help="Only jobs that have, or do not have, sub-jobs."),
    ] = None,
    payload: Annotated[
        list[str] | None,
        typer.Option(
            "--payload",
            metavar="KEY=VALUE",
            help="Only jobs whose payload contains this key and value; can be repeated.",
        ),
    ] = None,
) -> None:
    """List jobs, newest first."""
    if tenant is not None and all_tenants:
        raise BadUsage("--tenant and --all-tenants cannot be used together")
    async with cli.store() as store:
        rows = await store.jobs.list_jobs(
            tenant_id=await store.tenants.tenant_id(tenant) if tenant is not None else None,
            all_tenants=all_tenants,
            statuses=statuses,
            queue=queue,
            definition=definition,
            correlation_id=correlation_id,
            before=arguments.job_id(before) if before is not None else None,
            parent=arguments.job_id(parent) if parent is not None else None,
            root=arguments.job_id(root_id) if root_id is not None else None,
            has_children=with_sub_jobs,
            payload=json.dumps(arguments.labels_of(payload)) if payload else None,
            limit=limit,
        )
        slugs = {row.id: row.slug for row in await store.tenants.list_tenants()} if all_tenants else {}
    if rows.stopped is not None:
        say(f"The search stopped at its scan limit. To continue, use --before {rows.stopped}")
    if cli.json:
        show_json(rows)
        return
    columns = (
        "id",
        *(("tenant",) if all_tenants else ()),
        "status",
        "definition",
        "queue",
        "attempts",
        "created",
        "error",
    )
    show_table(
        columns,
        [
            (
                row.id,
                *((slugs.get(row.tenant_id),) if all_tenants else ()),
                row.status,
                row.definition,
                row.queue,
                f"{row.attempts_used}/{row.max_attempts}",
                row.created_at,
                brief(row.error) if row.status is not Status.SUCCEEDED else None,
            )
            for row in rows
        ],
        optional=("queue", "attempts", "created"),
        empty="No matching jobs."
        + ("" if all_tenants else " Search other tenants with --all-tenants or --tenant SLUG."),
    )
    if len(rows) == limit:
        say(f"There may be more jobs. To show them, use --before {rows[-1].id}")


def brief(error: str | None) -> str | None:
    """Shorten an error on a terminal; `jobs show` prints all of it."""
    return shorten(error, 160, placeholder=" …") if error and is_terminal() else error


async def show_(cli: Invocation, job_id: Id, tenant: Tenant = None) -> None:
    """Show a job: its payload, attempts, result, and why it is not running."""
    from plait.cli.job_page import show_job

    wanted = arguments.job_id(job_id)
    async with cli.store() as store:
        job = await find_job(store, wanted, tenant)
        attempts = await store.jobs.list_attempts(wanted, tenant_id=job.tenant_id)
        reasons = await store.jobs.explain_job(wanted, tenant_id=job.tenant_id)
        slug = await _slug(store, job)
        nodes = await store.nodes.job_nodes(wanted, tenant_id=job.tenant_id)
        times = await store.jobs.job_times(wanted, tenant_id=job.tenant_id)
        unread = await store.jobs.unread_signals(wanted, tenant_id=job.tenant_id)
        earlier = await store.statistics.earlier_runs(wanted, tenant_id=job.tenant_id)
    if cli.json:
        explained = [{"code": code, "explanation": words} for code, words in reasons]
        told = {**plain(job), **(plain(times) if times else {}), "unread_signals": unread, "earlier_runs": earlier}
        show_json({**told, "tenant": slug, "attempts": attempts, "explanation": explained, "nodes": nodes})
    else:
        show_job(job, slug, attempts, reasons, nodes, times, unread, earlier)


async def cancel(
    cli: Invocation,
    ids: Ids,
    reason: Annotated[
        Text, typer.Option("--reason", metavar="TEXT", help="Reason, which is stored with the job.")
    ] = None,
    whole_tree: Annotated[bool, typer.Option("--tree", help="Also cancel all descendants.")] = False,
    tenant: Tenant = None,
) -> int:
    """Cancel jobs. Running jobs, and waiting jobs with cancel_grace, are asked to stop. Final jobs are not changed."""

    async def do(store: "Store", job: "JobRow") -> Status:
        if whole_tree:
            done = await store.jobs.cancel_tree(job.id, tenant_id=job.tenant_id, reason=reason)
            if done.canceled or done.asked:
                say(f"{job.id}: {done.canceled} jobs were canceled, and {done.asked} were asked to stop")
                return Status.RUNNING if done.asked else Status.CANCELED
            return (await find_job(store, job.id, tenant)).status
        return await store.jobs.cancel(job.id, tenant_id=job.tenant_id, reason=reason)

    return await _each(cli, ids, tenant, do, _canceled, "already final: {status}")


async def retry(
    cli: Invocation,
    ids: Ids,
    whole_tree: Annotated[
        bool, typer.Option("--tree", help="Retry all failed jobs of their workflows, from the root down.")
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="With --tree: run the whole workflow again, as new jobs.")
    ] = False,
    drop_steps: Annotated[
        bool,
        typer.Option("--drop-steps", help="Restart durable functions from the beginning, without their checkpoints."),
    ] = False,
    tenant: Tenant = None,
) -> int:
    """Retry jobs that are failed, dead letters, canceled or skipped. The number of attempts used is reset to 0. Durable functions resume from their checkpoints."""
    if all_ and not whole_tree:
        raise BadUsage("--all requires --tree")
    if whole_tree and drop_steps:
        raise BadUsage("--drop-steps cannot be used with --tree; to restart a whole workflow, use --tree --all")

    async def do(store: "Store", job: "JobRow") -> Status:
        if whole_tree and all_:
            say(f"{job.id}: restarted as the new workflow {await store.jobs.fork(job.id, tenant_id=job.tenant_id)}")
            return Status.QUEUED
        if whole_tree:
            retried = await store.jobs.retry_tree(job.id, tenant_id=job.tenant_id)
            say(f"{job.id}: {retried} jobs retried")
            return Status.QUEUED
        return await store.jobs.retry(job.id, tenant_id=job.tenant_id, drop_steps=drop_steps)

    return await _each(cli, ids, tenant, do, str, "")


async def reschedule(
    cli: Invocation,
    job_id: Id,
    at: Annotated[
        Text,
        typer.Option(
            "--at", metavar="WHEN", help="New start time: 2030-01-31T12:00, in local time unless it has a time zone."
        ),
    ] = None,
    delay: Annotated[
        Text, typer.Option("--delay", metavar="TIME", help="Delay from now: 90s, 10m; 0 means now.")
    ] = None,
    max_attempts: Annotated[
        int | None, typer.Option("--max-attempts", metavar="N", min=1, help="New maximum number of attempts.")
    ] = None,
    tenant: Tenant = None,
) -> int:
    """Change when a job may start, or its maximum number of attempts. A final job that can be retried is retried at that time."""
    if (at is None) == (delay is None) and (at is not None or max_attempts is None):
        raise BadUsage("give --at, --delay or --max-attempts")
    moment = arguments.moment(at, what="--at")
    delay_s = arguments.duration(delay, what="--delay")

    async def do(store: "Store", job: "JobRow") -> Status:
        from datetime import timedelta

        run_at = moment if delay_s is None else await store.health.now() + timedelta(seconds=delay_s)
        return await store.jobs.reschedule(job.id, tenant_id=job.tenant_id, run_at=run_at, max_attempts=max_attempts)

    return await _each(cli, [job_id], tenant, do, str, "")


async def _each(
    cli: Invocation,
    ids: list[str],
    tenant: str | None,
    do: "Callable[[Store, JobRow], Awaitable[Status]]",
    done: Callable[[Status], str | None],
    otherwise: str,
) -> int:
    """Apply `do` to each job. If one fails, the others are still processed. `done` returns None for a job that was not changed."""
    wanted = [arguments.job_id(text) for text in ids]
    told: list[dict[str, Any]] = []
    async with cli.store() as store:
        for job_id in wanted:
            try:
                status = await do(store, await find_job(store, job_id, tenant))
            except DatabaseError as error:
                told.append({"id": job_id, "ok": False, "error": str(error)})
            else:
                words = done(status)
                problem = {} if words else {"error": otherwise.format(status=status)}
                told.append({"id": job_id, "ok": bool(words), "status": status, **problem})
                if words and not cli.json:
                    show(f"{job_id}  {words}")
    if cli.json:
        show_json(told)
    else:
        for one in told:
            if not one["ok"]:
                say(f"plait: {one['id']}: {one['error']}")
    return 0 if all(one["ok"] for one in told) else 1


async def find_job(store: "Store", job_id: UUID, tenant: str | None) -> "JobRow":
    if tenant is not None:
        return await store.jobs.get_job(job_id, tenant_id=await store.tenants.tenant_id(tenant))
    try:
        return await store.jobs.get_job(job_id, all_tenants=True)
    except ForeignTenant:
        return await store.jobs.get_job(job_id)


async def _slug(store: "Store", job: "JobRow") -> str | None:
    """The slug of the job's tenant, if the login may see it."""
    try:
        return next((row.slug for row in await store.tenants.list_tenants() if row.id == job.tenant_id), None)
    except Exception as error:
        if is_forbidden(error):
            return None
        raise


group.callback()(command(list_))
for name, function, short_help in (
    ("list", list_, "List jobs, newest first."),
    ("show", show_, "Show a job, and why it is not running."),
    ("cancel", cancel, "Cancel jobs."),
    ("retry", retry, "Retry final jobs."),
    ("reschedule", reschedule, "Change a job's start time or maximum number of attempts."),
):
    group.command(name, short_help=short_help)(command(function))
