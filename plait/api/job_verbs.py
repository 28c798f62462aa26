"""Operations on a job: cancel, retry, reschedule, signal."""

from typing import Any, Literal
from uuid import UUID

from fastapi import Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from plait.api.authentication import new_router
from plait.api.job_shapes import Moved
from plait.api.jobs import json_text
from plait.api.shapes import Json
from plait.api.tenancy import Ask
from plait.model.errors import InvalidArguments, TooLarge
from plait.model.states import Status
from plait.sdk.codec import MAX_BYTES

router = new_router("jobs")


class Cancel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(None, max_length=500)
    tree: bool = Field(False, description="Also cancel all descendants.")


class Retry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tree: Literal["failed", "all"] | None = Field(
        None,
        description="failed: retry the failed jobs of a root's workflow; all: run the whole workflow again, as new jobs.",
    )
    steps: Literal["keep", "drop"] = Field(
        "keep", description="keep: a durable function resumes; drop: its checkpoints are deleted and it restarts."
    )
    scheduled_for: AwareDatetime | None = None
    max_attempts: int | None = Field(None, ge=1, le=10_000)


class Reschedule(BaseModel):
    model_config = ConfigDict(extra="forbid")

    scheduled_for: AwareDatetime | None = Field(
        None, description="Null leaves the time unchanged. A time in the past means immediately."
    )
    max_attempts: int | None = Field(None, ge=1, le=10_000)


class Signal(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=180)
    payload: Any = None
    id: UUID | None = Field(
        None, description="Makes a repeated request safe: a signal with the same id is delivered once."
    )


@router.post("/jobs/{job_id:uuid}/cancel", response_model=Moved)
async def cancel(ask: Ask, job_id: UUID, body: Cancel | None = None) -> Response:
    """Cancel a job. A running job is asked to stop; a final job is not changed."""
    body = body or Cancel()
    tenant_id = await ask.job_tenant(job_id)
    jobs = ask.changing("job.cancel", job_id, tenant_id=tenant_id, reason=body.reason, tree=body.tree or None).jobs
    if body.tree:
        done = await jobs.cancel_tree(job_id, tenant_id=tenant_id, reason=body.reason)
        row = await ask.store.jobs.get_job(job_id, tenant_id=tenant_id)
        return Json({"id": job_id, "status": row.status, "jobs": done.canceled + done.asked})
    return Json({"id": job_id, "status": await jobs.cancel(job_id, tenant_id=tenant_id, reason=body.reason), "jobs": 1})


@router.post("/jobs/{job_id:uuid}/retry", response_model=Moved)
async def retry(ask: Ask, job_id: UUID, body: Retry | None = None) -> Response:
    """Retry a final job that has not succeeded. With `tree: all`, run a root's whole workflow again as new jobs and return the id of the new root."""
    body = body or Retry()
    if body.tree and body.model_fields_set - {"tree"}:
        raise InvalidArguments("other fields cannot be used together with `tree`")
    tenant_id = await ask.job_tenant(job_id)
    jobs = ask.changing("job.retry", job_id, tenant_id=tenant_id, **body.model_dump(exclude_defaults=True)).jobs
    match body.tree:
        case "all":
            return Json({"id": await jobs.fork(job_id, tenant_id=tenant_id), "status": Status.QUEUED, "jobs": 1})
        case "failed":
            retried = await jobs.retry_tree(job_id, tenant_id=tenant_id)
            row = await ask.store.jobs.get_job(job_id, tenant_id=tenant_id)
            return Json({"id": job_id, "status": row.status, "jobs": retried})
        case None:
            status = await jobs.retry(
                job_id,
                tenant_id=tenant_id,
                run_at=body.scheduled_for,
                max_attempts=body.max_attempts,
                drop_steps=body.steps == "drop",
            )
            return Json({"id": job_id, "status": status, "jobs": 1})


@router.post("/jobs/{job_id:uuid}/reschedule", response_model=Moved)
async def reschedule(ask: Ask, job_id: UUID, body: Reschedule) -> Response:
    """Change the time or the maximum attempts of a job that has not succeeded."""
    tenant_id = await ask.job_tenant(job_id)
    jobs = ask.changing("job.reschedule", job_id, tenant_id=tenant_id, **body.model_dump(exclude_none=True)).jobs
    status = await jobs.reschedule(
        job_id, tenant_id=tenant_id, run_at=body.scheduled_for, max_attempts=body.max_attempts
    )
    return Json({"id": job_id, "status": status, "jobs": 1})


@router.post("/jobs/{job_id:uuid}/signal", response_model=Moved)
async def signal(ask: Ask, job_id: UUID, body: Signal) -> Response:
    """Send a signal to a job. The signal is stored until the job reads it. A job that waits for the signal resumes."""
    tenant_id = await ask.job_tenant(job_id)
    jobs = ask.changing("job.signal", job_id, tenant_id=tenant_id, name=body.name).jobs
    payload = None if body.payload is None else json_text(body.payload)
    if payload is not None and len(payload) > MAX_BYTES:  # ASCII
        large = TooLarge(f"a signal's payload must have at most {MAX_BYTES:,} bytes", payload)
        payload = await ask.request.app.state.artifacts.keep(large, job_id=job_id, tenant_id=tenant_id, kind="signal")
    status = await jobs.signal(job_id, body.name, payload, tenant_id=tenant_id, signal_id=body.id)
    return Json({"id": job_id, "status": status, "jobs": 1})
