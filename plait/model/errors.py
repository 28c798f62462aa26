"""Every error of plait, in one class hierarchy. A class's docstring is its default message; an instance may have another message.

    PlaitError
      ├── DatabaseError           an error that a SQL function raised, by its SQLSTATE
      │     ├── InvalidJob  InvalidId  UnknownTenant  ForeignTenant  QuotaExceeded  IdempotencyConflict
      │     ├── InactiveDefinition  NotFound  IllegalMove  WrongIsolation  WorkerLost  InvalidSetting  DedupeConflict
      │     ├── ChangedMeanwhile  AlreadyExists  Busy
      ├── DatabaseUnreachable (NoAnswer)  SchemaOutdated  UnsafeRole  NotGranted
      ├── NotLeader
      ├── InvalidConfiguration  InvalidArguments  InvalidPayload  InvalidDefinition  InvalidResult  NotSerializable (TooLarge)
      ├── InvalidTrigger  InvalidTemplate  InvalidSchema  InvalidEndpoint  CommandFailed  RequestFailed
      ├── StorageFailed  ArtifactMissing  ArtifactAltered
      ├── LeaseLost  NotDurable  DeterminismError  SignalTimeout  StreamFull  StreamClosed  StateNotReached  UpdateRejected  SubJobFailure  FanOutError
      └── JobFailed               raised by `handle.result()`
            ├── JobCanceled  JobSkipped  JobDeadLettered

`Outcome` exceptions, which a handler raises to decide the outcome of its attempt, are at the end.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from plait.model.duration_syntax import fault_of


class PlaitError(Exception):
    """An error in plait."""

    def __str__(self) -> str:
        if self.args:
            return str(self.args[0])
        return " ".join((self.__doc__ or type(self).__name__).split())


class DatabaseError(PlaitError):
    """The database rejected the call."""

    sqlstate: ClassVar[str] = ""
    detail: str | None = None
    """A code that the SQL function attached, for internal use."""


class InvalidJob(DatabaseError):
    """An option or argument of a job is not valid."""

    sqlstate = "PL001"


class InvalidId(DatabaseError):
    """A job's id must be a new UUIDv7 that was generated within a day of now."""

    sqlstate = "PL002"


class UnknownTenant(DatabaseError):
    """The tenant does not exist. Create it with `plait tenants create`."""

    sqlstate = "PL003"


class ForeignTenant(DatabaseError):
    """This login is bound to its own tenant and cannot act for other tenants."""

    sqlstate = "PL004"


class QuotaExceeded(DatabaseError):
    """The tenant's quota of unfinished jobs or triggers is exhausted. Retry later, or raise `max_queued` or `max_triggers`."""

    sqlstate = "PL005"


class IdempotencyConflict(DatabaseError):
    """This idempotency key was used with a different payload."""

    sqlstate = "PL006"


class InactiveDefinition(DatabaseError):
    """This job definition is inactive: it accepts no new jobs. Activate it with `plait definitions set NAME --activate`."""

    sqlstate = "PL007"


class NotFound(DatabaseError):
    """The job, or another named item, does not exist."""

    sqlstate = "PL008"


class IllegalMove(DatabaseError):
    """The job's status does not allow this change."""

    sqlstate = "PL009"


class WrongIsolation(DatabaseError):
    """This function must be called in a READ COMMITTED transaction."""

    sqlstate = "PL010"


class WorkerLost(DatabaseError):
    """This worker was declared lost, and its jobs were requeued. Register again."""

    sqlstate = "PL011"


class InvalidSetting(DatabaseError):
    """A limit or another setting is not valid."""

    sqlstate = "PL012"


class DedupeConflict(DatabaseError):
    """Another job has this dedupe key. Wait until it is final, then retry."""

    sqlstate = "PL013"


class ChangedMeanwhile(DatabaseError):
    """The item has been changed or created since you read it. Read it again."""

    sqlstate = "PL014"


