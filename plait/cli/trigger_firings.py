"""`plait triggers preview | test | fires`: a trigger's next and past firings."""

import json
from typing import Annotated, Any

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command
from plait.cli.output import plain, show, show_json, show_table
from plait.cli.triggers import Cron, Named, Tenant, Text, Zone, find
from plait.model.errors import PlaitError


class NothingToTry(PlaitError):
    """The trigger would not enqueue a job for this data."""


def register(group: typer.Typer) -> None:
    for name, function, short_help in (
        ("preview", preview, "Show when a schedule fires next."),
        ("test", try_, "Show the job that a trigger would enqueue now."),
        ("fires", fires, "Show a trigger's past firings."),
    ):
        group.command(name, short_help=short_help)(command(function))


async def preview(
    cli: Invocation,
    named: Annotated[
        Text, typer.Argument(metavar="[LABEL]", help="Label or id of a schedule; or use --cron.", show_default=False)
    ] = None,
    cron: Cron = None,
    time_zone: Zone = None,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", min=1, max=1000, help="Number of firings.")] = 10,
    after: Annotated[Text, typer.Option("--after", metavar="WHEN", help="Start of the preview. Default: now.")] = None,
    tenant: Tenant = None,
) -> None:
    """Show when a schedule fires next, with notes about daylight-saving changes."""
    from plait.model.schedules import Timing, check_cron, check_zone
    from plait.model.schedules import preview as previewed

    if (named is None) == (cron is None):
        raise BadUsage("give the label of a schedule, or --cron")
    start = arguments.moment(after, what="--after")
    if cron is not None:
        async with cli.store() as store:
            now = start or await store.health.now()
        timing = Timing(zone=check_zone(time_zone or "UTC"), anchor=now, cron=check_cron(cron))
    else:
        assert named is not None
        async with cli.store() as store:
            row = await find(store, named, tenant)
        if row.kind != "schedule":
            raise BadUsage(f"{row.label} is not a schedule: it fires for {row.event_name} events")
        now = start or row.now
        timing = Timing(
            zone=time_zone or row.time_zone or "UTC", anchor=row.anchor_at, cron=row.cron, every_s=row.every_s
        )
    found = previewed(timing, now, count)
    if cli.json:
        show_json(found)
        return
    show_table(
        ("utc", "local", "note"),
        [(str(plain(one.instant)), f"{one.local:%a %Y-%m-%d %H:%M:%S %Z}", one.note) for one in found],
        empty="This schedule never fires.",
    )


async def try_(
    cli: Invocation,
    named: Named,
    data: Annotated[
        Text, typer.Option("--data", metavar="JSON", help="Data of the event, for an event trigger.")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Also enqueue the job; the schedule is not affected.")] = False,
    tenant: Tenant = None,
) -> None:
    """Show the job that a trigger would enqueue now, with its payload rendered and validated."""
    from plait.model.ids import new_id
    from plait.model.rendering import event_scope, rendered, schedule_scope, tenant_scope, trigger_scope
    from plait.store.new_jobs import NewJob

    async with cli.store() as store:
        row = await find(store, named, tenant)
        scope: dict[str, Any] = {
            "trigger": trigger_scope(row.id, row.label, row.definition),
            "tenant": tenant_scope(row.tenant_id, row.tenant, row.tenant_name),
        }
        if row.kind == "event":
            assert row.event_name is not None
            scope["event"] = arguments.payload([], data)
            scope["trigger"] |= event_scope(new_id(), row.event_name, row.now)
        else:
            scope["schedule"] = schedule_scope(row.next_at or row.now, row.cron, row.time_zone)
        schemas = await store.definitions.list_schemas([row.definition])
        keys = {"dedupe_key": row.dedupe_key, "correlation_id": row.correlation_id, "limit_key": row.limit_key}
        said = rendered(row.payload, scope, schemas.get(row.definition), **keys)
        if "error" in said:
            raise NothingToTry(said["error"])
        new = NewJob(
            id=new_id(),
            definition=row.definition,
            payload=json.dumps(said["payload"]),
            tenant_id=row.tenant_id,
            queue=row.queue,
            priority=row.priority,
            max_attempts=row.max_attempts,
            timeout_s=row.timeout_s,
            correlation_id=said["correlation_id"],
            limit_key=said["limit_key"],
        )
        if run:
            await store.jobs.enqueue_many([new])
    if cli.json:
        show_json({"definition": row.definition, **said, "job_id": new.id if run else None})
    else:
        show(json.dumps({"definition": row.definition, **said}, ensure_ascii=False, indent=2))
        if run:
            show(str(new.id))


async def fires(
    cli: Invocation,
    named: Named,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=1000, help="Maximum number.")] = 50,
    tenant: Tenant = None,
) -> None:
    """Show a trigger's past firings, newest first."""
    async with cli.store() as store:
        row = await find(store, named, tenant)
        rows = await store.triggers.list_fires(trigger_id=row.id, tenant_id=row.tenant_id, limit=limit)
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("instant or event", "at", "outcome", "job", "error"),
        [
            (str(plain(one.instant)) if one.instant else one.event_id, one.at, one.outcome, one.job_id, one.error)
            for one in rows
        ],
        empty="This trigger has not fired yet.",
    )
