"""Jobs: enqueue, get, list and count."""

import asyncio
import json
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import Header, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.cluster import refuse_unless_leading
from plait.api.job_shapes import FanOut, JobBrief, JobPage, Step, UnreadSignals
from plait.api.problems import Refused
from plait.api.redaction import composed, redaction, refuse_mask
from plait.api.shapes import Cursor, Json, Limit, Page, Shape, Text
from plait.api.tenancy import Ask, Asking
from plait.model.errors import InvalidArguments, NotFound, TooLarge
from plait.model.ids import new_id
from plait.model.redaction import HIDDEN
from plait.model.states import Status
from plait.sdk.codec import MAX_BYTES
from plait.sdk.waiter import Waiter
from plait.store.job_rows import JobRow
from plait.store.listing import Filter, Listed
from plait.store.new_jobs import NewJob
from plait.telemetry.tracing import accepted

router = new_router("jobs")


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
        None, ge=-32768, le=32767, description="Lower runs first. Default: the definition's priority, or 100."
    )
    max_attempts: int | None = Field(None, ge=1, le=10_000)
    scheduled_for: AwareDatetime | None = None
    delay_seconds: float | None = Field(None, ge=0, le=3.2e9)
    timeout_seconds: float | None = Field(None, gt=0, le=3.2e9)
    dedupe_key: str | None = Field(
        None, min_length=1, max_length=500, description="At most one unfinished job per key."
    )
    limit_key: str | None = Field(None, min_length=1, max_length=500)
    correlation_id: str | None = Field(None, min_length=1, max_length=500)
    id: UUID | None = Field(None, description="A UUIDv7 that you generate, so that repeating the request is safe.")


class NewJobAnswer(Shape):
    FROM: ClassVar[dict[str, str]] = names.JOB

    id: UUID
    tenant_id: UUID
    status: Status
    definition_key: str
    queued_at: datetime
    deduplicated: bool = Field(
        description="Whether the dedupe key or the idempotency key already belonged to a job. If so, that job is returned."
    )


@router.post("/jobs", status_code=201, response_model=NewJobAnswer, responses={200: {"model": NewJobAnswer}})
async def enqueue(
    request: Request,
    ask: Ask,
    body: NewJobRequest,
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=500,
            description="The job's idempotency key: the same key and payload return the same job.",
        ),
    ] = None,
) -> Response:
    """Enqueue a job. Returns 200 and the existing job if its dedupe key or idempotency key is in use."""
    payload, job_id = json_text(body.payload), body.id or new_id()
    definition = await request.app.state.definition_cache.check(body.definition_key, body.payload)
    if definition.kind == "node":
        await refuse_unless_leading(request)
    if len(payload) > MAX_BYTES:  # ASCII
        large = TooLarge(f"a payload must have at most {MAX_BYTES:,} bytes", payload)
        artifacts = request.app.state.artifacts
        payload = await artifacts.keep(large, job_id=job_id, tenant_id=ask.new_in, kind="payload")
    new = NewJob(
        id=job_id,
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
        correlation_id=body.correlation_id or accepted(ask.request.headers.get("traceparent")),
    )
    changing = ask.changing("job.enqueue", new.id, tenant_id=ask.new_in, definition=body.definition_key)
    existing = (await changing.jobs.enqueue_many([new])).get(new.id)
    row = await ask.store.jobs.get_job(existing or new.id, tenant_id=ask.new_in)
    answer = NewJobAnswer.of(row, deduplicated=existing is not None)
    return Json(
        answer, status_code=201 if existing is None else 200, headers={"Location": f"{request.url.path}/{row.id}"}
    )


class Filters(BaseModel):
    """The jobs to find. Filters without an index scan at most 10,000 jobs per request, newest first; `next` continues the search."""

    model_config = ConfigDict(extra="forbid")

    status: list[Status] | None = Field(None, max_length=9, description="Can be repeated.")
    source: str | None = Field(None, pattern="^(manual|event|schedule|system)$")
    queue: str | None = Field(None, max_length=100)
    definition_key: str | None = Field(None, max_length=200)
    worker: int | None = Field(None, ge=0, le=2**31 - 1, description="The worker that runs the job, or ran it last.")
    correlation_id: str | None = Field(None, max_length=500)
    parent: UUID | None = None
    root: UUID | None = None
    fan_out: UUID | None = None
    has_sub_jobs: bool | None = None
    created_after: AwareDatetime | None = None
    created_before: AwareDatetime | None = None
    search: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="Text in the definition, correlation id or dedupe key, or a job's id.",
    )
    payload: list[str] | None = Field(
        None,
        max_length=10,
        description="`key=value`, with payload keys or paths (`order.customer=7`); can be repeated. With `definition_key` "
        "and one of its search keys, an index is used.",
    )
    error: str | None = Field(
        None,
        max_length=40,
        description="A fingerprint from `GET /jobs/failures`: jobs that failed with similar errors.",
    )

    def wanted(self) -> Filter:
        """The store's filter. Rejects a filter by a field that is hidden from the caller."""
        if self.payload and (hiding := redaction()) is not None:
            keys = [_pair(one)[0] for one in self.payload]
            if (hidden := hiding.hidden_key(keys, self.definition_key)) is not None:
                detail = f"payload filter {hidden[:80]!r}: viewers and operators cannot search by this field, because it is hidden from them"
                raise Refused(403, "not-allowed", detail)
        return Filter(
            statuses=[str(status) for status in self.status] if self.status else None,
            source=self.source,
            queue=self.queue,
            definition=self.definition_key,
            worker=self.worker,
            correlation_id=self.correlation_id,
            parent=self.parent,
            root=self.root,
            fan_out=self.fan_out,
            has_children=self.has_sub_jobs,
            created_after=self.created_after,
            created_before=self.created_before,
            search=self.search,
            error=self.error,
            payload=json.dumps(dict(_pair(one) for one in self.payload)) if self.payload else None,
        )


