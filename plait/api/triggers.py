"""Triggers: schedules and event triggers."""

import asyncio
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

import msgspec
from fastapi import Header, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.etags import etag, unchanged_since
from plait.api.jobs import json_text
from plait.api.problems import Refused
from plait.api.redaction import composed, redaction
from plait.api.shapes import Json, Limit, Page, Shape, raw
from plait.api.tenancy import Ask, Asking
from plait.api.trigger_shapes import Draft, Instant, Rendered, Timetable, Trial, Tried
from plait.model.errors import ChangedMeanwhile, InvalidTrigger
from plait.model.ids import new_id
from plait.model.rendering import (
    event_scope,
    rendered,
    schedule_scope,
    template_misfit,
    tenant_scope,
    trigger_scope,
)
from plait.model.schedules import Timing, check_cron, check_zone
from plait.model.schedules import preview as previewed
from plait.store.new_jobs import NewJob
from plait.store.triggers import TriggerRow

router = new_router("triggers")


class Settings(BaseModel):
    """The settings of a trigger. Omitted settings stay unchanged; for a new trigger they get their defaults."""

    model_config = ConfigDict(extra="forbid")

    is_enabled: bool | None = None
    event_name: str | None = Field(None, min_length=1, max_length=200)
    cron_expr: str | None = Field(None, min_length=1, max_length=500)
    every_seconds: float | None = Field(None, ge=1, le=3.2e8)
    timezone: str | None = Field(None, max_length=100, description="Null means the tenant's time zone.")
    definition_key: str | None = Field(None, min_length=1, max_length=200)
    payload_template: dict[str, Any] | None = Field(
        None,
        description="Payload template: placeholders such as `{{event.a.b}}` are replaced, and no code is evaluated.",
    )
    dedupe_window_seconds: int | None = Field(None, ge=0, le=2_592_000)
    queue: str | None = Field(None, max_length=100)
    priority: int | None = Field(None, ge=-32768, le=32767)
    max_attempts: int | None = Field(None, ge=1, le=10_000)
    timeout_seconds: float | None = Field(None, gt=0, le=3.2e9)
    correlation_id: str | None = Field(None, min_length=1, max_length=500)
    dedupe_key: str | None = Field(None, min_length=1, max_length=500)
    limit_key: str | None = Field(None, min_length=1, max_length=500)
    catch_up: Literal["none", "one", "all", "window"] | None = None
    catch_up_window_seconds: float | None = Field(None, ge=0, le=3.2e8)
    overlap: Literal["allow", "skip", "queue"] | None = None
    jitter_seconds: float | None = Field(None, ge=0, le=86_400)

    def columns(self) -> dict[str, Any]:
        """The given settings, validated, by column name."""
        given = self.model_dump(exclude_unset=True, exclude={"label", "trigger_type"})
        if self.payload_template is not None:
            json_text(self.payload_template, "payload_template")
        if self.cron_expr is not None:
            check_cron(self.cron_expr)
        if self.timezone is not None:
            check_zone(self.timezone)
        return names.own_names(names.TRIGGER, given)


class NewTrigger(Settings):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "label": "Resync on folder change",
                    "trigger_type": "event",
                    "event_name": "provider.folder.updated",
                    "definition_key": "sync-dropbox",
                    "payload_template": {
                        "provider_id": "{{event.provider_id}}",
                        "path_prefix": "{{event.folder_path}}",
                    },
                    "dedupe_window_seconds": 120,
                },
                {
                    "label": "Nightly provider sync",
                    "trigger_type": "schedule",
                    "cron_expr": "0 2 * * *",
                    "timezone": "America/New_York",
                    "definition_key": "sync-dropbox",
                    "payload_template": {"provider_id": "dropbox", "path_prefix": "/"},
                },
            ]
        },
    )

    label: str = Field(min_length=1, max_length=200)
    trigger_type: Literal["event", "schedule"]
    definition_key: str = Field(min_length=1, max_length=200)


class Trigger(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"payload_template"})
    FROM: ClassVar[dict[str, str]] = names.TRIGGER

    id: UUID
    tenant_id: UUID
    label: str
    trigger_type: str
    origin: str = Field(description="`code`: declared in an application's code, where it must be changed.")
    is_enabled: bool
    event_name: str | None
    cron_expr: str | None
    every_seconds: float | None
    timezone: str | None
    definition_key: str
    payload_template: Any
    dedupe_window_seconds: int
    queue: str | None
    priority: int | None
    max_attempts: int | None
    timeout_seconds: float | None
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    catch_up: str
    catch_up_window_seconds: float | None
    overlap: str
    jitter_seconds: float
    next_at: datetime | None
    last_at: datetime | None
    last_job_id: UUID | None
    fired: int
    missed: int
    skipped: int
    held: int
    error: str | None
    created_by: str
    created_at: datetime
    updated_at: datetime


IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=200, description="The ETag of the version that you read.")
]
Count = Annotated[int, Query(ge=1, le=100)]


