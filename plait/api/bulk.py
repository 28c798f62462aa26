"""Bulk operations: cancel or retry all jobs that match a filter. A dry run counts the jobs. The operation itself is a job: its progress
is visible, and it resumes at its last position if its process dies.

Bulk jobs have the definition `plait.bulk` and the queue `plait.bulk`. API processes run them, with the same leases and fencing as any
worker. They read their instructions from the audit log, which only the API writes. A payload is not safe: any operator could write one.
A bulk job proceeds from the newest to the oldest job, page by page, and stores its position as progress. Each job is changed by the
same function as a single change, with an audit log entry. Jobs whose status no longer allows the change are counted as `left`.
"""

import asyncio
import contextlib
from datetime import datetime
from typing import Any, Final, Literal, cast
from uuid import UUID

import msgspec
from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from plait.api.authentication import new_router
from plait.api.jobs import Filters
from plait.api.problems import Refused
from plait.api.shapes import Json
from plait.api.tenancy import Ask, Asking
from plait.model.errors import (
    DatabaseError,
    DatabaseUnreachable,
    InvalidArguments,
    UnknownTenant,
)
from plait.model.ids import new_id
from plait.model.states import LIVE, RETRYABLE, AttemptOutcome, Status
from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.audit import Entry
from plait.store.listing import NAMES, Filter
from plait.store.new_jobs import NewJob
from plait.store.workers import Claimed, Settlement

router = new_router("jobs")
log = get_logger("api")

DEFINITION: Final = "plait.bulk"
ACTION: Final = "jobs.bulk"
COUNTED: Final = 10_000
PAGE: Final = 200
LOOK_S: Final = 1.0
AT_ONCE: Final = 8
"""Maximum number of concurrent changes in one process, shared fairly by its bulk jobs."""
OF_KEY: Final = 3
OF_TENANT: Final = 6
"""Maximum number of unfinished bulk jobs per key and per tenant."""
INSTALLATION: Final = "plait-installation"
"""The tenant of bulk jobs that act on all tenants. No tenant's operators can see it."""
FITTING: Final[dict[str, frozenset[Status]]] = {"cancel": LIVE, "retry": RETRYABLE}


class BulkFilter(Filters):
    """The jobs to change: at least one condition is required (T107)."""


class BulkRequest(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"action": "retry", "filter": {"status": ["dead_letter"], "queue": "mail"}}]},
    )

    action: Literal["cancel", "retry"]
    filter: BulkFilter
    dry_run: bool = Field(True, description="Only count the matching jobs.")
    reason: str | None = Field(None, max_length=500)
    rate: float | None = Field(None, ge=0.01, le=10_000, description="Maximum jobs per second. Default: no limit.")


class BulkAnswer(BaseModel):
    dry_run: bool
    matched: int = Field(description="Number of matching jobs, up to 10,000.")
    more: bool = Field(
        description="Whether more jobs may match, because the count reached its limit or not all jobs were scanned."
    )
    sample: list[UUID]
    job_id: UUID | None = Field(description="The bulk job, which shows the progress; null for a dry run.")


class Wanted(msgspec.Struct, kw_only=True):
    """The instructions of a bulk job, from the audit log. Its payload has a copy for display."""

    action: Literal["cancel", "retry"]
    filter: dict[str, Any]
    actor: str
    before: str
    """The bulk job's id: only jobs with a lower id, which existed when it was requested, are changed."""
    all_tenants: bool = False
    reason: str | None = None
    rate: float | None = None
    total: int | None = None


class Progress(msgspec.Struct, kw_only=True):
    """The position of a bulk job."""

    done: int = 0
    left: int = 0
    total: int | None = None
    """Number of matching jobs when the bulk job was requested; None if there were more than the counting limit."""
    before: str | None = None
    rate: float | None = None


@router.post("/jobs/bulk", status_code=202, response_model=BulkAnswer, responses={200: {"model": BulkAnswer}})
async def bulk(request: Request, ask: Ask, body: BulkRequest) -> Response:
    """Cancel or retry all jobs that match a filter. By default this is a dry run, which returns 200 and the number of jobs."""
    wanted = _fitting(body)
    request.app.state.fairness.take(ask.caller)
    owner = ask.tenant_id or await _installation(ask.store)
    if not body.dry_run:
        await _check_room(ask, owner)
    found, more = await _count(ask.store, wanted, ask.tenant_id)
    answer = {"dry_run": body.dry_run, "matched": len(found), "more": more, "sample": found[:10], "job_id": None}
    if body.dry_run:
        return Json(answer)
    job_id = new_id()
    payload = Wanted(
        action=body.action,
        filter=msgspec.to_builtins(wanted),
        actor=ask.caller.actor,
        before=str(job_id),
        all_tenants=ask.tenant_id is None,
        reason=body.reason,
        rate=body.rate,
        total=None if more else len(found),
    )
    new = NewJob(
        id=job_id,
        definition=DEFINITION,
        queue=DEFINITION,
        payload=msgspec.json.encode(payload).decode(),
        tenant_id=owner,
        timeout_s=86_400.0,
    )
    wanted_text = msgspec.to_builtins(payload)
    changing = ask.changing(ACTION, job_id, tenant_id=owner, matched=len(found), wanted=wanted_text)
    await changing.jobs.enqueue_many([new], source="system")
    request.app.state.bulk.wake.set()
    return Json({**answer, "job_id": job_id}, status_code=202)


