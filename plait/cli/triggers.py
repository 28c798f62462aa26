"""`plait triggers`: schedules and event triggers."""

import re
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import show, show_json, show_table, span
from plait.model.errors import PlaitError

if TYPE_CHECKING:
    from plait.store import Store
    from plait.store.triggers import TriggerRow

group = new_group(
    "List, add, change, pause and test schedules and event triggers. Lists them by default.", "triggers", lists=True
)

Text = str | None
Named = Annotated[str, typer.Argument(metavar="LABEL", help="Label or id of the trigger.", show_default=False)]
Tenant = Annotated[
    Text,
    typer.Option("--tenant", "-t", metavar="SLUG", help="Tenant. Default: the default tenant.", show_default=False),
]
AllTenants = Annotated[bool, typer.Option("--all-tenants", "-A", help="Triggers of all tenants.")]


class TriggerExists(PlaitError):
    """The trigger already exists. Change it with `plait triggers set`."""


async def list_(cli: Invocation, tenant: Tenant = None, all_tenants: AllTenants = False) -> None:
    """List triggers: when each fires, when it last fired, and its missed firings."""
    if tenant is not None and all_tenants:
        raise BadUsage("--tenant and --all-tenants cannot be used together")
    async with cli.store() as store:
        rows = await store.triggers.list_triggers(tenant_id=await tenant_of(store, tenant), all_tenants=all_tenants)
    if cli.json:
        show_json(rows)
        return
    show_table(
        (
            "label",
            *(("tenant",) if all_tenants else ()),
            "state",
            "fires",
            "definition",
            "next",
            "last",
            "fired",
            "missed",
            "skipped",
            "error",
        ),
        [
            (
                row.label,
                *((row.tenant,) if all_tenants else ()),
                "enabled" if row.enabled else "paused",
                when(row),
                row.definition,
                row.next_at if row.enabled else None,
                row.last_at,
                row.fired,
                row.missed,
                row.skipped,
                row.error,
            )
            for row in rows
        ],
        optional=("skipped", "missed", "fired", "definition"),
        empty="No triggers yet. Add one: plait triggers add LABEL JOB --cron '0 2 * * *', or @app.schedule(…) in code",
    )


Cron = Annotated[
    Text,
    typer.Option("--cron", metavar="CRON", help="Cron expression: minute hour day month weekday.", show_default=False),
]
Every = Annotated[Text, typer.Option("--every", metavar="TIME", help="Interval: 90s, 10m, 1h.")]
Event = Annotated[Text, typer.Option("--event", metavar="NAME", help="Fire for each event with this name.")]
Zone = Annotated[
    Text, typer.Option("--time-zone", metavar="ZONE", help="Time zone, such as Europe/Berlin. Default: the tenant's.")
]
CatchUp = Annotated[
    Text,
    typer.Option(
        "--catch-up",
        metavar="POLICY",
        help="Catch-up of missed firings: none, one, all, or a window such as 1h.",
        show_default="one",
    ),
]
Overlap = Annotated[
    Text,
    typer.Option(
        "--overlap",
        metavar="POLICY",
        help="Overlap policy, which applies while the trigger's last job is unfinished: allow, skip, queue.",
        show_default="allow",
    ),
]
Jitter = Annotated[
    Text,
    typer.Option("--jitter", metavar="TIME", help="Jitter: delay each firing by a random time of up to this duration."),
]
Template = Annotated[
    Text,
    typer.Option(
        "--payload",
        metavar="JSON",
        help='Payload template; may use {{event.…}}, {{schedule.instant}}, {{trigger.…}} and {{tenant.…}}; "-" reads stdin.',
        show_default=False,
    ),
]
Queue = Annotated[Text, typer.Option("--queue", "-q", metavar="NAME", help="Queue. Default: the definition's.")]
Priority = Annotated[int | None, typer.Option("--priority", metavar="N", help="Lower runs first.")]
Retries = Annotated[int | None, typer.Option("--retries", metavar="N", min=0, help="Maximum number of retries.")]
Correlation = Annotated[Text, typer.Option("--correlation-id", metavar="TEMPLATE", help="Correlation id of its jobs.")]
DedupeKey = Annotated[
    Text,
    typer.Option(
        "--dedupe-key",
        metavar="TEMPLATE",
        help="Dedupe key template: no further job is created for a key while its job is unfinished or within the dedupe window.",
    ),
]
Window = Annotated[
    Text,
    typer.Option(
        "--dedupe-window",
        metavar="TIME",
        help="How long duplicates of a dedupe key are ignored; 0 disables the window.",
        show_default="5m",
    ),
]