class Jobs(Page[JobBrief]):
    complete: bool = Field(description="False if the search stopped at its scan limit; `next` continues it.")


class Listing(Filters):
    """Pagination."""

    cursor: Cursor = None
    limit: Limit = 50
    offset: int = Field(0, ge=0, le=10_000, description="Alternative to a cursor, for the first pages.")
    tenant: Text = None


@router.get("/jobs", response_model=Jobs)
async def list_jobs(ask: Ask, given: Annotated[Listing, Query()]) -> Response:
    """List jobs, newest first."""
    found = await ask.store.jobs.list_jobs(
        **given.wanted(), **ask.scope, before=given.cursor, limit=given.limit, offset=given.offset
    )
    return Json(_jobs(found, given.limit))


class Count(BaseModel):
    count: int = Field(description="Number of jobs, up to 1,000.")
    more: bool = Field(
        description="Whether more jobs may match, because the count reached its limit or not all jobs were scanned."
    )


class Counting(Filters):
    """The jobs to count."""

    tenant: Text = None


@router.get("/jobs/count", response_model=Count)
async def count_jobs(ask: Ask, given: Annotated[Counting, Query()]) -> Response:
    """Count the jobs that match a filter, up to a limit (T113)."""
    found = await ask.store.jobs.count_jobs(**given.wanted(), **ask.scope)
    return Json({"count": found.count, "more": found.more})


@router.get("/jobs/{job_id:uuid}", response_model=JobPage)
async def get_job(
    request: Request,
    ask: Ask,
    job_id: UUID,
    wait_seconds: Annotated[
        float,
        Query(ge=0, le=30, description="Delay the response until the job is final, for at most this many seconds."),
    ] = 0,
) -> Response:
    """Get a job with all its fields, its parent, fan-outs, steps and newest children."""
    store, limit = ask.store, 50
    row = await store.jobs.get_job(job_id, **ask.scope)
    if wait_seconds > 0 and not row.status.final:
        await _final(request, row, wait_seconds)
        row = await store.jobs.get_job(job_id, **ask.scope)
    children = await store.jobs.list_jobs(parent=job_id, **ask.scope, limit=limit)
    steps, fan_outs = (
        await store.jobs.list_steps(job_id, **ask.scope),
        await store.statistics.list_fan_outs(job_id, **ask.scope),
    )
    lease, parent = await _lease(ask, row), await _parent(ask, row.parent_id)
    times = await store.jobs.job_times(job_id, **ask.scope)
    unread = await store.jobs.unread_signals(job_id, **ask.scope)
    answer = await composed(
        lambda: JobPage.of(
            row,
            lease_expires_at=lease,
            total_s=times.total_s if times else None,
            own_s=times.own_s if times else None,
            waiting_s=times.waiting_s if times else None,
            unread_signals=[UnreadSignals.of(one) for one in unread],
            parent=parent,
            fan_outs=[FanOut.of(one) for one in fan_outs],
            steps=[Step.of(one, about=row.definition) for one in steps],
            children=_jobs(children, limit),
        )
    )
    return Json(answer)


async def _final(request: Request, row: JobRow, most: float) -> None:
    """Wait until a job is final, for at most `most` seconds or until the server stops. All waiting requests share one query."""
    waiter: Waiter = request.app.state.waiter
    ended = asyncio.ensure_future(waiter.outcome(row.id, row.tenant_id))
    stopping = asyncio.ensure_future(request.app.state.stopping.wait())
    try:
        await asyncio.wait({ended, stopping}, timeout=most, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in (ended, stopping):
            one.cancel()
        await asyncio.gather(ended, stopping, return_exceptions=True)


async def _lease(ask: Asking, row: JobRow) -> datetime | None:
    if row.worker is None:
        return None
    worker = await ask.store.workers.get_worker(row.worker)
    return None if worker is None else worker.expires_at


async def _parent(ask: Asking, parent_id: UUID | None) -> dict[str, Any] | None:
    if parent_id is None:
        return None
    try:
        return JobBrief.of(await ask.store.jobs.get_job(parent_id, **ask.scope))
    except NotFound:  # deleted by retention
        return None


def _jobs(found: Listed, limit: int) -> dict[str, Any]:
    return {
        "items": [JobBrief.of(row) for row in found],
        "next": found.next(limit),
        "complete": found.stopped is None,
    }


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InvalidArguments(f"payload must be key=value, got {text[:80]!r}")
    return key, value


def json_text(value: Any, name: str = "payload", *, exact: bool = False) -> str:
    """Encode JSON for the database. Rejects redaction masks, and Infinity, which Python parses although it is not valid JSON. With `exact`,
    only a value that is exactly a mask is rejected."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"payload is not valid JSON: {error}") from None
    if HIDDEN in text:
        refuse_mask(value, name, exact=exact)
    return text
