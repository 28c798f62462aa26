"""`plait connectors`: a tenant's defaults for each connector."""

from typing import Annotated

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import show, show_json, show_table
from plait.cli.triggers import Tenant, tenant_of

group = new_group("Show and set the defaults of connectors. Lists them by default.", "connectors", lists=True)

Kind = Annotated[str, typer.Argument(metavar="KIND", help="http, webhook or report.", show_default=False)]


async def list_(
    cli: Invocation,
    tenant: Tenant = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", "-A", help="Show all tenants.")] = False,
) -> None:
    """Show the defaults of connectors. The payload of a job overrides these defaults."""
    if tenant is not None and all_tenants:
        raise BadUsage("--tenant and --all-tenants cannot be used together")
    async with cli.store() as store:
        rows = await store.connectors.list_connectors(tenant_id=await tenant_of(store, tenant), all_tenants=all_tenants)
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("tenant", "connector", "settings", "since", "by"),
        [(row.tenant, row.type, row.settings, row.updated_at, row.updated_by) for row in rows],
        optional=("by", "since"),
        empty="No defaults are set. To set them: plait connectors set http '{\"timeout\": 10}'",
    )


async def set_(
    cli: Invocation,
    kind: Kind,
    settings: Annotated[
        str,
        typer.Argument(
            metavar="JSON",
            help='All defaults as a JSON object, which replaces the current defaults; "-" reads stdin.',
            show_default=False,
        ),
    ],
    tenant: Tenant = None,
) -> None:
    """Set the defaults of a connector. Refer to secrets as {{secret.NAME}}; never put a secret's value here."""
    from plait.connectors.configurations import check_settings

    text = check_settings(kind, arguments.payload([], settings))
    async with cli.store() as store:
        tenant_id = await tenant_of(store, tenant)
        await store.connectors.set_connector(kind, text, tenant_id=tenant_id, by="command line")
    if cli.json:
        show_json({"connector": kind, "set": True})
    else:
        show(f"connector {kind} set: {text}")


async def unset(cli: Invocation, kind: Kind, tenant: Tenant = None) -> None:
    """Remove the defaults of a connector."""
    async with cli.store() as store:
        await store.connectors.set_connector(kind, None, tenant_id=await tenant_of(store, tenant))
    if cli.json:
        show_json({"connector": kind, "set": False})
    else:
        show(f"defaults of connector {kind} removed")


group.callback()(command(list_))
for name_, function, short_help in (
    ("list", list_, "Show the defaults."),
    ("set", set_, "Set the defaults of a connector."),
    ("unset", unset, "Remove the defaults of a connector."),
):
    group.command(name_, short_help=short_help)(command(function))
