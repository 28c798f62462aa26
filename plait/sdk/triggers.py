"""Triggers in code: `@app.schedule(…)` and `@app.on(…)`. A worker registers them when it starts. In the database they are
ordinary triggers, which an operator can list and pause.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypedDict, TypeVar
from uuid import UUID

import msgspec

from plait.model.durations import seconds
from plait.model.errors import InvalidDefinition, InvalidTrigger
from plait.model.rendering import check_template
from plait.model.schedules import CatchUp, Overlap, check_cron, check_zone
from plait.model.texts import is_text, shown
from plait.sdk.definition import Definition
from plait.sdk.job import Job
from plait.sdk.options import Options, check_tenant
from plait.store import Store

Duration = float | str | timedelta
J = TypeVar("J")


class TriggerOptions(TypedDict, total=False):
    """The options of a trigger and its jobs. `payload`, `dedupe_key`, `correlation_id` and `limit_key` are templates."""

    label: str | None
    """Label of the trigger within its tenant. Default: the definition's name and the schedule or event."""
    tenant: str | UUID | None
    """Slug or id of the tenant. Default: the app's tenant, or the tenant `default`."""
    payload: Mapping[str, Any] | None
    """Arguments of its jobs, as a template. Default: none."""
    queue: str | None
    """Queue of its jobs. Default: the definition's."""
    priority: int | None
    """Lower runs first. Default: the definition's."""
    retries: int | None
    """n retries allow n + 1 attempts. Default: the definition's."""
    timeout: Duration | None
    """Time limit of one attempt. Default: the definition's."""
    dedupe_window: Duration
    """How long further firings with the same dedupe key are ignored. 0 disables this. Default: 5 minutes."""
    dedupe_key: str | None
    """At most one unfinished job per key. Default: none."""
    correlation_id: str | None
    """Correlation id of its jobs. Default: none."""
    limit_key: str | None
    """Value for the definition's per-key limits. Default: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One trigger of a definition."""

    definition: str
    label: str
    tenant: str | None
    settings: Mapping[str, Any] = field(repr=False)

    def row(self) -> dict[str, Any]:
        return {"tenant": self.tenant, "label": self.label, "settings": self.settings}


class App(Protocol):
    """The part of the app that a declaration uses."""

    definitions: dict[str, Definition]
    declared: dict[tuple[str | None, str], Declared]

    def job(self, function: Any, /) -> Any: ...
    def named_tenant(self, tenant: str | UUID | None) -> str | UUID | None: ...


async def declare(app: App, store: Store) -> None:
    """Register an app's triggers, and remove triggers of its jobs that it no longer declares."""
    declared = [trigger.row() for trigger in app.declared.values()]
    await store.triggers.declare_triggers(declared, list(app.definitions))


def schedule_settings(
    cron: str | None,
    *,
    every: Duration | None = None,
    timezone: str | None = None,
    catch_up: CatchUp = "one",
    catch_up_window: Duration | None = None,
    overlap: Overlap = "allow",
    jitter: Duration = 0,
) -> dict[str, Any]:
    """The validated timing of a schedule."""
    if (cron is None) == (every is None):
        raise InvalidTrigger("a schedule must have either a cron expression or every=…")
    if catch_up not in ("none", "one", "all", "window"):
        raise InvalidTrigger(f"catch_up must be none, one, all or window, got {shown(catch_up)}")
    if (catch_up == "window") != (catch_up_window is not None):
        raise InvalidTrigger('catch_up="window" requires catch_up_window=…; other policies do not support it')
    if overlap not in ("allow", "skip", "queue"):
        raise InvalidTrigger(f"overlap must be allow, skip or queue, got {shown(overlap)}")
    every_s = None if every is None else _seconds(every, "every")
    if every_s is not None and every_s < 1:
        raise InvalidTrigger(f"every must be at least a second, got {shown(every)}")
    return {
        "event_name": None,
        "cron": None if cron is None else check_cron(cron),
        "every_s": every_s,
        "time_zone": None if timezone is None else check_zone(timezone),
        "catch_up": catch_up,
        "catch_up_window_s": None if catch_up_window is None else _seconds(catch_up_window, "catch_up_window"),
        "overlap": overlap,
        "jitter_s": _seconds(jitter, "jitter"),
    }


