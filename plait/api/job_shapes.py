"""The API's representation of a job, with the field names of the API contract."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, Field

from plait.api import names
from plait.api.shapes import Page, Shape
from plait.model.states import Status


class JobBrief(Shape):
    """A job, without its payload and result."""

    FROM: ClassVar[dict[str, str]] = names.JOB

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
    queued_at: datetime = Field(description="Same as created_at.")
    scheduled_for: datetime | None = Field(
        description="The requested start time; null if the job may start immediately."
    )
    run_at: datetime | None = Field(description="When the job is due, or when it was queued.")
    started_at: datetime | None = Field(description="When the job first started.")
    claimed_at: datetime | None = Field(description="When the running attempt was claimed.")
    finished_at: datetime | None
    attempt_count: int = Field(
        description="Attempts that count against max_attempts, including the running one. Suspensions, snoozes, releases and lost workers do not count."
    )
    attempt_no: int = Field(description="The number of the last attempt of any kind: the fencing token.")
    failed_attempts: int | None = Field(
        description="Attempts that failed or timed out; they count against max_attempts. Null if the job is final."
    )
    max_attempts: int
    timeout_seconds: float | None = Field(description="Null if the definition's timeout applies.")
    claimed_by_worker: int | None
    last_worker: int | None = Field(description="The worker that runs the job, or ran it last.")
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
    """Unread signals with one name."""

    name: str
    signals: int
    first_sent_at: datetime


class Job(JobBrief):
    """A job with all its fields."""

    RAW: ClassVar[frozenset[str]] = frozenset({"payload", "result", "progress"})

    idempotency_key: str | None
    forked_from: UUID | None
    runs: int = Field(description="Number of runs: 1, plus 1 for each continue_as_new.")
    payload: Any
    result: Any
    progress: Any


class FanOut(Shape):
    """A fan-out of a job, with the number of its children by status."""

    id: UUID
    strategy: str
    total: int
    needed: int
    succeeded: int
    failed: int
    canceled: int
    decision: str | None = Field(description="succeeded, failed or timeout; null if the fan-out is not decided yet.")
    created_at: datetime
    decided_at: datetime | None
    timeout_at: datetime | None
    running: int
    waiting: int
    scheduled: int = Field(
        description="Number of scheduled children. Children that are not counted in any of these fields are queued."
    )


class Span(BaseModel):
    """The times of one attempt."""

    attempt_no: int
    status: str
    worker_id: int | None
    claimed_at: datetime | None = Field(
        description="Null if the attempt never ran: the job was canceled before it started, or an operator retried it."
    )
    started_at: datetime | None
    finished_at: datetime


class Child(Shape):
    """A job of a fan-out, with the times of its attempts."""

    RAW: ClassVar[frozenset[str]] = frozenset({"attempts"})
    OPEN: ClassVar[frozenset[str]] = RAW
    FROM: ClassVar[dict[str, str]] = names.WORKFLOW_JOB

    id: UUID
    fan_out_index: int
    definition_key: str
    queue: str
    status: Status
    attempt_count: int = Field(description="Attempts that count against max_attempts.")
    created_at: datetime
    run_at: datetime | None = Field(
        description="When the job is due, or when it reached its current status; null if it is final."
    )
    finished_at: datetime | None
    wait_on: str | None
    node: str | None = Field(description="The only node that may run the job.")
    last_error: str | None = Field(description="The beginning of the error.")
    fan_outs: int = Field(description="Number of its own fan-outs, without empty ones.")
    attempts: list[Span] = Field(description="The last 100 ended attempts.")
    steps: bool = Field(description="Whether it has steps that run or wait in the job itself.")
    wait_s: float | None = Field(
        description="Time from when it was due until its first start, or until now; null: it ended without a start."
    )
    run_s: float | None = Field(
        description="Run time: from its first start to its end, or until now; null: not started."
    )


class FanOutTimes(Shape):
    """How long the sub-jobs of a fan-out waited and ran, in seconds, over all of them."""

    total: int
    children: int = Field(description="Number of sub-jobs that were read: all of them, up to 100,000.")
    ran: int = Field(
        description="Number of sub-jobs that have started and ended. The run times are exactly those of these."
    )
    unfinished: int = Field(description="Number of sub-jobs that have not ended.")
    never_ran: int = Field(description="Number of sub-jobs that ended without a start, such as canceled ones.")
    started: int = Field(description="Number of sub-jobs that have started. The wait times are exactly those of these.")
    run_mean_s: float | None
    run_p50_s: float | None
    run_p95_s: float | None
    run_max_s: float | None
    wait_p50_s: float | None
    wait_p95_s: float | None
    wait_max_s: float | None


class EarlierRuns(Shape):
    """Run times of earlier jobs of the same definition, in seconds."""

    runs: int = Field(
        description="Number of jobs: the newest, at most 100, that were enqueued before this one and succeeded."
    )
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    since: datetime | None = Field(description="When the oldest of them was enqueued.")
    complete: bool = Field(description="False: older ones may exist, beyond the 10,000 rows that were searched.")


class Load(Shape):
    """How many sub-jobs of a fan-out ran in one interval."""

    at: datetime = Field(description="Start of the interval.")
    running: int = Field(description="Sub-jobs that ran at any time in the interval.")
    failed: int = Field(description="Attempts that failed.")


class Children(BaseModel):
    items: list[Child]
    next: int | None = Field(None, description="The value of `start` for the next page; null on the last page.")


class Step(Shape):
    """A step of a durable function."""

    RAW: ClassVar[frozenset[str]] = frozenset({"value"})

    seq: int
    name: str
    occurrence: int
    kind: str
    attempt: int
    at: datetime = Field(description="When its result was checkpointed, or when its wait began.")
    started_at: datetime | None = Field(description="When it began; null: not known.")
    took_s: float | None = Field(
        description="How long it took: a call or transaction ran, a fan-out was decided, a sleep or wait for a signal ended. Null: not done, or not known."
    )
    done: bool
    due_at: datetime | None
    value: Any
    error: str | None
    fan_out_id: UUID | None


class Attempt(Shape):
    """One execution of a job, or an operator's action."""

    RAW: ClassVar[frozenset[str]] = frozenset({"result", "progress"})
    FROM: ClassVar[dict[str, str]] = names.ATTEMPT

    attempt_no: int
    status: str
    final: Status | None = Field(
        description="The job's final status; null if the job was not final after this attempt."
    )
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
    progress: Any = Field(description="Includes `stdout` and `stderr`: the last output of a command or worker.")


