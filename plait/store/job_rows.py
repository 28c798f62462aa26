"""Types for the rows that describe jobs."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from plait.model.states import Status
from plait.store.database import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job, as returned by `plait.job`."""

    id: UUID
    tenant_id: UUID
    definition: str
    queue: str
    status: Status
    priority: int
    source: str
    attempt: int
    failed_attempts: int | None
    max_attempts: int
    created_at: datetime
    scheduled_for: datetime | None
    run_at: datetime | None
    claimed_at: datetime | None
    finished_at: datetime | None
    cancel_requested: datetime | None
    worker: int | None
    lane: str | None
    timeout_s: float | None
    correlation_id: str | None
    dedupe_key: str | None
    idempotency_key: str | None
    limit_key: str | None
    reason: str | None
    error: str | None
    payload: str = field(repr=False)
    result: str | None = field(repr=False)
    progress: str | None = field(repr=False)
    parent_id: UUID | None
    root_id: UUID | None
    fan_out_id: UUID | None
    fan_out_index: int | None
    depth: int | None
    forked_from: UUID | None
    wait_on: str | None
    wake_at: datetime | None
    source_ref: str | None
    node: str | None
    """The only node that may run the job."""
    started_at: datetime | None
    """When the job first started. The running attempt was claimed at `claimed_at`."""
    last_worker: int | None
    """The worker that runs the job, or ran it last."""
    attempts_used: int
    """Attempts that count against max_attempts, including the running one. Suspensions, snoozes, releases and lost workers do not count."""
    runs: int
    """The number of runs: 1, plus 1 for each `continue_as_new`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times of a started job, in seconds. `total_s` = `own_s` + `waiting_s`."""

    total_s: float
    """From its first start to its end, or until now."""
    own_s: float
    """Run time of its handler, over all attempts."""
    waiting_s: float
    """Time suspended, in backoff or requeued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadSignals:
    """Unread signals with one name."""

    name: str
    signals: int
    first_sent_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One job of a workflow."""

    id: UUID
    parent_id: UUID | None
    fan_out_id: UUID | None
    fan_out_index: int | None
    depth: int
    definition: str
    queue: str
    status: Status
    attempt: int
    """Attempts that count against max_attempts."""
    wait_on: str | None
    error: str | None
    created_at: datetime
    finished_at: datetime | None
    own_s: float | None
    """Run time of its handler, over all attempts."""
    total_s: float | None
    """From its first start to its end, including its children."""
    node: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One step of a durable function, for display; the fields from `strategy` to `timeout_at` describe its fan-out."""

    seq: int
    name: str
    occurrence: int
    kind: str
    attempt: int
    at: datetime
    done: bool
    due_at: datetime | None
    value: str | None
    error: str | None
    fan_out_id: UUID | None
    strategy: str | None
    decision: str | None
    total: int | None
    succeeded: int | None
    failed: int | None
    canceled: int | None
    timeout_at: datetime | None
    started_at: datetime | None
    took_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCanceled:
    canceled: int
    asked: int
    """Running jobs that were asked to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    attempt: int
    status: str
    final: str | None
    worker: int | None
    host: str | None
    pid: int | None
    claimed_at: datetime | None
    started_at: datetime | None
    finished_at: datetime
    exit_code: int | None
    reason: str | None
    error: str | None
    traceback: str | None
    result: str | None
    progress: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRow:
    """The outcome of a final job; `status` is None if the job does not exist."""

    job_id: UUID
    status: Status | None
    result: str | None
    reason: str | None
    error: str | None
    traceback: str | None
    failure: str | None = None
    """The handler's error, as JSON."""


_AS_TEXT: Final = ("status", "payload", "result", "progress")
JOB_COLUMNS: Final = tuple(f"{name}::text" if name in _AS_TEXT else name for name in JobRow.__slots__)
GET_JOB: Final = f"select {', '.join(JOB_COLUMNS)} from plait.get_job($1, $2, $3)"


def job_of(row: Row) -> JobRow:
    return JobRow(**{**row, "status": Status(row["status"])})
