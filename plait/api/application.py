"""The application: routers, middleware, and the check that the access table matches the routes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware

from plait import __version__
from plait.api import (
    approvals,
    artifacts,
    audit,
    bulk,
    change_stream,
    cluster,
    connectors,
    definitions,
    embeds,
    endpoints,
    events,
    failures,
    health,
    job_logs,
    job_pages,
    job_streams,
    job_verbs,
    jobs,
    keys,
    metrics,
    oidc,
    problems,
    queues,
    sessions,
    site,
    tenants,
    triggers,
    worker_protocol,
    workers,
)
from plait.api.access import PREFIX, ROUTES
from plait.api.authentication import COOKIE, CSRF, Guard, name_of
from plait.api.bulk_worker import Bulk
from plait.api.change_feed import Watch
from plait.api.client_address import Forwarding
from plait.api.definition_cache import DefinitionCache
from plait.api.fairness import Fairness, Shares
from plait.api.oidc_provider import new_provider
from plait.api.problems import Problem
from plait.api.request_limits import RequestLimits
from plait.api.waiting_claims import WaitingClaims
from plait.runtime.object_storage import Objects
from plait.runtime.settings import Settings
from plait.sdk.artifacts import Artifacts
from plait.sdk.waiter import Waiter
from plait.store import Store
from plait.telemetry.database import DatabaseMetrics
from plait.telemetry.exposition import Exposition

_ABOUT: Final = """\
Durable, multi-tenant jobs on Postgres. Send an API key as `Authorization: Bearer …`; the key has a role and a tenant.
Lists are paginated with `cursor`. A request that changes something can be repeated safely with the same `Idempotency-Key`. Errors follow RFC 9457.
"""
_PROBLEM: Final = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {"description": "The request was rejected.", "content": _PROBLEM},
    "5XX": {"description": "The server failed or is temporarily unavailable.", "content": _PROBLEM},
}


ROUTERS: Final = tuple(
    module.router
    for module in (
        health, metrics, jobs, bulk, failures, job_pages, job_logs, job_streams, job_verbs, triggers, events, definitions, queues, workers, cluster, tenants, keys, audit,
        endpoints, connectors, worker_protocol, sessions, oidc, embeds, change_stream, artifacts, approvals,
    )
)  # fmt: skip


def build(
    store: Store, settings: Settings | None = None, *, holder: str | None = None, objects: Objects | None = None
) -> FastAPI:
    """Build the application. `holder`: the name of this process in leader elections, if it is also a node. `objects`: the artifact store."""
    check_access()
    settings = settings or Settings()
    app = FastAPI(
        title="plait",
        version=__version__,
        description=_ABOUT,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=_REFUSALS,
        separate_input_output_schemas=False,
    )
    app.state.store = store
    app.state.settings = settings
    app.state.holder = holder
    app.state.artifacts = Artifacts(store, objects, most=settings.artifact_size)
    app.state.guard = Guard(store, settings)
    app.state.provider = new_provider(settings)
    app.state.definition_cache = DefinitionCache(store)
    app.state.watch = Watch(store)
    app.state.fairness = Fairness()
    app.state.streams = Shares("streams", key=settings.api_streams_key, tenant=settings.api_streams_tenant)
    app.state.waiting_claims = WaitingClaims()
    app.state.waiter = Waiter(store)
    app.state.exposition = Exposition(DatabaseMetrics(_connected(store), top=settings.metrics_top))
    app.state.bulk = Bulk(store)
    app.state.workers = {}
    app.state.stopping = asyncio.Event()
    for router in ROUTERS:
        app.include_router(router)
    ui = site.register(app, settings.embedding)
    described = app.openapi
    problems.register(app)
    app.openapi = lambda: _document(app, described)  # type: ignore[method-assign]  # FastAPI's way to customise it
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    app.add_middleware(RequestLimits, body=settings.api_body, build=ui.build)
    app.add_middleware(Forwarding, trusted=settings.proxies, per_client=settings.api_connections_per_client)
    return app


def _connected(store: Store) -> Callable[[], Awaitable[Store]]:
    async def connected() -> Store:
        return store

    return connected


def _document(app: FastAPI, described: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The OpenAPI document, with the minimum role of each route."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    document = described()
    document["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "An API key: `plait keys create`."},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": COOKIE,
            "description": f"A browser session. Requests that change something require the header {CSRF}.",
        },
    }
    document["components"]["schemas"]["Problem"] = Problem.model_json_schema()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            least = ROUTES[f"{method.upper()} {path}"]
            operation["security"] = [] if least is None else [{"key": []}, {"session": []}]
            operation["x-least-role"] = least.value if least is not None else "anybody"
    return document


class AccessUndecided(Exception):
    """A route has no role in the access table, or the table lists a route that does not exist."""


def check_access() -> None:
    """Deny by default: every route must have a minimum role in the access table."""
    routes = {name_of(route) for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)}
    routes.add(f"GET {PREFIX}/openapi.json")
    if routes != set(ROUTES):
        raise AccessUndecided(", ".join(sorted(routes ^ set(ROUTES))))
