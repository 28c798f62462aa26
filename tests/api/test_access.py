"""Every route with every role: allowed or rejected as the access table says (T132). The API does not start if a route is missing from the table."""

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from plait.api import application
from plait.api.access import PREFIX, ROUTES
from plait.api.authentication import Guarded, new_router
from plait.model.roles import Role, may

from ..harness import Harness
from .api_client import ApiClient
from .samples import BODIES, make_things, names, sample, short

APART = {
    "GET /api/v1/stream",
    "GET /api/v1/jobs/{job_id}/streams/{name}",
    "POST /api/v1/session",
    "GET /api/v1/session/link",
    "POST /api/v1/embeds/session",
} | {name for name in names() if "/session/oidc" in name or "/approvals/" in name}
"""Routes tested elsewhere, because a stream does not end and a sign-in has no key yet: test_change_stream.py, test_job_streams.py,
test_sessions.py, oidc/, test_embeds.py, tests/signals/test_approvals.py."""


@pytest.mark.parametrize("name", [name for name in names() if name not in APART])
async def test_a_route_lets_in_whom_the_table_says_and_nobody_else(api: ApiClient, harness: Harness, name: str) -> None:
    least = ROUTES[name]
    refused = await _send(api, name)
    assert (refused.status_code == 401) == (least is not None)
    for role in Role:
        await harness.empty()
        caller = await api.acting(role)
        api.app.state.definition_cache.forget()
        answer = await _send(caller, name)
        if least is None or may(role, least):
            assert answer.status_code < 300 or (name, answer.status_code) in AS_IT_IS, (role, answer.text)
        else:
            assert answer.status_code == 403, (role, answer.text)
            assert answer.json()["type"] == "urn:plait:problem:not-allowed"


AS_IT_IS = {
    (f"POST {PREFIX}/jobs/{{job_id}}/retry", 409),
    (f"POST {PREFIX}/embeds", 422),
    (f"GET {PREFIX}/jobs/failures/{{definition_key}}/{{fingerprint}}", 404),
    (f"GET {PREFIX}/jobs/{{job_id}}/children/times", 404),
    (f"GET {PREFIX}/workers/{{worker_id}}", 404),
} | {
    (name, 409 if name.startswith("POST") else 503)
    for name in ROUTES
    if ("/worker/" in name and not name.endswith("/claim")) or "/artifacts/" in name
}
"""Requests that are allowed but fail: the sample's job is queued, so it can't be retried and has no failure; there is no worker with the sample's id; no worker of this key holds the job; there is no
artifact store; and an embedded view needs a tenant, which a super-admin does not have."""


async def _send(caller: ApiClient, name: str) -> httpx.Response:
    made = sample(name, await make_things(caller.harness, "default"))
    return await caller.call(made.method, made.path, **made.options)


def test_a_route_without_an_entry_keeps_the_application_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    router = new_router("new")

    @router.get("/new")
    async def new() -> None: ...

    monkeypatch.setattr(application, "ROUTERS", (*application.ROUTERS, router))
    with pytest.raises(application.AccessUndecided, match="GET /api/v1/new"):
        application.check_access()


def test_an_entry_without_a_route_keeps_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROUTES, "GET /api/v1/gone", Role.VIEWER)
    with pytest.raises(application.AccessUndecided, match="GET /api/v1/gone"):
        application.check_access()


async def test_even_past_that_check_a_route_without_an_entry_is_refused(api: ApiClient) -> None:
    router = new_router("new")

    @router.get("/new")
    async def new() -> str:
        return "secret"

    api.app.include_router(router)
    caller = await api.acting("super-admin")
    assert (await caller.get("/new")).status_code == 403


def test_every_route_is_guarded_and_in_the_document(api: ApiClient) -> None:
    app: FastAPI = api.app
    routes = [route for router in application.ROUTERS for route in router.routes]
    assert routes
    assert all(isinstance(route, Guarded) for route in routes)
    assert all(isinstance(route, APIRoute) and len(route.methods or ()) == 1 for route in routes)
    document = app.openapi()
    assert document["openapi"].startswith("3.1")
    for path, item in document["paths"].items():
        for method, operation in item.items():
            least = ROUTES[f"{method.upper()} {path}"]
            assert operation["x-least-role"] == (least or "anybody")
            assert bool(operation["security"]) == (least is not None)
    served = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert served == set(ROUTES) - {"GET /api/v1/openapi.json"}


def test_the_samples_have_a_body_for_every_route_that_takes_one() -> None:
    changing = {short(name) for name in names() if name.split()[0] in ("POST", "PATCH", "PUT")}
    assert changing - set(BODIES) == {"POST /queues/{name}/pause", "POST /queues/{name}/resume"}
