"""A client of the API for tests. It uses an API key and HTTP, but no socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Self
from uuid import UUID

import httpx

from plait.api.application import build
from plait.model.roles import OF_A_TENANT, Role
from plait.model.tokens import hash_of, hint_of, new_token
from plait.runtime.settings import Settings
from plait.store import Store

from ..harness import Harness

PREFIX = "/api/v1"


async def new_key(
    store: Store, role: Role | str, tenant_id: UUID | None, *, expires_at: datetime | None = None
) -> tuple[UUID, str]:
    token = new_token()
    key_id = await store.keys.create_key(
        hash=hash_of(token),
        hint=hint_of(token),
        name="a test's",
        role=Role(role),
        tenant_id=tenant_id if Role(role) in OF_A_TENANT else None,
        expires_at=expires_at,
        created_by="test",
    )
    return key_id, token


class Stopped:
    """A clock that is frozen until a test advances it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class ApiClient:
    """One caller. `acting` returns another caller of the same application."""

    def __init__(self, harness: Harness, app: Any, client: httpx.AsyncClient, token: str | None = None) -> None:
        self.harness = harness
        self.app = app
        self.client = client
        self.token = token
        self.key_id: UUID | None = None

    @classmethod
    @asynccontextmanager
    async def over(cls, harness: Harness, **settings: Any) -> AsyncIterator[Self]:
        app = build(harness.store, Settings(**{"api_rate": 0, **settings}))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://plait.test") as client:
            yield cls(harness, app, client)

    async def acting(self, role: Role | str = Role.OPERATOR, tenant: str = "default", **options: Any) -> Self:
        key_id, token = await new_key(self.harness.store, role, await self.harness.tenant(tenant), **options)
        made = type(self)(self.harness, self.app, self.client, token)
        made.key_id = key_id
        return made

    def stop_the_clock(self) -> Stopped:
        """Make the API's rate limits and key cache use a frozen clock, which is returned. On a slow machine, the real clock would refill
        limits as fast as they are used up."""
        clock, guard = Stopped(), self.app.state.guard
        for part in (guard, guard._guesses, guard._rates):
            if part is not None:
                part._clock = clock
        guard.forget()
        return clock

    async def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **options.pop("headers", {})}
        url = path if path.startswith(("/api", "/healthz", "/readyz", "/metrics")) else PREFIX + path
        return await self.client.request(method, url, headers=headers, **options)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.call("GET", path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return await self.call("POST", path, **({} if body is None else {"json": body}), **options)

    async def ok(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The response of a call that must succeed."""
        answer = await self.call(method, path, **({} if body is None else {"json": body}), **options)
        assert answer.status_code < 300, (answer.status_code, answer.text)
        return answer.json() if answer.content else None
