"""API keys. An admin creates keys for their own tenant, with at most the role admin."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from plait.api.authentication import new_router
from plait.api.caller import Caller
from plait.api.problems import Refused
from plait.api.shapes import Cursor, Json, Limit, Page, Shape, page
from plait.api.tenancy import Ask
from plait.model.errors import ForeignTenant
from plait.model.roles import OF_A_TENANT, Role
from plait.model.tokens import hash_of, hint_of, new_token

router = new_router("keys")


class Key(Shape):
    id: UUID
    tenant_id: UUID | None
    hint: str = Field(description="The beginning of the key.")
    name: str
    role: Role
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="Accurate to the minute.")


class NewKey(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    role: Role
    expires_at: AwareDatetime | None = Field(
        None,
        description="Must not be later than the expiry of your own key, which is the default. If you signed in through an identity "
        "provider, it must be at most a year from now, and the default is 90 days.",
    )


class MadeKey(Key):
    key: str = Field(description="The key. It is not shown again.")


@router.get("/keys", response_model=Page[Key])
async def list_keys(ask: Ask, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List API keys, newest first."""
    rows = await ask.store.keys.list_keys(**ask.scope, before=cursor, limit=limit)
    return Json(page([Key.of(row) for row in rows], limit, rows[-1].id if rows else None))


@router.post("/keys", status_code=201, response_model=MadeKey)
async def create(ask: Ask, body: NewKey) -> Response:
    """Create an API key. As a super-admin, set the tenant of the key with `?tenant=`."""
    if body.role not in OF_A_TENANT and ask.caller.role is not Role.SUPER_ADMIN:
        raise Refused(403, "not-allowed", f"only a super-admin can create a key with the role {body.role}")
    token = new_token()
    tenant_id = ask.new_in if body.role in OF_A_TENANT else None
    changing = ask.changing("key.create", body.name, tenant_id=tenant_id, role=body.role)
    try:
        key_id = await changing.keys.create_key(
            hash=hash_of(token),
            hint=hint_of(token),
            name=body.name,
            role=body.role,
            tenant_id=tenant_id,
            expires_at=body.expires_at,
            created_by=_creator(ask.caller),
            parent=ask.caller.key_id,
        )
    except ForeignTenant:  # revoked after authentication
        raise Refused(401, "not-signed-in", "your API key was revoked or has expired") from None
    row = await ask.store.keys.get_key(key_id, tenant_id=tenant_id, all_tenants=tenant_id is None)
    return Json(MadeKey.of(row, key=token), status_code=201)


def _creator(caller: Caller) -> str:
    """The creator of a key: the caller's key and, in a browser session, the session's name."""
    return caller.actor if caller.csrf is None else f"key {caller.key_id}, session of {caller.name}"


@router.get("/keys/{key_id:uuid}/descendants", response_model=Page[Key])
async def list_descendants(ask: Ask, key_id: UUID) -> Response:
    """List the keys that were created with a key, directly or indirectly."""
    rows = await ask.store.keys.list_descendants(key_id, **ask.scope)
    return Json({"items": [Key.of(row) for row in rows], "next": None})


@router.delete("/keys/{key_id:uuid}", status_code=204)
async def revoke(
    request: Request,
    ask: Ask,
    key_id: UUID,
    descendants: Annotated[
        bool,
        Query(
            description="Also revoke the keys that were created with this key, directly or indirectly: `GET /keys/{id}/descendants`."
        ),
    ] = False,
) -> Response:
    """Revoke an API key and its sessions. Takes effect in every process within seconds."""
    changing = ask.changing("key.revoke", key_id, descendants=descendants or None)
    await changing.keys.revoke_key(key_id, **ask.scope, descendants=descendants)
    request.app.state.guard.forget()
    return Response(status_code=204)