@router.get("/jobs/triggers", response_model=Page[Trigger])
async def list_triggers(ask: Ask) -> Response:
    """List a tenant's triggers, by label."""
    rows = await ask.store.triggers.list_triggers(**ask.scope)
    return Json({"items": await composed(lambda: [Trigger.of(row) for row in rows]), "next": None})


@router.post("/jobs/triggers", status_code=201, response_model=Trigger)
async def create(request: Request, ask: Ask, body: NewTrigger) -> Response:
    """Create a trigger. Its label must be new."""
    columns = body.columns()
    if (columns.get("event_name") is not None) != (body.trigger_type == "event"):
        raise InvalidTrigger("an event trigger must have an event_name, and a schedule must not have an event_name")
    definition = await request.app.state.definition_cache.definition(body.definition_key)
    if definition is None:
        raise InvalidTrigger(f"there is no job definition {body.definition_key!r}")
    await _check_template(request, definition.name, columns.get("payload") or {})
    changing = ask.changing("trigger.create", body.label, tenant_id=ask.new_in, **columns)
    settings = {**columns, "created_by": ask.caller.actor}
    try:
        trigger_id = await changing.triggers.set_trigger(body.label, settings, tenant_id=ask.new_in, new=True)
    except ChangedMeanwhile as error:
        raise Refused(409, "exists", str(error)) from None
    row = await ask.store.triggers.get_trigger(trigger_id, tenant_id=ask.new_in)
    return _one(row, status=201)


@router.post("/jobs/triggers/preview", response_model=Page[Instant])
async def preview_new(ask: Ask, body: Timetable, count: Count = 10) -> Response:
    """Preview when a schedule would fire, before it is created."""
    ask.request.app.state.fairness.take(ask.caller)
    if (body.cron_expr is None) == (body.every_seconds is None):
        raise InvalidTrigger("a schedule must have a cron_expr or every_seconds")
    now = await ask.store.health.now()
    timing = Timing(
        zone=check_zone(body.timezone),
        anchor=now,
        cron=check_cron(body.cron_expr) if body.cron_expr is not None else None,
        every_s=body.every_seconds,
    )
    return await _instants(timing, now, count)


@router.post("/jobs/triggers/render", response_model=Rendered)
async def render_new(request: Request, ask: Ask, body: Draft) -> Response:
    """Render a template with an event's data, before the trigger is created."""
    ask.request.app.state.fairness.take(ask.caller)
    json_text(body.payload_template)
    definition = await request.app.state.definition_cache.definition(body.definition_key)
    if definition is None:
        raise InvalidTrigger(f"there is no job definition {body.definition_key!r}")
    now = await ask.store.health.now()
    [tenant] = [one for one in await ask.store.tenants.list_tenants() if one.id == ask.new_in]
    scope: dict[str, Any] = {
        "trigger": trigger_scope(new_id(), body.label, body.definition_key),
        "tenant": tenant_scope(tenant.id, tenant.slug, tenant.name),
    }
    if body.event_name is not None:
        scope["event"] = body.data
        scope["trigger"] |= event_scope(new_id(), body.event_name, now)
    else:
        scope["schedule"] = schedule_scope(now, None, None)
    template = msgspec.json.encode(body.payload_template).decode()
    said = await asyncio.to_thread(
        rendered, template, scope, await request.app.state.definition_cache.schema(definition.name)
    )
    return Json({"payload": said["payload"], "error": said.get("error")})


@router.get("/jobs/triggers/{trigger_id:uuid}", response_model=Trigger)
async def get_trigger(ask: Ask, trigger_id: UUID) -> Response:
    """Get a trigger, with its ETag."""
    return _one(await ask.store.triggers.get_trigger(trigger_id, **ask.scope))


@router.patch("/jobs/triggers/{trigger_id:uuid}", response_model=Trigger)
async def change(request: Request, ask: Ask, trigger_id: UUID, body: Settings, if_match: IfMatch = None) -> Response:
    """Change a trigger. Omitted fields stay unchanged."""
    row = await ask.store.triggers.get_trigger(trigger_id, **ask.scope)
    since = unchanged_since(if_match, row.updated_at)
    columns = body.columns()
    definition, template = columns.get("definition") or row.definition, columns.get("payload")
    if template is not None or definition != row.definition:
        kept = msgspec.json.decode(row.payload) if template is None else template
        await _check_template(request, definition, kept)
    changing = ask.changing("trigger.change", trigger_id, tenant_id=row.tenant_id, **columns)
    await changing.triggers.set_trigger(row.label, columns, tenant_id=row.tenant_id, unchanged_since=since)
    return _one(await ask.store.triggers.get_trigger(trigger_id, tenant_id=row.tenant_id))


@router.delete("/jobs/triggers/{trigger_id:uuid}", status_code=204)
async def delete(ask: Ask, trigger_id: UUID, if_match: IfMatch = None) -> Response:
    """Delete a trigger. The jobs that it enqueued are kept and still refer to it."""
    row = await ask.store.triggers.get_trigger(trigger_id, **ask.scope)
    unchanged_since(if_match, row.updated_at)
    changing = ask.changing("trigger.delete", trigger_id, tenant_id=row.tenant_id, label=row.label)
    await changing.triggers.delete_trigger(trigger_id, tenant_id=row.tenant_id)
    return Response(status_code=204)


