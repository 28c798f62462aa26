"""`plait endpoints`: webhook endpoints, the outcomes that they receive, and their signing keys."""

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import show, show_json, show_table
from plait.cli.triggers import tenant_of
from plait.model.states import Status

if TYPE_CHECKING:
    from plait.store import Store
    from plait.store.endpoints import EndpointRow

group = new_group("Show, add, change and test webhook endpoints. Lists them by default.", "endpoints", lists=True)

Text = str | None
Named = Annotated[str, typer.Argument(metavar="LABEL", help="Label or id of the endpoint.", show_default=False)]
Tenant = Annotated[
    Text,
    typer.Option("--tenant", "-t", metavar="SLUG", help="Tenant. Default: the default tenant.", show_default=False),
]
AllTenants = Annotated[bool, typer.Option("--all-tenants", "-A", help="Endpoints of all tenants.")]
On = Annotated[
    Text,
    typer.Option(
        "--on",
        metavar="STATUS,…",
        help="Final statuses to send: succeeded, failed, dead_letter, canceled, skipped; all, or none.",
        show_default=False,
    ),
]
Definitions = Annotated[
    Text,
    typer.Option(
        "--definitions",
        metavar="NAME,…",
        help="Send only outcomes of these job definitions; any removes the filter.",
        show_default=False,
    ),
]
Signature = Annotated[
    Text,
    typer.Option(
        "--signature",
        metavar="FORM",
        help="Signature format: standard, or sha256 or sha512 over the body.",
        show_default="standard",
    ),
]


async def list_(cli: Invocation, tenant: Tenant = None, all_tenants: AllTenants = False) -> None:
    """Show webhook endpoints: their URLs, and the outcomes they receive."""
    if tenant is not None and all_tenants:
        raise BadUsage("--tenant and --all-tenants cannot be used together")
    async with cli.store() as store:
        rows = await store.endpoints.list_endpoints(tenant_id=await tenant_of(store, tenant), all_tenants=all_tenants)
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("label", *(("tenant",) if all_tenants else ()), "state", "url", "statuses", "definitions", "key", "reason"),
        [
            (
                row.label,
                *((row.tenant,) if all_tenants else ()),
                "enabled" if row.enabled else "disabled",
                row.url,
                ", ".join(row.statuses) or None,
                ", ".join(row.definitions) if row.definitions else None,
                row.key_version,
                row.disabled_reason,
            )
            for row in rows
        ],
        optional=("key", "definitions", "reason"),
        empty="No endpoints yet. Add one: plait endpoints add LABEL https://hooks.example.com/plait --on failed,dead_letter",
    )


async def add(
    cli: Invocation,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Label of the endpoint.", show_default=False)],
    to: Annotated[str, typer.Argument(metavar="URL", help="URL that receives the messages.", show_default=False)],
    on: On = None,
    definitions: Definitions = None,
    signature: Signature = None,
    tenant: Tenant = None,
) -> None:
    """Add a webhook endpoint. With --on, the endpoint receives the outcomes of jobs. To deliver them, run workers with --connectors webhook."""
    settings = {"url": _checked(to), **_settings(on, definitions, signature)}
    async with cli.store() as store:
        tenant_id = await tenant_of(store, tenant)
        made = await store.endpoints.set_endpoint(label, settings, tenant_id=tenant_id, new=True)
        await _tell(cli, store, made, tenant_id, "added")


async def set_(
    cli: Invocation,
    named: Named,
    to: Annotated[
        Text, typer.Option("--to", metavar="URL", help="URL that receives the messages.", show_default=False)
    ] = None,
    on: On = None,
    definitions: Definitions = None,
    signature: Signature = None,
    tenant: Tenant = None,
) -> None:
    """Change a webhook endpoint. Settings whose options are omitted stay unchanged. New statuses apply to jobs that finish after the change."""
    settings = _settings(on, definitions, signature)
    if to is not None:
        settings["url"] = _checked(to)
    if not settings:
        raise BadUsage("no setting given; see plait endpoints set --help")
    await _change(cli, named, tenant, settings, "set")


async def enable(cli: Invocation, named: Named, tenant: Tenant = None) -> None:
    """Enable an endpoint. Outcomes of jobs that finished while the endpoint was disabled are not delivered."""
    await _change(cli, named, tenant, {"enabled": True}, "enabled")


async def disable(cli: Invocation, named: Named, tenant: Tenant = None) -> None:
    """Disable an endpoint. Pending deliveries are skipped."""
    await _change(cli, named, tenant, {"enabled": False}, "disabled")


async def delete(cli: Invocation, named: Named, tenant: Tenant = None) -> None:
    """Delete an endpoint. Pending deliveries fail."""
    async with cli.store() as store:
        row = await _find(store, named, tenant)
        await store.endpoints.delete_endpoint(row.id, tenant_id=row.tenant_id)
    if cli.json:
        show_json({"id": row.id, "deleted": True})
    else:
        show(f"endpoint {row.label} deleted ({row.id})")


