"""Jobs: asking for them, and looking at them."""

import json
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import Header, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from plait.api.guard import new_router
from plait.api.shapes import Cursor, Json, Limit, Page, Shape, page
from plait.api.tenancy import Ask
from plait.model.errors import InvalidArguments
from plait.model.ids import new_id
from plait.model.states import Status
from plait.store.jobs import NewJob

router = new_router("jobs")


class JobBrief(Shape):
    """A job, without what it carries."""

    FROM: ClassVar[dict[str, str]] = {
        "definition_key": "definition",
        "queued_at": "created_at",
        "started_at": "claimed_at",
        "attempt_count": "attempt",
        "claimed_by_worker": "worker",
        "cancel_requested_at": "cancel_requested",
        "last_error": "error",
        "timeout_seconds": "timeout_s",
    }

    id: UUID
    tenant_id: UUID
    definition_key: str
    status: Status
    queue: str
    priority: int = Field(description="Lower runs first.")
    source: str
    source_ref: str | None
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    created_at: datetime
    queued_at: datetime = Field(description="The same as created_at, by its name in the first contract.")
    scheduled_for: datetime | None = Field(description="As it was asked for; null: at once.")
    run_at: datetime | None = Field(description="When it is due, or since when it is queued.")
    started_at: datetime | None = Field(description="Since when it runs, while it does.")
    finished_at: datetime | None
    attempt_count: int = Field(description="How often it was begun.")
    tries: int | None = Field(description="How many of those count toward max_attempts; null when it is final.")
    max_attempts: int
    timeout_seconds: float | None = Field(description="Null: as its definition says.")
    claimed_by_worker: int | None
    cancel_requested_at: datetime | None
    reason: str | None
    last_error: str | None
    parent_id: UUID | None
    root_id: UUID | None
    fan_out_id: UUID | None
    fan_out_index: int | None
    depth: int | None
    wait_on: str | None
    wake_at: datetime | None


class Job(JobBrief):
    """A job, whole."""

    RAW: ClassVar[frozenset[str]] = frozenset({"payload", "result", "progress"})

    idempotency_key: str | None
    forked_from: UUID | None
    payload: Any
    result: Any
    progress: Any


class NewJobRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "definition_key": "recompute-trained-tags",
                    "payload": {"model": "siglip"},
                    "priority": 100,
                    "scheduled_for": "2026-12-16T10:30:00Z",
                    "dedupe_key": "tenant:bcg:training:daily",
                }
            ]
        },
    )

    definition_key: str = Field(min_length=1, max_length=200)
    payload: dict[str, Any] = Field(default_factory=dict, description="The arguments, by name.")
    queue: str | None = Field(None, min_length=1, max_length=100)
    priority: int | None = Field(
        None, ge=-32768, le=32767, description="Lower runs first; 100 unless its definition says."
    )
    max_attempts: int | None = Field(None, ge=1, le=10_000)
    scheduled_for: AwareDatetime | None = None
    delay_seconds: float | None = Field(None, ge=0, le=3.2e9)
    timeout_seconds: float | None = Field(None, gt=0, le=3.2e9)
    dedupe_key: str | None = Field(
        None, min_length=1, max_length=500, description="One unfinished job at a time has it."
    )
    limit_key: str | None = Field(None, min_length=1, max_length=500)
    correlation_id: str | None = Field(None, min_length=1, max_length=500)
    id: UUID | None = Field(None, description="A new UUIDv7 of the caller's, so that it can be sent again.")


class NewJobAnswer(BaseModel):
    id: UUID
    tenant_id: UUID
    status: Status
    definition_key: str
    queued_at: datetime
    deduplicated: bool = Field(description="An older job holds the key, and this is the one.")


Id = Annotated[UUID | None, Query()]


@router.post("/jobs", status_code=201, response_model=NewJobAnswer, responses={200: {"model": NewJobAnswer}})
async def enqueue(
    request: Request,
    ask: Ask,
    body: NewJobRequest,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=500, description="The job's own: the same payload gets the same job."),
    ] = None,
) -> Response:
    """Ask for a job. Answers 200 instead of 201 where a key says that it exists already."""
    payload = json_text(body.payload)
    await request.app.state.known.check(body.definition_key, payload)
    new = NewJob(
        id=body.id or new_id(),
        definition=body.definition_key,
        payload=payload,
        tenant_id=ask.new_in,
        queue=body.queue,
        priority=body.priority,
        max_attempts=body.max_attempts,
        scheduled_for=body.scheduled_for,
        delay_s=body.delay_seconds,
        timeout_s=body.timeout_seconds,
        dedupe_key=body.dedupe_key,
        idempotency_key=idempotency_key,
        limit_key=body.limit_key,
        correlation_id=body.correlation_id,
    )
    changing = ask.changing("job.enqueue", new.id, tenant_id=ask.new_in, definition=body.definition_key)
    existing = (await changing.jobs.enqueue_many([new])).get(new.id)
    row = await ask.store.jobs.get_job(existing or new.id, tenant_id=ask.new_in)
    answer = {
        "id": row.id,
        "tenant_id": row.tenant_id,
        "status": row.status,
        "definition_key": row.definition,
        "queued_at": row.created_at,
        "deduplicated": existing is not None,
    }
    return Json(
        answer, status_code=201 if existing is None else 200, headers={"Location": f"{request.url.path}/{row.id}"}
    )


@router.get("/jobs", response_model=Page[JobBrief])
async def list_jobs(
    ask: Ask,
    status: Annotated[list[Status] | None, Query(description="May be given again.")] = None,
    queue: Annotated[str | None, Query(max_length=100)] = None,
    definition_key: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Jobs, newest first."""
    rows = await ask.store.jobs.list_jobs(
        **ask.scope, statuses=status, queue=queue, definition=definition_key, before=cursor, limit=limit
    )
    return Json(page([JobBrief.of(row) for row in rows], limit, rows[-1].id if rows else None))


@router.get("/jobs/{job_id}", response_model=Job)
async def get_job(ask: Ask, job_id: UUID) -> Response:
    """One job, whole."""
    return Json(Job.of(await ask.store.jobs.get_job(job_id, **ask.scope)))


def json_text(value: Any) -> str:
    """As JSON that the database takes; what Python reads as infinity is no JSON."""
    try:
        return json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"a payload is JSON, and this is not: {error}") from None
