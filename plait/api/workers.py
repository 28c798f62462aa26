"""Workers: their states and heartbeats, and the history of workers that ended."""

from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.shapes import Json, Limit, Page, Shape, page
from plait.api.tenancy import Ask
from plait.model.errors import NotFound
from plait.model.states import Status
from plait.model.worker_states import EndState, WorkerFilter

router = new_router("workers")


class Worker(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"metadata"})
    FROM: ClassVar[dict[str, str]] = names.WORKER

    worker_id: int
    state: str = Field(description="alive, lost (its lease expired) or gone (it left). lost and gone are final.")
    stale: bool = Field(description="Whether it is alive, but its heartbeat is overdue by half a lease.")
    lease_expired: bool = Field(
        description="Whether its lease has expired and the leader has not declared it lost yet. It serves no queue."
    )
    hostname: str
    pid: int
    version: str
    build: str | None = Field(description="The build of its code; null if it has none.")
    queues: list[str]
    definitions: list[str]
    running_count: int
    prefetched_count: int = Field(description="Jobs that were claimed but not started at the last heartbeat.")
    metadata: Any
    started_at: datetime
    last_seen_at: datetime
    lease_expires_at: datetime
    node: str | None = Field(description="The worker's node.")
    draining: bool = Field(description="Whether the worker is shutting down gracefully: it finishes its running jobs.")
    leads: bool = Field(description="Whether the worker's process is the leader.")
    blocked_since: datetime | None = Field(
        description="When a handler began to block its event loop, for a lost worker as of its last heartbeat; null if the event loop is not blocked."
    )
    blocked_job_id: UUID | None = Field(description="The job that blocks it; null if unknown.")
    ended_at: datetime | None = Field(description="When it was declared lost, or left; null while it is alive.")
    end_reason: str | None = Field(
        description="lease_expired or blocked_loop (its event loop was blocked at its last heartbeat) if it is lost; left or restored (by `plait after-restore`) if it is gone."
    )
    clearing: bool = Field(description="Whether it has ended and some of its jobs are not moved yet.")
    held_count: int = Field(description="Jobs that were assigned to it when it ended.")
    requeued_count: int = Field(description="Jobs that rescue requeued after it ended.")
    dead_lettered_count: int = Field(description="Poison jobs that rescue dead-lettered after it was lost.")
    canceled_count: int = Field(description="Jobs with a requested cancellation that were canceled when it ended.")
    released_count: int = Field(description="Jobs that it released while it shut down.")


class LastJob(Shape):
    FROM: ClassVar[dict[str, str]] = names.WORKER_JOB

    job_id: UUID
    tenant_id: UUID | None
    definition_key: str | None = Field(description="Null if the job is deleted.")
    status: Status | None = Field(description="Its status now; null if the job is deleted.")


class WorkerPage(Worker):
    last_jobs: list[LastJob] = Field(
        description="Jobs that were assigned to it when it ended, at most 100; `held_count` is the number of all of them."
    )


@router.get("/workers", response_model=Page[Worker])
async def list_workers(
    ask: Ask,
    state: Annotated[
        WorkerFilter | None, Query(description="Only workers in this state. `alive` leaves stale workers out.")
    ] = None,
) -> Response:
    """List active workers, and those that left or were lost within the last hour."""
    items = [Worker.of(row) for row in await ask.store.workers.list_workers(state=state)]
    return Json({"items": items, "next": None})


@router.get("/workers/history", response_model=Page[Worker])
async def list_history(
    ask: Ask,
    state: Annotated[EndState | None, Query(description="Only workers that ended in this way.")] = None,
    host: Annotated[str | None, Query(max_length=300, description="Only workers on this host.")] = None,
    cursor: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="`next` of the previous page.")] = None,
    limit: Limit = 50,
) -> Response:
    """List workers that were lost or left, the last first. A worker is deleted 30 days after it ended."""
    rows = await ask.store.workers.history(state=state, host=host, before=cursor, limit=limit)
    return Json(page([Worker.of(row) for row in rows], limit, rows[-1].id if rows else None))


@router.get("/workers/{worker_id}", response_model=WorkerPage)
async def get_worker(ask: Ask, worker_id: Annotated[int, Path(ge=1, le=2**31 - 1)]) -> Response:
    """Get a worker, also if it ended in the last 30 days."""
    row = await ask.store.workers.get_worker(worker_id)
    if row is None:
        raise NotFound(f"there is no worker {worker_id}: a worker is deleted 30 days after it ended")
    last_jobs = [LastJob.of(one) for one in await ask.store.workers.last_jobs(worker_id)]
    return Json(WorkerPage.of(row, last_jobs=last_jobs))
