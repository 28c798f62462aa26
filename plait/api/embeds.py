"""Embedded views: a tenant's pages inside another application, for people without an API key.

The other application's server has a key of the tenant. It requests a link and uses it as a frame's URL. The secret is in the fragment, which
browsers do not send to servers. The page in the frame exchanges it, once, for a session that it holds in memory. It uses no cookie: browsers block
cookies in frames, and a cookie would also sign in anyone who opens plait directly in the same browser. The session has the role viewer, or
operator if its key allows it. It cannot create other sessions, and ends with its key. The setting `api_embed` lists the sites that may show the
frame.
"""

from datetime import datetime, timedelta
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from plait.api.authentication import Guard, new_router
from plait.api.problems import Refused
from plait.api.shapes import Json
from plait.api.tenancy import Ask
from plait.model.errors import InvalidArguments
from plait.model.roles import Role, may
from plait.model.tokens import hash_of, new_token
from plait.store import Store

router = new_router("embeds")

PAGE: Final = "/embed"


class NewEmbed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Literal["viewer", "operator"] = Field(
        "viewer", description="Role of the view. It must not exceed the role of your key."
    )
    ttl_seconds: int = Field(3600, ge=60, le=86_400, description="Lifetime of the view.")


class Embed(BaseModel):
    url: str = Field(description="URL for the frame. Single use, valid for five minutes.")
    role: Role
    expires_at: datetime = Field(description="When the view expires.")


class Enter(BaseModel):
    model_config = ConfigDict(extra="forbid")

    link: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="The fragment of the frame's URL.")


class Entered(BaseModel):
    token: str = Field(description="The session token. Send it as `Authorization: Session …`.")
    role: Role
    tenant_id: UUID
    tenant: str
    name: str
    csrf: None
    expires_at: datetime


@router.post("/embeds", status_code=201, response_model=Embed)
async def create(request: Request, ask: Ask, body: NewEmbed) -> Response:
    """Create a link to your tenant's view, for a frame on another site."""
    role = Role(body.role)
    if ask.caller.embedded:
        raise Refused(403, "not-allowed", "an embedded view cannot create another embedded view")
    if ask.caller.tenant_id is None:
        raise InvalidArguments("an embedded view must belong to one tenant: use a key of that tenant")
    if not may(ask.caller.role, role):
        raise Refused(403, "not-allowed", f"embed role {role} requires a key with at least that role")
    link = new_token()
    lasts = timedelta(seconds=body.ttl_seconds)
    changing = ask.changing("embed.create", ask.caller.tenant, role=role)
    ends = await changing.keys.open_embed(ask.caller.key_id, hash=hash_of(link), role=role, ttl=lasts)
    base = (request.app.state.settings.api_url or str(request.base_url)).rstrip("/")
    return Json({"url": f"{base}{PAGE}#{link}", "role": role, "expires_at": ends}, status_code=201)


@router.post("/embeds/session", status_code=201, response_model=Entered)
async def enter(request: Request, body: Enter) -> Response:
    """Exchange a link for the session of its view. A link can be exchanged once."""
    guard: Guard = request.app.state.guard
    store: Store = request.app.state.store
    guard.check_guesses(request)
    token = new_token()
    ends = await store.keys.enter_embed(hash_of(body.link), hash_of(token))
    holder = await store.keys.authenticate_embed(hash_of(token)) if ends is not None else None
    if holder is None:
        guard.count_guess(request)
    answer = {
        "token": token,
        "role": holder.role,
        "tenant_id": holder.tenant_id,
        "tenant": holder.tenant,
        "name": holder.name,
        "csrf": None,
        "expires_at": ends,
    }
    return Json(answer, status_code=201)
