"""`plait connectors`: what a tenant has set for each kind of connector."""

from typing import Annotated

import typer

from plait.cli import arguments
from plait.cli.failures import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import show, show_json, show_table
from plait.cli.triggers import Tenant, tenant_of

group = new_group("Show what is set for connectors; set it. Without a command it lists them.", "connectors", lists=True)

Kind = Annotated[str, typer.Argument(metavar="KIND", help="http, webhook or report.", show_default=False)]


async def list_(
    cli: Invocation,
    tenant: Tenant = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", "-A", help="Of all tenants.")] = False,
) -> None:
    """Show what holds for connectors' jobs where their payloads say nothing."""
    if tenant is not None and all_tenants:
        raise BadUsage("give --tenant or --all-tenants, not both")
    async with cli.store() as store:
        rows = await store.connectors.list_connectors(tenant_id=await tenant_of(store, tenant), all_tenants=all_tenants)
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("tenant", "connector", "settings", "since", "by"),
        [(row.tenant, row.type, row.settings, row.updated_at, row.updated_by) for row in rows],
        optional=("by", "since"),
        empty="Nothing is set: all is as usual. Set it: plait connectors set http '{\"timeout\": 10}'",
    )


async def set_(
    cli: Invocation,
    kind: Kind,
    settings: Annotated[
        str, typer.Argument(metavar="JSON", help='All of them, anew; "-" reads stdin.', show_default=False)
    ],
    tenant: Tenant = None,
) -> None:
    """Set what holds for a kind of connector. Secrets are named, {{secret.NAME}}, and never given."""
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
    """Everything is as usual again."""
    async with cli.store() as store:
        await store.connectors.set_connector(kind, None, tenant_id=await tenant_of(store, tenant))
    if cli.json:
        show_json({"connector": kind, "set": False})
    else:
        show(f"connector {kind} is as usual again")


group.callback()(command(list_))
for name_, function, short_help in (
    ("list", list_, "Show what is set."),
    ("set", set_, "Set what holds for a kind of connector."),
    ("unset", unset, "Everything is as usual again."),
):
    group.command(name_, short_help=short_help)(command(function))