async def keys(cli: Invocation, named: Named, tenant: Tenant = None) -> None:
    """Show the active signing keys, newest first. Keys are not stored: they are derived from PLAIT_SECRET_WEBHOOKS, which must be set."""
    async with cli.store() as store:
        row = await _find(store, named, tenant)
    _show_keys(cli, row)


async def rotate(
    cli: Invocation,
    named: Named,
    overlap: Annotated[
        str, typer.Option("--overlap", metavar="TIME", help="How long the previous key stays active: 1h, 7d.")
    ] = "1d",
    tenant: Tenant = None,
) -> None:
    """Rotate the signing key of an endpoint. During --overlap, messages are signed with both keys."""
    lasts = arguments.duration(overlap, what="--overlap") or 0
    async with cli.store() as store:
        row = await _find(store, named, tenant)
        await store.endpoints.rotate_endpoint(row.id, tenant_id=row.tenant_id, overlap=timedelta(seconds=lasts))
        row = await store.endpoints.get_endpoint(row.id, tenant_id=row.tenant_id)
    _show_keys(cli, row)


async def try_(cli: Invocation, named: Named, tenant: Tenant = None) -> None:
    """Send a message of the type `test`, and print the id of its job."""
    import msgspec

    from plait.model.ids import new_id
    from plait.store.new_jobs import NewJob

    async with cli.store() as store:
        row = await _find(store, named, tenant)
        payload = msgspec.json.encode({"endpoint": str(row.id), "type": "test", "data": None}).decode()
        new = NewJob(id=new_id(), definition="connector.webhook.deliver", payload=payload, tenant_id=row.tenant_id)
        await store.jobs.enqueue_many([new])
    if cli.json:
        show_json({"id": new.id, "endpoint": row.id})
    else:
        show(f"{new.id}  (see plait jobs show {new.id})")


def _settings(on: Text, definitions: Text, signature: Text) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if on is not None:
        final = [str(status) for status in Status if status.final]
        statuses = final if on == "all" else [] if on == "none" else [part.strip() for part in on.split(",")]
        if unknown := set(statuses) - set(final):
            raise BadUsage(f"--on must be a list of {', '.join(final)}, got {min(unknown)!r}")
        settings["statuses"] = statuses
    if definitions is not None:
        named = [part.strip() for part in definitions.split(",") if part.strip()]
        settings["definitions"] = None if definitions == "any" else named
    if signature is not None:
        settings["signature"] = signature
    return settings


def _checked(url: str) -> str:
    from plait.connectors.endpoints import check_url
    from plait.runtime.settings import Settings

    check_url(url, Settings())
    return url


def _show_keys(cli: Invocation, row: "EndpointRow") -> None:
    from plait.connectors.endpoints import keys_of
    from plait.runtime.settings import Settings

    found = keys_of(row, Settings())
    if cli.json:
        show_json([{"version": version, "key": key} for version, key in found])
    else:
        for version, key in found:
            show(f"{key}  (key {version})")


async def _find(store: "Store", named: str, tenant: str | None) -> "EndpointRow":
    is_id = re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", named)
    return await store.endpoints.get_endpoint(UUID(named) if is_id else named, tenant_id=await tenant_of(store, tenant))


async def _change(cli: Invocation, named: str, tenant: str | None, settings: dict[str, Any], done: str) -> None:
    async with cli.store() as store:
        row = await _find(store, named, tenant)
        await store.endpoints.set_endpoint(row.label, settings, tenant_id=row.tenant_id)
        await _tell(cli, store, row.id, row.tenant_id, done)


async def _tell(cli: Invocation, store: "Store", endpoint: UUID, tenant_id: UUID | None, done: str) -> None:
    row = await store.endpoints.get_endpoint(endpoint, tenant_id=tenant_id)
    if cli.json:
        show_json(row)
    else:
        told = f"statuses {', '.join(row.statuses)}" if row.statuses else "no statuses"
        show(f"endpoint {row.label} {done}: {row.url}, {told} ({row.id})")


group.callback()(command(list_))
for name_, function, short_help in (
    ("list", list_, "Show endpoints."),
    ("add", add, "Add an endpoint."),
    ("set", set_, "Change an endpoint."),
    ("enable", enable, "Enable an endpoint."),
    ("disable", disable, "Disable an endpoint."),
    ("delete", delete, "Delete an endpoint."),
    ("keys", keys, "Show the signing keys."),
    ("rotate", rotate, "Rotate the signing key."),
    ("test", try_, "Send a test message."),
):
    group.command(name_, short_help=short_help)(command(function))
