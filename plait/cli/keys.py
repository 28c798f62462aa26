"""`plait keys`: who may call the API."""

from datetime import timedelta
from typing import Annotated

import typer

from plait.cli import arguments
from plait.cli.failures import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import say, show, show_json, show_table
from plait.model.roles import OF_A_TENANT, Role

group = new_group("Show keys of the API; create and revoke them. Without a command it lists them.", "keys", lists=True)


async def list_(
    cli: Invocation,
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", metavar="SLUG", help="Only this tenant's.", show_default=False)
    ] = None,
) -> None:
    """Show keys, newest first: never the secrets, which are not stored."""
    async with cli.store() as store:
        tenant_id = await store.tenants.tenant_id(tenant) if tenant is not None else None
        rows = await store.keys.list_keys(tenant_id=tenant_id, all_tenants=tenant_id is None, limit=1000)
        slugs = {row.id: row.slug for row in await store.tenants.list_tenants()}
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("id", "key", "name", "role", "tenant", "created", "last used", "expires", "revoked"),
        [
            (
                row.id,
                f"{row.hint}…",
                row.name,
                row.role,
                slugs.get(row.tenant_id) if row.tenant_id else None,
                row.created_at,
                row.last_used_at,
                row.expires_at,
                row.revoked_at,
            )
            for row in rows
        ],
        optional=("created", "last used"),
        empty="No keys. Make one: plait keys create NAME",
    )


async def create(
    cli: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.", show_default=False)],
    role: Annotated[
        Role, typer.Option("--role", "-r", metavar="ROLE", help=f"What it may do: {', '.join(Role)}.")
    ] = Role.OPERATOR,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", "-t", metavar="SLUG", help="Whose it is; else the default tenant's.", show_default=False
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="After how long it ends: 90d, 12h.", show_default=False),
    ] = None,
) -> None:
    """Make a key, and show it: once, since only its hash is stored."""
    from plait.model.tokens import hash_of, hint_of, new_token

    if tenant is not None and role not in OF_A_TENANT:
        raise BadUsage(f"a key of the role {role} is for all tenants: leave --tenant out")
    lasts = arguments.duration(expires, what="--expires")
    token = new_token()
    async with cli.store() as store:
        tenant_id = await store.tenants.tenant_id(tenant or "default") if role in OF_A_TENANT else None
        key_id = await store.keys.create_key(
            hash=hash_of(token),
            hint=hint_of(token),
            name=name,
            role=role,
            tenant_id=tenant_id,
            expires_at=await store.health.now() + timedelta(seconds=lasts) if lasts is not None else None,
            created_by="command line",
        )
    if cli.json:
        show_json({"id": key_id, "key": token, "role": role, "tenant_id": tenant_id})
    else:
        show(token)
        say("It is shown this once. Send it as: Authorization: Bearer …")


async def revoke(
    cli: Invocation,
    key_id: Annotated[str, typer.Argument(metavar="ID", help="A whole id, as keys list shows it.", show_default=False)],
    descendants: Annotated[
        bool, typer.Option("--descendants", help="Also revoke the keys that were made with it, and with those.")
    ] = False,
) -> None:
    """Revoke a key. It is refused within seconds. Keys that were made with it are listed, and stay valid without --descendants."""
    wanted = arguments.job_id(key_id)
    async with cli.store() as store:
        now = await store.health.now()
        made = await store.keys.list_descendants(wanted, all_tenants=True)
        await store.keys.revoke_key(wanted, all_tenants=True, descendants=descendants)
    valid = [row for row in made if row.revoked_at is None and (row.expires_at is None or row.expires_at > now)]
    if cli.json:
        show_json({"id": wanted, "revoked": True, "descendants": valid, "descendants_revoked": descendants})
        return
    show(f"key {wanted} revoked")
    for row in valid:
        show(f"key {row.id} {row.name} ({row.role}), made with it: {'revoked' if descendants else 'still valid'}")
    if valid and not descendants:
        say(f"Revoke these too: plait keys revoke {wanted} --descendants")


group.callback()(command(list_))
for name_, function, short_help in (
    ("list", list_, "Show keys."),
    ("create", create, "Make a key."),
    ("revoke", revoke, "End a key."),
):
    group.command(name_, short_help=short_help)(command(function))