async def add(
    cli: Invocation,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Label of the trigger.", show_default=False)],
    definition: Annotated[str, typer.Argument(metavar="JOB", help="Job to enqueue.", show_default=False)],
    cron: Cron = None,
    every: Every = None,
    event: Event = None,
    time_zone: Zone = None,
    catch_up: CatchUp = None,
    overlap: Overlap = None,
    jitter: Jitter = None,
    payload: Template = None,
    queue: Queue = None,
    priority: Priority = None,
    retries: Retries = None,
    correlation_id: Correlation = None,
    dedupe_key: DedupeKey = None,
    dedupe_window: Window = None,
    tenant: Tenant = None,
) -> None:
    """Add a trigger: a schedule with --cron or --every, or an event trigger with --event."""
    if sum(given is not None for given in (cron, every, event)) != 1:
        raise BadUsage("give --cron, --every or --event")
    settings = _settings(
        cron, every, event, time_zone, catch_up, overlap, jitter, payload, queue, priority, retries, correlation_id,
        dedupe_key, dedupe_window,
    )  # fmt: skip
    async with cli.store() as store:
        tenant_id = await tenant_of(store, tenant)
        if await store.triggers.list_triggers(tenant_id=tenant_id, label=label):
            raise TriggerExists
        await _check(store, definition, settings.get("payload", {}))
        trigger = await store.triggers.set_trigger(label, {"definition": definition, **settings}, tenant_id=tenant_id)
        await _tell(cli, store, trigger, tenant_id, "added")


async def set_(
    cli: Invocation,
    named: Named,
    cron: Cron = None,
    every: Every = None,
    time_zone: Zone = None,
    catch_up: CatchUp = None,
    overlap: Overlap = None,
    jitter: Jitter = None,
    payload: Template = None,
    queue: Queue = None,
    priority: Priority = None,
    retries: Retries = None,
    correlation_id: Correlation = None,
    dedupe_key: DedupeKey = None,
    dedupe_window: Window = None,
    tenant: Tenant = None,
) -> None:
    """Change a trigger. Settings whose options are omitted stay unchanged. A new schedule applies from now on."""
    settings = _settings(
        cron, every, None, time_zone, catch_up, overlap, jitter, payload, queue, priority, retries, correlation_id,
        dedupe_key, dedupe_window,
    )  # fmt: skip
    if not settings:
        raise BadUsage("no setting given; see plait triggers set --help")
    await _change(cli, named, tenant, settings, "set")


async def pause(cli: Invocation, named: Named, tenant: Tenant = None) -> None:
    """Pause a trigger. Firings during the pause are neither caught up nor counted as missed."""
    await _change(cli, named, tenant, {"enabled": False}, "paused")


async def resume(cli: Invocation, named: Named, tenant: Tenant = None) -> None:
    """Resume a paused trigger. It does not fire for times during the pause."""
    await _change(cli, named, tenant, {"enabled": True}, "enabled")


async def delete(cli: Invocation, named: Named, tenant: Tenant = None) -> None:
    """Delete a trigger. The jobs that it enqueued are kept and still refer to it."""
    async with cli.store() as store:
        row = await find(store, named, tenant)
        await store.triggers.delete_trigger(row.id, tenant_id=row.tenant_id)
    if cli.json:
        show_json({"id": row.id, "deleted": True})
    else:
        show(f"trigger {row.label} deleted ({row.id})")


