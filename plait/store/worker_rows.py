"""Workers as readers see them: the rows of the view `plait.worker`, and the jobs of a worker that ended."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    id: int
    state: str
    """alive, lost (its lease expired) or gone (it left)."""
    host: str
    pid: int
    version: str
    queues: list[str]
    definitions: list[str]
    running: int
    prefetched: int
    """Jobs that it had claimed but not started at its last heartbeat."""
    metadata: str
    started_at: datetime
    seen_at: datetime
    expires_at: datetime
    seen_s: float
    stale: bool
    """Whether it is alive and its heartbeat is overdue."""
    node: str | None
    """The machine that the worker runs on."""
    draining: bool
    leads: bool
    blocked_since: datetime | None
    """Set while a handler blocks the worker's event loop; for a lost worker, as of its last heartbeat."""
    blocked_s: float | None
    blocked_job: UUID | None
    """None if it is unknown."""
    build: str | None
    expired: bool
    """Its lease has expired, and the leader has not declared it lost yet."""
    ended_at: datetime | None
    """When it was lost, or left."""
    end_reason: str | None
    """lease_expired, blocked_loop, left or restored."""
    clearing: bool
    """It has ended, and not all its jobs are moved yet."""
    held: int
    """Jobs that were assigned to it when it ended."""
    requeued: int
    dead_lettered: int
    """Poison jobs: dead-lettered because their workers were lost repeatedly."""
    canceled: int
    released: int
    """Jobs that it released while it shut down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastJob:
    """A job that was assigned to a worker when it ended."""

    job_id: UUID
    tenant_id: UUID | None
    definition: str | None
    """None if the job is deleted."""
    status: str | None
    """Its status now."""
