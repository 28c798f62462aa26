"""`plait tenants`: list, create, limit and pause tenants."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import show, show_json, show_table
from plait.model.errors import PlaitError

if TYPE_CHECKING:
    from plait.store import Store

group = new_group("List, create, limit and pause tenants. Lists them by default.", "tenants", lists=True)

Slug = Annotated[
    str,
    typer.Argument(metavar="SLUG", help="Slug of the tenant: lower-case letters, digits, - and _.", show_default=False),
]
Name = Annotated[str | None, typer.Option("--name", metavar="TEXT", help="Display name.")]
TimeZone = Annotated[str | None, typer.Option("--time-zone", metavar="ZONE", help="Time zone, such as Europe/Berlin.")]
Weight = Annotated[int | None, typer.Option("--weight", metavar="N", help="Weight in fair scheduling, 1 to 1000.")]
MaxRunning = Annotated[
    str | None,
    typer.Option("--max-running", metavar="N", help="Concurrency limit: jobs that may run at once; none removes it."),
]
MaxQueued = Annotated[
    str | None,
    typer.Option("--max-queued", metavar="N", help="Quota: maximum number of unfinished jobs; none removes it."),
]
MaxTriggers = Annotated[
    str | None,
    typer.Option(
        "--max-triggers",
        metavar="N",
        help="Maximum number of triggers, not counting triggers declared in code; none removes the limit.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="STATUS=AGE",
        help="Retention of final jobs, such as failed=30d or succeeded=forever; can be repeated. --keep default restores the installation's setting.",
    ),
]


class TenantExists(PlaitError):
    """The tenant already exists. Change it with `plait tenants set`."""


async def list_(cli: Invocation) -> None:
    """List all tenants, with their unfinished jobs."""
    async with cli.store() as store:
        rows = await store.tenants.list_tenants()
        kept = await store.tenants.list_retention()
    if cli.json:
        show_json([{**asdict(row), "retention": kept.get(row.slug, {})} for row in rows])
        return
    show_table(
        ("tenant", "name", "time zone", "state", "queued", "running", "weight", "max running", "max queued"),
        [
            (
                row.slug,
                row.name,
                row.time_zone,
                "paused" if row.paused else "open",
                row.queued,
                row.running,
                row.weight,
                row.max_running,
                row.max_queued,
            )
            for row in rows
        ],
        optional=("name", "time zone", "weight"),
        empty="No tenants.",
    )


async def create(
    cli: Invocation,
    slug: Slug,
    name: Name = None,
    time_zone: TimeZone = None,
    weight: Weight = None,
    max_running: MaxRunning = None,
    max_queued: MaxQueued = None,
    max_triggers: MaxTriggers = None,
    keep: Keep = None,
) -> None:
    """Create a tenant."""
    settings = _settings(name, time_zone, None, weight, max_running, max_queued, max_triggers, keep)
    async with cli.store() as store:
        if any(row.slug == slug for row in await store.tenants.list_tenants()):
            raise TenantExists
        await store.tenants.set_tenant(slug, settings)
        await _tell(store, slug, "created", as_json=cli.json)


async def set_(
    cli: Invocation,
    slug: Slug,
    name: Name = None,
    time_zone: TimeZone = None,
    paused: Annotated[bool | None, typer.Option("--pause/--resume", help="Pause or resume its jobs.")] = None,
    weight: Weight = None,
    max_running: MaxRunning = None,
    max_queued: MaxQueued = None,
    max_triggers: MaxTriggers = None,
    keep: Keep = None,
) -> None:
    """Change a tenant. Settings whose options are omitted stay unchanged. The value none removes a limit."""
    settings = _settings(name, time_zone, paused, weight, max_running, max_queued, max_triggers, keep)
    if not settings:
        raise BadUsage("no setting given; see plait tenants set --help")
    async with cli.store() as store:
        await store.tenants.tenant_id(slug)  # an unknown slug is a typo, not a new tenant
        await store.tenants.set_tenant(slug, settings)
        await _tell(store, slug, "set", as_json=cli.json)


async def bind(
    cli: Invocation,
    login: Annotated[
        str, typer.Argument(metavar="LOGIN", help="Database login with the role plait_tenant.", show_default=False)
    ],
    slug: Annotated[
        str | None, typer.Argument(metavar="SLUG", help="Tenant; omit it with --unbind.", show_default=False)
    ] = None,
    unbind: Annotated[bool, typer.Option("--unbind", help="Remove the binding.")] = False,
) -> None:
    """Bind a database login to one tenant. The login cannot read or change data of other tenants."""
    if unbind == (slug is not None):
        raise BadUsage("give the tenant to bind the login to, or --unbind")
    async with cli.store() as store:
        tenant_id = await store.tenants.tenant_id(slug) if slug is not None else None
        await store.tenants.bind_login(login, tenant_id)
    if cli.json:
        show_json({"login": login, "tenant": slug, "tenant_id": tenant_id})
    else:
        show(f"{login} is bound to {slug}" if slug else f"{login} is not bound to a tenant")


def _settings(
    name: str | None,
    time_zone: str | None,
    paused: bool | None,
    weight: int | None,
    max_running: str | None,
    max_queued: str | None,
    max_triggers: str | None,
    keep: list[str] | None,
) -> dict[str, Any]:
    """The given settings. The value `none` becomes null, which removes the limit."""
    by = "command line" if paused else None
    given = {"name": name, "time_zone": time_zone, "paused": paused, "paused_by": by, "weight": weight}
    settings: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if max_running is not None:
        settings["max_running"] = arguments.limit(max_running, what="--max-running")
    if max_queued is not None:
        settings["max_queued"] = arguments.limit(max_queued, what="--max-queued")
    if max_triggers is not None:
        settings["max_triggers"] = arguments.limit(max_triggers, what="--max-triggers")
    if keep:
        settings["retention"] = {} if keep == ["default"] else arguments.retention(keep)
    return settings


async def _tell(store: "Store", slug: str, done: str, *, as_json: bool) -> None:
    row = next(row for row in await store.tenants.list_tenants() if row.slug == slug)
    if as_json:
        kept = await store.tenants.list_retention()
        show_json({**asdict(row), "retention": kept.get(slug, {})})
    else:
        show(f"tenant {row.slug} {done} ({row.id})")


group.callback()(command(list_))
for name_, function, short_help in (
    ("list", list_, "List tenants."),
    ("create", create, "Create a tenant."),
    ("set", set_, "Change a tenant."),
    ("bind", bind, "Bind a database login to one tenant."),
):
    group.command(name_, short_help=short_help)(command(function))