def event_settings(name: str) -> dict[str, Any]:
    if not is_text(name, most=200):
        raise InvalidTrigger(f"the name of an event must be text of 1 to 200 characters, got {shown(name)}")
    return {"event_name": name, "cron": None, "every_s": None, "time_zone": None}


def job_settings(
    definition: str,
    *,
    payload: Mapping[str, Any] | None = None,
    queue: str | None = None,
    priority: int | None = None,
    retries: int | None = None,
    timeout: Duration | None = None,
    dedupe_window: Duration = 300,
    dedupe_key: str | None = None,
    correlation_id: str | None = None,
    limit_key: str | None = None,
) -> dict[str, Any]:
    """The validated settings of a trigger's jobs, similar to the options of an enqueue."""
    if payload is not None and not isinstance(payload, Mapping):
        raise InvalidTrigger(f"payload must be a mapping of arguments to values, got {shown(payload)}")
    options = Options(
        queue=queue,
        priority=priority,
        retries=retries,
        timeout=timeout,
        dedupe_key=dedupe_key,
        correlation_id=correlation_id,
        limit_key=limit_key,
    )
    return {
        "definition": definition,
        "payload": msgspec.to_builtins(dict(payload or {})),
        "queue": queue,
        "priority": priority,
        "max_attempts": None if retries is None else retries + 1,
        "timeout_s": options.seconds_of("timeout"),
        "dedupe_window_s": round(_seconds(dedupe_window, "dedupe_window")),
        "dedupe_key": dedupe_key,
        "correlation_id": correlation_id,
        "limit_key": limit_key,
    }


def declaring(app: App, timing: Mapping[str, Any], default_label: str, options: TriggerOptions) -> Callable[[J], J]:
    """A decorator that declares a trigger for a job, or turns a function into a job and declares a trigger for it."""
    given = dict(options)
    label, tenant = given.pop("label", None), given.pop("tenant", None)
    if label is not None and not is_text(label, most=200):
        raise InvalidTrigger(f"label must be text of 1 to 200 characters, got {shown(label)}")
    check_tenant(tenant)  # type: ignore[arg-type]
    named = app.named_tenant(tenant)  # type: ignore[arg-type]

    def decorate(what: J) -> J:
        job = what if isinstance(what, Job) else app.job(what)
        definition = job.definition
        settings = {**job_settings(definition.name, **given), **timing}  # type: ignore[arg-type]
        _check_payload(definition, settings["payload"])
        _check_values(definition, settings["payload"])
        declared = Declared(
            definition=definition.name,
            label=str(label or f"{definition.name} {default_label}"),
            tenant=None if named is None else str(named),
            settings=settings,
        )
        key = (declared.tenant, declared.label)
        if key in app.declared:
            raise InvalidTrigger(f"two triggers have the label {declared.label!r}: set a unique label with label=…")
        app.declared[key] = declared
        return job

    return decorate


def _check_payload(definition: Definition, payload: Mapping[str, Any]) -> None:
    """Check only the names, because the values of templates are unknown until they are rendered."""
    if unknown := [name for name in payload if name not in definition.codec.parameters]:
        raise InvalidTrigger(f"payload: {definition.name} has no argument {unknown[0]!r}")
    if missing := [
        name for name in definition.codec.parameters if name in definition.codec.required.difference(payload)
    ]:
        raise InvalidTrigger(f"{definition.name} requires {', '.join(missing)}: set it with payload={{…}}")


def _check_values(definition: Definition, template: Mapping[str, Any]) -> None:
    try:
        schema = definition.payload_schema()
    except (
        InvalidDefinition
    ):  # an annotation names something that is defined later: `declare_triggers` checks the template
        return
    check_template(definition.name, schema, template)


def _seconds(value: Duration, what: str) -> float:
    try:
        return seconds(value, what=what)
    except InvalidDefinition as error:
        raise InvalidTrigger(str(error)) from None
