"""What workers over HTTP send, and what they are answered."""

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

    worker: Number | None = Field(None, description="As the first claim answered; null: register.")
    queues: list[QueueName] = Field(min_length=1, max_length=100)
    definitions: list[Name] = Field(min_length=1, max_length=1000, description="The kinds of job that it can run.")
    limit: int = Field(1, ge=1, le=1000)
    running: Number = Field(0, description="How many it runs now.")
    wait_seconds: float = Field(0, ge=0, le=30, description="How long to wait for work.")
    lease_seconds: float = Field(30, ge=5, le=3600, description="After so long without a word it is declared lost.")
    hostname: str = Field("", max_length=200)
    pid: Number = 0
    version: str = Field("", max_length=100)


class ClaimedJob(BaseModel):
    id: UUID
    attempt: int = Field(description="Name it in all that is said about the job.")
    tries: int
    max_attempts: int
    tenant_id: UUID
    definition_key: str
    queue: str
    payload: Any
    payload_url: str | None = Field(
        description="Where the payload is when it is too large to be here, as its `$artifact` says; null: here."
    )
    timeout_seconds: float | None = Field(description="How long it may run; null where nobody has said so.")
    correlation_id: str | None


class Claims(BaseModel):
    worker: int
    jobs: list[ClaimedJob]


class Held(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: UUID
    attempt: Number


class OfAttempt(BaseModel):
    """Who says it, of which attempt."""

    model_config = ConfigDict(extra="forbid")

    worker: Number
    attempt: Number


class Heartbeat(OfAttempt):
    held: list[Held] | None = Field(
        None,
        max_length=10_000,
        description="All that it runs: what it does not name is given back, for a reply that was lost.",
    )


class Beat(BaseModel):
    cancel: list[UUID] = Field(description="Jobs of this worker that shall stop.")
    gone: list[UUID] = Field(description="Jobs that are others' now: stop them, and report nothing.")


class Complete(OfAttempt):
    result: Any = None


class Fail(OfAttempt):
    error: str = Field("", max_length=100_000)
    traceback: str | None = Field(None, max_length=100_000)
    reason: str | None = Field(None, max_length=200, description="A word for machines.")
    permanent: bool = Field(False, description="It will fail again: no further try.")
    timeout: bool = Field(False, description="It ran for longer than it may.")
    delay_seconds: float | None = Field(
        None, ge=0, le=3.2e9, description="When the next try begins; else its backoff says."
    )
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None


class Release(OfAttempt):
    delay_seconds: float | None = Field(None, ge=0, le=3.2e9, description="Not before; null: at once. It burns no try.")


class SkipIt(OfAttempt):
    reason: str = Field("", max_length=10_000)


class Logs(OfAttempt):
    stdout: str = Field("", max_length=1_000_000)
    stderr: str = Field("", max_length=1_000_000)
    progress: dict[str, Any] | None = None


class WorkerHeartbeat(BaseModel):
    model_config = ConfigDict(extra="forbid")

    worker: Number
    running: Number = Field(0, description="How many it runs now; where `held` is given, that counts.")
    held: list[Held] | None = Field(
        None,
        max_length=10_000,
        description="All that it runs: what it does not name is given back, for a reply that was lost.",
    )


class Outcome(BaseModel):
    """How one attempt has ended: the fields of the route that the outcome is called after."""

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
    accepted: bool = Field(description="False and not busy: the lease is lost, and nothing was changed.")
    busy: bool = Field(
        False, description="Another transaction holds the job's row: nothing was changed, send it again."
    )


class SettledMany(BaseModel):
    settled: list[SettledOne]


class Leave(BaseModel):
    model_config = ConfigDict(extra="forbid")

    worker: Number


class Settled(BaseModel):
    id: UUID
    attempt: int
