"""The application: routers, middleware, and the check that the table of access has every route and no other."""

import asyncio
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware

from plait import __version__
from plait.api import (
    audit,
    bulk,
    definitions,
    events,
    health,
    job_pages,
    job_verbs,
    jobs,
    keys,
    problems,
    queues,
    sessions,
    stream,
    tenants,
    triggers,
    worker_protocol,
    workers,
)
from plait.api.access import PREFIX, ROUTES
from plait.api.bounds import Bounds
from plait.api.guard import Guard, name_of
from plait.api.known import Known
from plait.api.problems import Problem
from plait.api.watching import Watch
from plait.runtime.settings import Settings
from plait.store import Store

_ABOUT: Final = """\
Durable, multi-tenant jobs on Postgres. Send a key as `Authorization: Bearer …`; what it may do, and for which tenant, is its own.
Lists go on with `cursor`; a change may be sent again with the same `Idempotency-Key`; errors are as RFC 9457 says.
"""
_REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {"model": Problem, "description": "Refused.", "content": {"application/problem+json": {}}},
    "5XX": {"model": Problem, "description": "Not possible now.", "content": {"application/problem+json": {}}},
}


ROUTERS: Final = tuple(
    module.router
    for module in (
        health, jobs, bulk, job_pages, job_verbs, triggers, events, definitions, queues, workers, tenants, keys, audit,
        worker_protocol, sessions, stream,
    )
)  # fmt: skip


def build(store: Store, settings: Settings | None = None) -> FastAPI:
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
    app.state.guard = Guard(store, settings)
    app.state.known = Known(store)
    app.state.watch = Watch(store)
    app.state.bulk = bulk.Bulk(store)
    app.state.workers = {}
    app.state.stopping = asyncio.Event()
    for router in ROUTERS:
        app.include_router(router)
    problems.register(app)
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    app.add_middleware(Bounds, body=settings.api_body)
    return app


class AccessUndecided(Exception):
    """A route has no role in the table of access, or the table names a route that there is not."""


def check_access() -> None:
    """Deny by default: who adds a route must say who may call it."""
    routes = {name_of(route) for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)}
    routes.add(f"GET {PREFIX}/openapi.json")
    if routes != set(ROUTES):
        raise AccessUndecided(", ".join(sorted(routes ^ set(ROUTES))))
