"""`plait events`: send and list events."""

import json
from typing import Annotated

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import plain, show, show_json, show_table

group = new_group("Send and list events. Lists them by default.", "events", lists=True)

Text = str | None
Tenant = Annotated[
    Text,
    typer.Option("--tenant", "-t", metavar="SLUG", help="Tenant. Default: the default tenant.", show_default=False),
]
AllTenants = Annotated[bool, typer.Option("--all-tenants", "-A", help="Events of all tenants.")]


async def send(
    cli: Invocation,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the event, such as order.paid.", show_default=False)
    ],
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Data of the event.", show_default=False)
    ] = None,
    data: Annotated[
        Text, typer.Option("--data", metavar="JSON", help="Data of the event as a JSON object; - reads stdin.")
    ] = None,
    correlation_id: Annotated[
        Text,
        typer.Option(
            "--correlation-id", metavar="ID", help="Correlation id of the event and of the jobs that it triggers."
        ),
    ] = None,
    tenant: Tenant = None,
) -> None:
    """Send an event and print its id. The leader enqueues the jobs of matching triggers."""
    from plait.model.ids import new_id

    text = json.dumps(arguments.payload(pairs or [], data))
    async with cli.store() as store:
        event_id = await store.events.emit(name, text, tenant=tenant, correlation_id=correlation_id, event_id=new_id())
    if cli.json:
        show_json({"id": event_id})
    else:
        show(str(event_id))


async def list_(
    cli: Invocation,
    name: Annotated[Text, typer.Option("--name", metavar="NAME", help="Only events with this name.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only events for which a trigger failed.")] = False,
    tenant: Tenant = None,
    all_tenants: AllTenants = False,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=1000, help="Maximum number.")] = 50,
    before: Annotated[Text, typer.Option("--before", metavar="ID", help="Last id of the previous page.")] = None,
) -> None:
    """List events, newest first."""
    if tenant is not None and all_tenants:
        raise BadUsage("--tenant and --all-tenants cannot be used together")
    async with cli.store() as store:
        rows = await store.events.list_events(
            tenant_id=None if tenant is None else await store.tenants.tenant_id(tenant),
            all_tenants=all_tenants,
            name=name,
            failed=failed,
            before=None if before is None else arguments.job_id(before, "an event"),
            limit=limit,
        )
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("id", "name", "at", "dispatched", "jobs", "error"),
        [(row.id, row.name, row.at, row.dispatched_at, row.jobs, row.error) for row in rows],
        optional=("dispatched",),
        empty="No matching events. Send one: plait events send NAME key=value",
    )


async def show_(
    cli: Invocation,
    event: Annotated[
        str, typer.Argument(metavar="ID", help="Full id, as shown by plait events list.", show_default=False)
    ],
    tenant: Tenant = None,
) -> None:
    """Show an event and the trigger firings that it caused."""
    event_id = arguments.job_id(event, "an event")
    async with cli.store() as store:
        tenant_id = None if tenant is None else await store.tenants.tenant_id(tenant)
        row = await store.events.get_event(event_id, tenant_id=tenant_id)
        fires = await store.triggers.list_fires(event_id=event_id, tenant_id=tenant_id)
    if cli.json:
        show_json({**plain(row), "fires": fires})
        return
    for title, value in (
        ("id", row.id),
        ("name", row.name),
        ("at", plain(row.at)),
        ("dispatched", plain(row.dispatched_at) or "not yet: waiting for the leader to dispatch the event"),
        ("correlation", row.correlation_id),
        ("error", row.error),
        ("data", row.data),
    ):
        if value is not None:
            show(f"{title:<12} {value}")
    if fires:
        show()
    show_table(
        ("trigger", "outcome", "definition", "job", "error"),
        [(one.label, one.outcome, one.definition, one.job_id, one.error) for one in fires],
        empty="No trigger has fired for this event.",
    )


group.callback()(command(list_))
for name_, function, short_help in (
    ("list", list_, "List events."),
    ("send", send, "Send an event."),
    ("show", show_, "Show an event and its firings."),
):
    group.command(name_, short_help=short_help)(command(function))
