"""Every error of plait, in one tree. A class's docstring is its message and its advice; an instance may say more.

    PlaitError
      ├── DatabaseError           an error that a SQL function raised, by its SQLSTATE
      │     ├── InvalidJob  InvalidId  UnknownTenant  ForeignTenant  QuotaExceeded  IdempotencyConflict
      │     ├── InactiveDefinition  NotFound  IllegalMove  WrongIsolation  WorkerLost  InvalidSetting  DedupeConflict
      │     ├── ChangedMeanwhile  AlreadyExists  Busy
      ├── DatabaseUnreachable (NoAnswer)  SchemaOutdated  UnsafeRole  NotGranted
      ├── NotLeader
      ├── InvalidArguments  InvalidPayload  InvalidDefinition  InvalidResult  NotSerializable (TooLarge)
      ├── InvalidTrigger  InvalidTemplate  InvalidSchema  InvalidEndpoint  CommandFailed  RequestFailed
      ├── StorageFailed  ArtifactMissing  ArtifactAltered
      ├── LeaseLost  NotDurable  DeterminismError  SignalTimeout  StreamFull  StreamClosed  StateNotReached  UpdateRejected  SubJobFailure  FanOutError
      └── JobFailed               what `handle.result()` raises
            ├── JobCanceled  JobSkipped  JobDeadLettered

`Outcome` exceptions, which a handler raises to steer what becomes of its job, are at the end.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID


class PlaitError(Exception):
    """Something went wrong in plait."""

    def __str__(self) -> str:
        if self.args:
            return str(self.args[0])
        return " ".join((self.__doc__ or type(self).__name__).split())


class DatabaseError(PlaitError):
    """The database refused the call."""

    sqlstate: ClassVar[str] = ""
    detail: str | None = None
    """As the SQL function put it, for plait's own use."""


class InvalidJob(DatabaseError):
    """A job's argument is not valid."""

    sqlstate = "PL001"


class InvalidId(DatabaseError):
    """A job's id must be a new UUIDv7 made within a day of now."""

    sqlstate = "PL002"


class UnknownTenant(DatabaseError):
    """There is no such tenant. Create it with `plait tenants create`."""

    sqlstate = "PL003"


class ForeignTenant(DatabaseError):
    """This login acts for its own tenant only."""

    sqlstate = "PL004"


class QuotaExceeded(DatabaseError):
    """The tenant has as many unfinished jobs, or triggers, as it may have. Try again later."""

    sqlstate = "PL005"


class IdempotencyConflict(DatabaseError):
    """This idempotency key was used with another payload."""

    sqlstate = "PL006"


class InactiveDefinition(DatabaseError):
    """This definition is inactive: it takes no new jobs."""

    sqlstate = "PL007"


class NotFound(DatabaseError):
    """There is no such job."""

    sqlstate = "PL008"


class IllegalMove(DatabaseError):
    """A job in this state cannot do that."""

    sqlstate = "PL009"


class WrongIsolation(DatabaseError):
    """Call this in a READ COMMITTED transaction."""

    sqlstate = "PL010"


class WorkerLost(DatabaseError):
    """This worker was declared lost: its jobs are others' now. Register again."""

    sqlstate = "PL011"


class InvalidSetting(DatabaseError):
    """A limit or another setting is not valid."""

    sqlstate = "PL012"


class DedupeConflict(DatabaseError):
    """Another job holds this job's dedupe key. Wait until it is final, then retry."""

    sqlstate = "PL013"


class ChangedMeanwhile(DatabaseError):
    """Somebody changed it since you read it, or made it before you. Read it again."""

    sqlstate = "PL014"


class AlreadyExists(DatabaseError):
    """There is one of this name already: change that one, or choose another name."""

    sqlstate = "PL015"


class Busy(DatabaseError):
    """Another open transaction holds a key, a quota or a job that this call needs. Commit or roll back that transaction, or try again later."""

    sqlstate = "PL016"


BY_SQLSTATE: dict[str, type[DatabaseError]] = {cls.sqlstate: cls for cls in DatabaseError.__subclasses__()}


class DatabaseUnreachable(PlaitError):
    """The database cannot be reached. Is the server running, and is the URL right?"""


class NoAnswer(DatabaseUnreachable):
    """The database did not answer in time. The statement may have been executed, or may still be."""


class SchemaOutdated(PlaitError):
    """The database does not have the schema that this version of plait needs. Run `plait migrate`."""


class UnsafeRole(PlaitError):
    """This role would pass by row-level security. Use a login that has the role plait_client, plait_worker or plait_admin."""


class NotGranted(PlaitError):
    """This login may not use plait. Grant it plait's client role: `plait migrate --grant-client ROLE`."""


