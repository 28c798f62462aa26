"""What the API says of a job, by the names of the first contract."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, Field

from plait.api.shapes import Page, Shape
from plait.model.states import Status


class JobBrief(Shape):
    """A job, without what it carries."""

    FROM: ClassVar[dict[str, str]] = {
        "definition_key": "definition",
        "queued_at": "created_at",
        "attempt_count": "attempts_used",
        "attempt_no": "attempt",
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
    started_at: datetime | None = Field(description="When it first started.")
    claimed_at: datetime | None = Field(description="While it runs: when this attempt was claimed.")
    finished_at: datetime | None
    attempt_count: int = Field(
        description="Attempts that count against max_attempts, with the one under way. Suspensions, snoozes, releases and lost workers don't."
    )
    attempt_no: int = Field(description="The number of its last attempt of any kind: the fencing token.")
    tries: int | None = Field(description="Attempts that have failed and count; null when it is final.")
    max_attempts: int
    timeout_seconds: float | None = Field(description="Null: as its definition says.")
    claimed_by_worker: int | None
    last_worker: int | None = Field(description="It runs there, or ran there last.")
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


class UnreadSignals(Shape):
    """Signals of one name that a job has not read."""

    name: str
    signals: int
    first_sent_at: datetime


class Job(JobBrief):
    """A job, whole."""

    RAW: ClassVar[frozenset[str]] = frozenset({"payload", "result", "progress"})

    idempotency_key: str | None
    forked_from: UUID | None
    runs: int = Field(description="1, and one more for each continue_as_new.")
    payload: Any
    result: Any
    progress: Any


class FanOut(Shape):
    """A fan-out of a job: its children in numbers."""

    id: UUID
    strategy: str
    total: int
    needed: int
    succeeded: int
    failed: int
    canceled: int
    decision: str | None = Field(description="succeeded, failed or timeout; null: it is open.")
    created_at: datetime
    decided_at: datetime | None
    timeout_at: datetime | None
    running: int
    waiting: int
    scheduled: int = Field(description="What is left of the total is queued.")


class Span(BaseModel):
    """When one attempt ran."""

    attempt_no: int
    status: str
    worker_id: int | None
    claimed_at: datetime | None = Field(description="Null: it never ran, but was canceled, or is an operator's retry.")
    started_at: datetime | None
    finished_at: datetime


class Child(Shape):
    """A job of a fan-out, and when it ran."""

    RAW: ClassVar[frozenset[str]] = frozenset({"attempts"})
    OPEN: ClassVar[frozenset[str]] = RAW
    FROM: ClassVar[dict[str, str]] = {"definition_key": "definition", "attempt_count": "attempt", "last_error": "error"}

    id: UUID
    fan_out_index: int
    definition_key: str
    queue: str
    status: Status
    attempt_count: int = Field(description="Attempts that count against max_attempts.")
    created_at: datetime
    run_at: datetime | None = Field(
        description="When it is due, or since when it is where it is; null when it is final."
    )
    finished_at: datetime | None
    wait_on: str | None
    node: str | None = Field(description="The only one that may run it.")
    last_error: str | None = Field(description="Its beginning.")
    fan_outs: int = Field(description="How many it has itself.")
    attempts: list[Span] = Field(description="Those that have ended, the last hundred of them.")


class Load(Shape):
    """How many sub-jobs of a fan-out ran in one stretch of time."""

    at: datetime = Field(description="Its beginning.")
    running: int = Field(description="At any moment of it.")
    failed: int = Field(description="Attempts that ended so.")


class Children(BaseModel):
    items: list[Child]
    next: int | None = Field(None, description="Send it as `start` for what follows; null: that was all.")


class Step(Shape):
    """A step of a durable job."""

    RAW: ClassVar[frozenset[str]] = frozenset({"value"})

    seq: int
    name: str
    occurrence: int
    kind: str
    attempt: int
    at: datetime
    done: bool
    due_at: datetime | None
    value: Any
    error: str | None
    fan_out_id: UUID | None


class Attempt(Shape):
    """One execution of a job, or what an operator did to it."""

    RAW: ClassVar[frozenset[str]] = frozenset({"result", "progress"})
    FROM: ClassVar[dict[str, str]] = {"attempt_no": "attempt", "worker_id": "worker", "error_text": "error"}

    attempt_no: int
    status: str
    final: Status | None = Field(description="What the job became by it; null: it went on.")
    worker_id: int | None
    host: str | None
    pid: int | None
    claimed_at: datetime | None
    started_at: datetime | None
    finished_at: datetime
    exit_code: int | None
    reason: str | None
    error_text: str | None
    traceback: str | None
    result: Any
    progress: Any = Field(description="With `stdout` and `stderr`, the tails of what a command or a worker wrote.")


class Node(Shape):
    """One job of a tree."""

    FROM: ClassVar[dict[str, str]] = {"definition_key": "definition", "attempt_count": "attempt", "last_error": "error"}

    id: UUID
    parent_id: UUID | None
    fan_out_id: UUID | None
    fan_out_index: int | None
    depth: int
    definition_key: str
    queue: str
    status: Status
    attempt_count: int = Field(description="Attempts that count against max_attempts.")
    wait_on: str | None
    last_error: str | None
    created_at: datetime
    finished_at: datetime | None
    own_s: float | None = Field(description="How long its handler ran, in all attempts.")
    total_s: float | None = Field(description="From its first start to its end, with its children.")


class JobPage(Job):
    """A job, whole, with what is around it."""

    lease_expires_at: datetime | None = Field(description="While it runs: until when its worker must be heard of.")
    total_s: float | None = Field(
        description="Run time: from its first start to its end, or until now. Null: it has not started."
    )
    own_s: float | None = Field(description="Own time: how long its handler ran, in all attempts.")
    waiting_s: float | None = Field(description="Waiting time, the rest: it was suspended, in backoff or queued again.")
    unread_signals: list[UnreadSignals] = Field(description="Signals that it has not read, by name.")
    parent: JobBrief | None
    fan_outs: list[FanOut]
    steps: list[Step]
    children: Page[JobBrief] = Field(description="The newest of them; go on with `GET /jobs?parent=…&cursor=…`.")


class Moved(BaseModel):
    """What a verb has made of a job."""

    id: UUID
    status: Status
    jobs: int = Field(1, description="How many jobs it moved, where it acts on a tree.")