class AlreadyExists(DatabaseError):
    """The name already exists: change the existing item, or choose another name."""

    sqlstate = "PL015"


class Busy(DatabaseError):
    """Another open transaction locks a key, a quota or a job that this call needs. Commit or roll back that transaction, or retry later."""

    sqlstate = "PL016"


BY_SQLSTATE: dict[str, type[DatabaseError]] = {cls.sqlstate: cls for cls in DatabaseError.__subclasses__()}


class DatabaseUnreachable(PlaitError):
    """The database is not reachable. Check that the server is running and the URL is correct."""


class NoAnswer(DatabaseUnreachable):
    """The database did not answer in time. The statement may have been executed, or may still be running."""


class SchemaOutdated(PlaitError):
    """The database does not have the schema that this version of plait needs. Run `plait migrate`."""


class UnsafeRole(PlaitError):
    """This role bypasses row-level security. Use a login that has the role plait_client, plait_worker or plait_admin."""


class NotGranted(PlaitError):
    """This login has no permission to use plait. Grant it the client role: `plait migrate --grant-client ROLE`."""


class NotLeader(PlaitError):
    """Another process is the leader. Send the request to `leader_url`, if it is known."""

    def __init__(self, leader_url: str | None = None) -> None:
        where = f"use {leader_url}" if leader_url else "the leader's address is not known"
        super().__init__(f"this process is not the leader: {where}")
        self.leader_url = leader_url


class InvalidConfiguration(PlaitError):
    """A setting of this process is not valid: an environment variable, or an argument of Settings."""


class InvalidDefinition(PlaitError):
    """A job or step definition is not valid."""


class InvalidArguments(PlaitError):
    """The arguments do not fit the job's signature."""


class InvalidPayload(PlaitError):
    """A stored payload does not fit the job's signature."""


class InvalidResult(PlaitError):
    """A job's result does not fit the annotation of its function."""


class NotSerializable(PlaitError):
    """A value cannot be stored as JSON."""


class TooLarge(NotSerializable):
    """A payload or result is too large for a row. Set PLAIT_ARTIFACTS to store large values in the artifact store."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


class InvalidTrigger(PlaitError):
    """A trigger is not valid."""


class InvalidTemplate(PlaitError):
    """A template cannot be rendered."""


class InvalidSchema(PlaitError):
    """A JSON Schema is not valid, or exceeds plait's limits."""


class InvalidEndpoint(PlaitError):
    """A webhook endpoint is not valid, or the defaults of a connector are not valid."""


class RequestFailed(PlaitError):
    """Another server did not answer, or asked plait to retry later."""


class CommandFailed(PlaitError):
    """A command exited with a non-zero code."""

    def __init__(self, message: str, *, pid: int, exit_code: int) -> None:
        super().__init__(message)
        self.pid = pid
        self.exit_code = exit_code


class LeaseLost(PlaitError):
    """Another worker holds this job now. Stop, and report no outcome."""


class NotDurable(PlaitError):
    """This works only inside an `async def` handler that a worker runs, in the handler's task or a task that it started. In a `def` handler, use
    `spawn_sync`, `after_sync` and similar functions."""


class StorageFailed(PlaitError):
    """The directory or bucket for artifacts or for the archive is not available."""


class ArtifactMissing(PlaitError):
    """The artifact is no longer in the artifact store."""


class ArtifactAltered(PlaitError):
    """The artifact was changed in the artifact store: its hash differs."""


class DeterminismError(PlaitError):
    """A replayed durable function called a different step than before. Keep the old path behind `version(…)`."""


class StepFailed(PlaitError):
    """A step failed in an earlier run with an error whose type no longer exists. The message contains the name of the type and the error's text."""


class SignalTimeout(PlaitError):
    """The signal did not arrive in time."""


