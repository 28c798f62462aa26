"""Failures by error: the list of errors, and the details of each error. All numbers come from the leader's counts, so they cover all jobs and
agree in all responses."""

from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import AwareDatetime, BaseModel, Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.job_shapes import Attempt
from plait.api.redaction import composed, redaction
from plait.api.shapes import Json, Limit, Shape
from plait.api.tenancy import Ask, Asking
from plait.model.errors import NotFound
from plait.model.states import Status
from plait.store.failures import GroupRow
from plait.store.job_rows import AttemptRow

router = new_router("jobs")

_JOBS = "Number of jobs with this error that are currently `failed` or `dead_letter`. Retried and deleted jobs are not counted."
_AS_OF = (
    "All failures that were committed before this time are counted. It is the time of the request, or of the last count if the "
    "leader is behind. Null if the leader has not counted yet."
)


class Failure(Shape):
    """Failures of one definition with similar errors."""

    FROM: ClassVar[dict[str, str]] = names.FAILURE

    definition_key: str
    fingerprint: str = Field(description="Identifies a group of similar errors. `GET /jobs?error=…` lists their jobs.")
    error: str | None = Field(description="The newest error.")
    jobs: int = Field(description=_JOBS)
    dead_letters: int = Field(description="Number of `jobs` that are dead letters.")
    recent: int = Field(description="Number of failures since `since`, including jobs that were retried later.")
    tenants: int = Field(description="Number of tenants with these jobs.")
    first_at: datetime = Field(description="Time of the oldest failure with this error whose job has not been deleted.")
    last_at: datetime
    last_job_id: UUID


class FailurePage(BaseModel):
    items: list[Failure]
    next: str | None = Field(
        None, description="Always null, because the list has only one page. To get more errors, increase `limit`."
    )
    as_of: datetime | None = Field(description=_AS_OF)
    since: datetime = Field(
        description="Start of the period that `recent` covers: the beginning of the hour of `start`."
    )
    total_errors: int = Field(description="Total number of errors, not limited by `limit`.")
    total_jobs: int = Field(description="Number of jobs with these errors.")


@router.get("/jobs/failures", response_model=FailurePage)
async def failures(
    ask: Ask,
    start: Annotated[
        AwareDatetime | None,
        Query(
            description="Only errors since this time. By default all errors are listed, and `recent` covers the last 24 hours."
        ),
    ] = None,
    status: Annotated[list[Literal["failed", "dead_letter"]] | None, Query(max_length=2)] = None,
    order: Annotated[Literal["jobs", "recent"], Query(description="Sort by this number, largest first.")] = "jobs",
    limit: Limit = 50,
) -> Response:
    """List failed jobs by definition and error. The numbers include all failed jobs."""
    found = await ask.store.failures.list_failures(
        **ask.scope, start=start, statuses=list(status) if status else None, limit=limit, order=order
    )
    return Json(
        {
            "items": [Failure.of(row) for row in found.rows],
            "next": None,
            "as_of": found.as_of,
            "since": found.since,
            "total_errors": found.all_errors,
            "total_jobs": found.all_jobs,
        }
    )


class FailureTenant(BaseModel):
    """Failures with one error in one tenant."""

    tenant_id: UUID
    tenant: str
    jobs: int
    dead_letters: int
    failures: int
    last_at: datetime


class FailureInterval(Shape):
    """Failures with one error in one interval, including jobs that were retried later."""

    at: datetime = Field(description="Start of the interval.")
    failed: int
    dead_letter: int


class FailureWorker(Shape):
    """Failures with one error on one worker."""

    worker: int | None = Field(description="Null if the job failed without a worker, for example after its deadline.")
    host: str | None
    failures: int
    last_at: datetime


class FailureGroup(BaseModel):
    """One error of a definition."""

    definition_key: str
    fingerprint: str
    as_of: datetime | None = Field(description=_AS_OF)
    jobs: int = Field(description=_JOBS)
    dead_letters: int
    failures: int = Field(
        description="Number of failures with this error whose jobs have not been deleted, including jobs that were retried later."
    )
    first_at: datetime
    last_at: datetime
    last_job_id: UUID
    sample: Attempt | None = Field(
        description="The newest failed attempt; null if its job has been deleted since the last count."
    )
    tenants: list[FailureTenant]
    history: list[FailureInterval] = Field(description="Intervals since `start`. Empty intervals are omitted.")
    workers: list[FailureWorker] = Field(description="Workers of the newest failures, at most 100.")
    workers_of: int = Field(
        description="Number of failures from which `workers` was computed: at most the newest 1,000."
    )


@router.get("/jobs/failures/{definition_key:path}/{fingerprint}", response_model=FailureGroup)
async def failure_group(
    ask: Ask,
    definition_key: Annotated[str, Path(max_length=200)],
    fingerprint: Annotated[str, Path(max_length=100)],
    start: Annotated[AwareDatetime | None, Query(description="Start of the history. Default: a day ago.")] = None,
    step_hours: Annotated[int, Query(ge=1, le=744, description="Length of an interval of the history.")] = 1,
) -> Response:
    """Get one error of a definition: its history, tenants and workers, and the newest attempt."""
    rows = await ask.store.failures.get_group(definition_key, fingerprint, **ask.scope)
    if not rows:
        raise NotFound(f"definition {definition_key!r} has no failures with the error {fingerprint!r}")
    history = await ask.store.failures.history(
        definition_key, fingerprint, **ask.scope, start=start, step=timedelta(hours=step_hours)
    )
    workers = await ask.store.failures.list_workers(definition_key, fingerprint, **ask.scope)
    newest = max(rows, key=lambda row: (row.last_at, row.last_job))
    attempt = await _sample(ask, newest)
    about = definition_key if redaction() is not None else None
    return Json(
        {
            "definition_key": definition_key,
            "fingerprint": fingerprint,
            "as_of": newest.as_of,
            "jobs": sum(row.jobs for row in rows),
            "dead_letters": _dead(rows),
            "failures": sum(row.failures for row in rows),
            "first_at": min(row.first_at for row in rows),
            "last_at": newest.last_at,
            "last_job_id": newest.last_job,
            "sample": await composed(lambda: Attempt.of(attempt, about=about)) if attempt is not None else None,
            "tenants": _by_tenant(rows),
            "history": [FailureInterval.of(row) for row in history],
            "workers": [FailureWorker.of(row) for row in workers],
            "workers_of": workers[0].all_failures if workers else 0,
        }
    )


def _dead(rows: list[GroupRow]) -> int:
    return sum(row.jobs for row in rows if row.status is Status.DEAD_LETTER)


def _by_tenant(rows: list[GroupRow]) -> list[dict[str, object]]:
    found: dict[UUID, list[GroupRow]] = {}
    for row in rows:
        found.setdefault(row.tenant_id, []).append(row)
    return [
        {
            "tenant_id": tenant_id,
            "tenant": of[0].tenant,
            "jobs": sum(row.jobs for row in of),
            "dead_letters": _dead(of),
            "failures": sum(row.failures for row in of),
            "last_at": max(row.last_at for row in of),
        }
        for tenant_id, of in found.items()
    ]


async def _sample(ask: Asking, newest: GroupRow) -> AttemptRow | None:
    try:
        attempts = await ask.store.jobs.list_attempts(newest.last_job, tenant_id=newest.tenant_id)
    except NotFound:  # deleted by retention since it was counted
        return None
    return next((row for row in attempts if row.finished_at == newest.last_at and row.final == newest.status), None)