def when(row: "TriggerRow") -> str:
    """When a trigger fires, as text."""
    if row.event_name is not None:
        return f"on {row.event_name}"
    return f"{row.cron} {row.time_zone}" if row.cron is not None else f"every {span(row.every_s or 0)}"


def _settings(
    cron: Text, every: Text, event: Text, time_zone: Text, catch_up: Text, overlap: Text, jitter: Text, payload: Text,
    queue: Text, priority: int | None, retries: int | None, correlation_id: Text, dedupe_key: Text, dedupe_window: Text,
) -> dict[str, Any]:  # fmt: skip
    """The given settings, validated as far as possible without the database."""
    from plait.model.schedules import check_cron, check_zone

    if cron is not None and every is not None:
        raise BadUsage("--cron and --every cannot be used together")
    if catch_up is not None and catch_up not in ("none", "one", "all"):
        settings: dict[str, Any] = {
            "catch_up": "window",
            "catch_up_window_s": arguments.duration(catch_up, what="--catch-up"),
        }
    else:
        settings = {"catch_up": catch_up}
    timing: dict[str, Any] = {}
    if cron is not None:
        timing = {"cron": check_cron(cron), "every_s": None}
    elif every is not None:
        timing = {"cron": None, "every_s": arguments.duration(every, what="--every")}
    window_s = arguments.duration(dedupe_window, what="--dedupe-window")
    settings |= {
        "event_name": event,
        "time_zone": None if time_zone is None else check_zone(time_zone),
        "overlap": overlap,
        "jitter_s": arguments.duration(jitter, what="--jitter"),
        "payload": None if payload is None else arguments.payload([], payload),
        "queue": queue,
        "priority": priority,
        "max_attempts": None if retries is None else retries + 1,
        "correlation_id": correlation_id,
        "dedupe_key": dedupe_key,
        "dedupe_window_s": None if window_s is None else round(window_s),
    }
    return {key: value for key, value in settings.items() if value is not None} | timing


async def _check(store: "Store", definition: str, template: dict[str, Any]) -> None:
    from plait.model.rendering import check_template

    schemas = await store.definitions.list_schemas([definition])
    check_template(definition, schemas.get(definition), template)


async def tenant_of(store: "Store", tenant: str | None) -> UUID | None:
    return None if tenant is None else await store.tenants.tenant_id(tenant)


async def find(store: "Store", named: str, tenant: str | None) -> "TriggerRow":
    is_id = re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", named)
    return await store.triggers.get_trigger(UUID(named) if is_id else named, tenant_id=await tenant_of(store, tenant))


async def _change(cli: Invocation, named: str, tenant: str | None, settings: dict[str, Any], done: str) -> None:
    async with cli.store() as store:
        row = await find(store, named, tenant)
        if "payload" in settings:
            await _check(store, row.definition, settings["payload"])
        await store.triggers.set_trigger(row.label, settings, tenant_id=row.tenant_id)
        await _tell(cli, store, row.id, row.tenant_id, done)


async def _tell(cli: Invocation, store: "Store", trigger: UUID, tenant_id: UUID | None, done: str) -> None:
    row = await store.triggers.get_trigger(trigger, tenant_id=tenant_id)
    if cli.json:
        show_json(row)
    else:
        show(f"trigger {row.label} {done}: {row.definition} {when(row)} ({row.id})")


group.callback()(command(list_))
for name_, function, short_help in (
    ("list", list_, "List triggers."),
    ("add", add, "Add a schedule or an event trigger."),
    ("set", set_, "Change a trigger."),
    ("pause", pause, "Pause a trigger."),
    ("resume", resume, "Resume a paused trigger."),
    ("delete", delete, "Delete a trigger."),
):
    group.command(name_, short_help=short_help)(command(function))