class NotLeader(PlaitError):
    """Another process leads. Ask that one: `leader_url` is its address, where it is known."""

    def __init__(self, leader_url: str | None = None) -> None:
        where = f"ask {leader_url}" if leader_url else "and its address is not known"
        super().__init__(f"this process does not lead: {where}")
        self.leader_url = leader_url


class InvalidDefinition(PlaitError):
    """A job, or a step, is not defined properly."""


class InvalidArguments(PlaitError):
    """The arguments do not fit the job's signature."""


class InvalidPayload(PlaitError):
    """A stored payload does not fit the job's signature."""


class InvalidResult(PlaitError):
    """A job's result does not fit the annotation of its function."""


class NotSerializable(PlaitError):
    """A value cannot be stored as JSON."""


class TooLarge(NotSerializable):
    """An argument or a result is larger than a row may be. Set PLAIT_ARTIFACTS, and it is kept in the artifact store."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


class InvalidTrigger(PlaitError):
    """A trigger is not defined properly."""


class InvalidTemplate(PlaitError):
    """A template cannot be filled in."""


class InvalidSchema(PlaitError):
    """A JSON Schema is not valid, or asks for more than plait is willing to do."""


class InvalidEndpoint(PlaitError):
    """An endpoint, or what is set for a connector, is not valid."""


class RequestFailed(PlaitError):
    """Another server gave no answer, or one that asks to try again later."""


class CommandFailed(PlaitError):
    """A command ended with another exit code than 0."""

    def __init__(self, message: str, *, pid: int, exit_code: int) -> None:
        super().__init__(message)
        self.pid = pid
        self.exit_code = exit_code


class LeaseLost(PlaitError):
    """Another worker holds this job now. Stop, and report no outcome."""


class NotDurable(PlaitError):
    """This works only inside an `async def` handler that a worker runs, called from its own task or one that it has started. In a `def`
    handler there are `spawn_sync`, `after_sync` and the like."""


class StorageFailed(PlaitError):
    """The directory or bucket of artifacts, or of the archive, can't be used now."""


class ArtifactMissing(PlaitError):
    """What was kept in the artifact store is not there any more."""


class ArtifactAltered(PlaitError):
    """What the artifact store has is not what was put there: its hash differs."""


class DeterminismError(PlaitError):
    """A durable job replays, and its code asks for another step than it did before. Keep the old path behind `version(…)`."""


class StepFailed(PlaitError):
    """A step failed in an earlier run, by an error whose type is not there any more: its name and message."""


class SignalTimeout(PlaitError):
    """The signal did not come in time."""


class StreamFull(PlaitError):
    """The job's streams are full: 50 streams, 100,000 items and 16 MiB of JSON in all. Write fewer or larger items, or pass large values as results."""


class StreamClosed(PlaitError):
    """The stream is closed: nothing can be written to it any more."""


class StateNotReached(PlaitError):
    """The job ended before it came to the state that was waited for."""


class UpdateRejected(PlaitError):
    """The job rejected the update, or ended before it replied."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error that a handler raised, as it is stored: the name of its type (`ValueError`, `shop.CardDeclined`), its message, and the error that caused it."""

    type: str
    message: str
    cause: "ErrorInfo | None" = None


class SubJobFailure(PlaitError):
    """A sub-job failed or was canceled. `error_type`, `error_message` and `cause` tell of the error that its handler raised, if it raised one."""

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
    """A fan-out failed. `failures` tells which sub-jobs did, `results` is what there is."""

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
        super().__init__(f"fan-out failed: timeout exceeded ({failed})" if timed_out else f"fan-out failed: {failed}")
        self.fan_out_id = fan_out_id
        self.strategy = strategy
        self.total_count = total_count
        self.failed_count = len(failures)
        self.failures = failures
        self.results = results
        self.timed_out = timed_out


class JobFailed(PlaitError):
    """The job failed. `error_type`, `error_message` and `cause` tell of the error that its handler raised, if it raised one."""

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
    """The job failed as often as it may."""


class JobCanceled(JobFailed):
    """The job was canceled."""


class JobSkipped(JobFailed):
    """The job's handler decided that there was nothing to do."""


class Outcome(Exception):
    """Raised by a handler to say what becomes of its job."""


class PermanentError(Outcome):
    """The job fails now, whatever tries it has left."""


class RetryLater(Outcome):
    """This try failed; the next one starts after `delay`."""

    def __init__(self, delay: float | str | timedelta, message: str = "") -> None:
        super().__init__(message)
        self.delay = delay


class Snooze(Outcome):
    """Not now: run again after `delay`. Burns no try."""

    def __init__(self, delay: float | str | timedelta, message: str = "") -> None:
        super().__init__(message)
        self.delay = delay


class Skip(Outcome):
    """There is nothing to do: the job ends as skipped."""