async def _installation(store: Store) -> UUID:
    """The tenant of bulk jobs on all tenants, created on first use."""
    try:
        return await store.tenants.tenant_id(INSTALLATION)
    except UnknownTenant:
        return await store.tenants.set_tenant(INSTALLATION, {"name": "Installation"})


async def _check_room(ask: Asking, owner: UUID) -> None:
    """Reject the request if the caller or its tenant has too many unfinished bulk jobs."""
    live = await ask.store.jobs.list_jobs(
        definition=DEFINITION, statuses=[str(status) for status in LIVE], tenant_id=owner, limit=OF_TENANT
    )
    mine = sum(_Asked.of(job.payload).actor == ask.caller.actor for job in live)
    for holder, number, most in (("key", mine, OF_KEY), ("tenant", len(live), OF_TENANT)):
        if number >= most:
            detail = f"this {holder} has {number} unfinished bulk jobs, and the limit is {most}: wait until one of them is final, or cancel one"
            raise Refused(429, "too-many", detail, headers={"Retry-After": "10"})


class _Asked(msgspec.Struct):
    """The requester, from a bulk job's payload."""

    actor: str = ""

    @classmethod
    def of(cls, payload: str) -> "_Asked":
        try:
            return msgspec.json.decode(payload, type=cls)
        except msgspec.MsgspecError:
            return cls()  # any operator could have written it


def _fitting(body: BulkRequest) -> Filter:
    """The filter, limited to the statuses that the action can change."""
    if not any(body.filter.model_dump(exclude_none=True, exclude_defaults=True).values()):
        raise InvalidArguments("filter must have at least one condition: an empty filter would match all jobs")
    fitting = FITTING[body.action]
    asked = set(body.filter.status or fitting)
    if not asked & fitting:
        raise InvalidArguments(f"status must be one of {', '.join(sorted(fitting))} for {body.action}")
    filters = body.filter.model_copy(update={"status": sorted(asked & fitting)})
    return filters.wanted()


