"""Browser sessions: an HttpOnly cookie, and a CSRF token that other sites cannot read.

A session belongs to the key that opened it, and ends when the key is revoked or expires. To sign in, a person sends a key or follows a
single-use login link.
"""

from datetime import datetime, timedelta
from typing import Annotated, Final
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse

from plait.api.authentication import COOKIE, Guard, new_router
from plait.api.caller import BY_PROVIDER, Caller
from plait.api.oidc_provider import Provider
from plait.api.shapes import Json
from plait.api.tenancy import Ask
from plait.model.roles import Role
from plait.model.tokens import hash_of, new_token
from plait.store import Store

router = new_router("session")

HOME: Final = "/"


class SignIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    key: str = Field(min_length=1, max_length=200)


class Session(BaseModel):
    role: Role
    tenant_id: UUID | None = Field(description="Null if the session is valid for all tenants.")
    tenant: str | None
    name: str
    csrf: str | None = Field(
        description="The CSRF token. Send it as X-CSRF-Token with every change. Null if you authenticated with a key."
    )
    expires_at: datetime | None = None
    logout_url: str | None = Field(
        None, description="URL to sign out of the identity provider, if you signed in there."
    )


@router.post("/session", status_code=201, response_model=Session)
async def sign_in(request: Request, body: SignIn) -> Response:
    """Open a session with an API key."""
    guard: Guard = request.app.state.guard
    holder = await guard.holder_of(request, body.key, session=False)
    return await open_session(request, holder.key_id)


@router.get("/session/link", status_code=303)
async def follow(request: Request, token: Annotated[str, Query(min_length=1, max_length=200)]) -> Response:
    """Follow a login link. A login link can be used once."""
    guard: Guard = request.app.state.guard
    store: Store = request.app.state.store
    guard.check_guesses(request)
    key_id = await store.keys.use_login_link(hash_of(token))
    if key_id is None:
        guard.count_guess(request)
    opened = await open_session(request, key_id)
    response = RedirectResponse(HOME, status_code=303)
    response.headers["set-cookie"] = opened.headers["set-cookie"]
    return response


@router.get("/session", response_model=Session)
async def whoami(request: Request, ask: Ask) -> Response:
    """Get your session: role, tenant and key."""
    provider: Provider | None = request.app.state.provider
    by_provider = provider is not None and ask.caller.csrf is not None and ask.caller.name.startswith(BY_PROVIDER)
    return Json(_session(ask.caller, logout_url=await provider.sign_out_url() if provider and by_provider else None))


@router.delete("/session", status_code=204)
async def sign_out(request: Request, ask: Ask) -> Response:
    """Close the session."""
    if ask.caller.csrf is not None:
        await ask.store.keys.close_session(hash_of(request.cookies[COOKIE]))
        request.app.state.guard.forget()
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


async def open_session(request: Request, key_id: UUID, *, secure: bool | None = None) -> Response:
    """Create a session for a key, and its cookie. `secure`: whether browsers use https. Default: the scheme of the request."""
    store: Store = request.app.state.store
    lasts = timedelta(seconds=request.app.state.settings.api_session)
    token, csrf = new_token(), new_token()
    ends = await store.keys.open_session(key_id, hash=hash_of(token), csrf=csrf, ttl=lasts)
    holder = await store.keys.authenticate(hash_of(token), session=True)
    assert holder is not None
    caller = Caller(
        key_id=holder.key_id,
        role=holder.role,
        tenant_id=holder.tenant_id,
        tenant=holder.tenant,
        name=holder.name,
        csrf=csrf,
    )
    response = Json({**_session(caller), "expires_at": ends}, status_code=201)
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(lasts.total_seconds()),
        path="/",
        secure=request.url.scheme == "https" if secure is None else secure,
        httponly=True,
        samesite="strict",
    )
    return response


def _session(caller: Caller, *, logout_url: str | None = None) -> dict[str, object]:
    return {
        "role": caller.role,
        "tenant_id": caller.tenant_id,
        "tenant": caller.tenant,
        "name": caller.name,
        "csrf": caller.csrf,
        "expires_at": None,
        "logout_url": logout_url,
    }
