"""`plait keys`: API keys."""

from datetime import timedelta
from typing import Annotated

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import say, show, show_json, show_table
from plait.model.roles import OF_A_TENANT, Role

group = new_group("List, create and revoke API keys. Lists them by default.", "keys", lists=True)


async def list_(
    cli: Invocation,
    tenant: Annotated[
        str | None, typer.Option("--tenant", "-t", metavar="SLUG", help="Only keys of this tenant.", show_default=False)
    ] = None,
) -> None:
    """List API keys, newest first. The secrets are not stored and cannot be shown."""
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
        empty="No keys. Create one: plait keys create NAME",
    )


async def create(
    cli: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.", show_default=False)],
    role: Annotated[
        Role, typer.Option("--role", "-r", metavar="ROLE", help=f"Role: {', '.join(Role)}.")
    ] = Role.OPERATOR,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", "-t", metavar="SLUG", help="Tenant of the key. Default: the default tenant.", show_default=False
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="Time until the key expires: 90d, 12h.", show_default=False),
    ] = None,
) -> None:
    """Create an API key and print it. It is printed only once, because only its hash is stored."""
    from plait.model.tokens import hash_of, hint_of, new_token

    if tenant is not None and role not in OF_A_TENANT:
        raise BadUsage(f"a key with the role {role} is valid for all tenants: omit --tenant")
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
        say("The key is not shown again. Send it as: Authorization: Bearer …")


async def revoke(
    cli: Invocation,
    key_id: Annotated[
        str, typer.Argument(metavar="ID", help="Full id, as shown by plait keys list.", show_default=False)
    ],
    descendants: Annotated[
        bool,
        typer.Option("--descendants", help="Also revoke all keys created with this key, directly or indirectly."),
    ] = False,
) -> None:
    """Revoke an API key. Takes effect within seconds. Keys that were created with this key are listed. They stay valid unless --descendants is given."""
    wanted = arguments.job_id(key_id, "a key")
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
        show(
            f"key {row.id} {row.name} ({row.role}), which was created with this key: {'revoked' if descendants else 'still valid'}"
        )
    if valid and not descendants:
        say(f"Revoke these as well: plait keys revoke {wanted} --descendants")


group.callback()(command(list_))
for name_, function, short_help in (
    ("list", list_, "List API keys."),
    ("create", create, "Create an API key."),
    ("revoke", revoke, "Revoke an API key."),
):
    group.command(name_, short_help=short_help)(command(function))
