"""Workers: their states and heartbeats."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from fastapi import Response
from pydantic import Field

from plait.api import names
from plait.api.authentication import new_router
from plait.api.shapes import Json, Page, Shape
from plait.api.tenancy import Ask

router = new_router("workers")


class Worker(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"metadata"})
    FROM: ClassVar[dict[str, str]] = names.WORKER

    worker_id: int
    state: str
    stale: bool = Field(description="Whether the worker's heartbeat is overdue.")
    hostname: str
    pid: int
    version: str
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
        description="When a handler began to block the event loop; null if it is not blocked."
    )
    blocked_job_id: UUID | None = Field(description="The job that blocks the event loop; null if unknown.")


@router.get("/workers", response_model=Page[Worker])
async def list_workers(ask: Ask) -> Response:
    """List active workers, and workers that left or were lost within the last hour."""
    items = [Worker.of(row) for row in await ask.store.workers.list_workers()]
    return Json({"items": items, "next": None})
