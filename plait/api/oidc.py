"""Sign-in through an OpenID Connect provider: authorization code flow with PKCE. Disabled unless PLAIT_OIDC_ISSUER is set.

A separate cookie holds the state, nonce and verifier of a sign-in. It is valid for ten minutes and for one callback. If the provider returns a valid token
whose claims grant a role, the browser gets an ordinary session. The session belongs to a key that is created for it and expires at the same time.
The key's secret is never revealed.
"""

import base64
import hmac
import re
import secrets
from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from fastapi import Query, Request, Response
from pydantic import BaseModel
from starlette.responses import RedirectResponse

from plait.api.access import PREFIX
from plait.api.authentication import Guard, new_router
from plait.api.caller import BY_PROVIDER
from plait.api.oidc_provider import Provider, ProviderUnreachable, Sent, SignInFailed
from plait.api.problems import Refused, problem
from plait.api.sessions import HOME, open_session
from plait.api.shapes import Json
from plait.model.errors import UnknownTenant
from plait.model.oidc_grants import Grant, granted
from plait.model.tokens import hash_of, hint_of, new_token
from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.audit import Entry

log = get_logger("api")
router = new_router("session")

AWAY: Final = "plait_sign_in"
AWAY_S: Final = 600
PATH: Final = f"{PREFIX}/session/oidc"
_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]{0,500}")
"""A path on this site: no host, no backslash, and no characters that browsers remove from URLs."""


class Ways(BaseModel):
    oidc: bool


class Away(msgspec.Struct):
    """The content of the sign-in cookie."""

    state: str
    nonce: str
    verifier: str
    next: str


@router.get("/session/ways", response_model=Ways)
async def ways(request: Request) -> Response:
    """Get the ways to sign in besides an API key."""
    return Json({"oidc": request.app.state.provider is not None})


@router.get("/session/oidc", status_code=303)
async def begin(request: Request, next: Annotated[str, Query(max_length=500)] = HOME) -> Response:  # noqa: A002 - named as in links
    """Redirect to the identity provider to sign in."""
    provider = _provider(request)
    if not _LOCAL_PATH.fullmatch(next):
        raise Refused(422, "not-valid", "next must be a path of this site")
    away = Away(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), next)
    try:
        url = await provider.sign_in_url(_sent(away))
    except ProviderUnreachable as error:
        raise _unreachable(error) from None
    response = RedirectResponse(url, status_code=303)
    response.set_cookie(
        AWAY,
        base64.urlsafe_b64encode(msgspec.json.encode(away)).decode(),
        max_age=AWAY_S,
        path=PATH,
        secure=_secure(request),
        httponly=True,
        samesite="lax",  # a strict cookie would not be sent when the provider redirects back
    )
    return response


@router.get("/session/oidc/callback", status_code=303)
async def come_back(
    request: Request,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4000)] = "",
    iss: Annotated[str | None, Query(max_length=1000)] = None,
    error: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Return from the identity provider and open a session."""
    provider = _provider(request)
    guard: Guard = request.app.state.guard
    guard.check_guesses(request)
    away = _away(request)
    if away is None or not state or not hmac.compare_digest(state.encode(), away.state.encode()):
        return _refused(request, "this sign-in was not started in this browser, or has expired: sign in again")
    if error is not None or not code:
        return _refused(request, "the identity provider denied the sign-in")
    try:
        claims = await provider.claims(_sent(away), code=code, issuer=iss)
    except SignInFailed as failed:
        return _refused(request, str(failed))
    except ProviderUnreachable as unreachable:
        raise _unreachable(unreachable) from None
    key_id = await _key_for(request, claims)
    if key_id is None:
        return _refused(request, "you are signed in, but no role is granted to you: ask an admin", status=403)
    opened = await open_session(request, key_id, secure=_secure(request))
    response = RedirectResponse(away.next if _LOCAL_PATH.fullmatch(away.next) else HOME, status_code=303)
    response.headers["set-cookie"] = opened.headers["set-cookie"]
    response.delete_cookie(AWAY, path=PATH, secure=_secure(request), httponly=True, samesite="lax")
    return response


async def _key_for(request: Request, claims: dict[str, Any]) -> UUID | None:
    """Create a key that expires with the session. Returns None if the claims grant no role."""
    settings, store = request.app.state.settings, request.app.state.store
    grant = granted(
        claims,
        roles=settings.oidc_roles,
        role_claim=settings.oidc_role_claim,
        tenant_claim=settings.oidc_tenant_claim,
    )
    if grant is None:
        return None
    try:
        tenant_id = None if grant.tenant is None else await store.tenants.tenant_id(grant.tenant)
    except UnknownTenant:
        return None
    name = _name(claims)
    entry = Entry(
        tenant_id=tenant_id,
        actor=name,
        action="session.open",
        object=str(claims["sub"])[:200],
        request_id=request.state.request_id,
        detail=msgspec.json.encode({"issuer": claims["iss"], "role": grant.role}).decode(),
    )
    return await _made(store, grant, entry, name, timedelta(seconds=settings.api_session))


async def _made(store: Store, grant: Grant, entry: Entry, name: str, lasts: timedelta) -> UUID:
    token = new_token()  # never revealed
    return await store.auditing(entry).keys.create_key(
        hash=hash_of(token),
        hint=hint_of(token),
        name=name,
        role=grant.role,
        tenant_id=entry.tenant_id,
        expires_at=await store.health.now() + lasts,
        created_by="oidc",
    )


def _name(claims: dict[str, Any]) -> str:
    """A display name for lists of keys and the audit log. The subject identifies the person."""
    shown = next((claims[one] for one in ("preferred_username", "email", "name") if claims.get(one)), claims["sub"])
    return BY_PROVIDER + "".join(c if c.isprintable() else "?" for c in str(shown))[:100]


def _provider(request: Request) -> Provider:
    provider: Provider | None = request.app.state.provider
    if provider is None:
        raise Refused(404, "not-found", "sign-in through an identity provider is not configured: set PLAIT_OIDC_ISSUER")
    return provider


def _away(request: Request) -> Away | None:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(request.cookies.get(AWAY, "")), type=Away)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _sent(away: Away) -> Sent:
    return Sent(state=away.state, nonce=away.nonce, verifier=away.verifier)


def _secure(request: Request) -> bool:
    return request.url.scheme == "https" or str(request.app.state.settings.oidc_redirect_url).startswith("https:")


def _refused(request: Request, why: str, *, status: int = 401) -> Response:
    """Reject the sign-in and delete its cookie."""
    guard: Guard = request.app.state.guard
    guard.note_guess(request)
    log.warning("sign-in rejected", reason=why, request_id=request.state.request_id)
    code = "not-signed-in" if status == 401 else "not-allowed"
    response = problem(request, Refused(status, code, why))
    response.delete_cookie(AWAY, path=PATH, secure=_secure(request), httponly=True, samesite="lax")
    return response


def _unreachable(error: ProviderUnreachable) -> Refused:
    log.warning("request to the identity provider failed", error=str(error))
    return Refused(503, "not-available", "the identity provider is not available", headers={"Retry-After": "5"})
