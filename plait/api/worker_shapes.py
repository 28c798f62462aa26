"""Requests and responses of the worker protocol."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from plait.model.policies import QUEUE_NAME

Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
QueueName = Annotated[str, Field(pattern=f"^{QUEUE_NAME.pattern}$")]


class Claim(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"queues": ["default"], "definitions": ["resize"], "limit": 5, "wait_seconds": 20}]
        },
    )

    worker: Number | None = Field(
        None, description="The number that the first claim returned; null registers a new worker."
    )
    queues: list[QueueName] = Field(min_length=1, max_length=100)
    definitions: list[Name] = Field(
        min_length=1, max_length=1000, description="The job definitions that the worker can run."
    )
    limit: int = Field(1, ge=1, le=1000)
    running: Number = Field(0, description="Number of jobs that the worker runs now.")
    wait_seconds: float = Field(0, ge=0, le=30, description="How long to wait for jobs.")
    lease_seconds: float = Field(
        30, ge=5, le=3600, description="Lease: a worker that sends no heartbeat for this long is declared lost."
    )
    hostname: str = Field("", max_length=200)
    pid: Number = 0
    version: str = Field("", max_length=100)


class ClaimedJob(BaseModel):
    id: UUID
    attempt: int = Field(description="Number of the attempt. Send it with every request about the job.")
    failed_attempts: int
    max_attempts: int
    tenant_id: UUID
    definition_key: str
    queue: str
    payload: Any
    payload_url: str | None = Field(
        description="URL of the payload if it is an artifact; null if `payload` has the value."
    )
    timeout_seconds: float | None = Field(description="Time limit of the attempt; null if there is no limit.")
    correlation_id: str | None


class Claims(BaseModel):
    worker: int
    jobs: list[ClaimedJob]


class Held(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: UUID
    attempt: Number


class OfAttempt(BaseModel):
    """A request about one attempt of a worker."""

    model_config = ConfigDict(extra="forbid")

    worker: Number
    attempt: Number


class Heartbeat(OfAttempt):
    held: list[Held] | None = Field(
        None,
        max_length=10_000,
        description="All jobs that the worker runs. Its other jobs are released, because the response to their claim was lost.",
    )


class Beat(BaseModel):
    cancel: list[UUID] = Field(description="Jobs of this worker that must stop.")
    gone: list[UUID] = Field(description="Jobs whose lease is lost: stop them, and report no outcome.")


class Complete(OfAttempt):
    result: Any = None


class Fail(OfAttempt):
    error: str = Field("", max_length=100_000)
    traceback: str | None = Field(None, max_length=100_000)
    reason: str | None = Field(None, max_length=200, description="A machine-readable reason.")
    permanent: bool = Field(False, description="Do not retry.")
    timeout: bool = Field(False, description="Whether the attempt timed out.")
    delay_seconds: float | None = Field(
        None, ge=0, le=3.2e9, description="Delay before the retry. Default: the definition's backoff."
    )
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None


class Release(OfAttempt):
    delay_seconds: float | None = Field(
        None,
        ge=0,
        le=3.2e9,
        description="Delay before the job may run again; null means immediately. Does not count against `max_attempts`.",
    )


class SkipIt(OfAttempt):
    reason: str = Field("", max_length=10_000)


class Logs(OfAttempt):
    stdout: str = Field("", max_length=1_000_000)
    stderr: str = Field("", max_length=1_000_000)
    progress: dict[str, Any] | None = None


class WorkerHeartbeat(BaseModel):
    model_config = ConfigDict(extra="forbid")

    worker: Number
    running: Number = Field(0, description="Number of jobs that the worker runs now; `held` takes precedence.")
    held: list[Held] | None = Field(
        None,
        max_length=10_000,
        description="All jobs that the worker runs. Its other jobs are released, because the response to their claim was lost.",
    )


class Outcome(BaseModel):
    """The outcome of one attempt, with the fields of the route that `outcome` names."""

    model_config = ConfigDict(extra="forbid")

    id: UUID
    attempt: Number
    outcome: Literal["complete", "fail", "release", "skip"]
    result: Any = None
    error: str = Field("", max_length=100_000)
    traceback: str | None = Field(None, max_length=100_000)
    reason: str | None = Field(None, max_length=10_000)
    permanent: bool = False
    timeout: bool = False
    delay_seconds: float | None = Field(None, ge=0, le=3.2e9)
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None


class Settle(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "worker": 17,
                    "outcomes": [
                        {"id": "01930000-0000-7000-8000-000000000000", "attempt": 1, "outcome": "complete", "result": 3}
                    ],
                }
            ]
        },
    )

    worker: Number
    outcomes: list[Outcome] = Field(min_length=1, max_length=1000)


class SettledOne(BaseModel):
    id: UUID
    attempt: int
    accepted: bool = Field(description="If both this and `busy` are false, the lease is lost, and nothing was changed.")
    busy: bool = Field(
        False,
        description="The job's row is locked by another transaction, and nothing was changed: send the outcome again.",
    )


class SettledMany(BaseModel):
    settled: list[SettledOne]


class Leave(BaseModel):
    model_config = ConfigDict(extra="forbid")

    worker: Number


class Settled(BaseModel):
    id: UUID
    attempt: int