async def _count(store: Store, wanted: Filter, tenant_id: UUID | None) -> tuple[list[UUID], bool]:
    found: list[UUID] = []
    before: UUID | None = None
    for _ in range(COUNTED // 1000):
        page = await store.jobs.list_jobs(
            **wanted, tenant_id=tenant_id, all_tenants=tenant_id is None, before=before, limit=1000
        )
        found += [job.id for job in page if job.definition != DEFINITION]
        before = page.next(1000)
        if before is None:
            return found, False
    return found, True


async def run_bulk(store: Store, worker: int, job: Claimed, turns: asyncio.Semaphore | None = None) -> Settlement:
    """Run one bulk job until it is done or must stop. Returns its outcome. `turns` limits the concurrent changes of all bulk jobs
    of this process."""
    wanted = await _wanted(store, job)
    if wanted is None:
        return _ended(
            job, AttemptOutcome.FAILED, error="this bulk job was not requested through the API", permanent=True
        )
    progress = await _resumed(store, job)
    progress.total = wanted.total
    run = _Run(store, worker, job, wanted, progress, turns or asyncio.Semaphore(AT_ONCE))
    if not await run.go():
        return _ended(job, AttemptOutcome.CANCELED, error="stopped")
    return Settlement(job.job_id, job.attempt, AttemptOutcome.SUCCEEDED, result=msgspec.json.encode(progress).decode())


def _ended(job: Claimed, outcome: AttemptOutcome, **detail: Any) -> Settlement:
    return Settlement(job.job_id, job.attempt, outcome, detail=msgspec.json.encode(detail).decode())


class _Run:
    """A running bulk job."""

    def __init__(
        self, store: Store, worker: int, job: Claimed, wanted: Wanted, progress: Progress, shared: asyncio.Semaphore
    ) -> None:
        self._store = store
        self._worker = worker
        self._job = job
        self._wanted = wanted
        self._progress = progress
        self._shared = shared
        self._clock = asyncio.get_running_loop().time
        self._began = self._reported = self._clock()
        self._done_before = progress.done
        self._turns = 0

    async def go(self) -> bool:
        """Run to the end. Returns False if the bulk job must stop."""
        tenant_id = None if self._wanted.all_tenants else self._job.tenant_id
        wanted, before = _filter(self._wanted), UUID(self._progress.before or self._wanted.before)
        while True:
            async with self._shared:
                page = await self._store.jobs.list_jobs(
                    **wanted, tenant_id=tenant_id, all_tenants=tenant_id is None, before=before, limit=PAGE
                )
            for one in page:
                if one.definition == DEFINITION:
                    continue
                if not await self._turn():
                    return False
                async with self._shared:
                    changed = await _change(self._store, self._wanted, one.id, one.tenant_id, self._job.job_id)
                if changed:
                    self._progress.done += 1
                else:
                    self._progress.left += 1
                self._progress.before = str(one.id)
            after = page.next(PAGE)
            self._progress.before = str(after or before)
            if not await self._report():
                return False
            if after is None:
                return True
            before = after

    async def _turn(self) -> bool:
        """Wait until the rate allows the next change, and report progress meanwhile. Returns False if the bulk job must stop."""
        if self._wanted.rate is None:
            return True
        due = self._began + self._turns / self._wanted.rate
        self._turns += 1
        while True:
            now = self._clock()
            if now - self._reported >= LOOK_S and not await self._report():
                return False
            if now >= due:
                return True
            await asyncio.sleep(min(due - now, LOOK_S))

    async def _report(self) -> bool:
        """Store the position and renew the lease. Returns False if the bulk job must stop."""
        self._reported = self._clock()
        took = self._reported - self._began
        self._progress.rate = round((self._progress.done - self._done_before) / took, 1) if took > 0 else None
        job, text = self._job, msgspec.json.encode(self._progress).decode()
        held = await self._store.workers.progress(self._worker, job.job_id, job.attempt, text)
        beat = await self._store.workers.heartbeat(self._worker, running=1)
        return held and job.job_id not in [asked for asked, _ in beat.cancels]


async def _resumed(store: Store, job: Claimed) -> Progress:
    """The position of the last attempt, if there was one."""
    for attempt in reversed(await store.jobs.list_attempts(job.job_id, tenant_id=job.tenant_id)):
        if attempt.progress is not None:
            with contextlib.suppress(msgspec.MsgspecError):
                return msgspec.json.decode(attempt.progress, type=Progress)
    return Progress()


async def _wanted(store: Store, job: Claimed) -> Wanted | None:
    """The instructions that the API recorded for this job. The actor is the last caller that requested or retried it."""
    audit, about = store.audit, str(job.job_id)
    entries = await audit.list_audit(tenant_id=job.tenant_id, object=about, action=ACTION, limit=1)
    if not entries:
        return None
    wanted = msgspec.json.decode(entries[0].detail, type=_Entry).wanted
    for retried in await audit.list_audit(tenant_id=job.tenant_id, object=about, action="job.retry", limit=1):
        wanted.actor = retried.actor
    return wanted


class _Entry(msgspec.Struct):
    wanted: Wanted


def _filter(wanted: Wanted) -> Filter:
    """Convert ids and times from text."""
    values = {name: value for name, value in wanted.filter.items() if value is not None and name in NAMES}
    for name in {"parent", "root", "fan_out"} & set(values):
        values[name] = UUID(values[name])
    for name in {"created_after", "created_before"} & set(values):
        values[name] = datetime.fromisoformat(values[name])
    return cast("Filter", values)


async def _change(store: Store, wanted: Wanted, job_id: UUID, tenant_id: UUID, bulk_job: UUID) -> bool:
    entry = Entry(
        tenant_id=tenant_id,
        actor=wanted.actor,
        action=f"job.{wanted.action}",
        object=str(job_id),
        detail=msgspec.json.encode({"bulk": str(bulk_job), "reason": wanted.reason}).decode(),
    )
    jobs = store.auditing(entry).jobs
    try:
        if wanted.action == "cancel":
            status = await jobs.cancel(job_id, tenant_id=tenant_id, reason=wanted.reason)
            # If the status is not final, the cancellation is requested. With cancel_grace the job may have any status.
            return status is Status.CANCELED or not status.final
        await jobs.retry(job_id, tenant_id=tenant_id)
    except DatabaseUnreachable:
        raise
    except DatabaseError:
        return False  # the status has changed, or the fan-out is decided: counted as `left`
    return True