class Node(Shape):
    """One job of a workflow."""

    FROM: ClassVar[dict[str, str]] = names.WORKFLOW_JOB

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
    own_s: float | None = Field(description="Run time of the handler, over all attempts.")
    total_s: float | None = Field(
        description="Time from the first start until the job is final, including its children."
    )


class JobPage(Job):
    """A job with all its fields and related jobs."""

    lease_expires_at: datetime | None = Field(description="When the worker's lease expires, while the job runs.")
    total_s: float | None = Field(
        description="Total time: from the first start until the job is final, or until now. Null if the job has not started."
    )
    own_s: float | None = Field(description="Own time: the run time of the handler, over all attempts.")
    waiting_s: float | None = Field(description="Waiting time: how long the job was suspended, in backoff or requeued.")
    unread_signals: list[UnreadSignals] = Field(description="Unread signals, by name.")
    parent: JobBrief | None
    fan_outs: list[FanOut]
    steps: list[Step]
    children: Page[JobBrief] = Field(
        description="The newest children. To list more, use `GET /jobs?parent=…&cursor=…`."
    )


class Moved(BaseModel):
    """The effect of an operation on a job."""

    id: UUID
    status: Status
    jobs: int = Field(1, description="Number of affected jobs, if the operation acts on a workflow.")
