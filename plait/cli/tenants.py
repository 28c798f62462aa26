"""`plait tenants`: who the jobs are for, and what each of them may have."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli import arguments
from plait.cli.failures import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import show, show_json, show_table
from plait.model.errors import PlaitError

if TYPE_CHECKING:
    from plait.store import Store

group = new_group("Show tenants; create, limit and pause them. Without a command it lists them.", "tenants", lists=True)

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="Lower-case letters, digits, - and _.", show_default=False)]
Name = Annotated[str | None, typer.Option("--name", metavar="TEXT", help="The name that people read.")]
TimeZone = Annotated[str | None, typer.Option("--time-zone", metavar="ZONE", help="Like Europe/Berlin.")]
Weight = Annotated[int | None, typer.Option("--weight", metavar="N", help="Its share in the fair claim, 1 to 1000.")]
MaxRunning = Annotated[
    str | None, typer.Option("--max-running", metavar="N", help="How many of its jobs may run at once; or none.")
]
MaxQueued = Annotated[
    str | None, typer.Option("--max-queued", metavar="N", help="How many unfinished jobs it may have; or none.")
]
MaxTriggers = Annotated[
    str | None,
    typer.Option("--max-triggers", metavar="N", help="How many triggers it may have beside those in code; or none."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="STATUS=AGE",
        help="How long its final jobs are kept, like failed=30d or succeeded=forever; again for each status. default: as for all.",
    ),
]


class TenantExists(PlaitError):
    """There is such a tenant already. Change it with `plait tenants set`."""


async def list_(cli: Invocation) -> None:
    """Show every tenant, and what it has unfinished."""
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
    paused: Annotated[
        bool | None, typer.Option("--pause/--resume", help="Start none of its jobs, or start them again.")
    ] = None,
    weight: Weight = None,
    max_running: MaxRunning = None,
    max_queued: MaxQueued = None,
    max_triggers: MaxTriggers = None,
    keep: Keep = None,
) -> None:
    """Change a tenant. What is not given stays as it is; none removes a limit."""
    settings = _settings(name, time_zone, paused, weight, max_running, max_queued, max_triggers, keep)
    if not settings:
        raise BadUsage("there is nothing to set: see plait tenants set --help")
    async with cli.store() as store:
        await store.tenants.tenant_id(slug)  # an unknown one is a typing error, not a new tenant
        await store.tenants.set_tenant(slug, settings)
        await _tell(store, slug, "set", as_json=cli.json)


async def bind(
    cli: Invocation,
    login: Annotated[
        str, typer.Argument(metavar="LOGIN", help="A login with the role plait_tenant.", show_default=False)
    ],
    slug: Annotated[
        str | None, typer.Argument(metavar="SLUG", help="Its tenant; left out with --unbind.", show_default=False)
    ] = None,
    unbind: Annotated[bool, typer.Option("--unbind", help="Bind it to none.")] = False,
) -> None:
    """Bind a database login to one tenant: it can see and do nothing of the others."""
    if unbind == (slug is not None):
        raise BadUsage("name the tenant to bind the login to, or give --unbind")
    async with cli.store() as store:
        tenant_id = await store.tenants.tenant_id(slug) if slug is not None else None
        await store.tenants.bind_login(login, tenant_id)
    if cli.json:
        show_json({"login": login, "tenant": slug, "tenant_id": tenant_id})
    else:
        show(f"{login} acts for {slug} alone" if slug else f"{login} is bound to no tenant")


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
    """What was given; a limit of none is a null, which removes it."""
    given = {"name": name, "time_zone": time_zone, "paused": paused, "weight": weight}
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
    ("list", list_, "Show every tenant."),
    ("create", create, "Create a tenant."),
    ("set", set_, "Change a tenant."),
    ("bind", bind, "Bind a database login to one tenant."),
):
    group.command(name_, short_help=short_help)(command(function))
