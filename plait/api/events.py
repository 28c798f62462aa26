"""Events, as plain JSON or CloudEvents 1.0, and the firings that they cause."""

import hashlib
from datetime import datetime
from typing import Any, ClassVar, Final
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from plait.api.authentication import new_router
from plait.api.idempotency import NOBODY
from plait.api.jobs import json_text
from plait.api.problems import Refused
from plait.api.redaction import composed
from plait.api.shapes import Cursor, Json, Limit, Page, Shape, page
from plait.api.tenancy import Ask, Asking
from plait.api.triggers import Fire
from plait.model.errors import InvalidArguments
from plait.model.ids import new_id

router = new_router("events")

STRUCTURED: Final = "application/cloudevents+json"
BATCHED: Final = "application/cloudevents-batch+json"
BATCH: Final = 100
PAGE: Final = 100
"""Maximum number of events in one page. The data of each event can be up to 256 KiB."""


class NewEvent(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "provider.folder.updated", "data": {"folder_path": "/in"}}]},
    )

    name: str = Field(pattern="^[A-Za-z0-9_.:/-]{1,200}$")
    data: dict[str, Any] = Field(default_factory=dict)
    correlation_id: str | None = Field(None, min_length=1, max_length=500)
    id: UUID | None = Field(None, description="A UUIDv7 that you generate, so that repeating the request is safe.")


class CloudEvent(BaseModel):
    """The attributes of CloudEvents 1.0. An event with the same `source` and `id` is accepted only once per day, so it is safe to send it again."""

    model_config = ConfigDict(extra="allow")

    specversion: str = Field(pattern="^1\\.0$")
    id: str = Field(min_length=1, max_length=500)
    source: str = Field(min_length=1, max_length=2000)
    type: str = Field(pattern="^[A-Za-z0-9_.:/-]{1,200}$")
    subject: str | None = Field(None, max_length=2000)
    time: datetime | None = None
    datacontenttype: str | None = None
    data: Any = None
    correlationid: str | None = Field(None, min_length=1, max_length=500)


class Emitted(BaseModel):
    ids: list[UUID]


class Event(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"data"})

    id: UUID
    tenant_id: UUID
    name: str
    at: datetime
    dispatched_at: datetime | None
    jobs: int = Field(description="Number of jobs that the event triggered.")
    deduplicated: int = Field(
        description="Number of triggers that created no job because of their dedupe key or window."
    )
    correlation_id: str | None
    error: str | None
    data: Any


class EventPage(Event):
    fires: list[Fire] = Field(description="The firing of each trigger.")


_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        "application/json": {"schema": NewEvent.model_json_schema()},
        STRUCTURED: {"schema": CloudEvent.model_json_schema()},
        BATCHED: {"schema": {"type": "array", "maxItems": BATCH, "items": CloudEvent.model_json_schema()}},
    },
}


@router.post("/events", status_code=202, response_model=Emitted, openapi_extra={"requestBody": _BODY})
async def emit(request: Request, ask: Ask) -> Response:
    """Send an event. The leader enqueues a job for each matching trigger."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if kind == STRUCTURED:
        ids = [await _emit_cloud(ask, _read(TypeAdapter(CloudEvent), body))]
    elif kind == BATCHED:
        events = _read(TypeAdapter(list[CloudEvent]), body)
        if len(events) > BATCH:
            raise Refused(413, "too-large", f"a batch must have at most {BATCH} events")
        ids = [await _emit_cloud(ask, event) for event in events]
    elif "ce-specversion" in request.headers:
        ids = [await _emit_cloud(ask, _binary(request, kind, body))]
    elif kind == "application/json":
        event = _read(TypeAdapter(NewEvent), body)
        ids = [await _emit(ask, event.id or new_id(), event.name, event.data, event.correlation_id)]
    else:
        raise Refused(415, "media-type", f"Content-Type must be application/json, {STRUCTURED} or {BATCHED}")
    return Json({"ids": ids}, status_code=202)


@router.get("/events", response_model=Page[Event])
async def list_events(
    ask: Ask,
    name: str | None = Query(None, max_length=200),
    failed: bool = Query(False, description="Only events for which a trigger failed."),
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List events, newest first, at most 100 per page."""
    limit = min(limit, PAGE)
    rows = await ask.store.events.list_events(**ask.scope, name=name, failed=failed, before=cursor, limit=limit)
    items = await composed(lambda: [Event.of(row) for row in rows])
    return Json(page(items, limit, rows[-1].id if rows else None))


@router.get("/events/{event_id:uuid}", response_model=EventPage)
async def get_event(ask: Ask, event_id: UUID) -> Response:
    """Get an event and the trigger firings that it caused."""
    row = await ask.store.events.get_event(event_id, **ask.scope)
    fires = await ask.store.triggers.list_fires(event_id=row.id, tenant_id=row.tenant_id, limit=1000)
    return Json(await composed(lambda: EventPage.of(row, fires=[Fire.of(one) for one in fires])))


def _read(kind: TypeAdapter[Any], body: bytes) -> Any:
    try:
        return kind.validate_json(body)
    except ValidationError as error:
        [first, *_] = error.errors()
        at = ".".join(str(part) for part in first["loc"])
        raise InvalidArguments(f"{at}: {first['msg']}" if at else str(first["msg"])) from None


def _binary(request: Request, kind: str, body: bytes) -> CloudEvent:
    """Parse an event in binary mode: the attributes are headers, the body is the data."""
    attributes = {name[3:]: value for name, value in request.headers.items() if name.startswith("ce-")}
    if kind not in ("", "application/json"):
        raise Refused(415, "media-type", "the data of an event must be JSON")
    try:
        data = TypeAdapter(Any).validate_json(body) if body else None
        return CloudEvent.model_validate({**attributes, "data": data})
    except ValidationError as error:
        raise InvalidArguments(str(error.errors()[0]["msg"])) from None


async def _emit_cloud(ask: Asking, event: CloudEvent) -> UUID:
    """Accept each (source, id) once, as CloudEvents requires."""
    name = hashlib.sha256(f"{event.source}\n{event.id}".encode()).hexdigest()
    whose = (ask.new_in, NOBODY, f"cloudevent {name}")
    reply = await ask.store.http_replies.reserve(*whose, event.type)
    if not reply.begun:
        if reply.body is None:
            raise Refused(
                409,
                "under-way",
                "another request with the same event is still being processed",
                headers={"Retry-After": "1"},
            )
        return UUID(reply.body)
    about = {"id": event.id, "source": event.source, "subject": event.subject, "time": event.time}
    data = event.data if isinstance(event.data, dict) else {"value": event.data}
    try:
        event_id = await _emit(ask, new_id(), event.type, {"cloudevent": about, **data}, event.correlationid)
    except BaseException:
        await ask.store.http_replies.keep(*whose, None, None)
        raise
    await ask.store.http_replies.keep(*whose, 202, str(event_id))
    return event_id


async def _emit(ask: Asking, event_id: UUID, name: str, data: dict[str, Any], correlation_id: str | None) -> UUID:
    changing = ask.changing("event.emit", event_id, tenant_id=ask.new_in, name=name)
    return await changing.events.emit(
        name, _text(data), tenant=str(ask.new_in), correlation_id=correlation_id, event_id=event_id
    )


def _text(data: dict[str, Any]) -> str:
    about = data.get("cloudevent")
    if isinstance(about, dict) and isinstance(about.get("time"), datetime):
        data = {**data, "cloudevent": {**about, "time": about["time"].isoformat()}}
    # Text in external data may contain a mask. A value that is exactly a mask was copied from a redacted response.
    return json_text(data, "data", exact=True)
