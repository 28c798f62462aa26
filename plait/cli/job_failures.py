"""`plait jobs failures`: failed jobs by definition and error."""

from typing import Annotated

import typer

from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command
from plait.cli.jobs import Text, brief
from plait.cli.output import plain, say, show_json, show_table
from plait.model.states import Status


async def failures(
    cli: Invocation,
    statuses: Annotated[
        list[Status] | None,
        typer.Option(
            "--status",
            "-s",
            metavar="STATUS",
            help="Only jobs with this status: failed or dead_letter. Default: both.",
            show_default=False,
        ),
    ] = None,
    tenant: Annotated[
        Text, typer.Option("--tenant", "-t", metavar="SLUG", help="Tenant. Default: the default tenant.")
    ] = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", "-A", help="Jobs of all tenants.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=1000, help="Maximum number of errors, up to 1000.")
    ] = 50,
) -> None:
    """List failed jobs by definition and error, most frequent first. Every failed job is counted."""
    if tenant is not None and all_tenants:
        raise BadUsage("--tenant and --all-tenants cannot be used together")
    if not set(statuses or ()) <= {Status.FAILED, Status.DEAD_LETTER}:
        raise BadUsage("--status must be failed or dead_letter")
    async with cli.store() as store:
        found = await store.failures.list_failures(
            tenant_id=await store.tenants.tenant_id(tenant) if tenant is not None else None,
            all_tenants=all_tenants,
            statuses=list(statuses) if statuses else None,
            limit=limit,
        )
    if cli.json:
        show_json({**plain(found), "rows": found.rows})
        return
    show_table(
        ("jobs", "dead letters", "24 h", "definition", "fingerprint", "first", "last", "newest job", "error"),
        [
            (
                row.jobs,
                row.dead_letters,
                row.recent,
                row.definition,
                row.fingerprint,
                row.first_at,
                row.last_at,
                row.last_job,
                brief(row.error),
            )
            for row in found.rows
        ],
        optional=("first", "24 h", "fingerprint", "dead letters"),
        empty="No failed jobs." + ("" if all_tenants else " Search other tenants with --all-tenants or --tenant SLUG."),
    )
    if len(found.rows) < found.all_errors:
        say(f"{len(found.rows)} of {found.all_errors} errors shown; {found.all_jobs} failed jobs in total.")
    if found.as_of is None:
        say("Failed jobs are not counted yet, because no leader is running.")


def register(group: typer.Typer) -> None:
    group.command("failures", short_help="List failed jobs by error.")(command(failures))
