"""The connectors that an app's workers run. Disabled by default, because a worker with connectors sends requests for anyone who may enqueue jobs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, get_args

from plait.connectors import http_request, report, webhook
from plait.connectors.client import Resolve
from plait.connectors.configurations import TYPES, Type
from plait.connectors.exchange import Exchange
from plait.model.errors import InvalidDefinition
from plait.model.policies import Backoff
from plait.sdk.app import Plait
from plait.sdk.job import Job

_HANDLERS: Final[dict[Type, tuple[str, Callable[[Exchange], Callable[..., Any]], dict[str, Any]]]] = {
    "http": (http_request.NAME, http_request.handler, {"timeout": 600}),
    # Twelve attempts over a day: receivers may be down for a night.
    "webhook": (
        webhook.NAME,
        webhook.handler,
        {"timeout": 600, "retries": 11, "backoff": Backoff(base=5, factor=3, max="8h")},
    ),
    "report": (report.NAME, report.handler, {"timeout": 600}),
}


def install(app: Plait, *types: Type, resolve: Resolve | None = None) -> list[Job[..., Any]]:
    """Enable connectors for an app's workers: `types`, or the types in its settings (PLAIT_CONNECTORS). Only the settings determine which hosts
    they may connect to. `resolve`: replaces the system's resolver."""
    wanted = types or types_in(app.settings.connectors)
    exchange = Exchange(app, resolve=resolve) if wanted else None
    jobs = []
    for type_ in wanted:
        name, handler, options = _HANDLERS[type_]
        if name not in app.definitions:
            assert exchange is not None
            function = handler(exchange)
            definition = replace(app.job(name=name, **options)(function).definition, connector=True)
            app.definitions[name] = definition
            app.jobs[name] = Job(app, definition, function)
        jobs.append(app.jobs[name])
    return jobs


def types_in(text: str) -> tuple[Type, ...]:
    """Parse a list of types such as `http, webhook`, `all`, or an empty text."""
    named = [part.strip() for part in text.split(",") if part.strip()]
    if named == ["all"]:
        return TYPES
    for name in named:
        if name not in TYPES:
            raise InvalidDefinition(
                f"PLAIT_CONNECTORS must be a list of {', '.join(get_args(Type))}, or all, got {name!r}"
            )
    return tuple(type_ for type_ in TYPES if type_ in named)