@router.get("/jobs/triggers/{trigger_id:uuid}/preview", response_model=Page[Instant])
async def preview(ask: Ask, trigger_id: UUID, count: Count = 10, after: AwareDatetime | None = None) -> Response:
    """Preview when a schedule fires next, with notes about daylight-saving changes."""
    ask.request.app.state.fairness.take(ask.caller)
    row = await ask.store.triggers.get_trigger(trigger_id, **ask.scope)
    if row.kind != "schedule":
        raise InvalidTrigger(f"{row.label} is not a schedule: it fires for {row.event_name} events")
    timing = Timing(zone=row.time_zone or "UTC", anchor=row.anchor_at, cron=row.cron, every_s=row.every_s)
    return await _instants(timing, after or row.now, count)


@router.post("/jobs/triggers/{trigger_id:uuid}/test", response_model=Tried)
async def try_(request: Request, ask: Ask, trigger_id: UUID, body: Trial | None = None) -> Response:
    """Render and validate the job that a trigger would enqueue now. With `run`, enqueue it."""
    ask.request.app.state.fairness.take(ask.caller)
    body = body or Trial()
    row = await ask.store.triggers.get_trigger(trigger_id, **ask.scope)
    keys = {"dedupe_key": row.dedupe_key, "correlation_id": row.correlation_id, "limit_key": row.limit_key}
    schema = await request.app.state.definition_cache.schema(row.definition)
    said = await asyncio.to_thread(rendered, row.payload, _scope(row, body.data), schema, **keys)
    hiding = redaction()
    if "error" in said:
        # The error may quote values from the stored template.
        shown = (
            said["error"]
            if hiding is None
            else f"with this data, the template renders to an invalid payload for {row.definition}"
        )
        raise InvalidTrigger(shown)
    job_id = await _run(ask, row, said) if body.run else None
    if hiding is not None:
        text = msgspec.json.encode(said["payload"]).decode()
        said = {**said, "payload": raw(await composed(lambda: hiding.json(text, row.definition)))}
    return Json(names.http_names(names.JOB, {"definition": row.definition, **said, "job_id": job_id}))


@router.get("/jobs/triggers/{trigger_id:uuid}/fires", response_model=Page["Fire"])
async def fires(ask: Ask, trigger_id: UUID, limit: Limit = 50) -> Response:
    """List a trigger's past firings, newest first."""
    row = await ask.store.triggers.get_trigger(trigger_id, **ask.scope)
    found = await ask.store.triggers.list_fires(trigger_id=row.id, tenant_id=row.tenant_id, limit=limit)
    return Json({"items": [Fire.of(one) for one in found], "next": None})


class Fire(Shape):
    id: UUID
    trigger_id: UUID
    label: str
    at: datetime
    instant: datetime | None
    event_id: UUID | None
    outcome: str
    job_id: UUID | None
    error: str | None


async def _check_template(request: Request, definition: str, template: dict[str, Any]) -> None:
    schema = await request.app.state.definition_cache.schema(definition)
    if (wrong := template_misfit(definition, schema, template)) is not None:
        said, fault = wrong
        fields = [(fault.pointer("payload_template"), fault.message)] if fault else []
        raise Refused(422, "invalid-trigger", said, fields=fields)


def _one(row: TriggerRow, status: int = 200) -> Response:
    return Json(Trigger.of(row), status_code=status, headers={"ETag": etag(row.updated_at)})


async def _instants(timing: Timing, after: datetime, count: int) -> Response:
    try:
        found = await asyncio.to_thread(previewed, timing, after, count)
    except (OverflowError, ValueError) as error:
        raise Refused(422, "not-valid", f"invalid time: {error}") from None
    items = [{"instant": one.instant, "local": one.local.isoformat(), "note": one.note} for one in found]
    return Json({"items": items, "next": None})


def _scope(row: TriggerRow, data: dict[str, Any]) -> dict[str, Any]:
    scope: dict[str, Any] = {
        "trigger": trigger_scope(row.id, row.label, row.definition),
        "tenant": tenant_scope(row.tenant_id, row.tenant, row.tenant_name),
    }
    if row.event_name is not None:
        scope["event"] = data
        scope["trigger"] |= event_scope(new_id(), row.event_name, row.now)
    else:
        scope["schedule"] = schedule_scope(row.next_at or row.now, row.cron, row.time_zone)
    return scope


async def _run(ask: Asking, row: TriggerRow, said: dict[str, Any]) -> UUID:
    new = NewJob(
        id=new_id(),
        definition=row.definition,
        payload=msgspec.json.encode(said["payload"]).decode(),
        tenant_id=row.tenant_id,
        queue=row.queue,
        priority=row.priority,
        max_attempts=row.max_attempts,
        timeout_s=row.timeout_s,
        correlation_id=said["correlation_id"],
        limit_key=said["limit_key"],
    )
    await ask.changing("trigger.run", row.id, tenant_id=row.tenant_id, job=new.id).jobs.enqueue_many([new])
    return new.id