class StreamFull(PlaitError):
    """The job's streams are full. A job can have at most 50 streams, with 100,000 items and 16 MiB of JSON in total. Write fewer or larger items, or pass large values as results."""


class StreamClosed(PlaitError):
    """The stream is closed and accepts no more items."""


class StateNotReached(PlaitError):
    """The job ended before it reached the awaited state."""


class UpdateRejected(PlaitError):
    """The job rejected the update, or ended before it replied."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error that a handler raised, as it is stored: the name of its type (`ValueError`, `shop.CardDeclined`), its message, and the error that caused it."""

    type: str
    message: str
    cause: "ErrorInfo | None" = None


class SubJobFailure(PlaitError):
    """A sub-job failed or was canceled. `error_type`, `error_message` and `cause` describe its handler's error, if it raised one."""

    def __init__(
        self, *, index: int, job_id: UUID, error: str, attempt: int, status: str, failure: ErrorInfo | None = None
    ) -> None:
        super().__init__(f"sub-job {index} {status}: {error}")
        self.index = index
        self.job_id = job_id
        self.error = error
        self.attempt = attempt
        self.status = status
        self.error_type = None if failure is None else failure.type
        self.error_message = None if failure is None else failure.message
        self.cause = None if failure is None else failure.cause


class FanOutError(PlaitError):
    """A fan-out failed. `failures` contains the failed sub-jobs, and `results` contains the results so far."""

    def __init__(
        self,
        *,
        fan_out_id: UUID,
        strategy: str,
        total_count: int,
        failures: "list[SubJobFailure]",
        results: "list[Any]",
        timed_out: bool = False,
    ) -> None:
        failed = f"{len(failures)}/{total_count} sub-jobs failed"
        told = f"fan-out failed: timeout exceeded ({failed})" if timed_out else f"fan-out failed: {failed}"
        # A failure is more informative than a cancellation.
        first = min(failures, key=lambda one: one.status == "canceled", default=None)
        super().__init__(told if first is None else f"{told}; {first}"[:1000])
        self.__cause__ = first
        self.fan_out_id = fan_out_id
        self.strategy = strategy
        self.total_count = total_count
        self.failed_count = len(failures)
        self.failures = failures
        self.results = results
        self.timed_out = timed_out


class JobFailed(PlaitError):
    """The job failed. `error_type`, `error_message` and `cause` describe its handler's error, if it raised one."""

    def __init__(
        self,
        job_id: UUID,
        message: str,
        *,
        reason: str | None = None,
        traceback: str | None = None,
        failure: ErrorInfo | None = None,
    ) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.reason = reason
        self.traceback = traceback
        self.error_type = None if failure is None else failure.type
        self.error_message = None if failure is None else failure.message
        self.cause = None if failure is None else failure.cause


class JobDeadLettered(JobFailed):
    """The job exhausted its attempts and is a dead letter."""


class JobCanceled(JobFailed):
    """The job was canceled."""


class JobSkipped(JobFailed):
    """The job was skipped: its handler raised Skip."""


class Outcome(Exception):
    """Raised by a handler to decide the outcome of its attempt."""


class PermanentError(Outcome):
    """Fail the job now, without further retries."""


class RetryLater(Outcome):
    """Fail this attempt, and retry after `delay`."""

    def __init__(self, delay: float | str | timedelta, message: str = "") -> None:
        super().__init__(message)
        if (fault := fault_of(delay, "RetryLater: delay")) is not None:
            raise InvalidArguments(fault)
        self.delay = delay


class Snooze(Outcome):
    """Run the job again after `delay`. Does not count against `max_attempts`."""

    def __init__(self, delay: float | str | timedelta, message: str = "") -> None:
        super().__init__(message)
        if (fault := fault_of(delay, "Snooze: delay")) is not None:
            raise InvalidArguments(fault)
        self.delay = delay


class Skip(Outcome):
    """Skip the job, which then ends with the status `skipped` and without an error."""
