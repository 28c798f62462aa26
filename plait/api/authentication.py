"""Authentication and authorisation, checked before a request's body is read.

A caller sends an API key (`Authorization: Bearer …`) or, in a browser, a session cookie. With a cookie, each change must carry the
session's CSRF token, which another site cannot know. An embedded view sends its session as a token (`Authorization: Session …`), because
browsers block cookies in frames; the token exists only in the view's page. The holder of a key is cached for `TRUSTED_S`, so that a revocation takes
effect within that time in every process. Failed authentication attempts and requests are rate limited by address and key.
"""

import hmac
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, NoReturn

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from plait.api.access import PREFIX, ROUTES
from plait.api.body_limits import check_body
from plait.api.caller import Caller
from plait.api.definition_cache import DefinitionCache
from plait.api.idempotency import replayed
from plait.api.problems import Refused, problem
from plait.api.rate_limits import Rates
from plait.api.redaction import REDACTED, begin
from plait.model.roles import Role, may
from plait.model.tokens import hash_of
from plait.runtime.settings import Settings
from plait.store import Store
from plait.store.keys import Holder

TRUSTED_S: Final = 2.0
COOKIE: Final = "plait_session"
CSRF: Final = "X-CSRF-Token"
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
REMEMBERED: Final = 10_000
GUESSES: Final = (1.0, 20.0)
"""Limit of failed authentication attempts per address: rate per second, and burst."""


class Guard:
    def __init__(self, store: Store, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[str, bool, bool], tuple[float, Holder | None]] = {}
        self._good: set[str] = set()
        self._rates = Rates(settings.api_rate, settings.api_rate * 10, clock=clock) if settings.api_rate else None
        self._guesses = Rates(*GUESSES, clock=clock)

    async def admit(self, request: Request, least: Role) -> Caller:
        """Return the caller, or raise an error if the request is rejected."""
        holder = await self._holder(request)
        caller = Caller(
            key_id=holder.key_id,
            role=holder.role,
            tenant_id=holder.tenant_id,
            tenant=holder.tenant,
            name=holder.name,
            csrf=holder.csrf,
            embedded=holder.embedded,
        )
        if self._rates is not None and (wait := self._rates.take(str(holder.key_id))):
            raise Refused(
                429,
                "too-many",
                "rate limit exceeded: this key sends too many requests",
                headers={"Retry-After": str(wait)},
            )
        if not may(holder.role, least):
            raise Refused(
                403, "not-allowed", f"this request requires the role {least}, but the key has the role {holder.role}"
            )
        if caller.csrf is not None and request.method not in SAFE:
            sent = request.headers.get(CSRF, "")
            if not hmac.compare_digest(sent.encode(), caller.csrf.encode()):
                raise Refused(403, "csrf", f"a browser session must send its CSRF token in the header {CSRF}")
        return caller

    def forget(self) -> None:
        """Clear the cache after this process revokes a key or closes a session."""
        self._known.clear()

    async def _holder(self, request: Request) -> Holder:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        by_cookie = not given and COOKIE in request.cookies
        embedded = scheme.lower() == "session"
        token = request.cookies[COOKIE] if by_cookie else given.strip()
        if not token or (not by_cookie and not embedded and scheme.lower() != "bearer"):
            raise _unknown("authentication required: send Authorization: Bearer <API key>")
        return await self.holder_of(request, token, session=by_cookie, embedded=embedded)

    async def holder_of(self, request: Request, token: str, *, session: bool = False, embedded: bool = False) -> Holder:
        """Return the holder of a key or session, or raise an error if it is not valid."""
        hash_ = hash_of(token)
        # A key that was valid before is not blocked by failed attempts of other clients with the same address, such as behind one proxy.
        if hash_ not in self._good:
            self.check_guesses(request)
        holder = await self._authenticated(hash_, session=session, embedded=embedded)
        if holder is None:
            self._good.discard(hash_)
            self.count_guess(request)
        if len(self._good) >= REMEMBERED:
            self._good.clear()
        self._good.add(hash_)
        return holder

    async def still(self, request: Request) -> None:
        """Raise an error if the key or session of a long request is no longer valid."""
        await self._holder(request)

    def check_guesses(self, request: Request) -> None:
        """Raise an error after too many failed attempts."""
        if wait := self._guesses.full(_address(request)):
            raise Refused(
                429, "too-many", "too many failed authentication attempts", headers={"Retry-After": str(wait)}
            )

    def note_guess(self, request: Request) -> None:
        """Count a failed attempt."""
        self._guesses.take(_address(request))

    def count_guess(self, request: Request) -> NoReturn:
        """Count a failed attempt and reject the request."""
        self.note_guess(request)
        raise _unknown("the API key is unknown, revoked or expired")

    async def _authenticated(self, hash_: str, *, session: bool, embedded: bool) -> Holder | None:
        now = self._clock()
        known = (hash_, session, embedded)  # a key is not valid as a session, and vice versa
        until, holder = self._known.get(known, (0.0, None))
        if until > now:
            return holder
        if embedded:
            holder = await self._store.keys.authenticate_embed(hash_)
        else:
            holder = await self._store.keys.authenticate(hash_, session=session)
        if holder is not None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[known] = (now + TRUSTED_S, holder)
        return holder


def _address(request: Request) -> str:
    return request.client.host if request.client else "?"


def _unknown(detail: str) -> Refused:
    return Refused(401, "not-signed-in", detail, headers={"WWW-Authenticate": "Bearer"})


def needed(route: APIRoute) -> Role | None:
    """The minimum role of a route. Raises KeyError if the access table does not list it."""
    return ROUTES[name_of(route)]


def name_of(route: APIRoute) -> str:
    """The name of a route in the access table. Each route has one method."""
    return f"{' '.join(route.methods or ())} {route.path_format}"


def new_router(tag: str, *, prefix: str = PREFIX) -> APIRouter:
    """Create a router whose routes are all guarded."""
    return APIRouter(prefix=prefix, route_class=Guarded, tags=[tag])


class Guarded(APIRoute):
    """A route that rejects callers whose role the access table does not allow."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                least = needed(self)
            except KeyError:
                return problem(request, Refused(403, "not-allowed", "this route has no entry in the access table"))
            if least is None:
                try:
                    await check_body(request, signed_in=False)
                except Refused as error:
                    return problem(request, error)
                return await handler(request)
            try:
                request.state.caller = caller = await request.app.state.guard.admit(request, least)
                known: DefinitionCache = request.app.state.definition_cache
                begin(await known.redaction() if caller.role in REDACTED else None)
                await check_body(request, signed_in=True)
                return await replayed(request, caller, handler, least=least)
            except Exception as error:  # noqa: BLE001 - every error gets a response
                return problem(request, error)

        return guarded
