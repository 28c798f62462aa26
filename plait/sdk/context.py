"""`current()`: information about the running attempt, for handlers."""

import math
import os
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import msgspec

from plait.model.errors import InvalidArguments, PlaitError
from plait.model.texts import clean, shown
from plait.model.traces import trace_of, traceparent
from plait.runtime.logging import get_logger, tell_with_each_line
from plait.sdk.codec import encode

MAX_MESSAGE = 1_000
MAX_STATE = 65_536


class NoCurrentJob(PlaitError):
    """There is no current job here: call `current()` inside a handler that a worker runs, before the handler ends."""


class Stream(Protocol):
    """A stream of the running job: `current().stream("tokens")`."""

    async def write(self, item: Any) -> None:
        """Append an item: any JSON value of at most 64 KiB. Returns when it is stored and visible to readers."""

    async def close(self) -> None:
        """Close the stream, which ends its readers' loops. By default it is closed when the job is final."""

    def write_sync(self, item: Any) -> None:
        """Like `write`, for threads and `def` handlers."""

    def close_sync(self) -> None:
        """Like `close`, for threads and `def` handlers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The running attempt. `deadline` is the time by which the handler must have finished, in seconds of the monotonic clock."""

    job_id: UUID
    attempt: int
    failed_attempts: int
    max_attempts: int
    tenant_id: UUID
    definition: str
    queue: str
    correlation_id: str | None
    deadline: float
    report: Callable[[dict[str, Any]], None] = field(repr=False)
    open_stream: Callable[[str], Stream] = field(repr=False)
    last_report: Callable[[], Awaitable[tuple[str | None, str | None]]] = field(repr=False)
    stopping: Callable[[], bool] = field(repr=False, default=lambda: False)
    node: str | None = None
    """The node that the worker runs on."""
    worker: int | None = None
    """The worker that runs it; None with isolation="process"."""

    @property
    def logger(self) -> Any:
        """A structured logger whose lines include the job and attempt."""
        return get_logger("job").bind(**self.about())

    @property
    def trace_id(self) -> str:
        """The W3C trace id: the id of the trace in which the job was enqueued, or a new id."""
        return trace_of(self.job_id, self.correlation_id).trace_id

    @property
    def traceparent(self) -> str:
        """The traceparent header for requests that the handler sends."""
        return traceparent(self.job_id, self.attempt, self.correlation_id)

    def about(self) -> dict[str, Any]:
        """The fields that log lines include about the attempt."""
        return {
            "job_id": str(self.job_id),
            "tenant_id": str(self.tenant_id),
            "definition": self.definition,
            "attempt": self.attempt,
            "worker_id": self.worker,
            "trace_id": self.trace_id,
        }

    def should_stop(self) -> bool:
        """Whether the job was canceled, has timed out or must be released. For `def` handlers, which cannot be interrupted."""
        return self.stopping()

    def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """Report progress. This call is cheap: the worker sends the latest value a few times per second."""
        given: dict[str, Any] = {}
        for name, value in (("done", done), ("total", total)):
            if value is not None:
                if type(value) is bool or not _is_count(value):
                    raise InvalidArguments(
                        f"progress: {name} must be a finite number of at least 0, got {shown(value)}"
                    )
                given[name] = value
        if message is not None:
            given["message"] = clean(str(message), MAX_MESSAGE)
        self.report(given)

    def info(self, **values: Any) -> None:
        """Report values by name. In a workflow they are merged upwards: numbers of children are added up, and a parent's own keys take precedence. As cheap as
        `progress()`. Read them with `handle.tree_info()`."""
        for name, value in values.items():
            if not isinstance(value, str | int | float | None) or (
                isinstance(value, float) and not math.isfinite(value)
            ):
                raise InvalidArguments(f"info: {name} must be text, a finite number, true or false, got {shown(value)}")
        self.report({"info": {key: clean(v, MAX_MESSAGE) if isinstance(v, str) else v for key, v in values.items()}})

    def state(self, value: Any) -> None:
        """Set the job's state, which others read with `handle.state()`: any JSON value of at most 64 KiB. It is kept until this or a later
        attempt sets it again, even after the job has ended. As cheap as `progress()`; readers may miss intermediate values."""
        text = encode(value, what="the job's state")
        if len(text.encode()) > MAX_STATE:
            raise InvalidArguments(
                f"the job's state must be JSON of at most {MAX_STATE:,} bytes, got {len(text.encode()):,}"
            )
        self.report({"state": text})

    async def last_progress(self) -> dict[str, Any] | None:
        """The last values of `progress()` and `info()` of an earlier attempt, to continue from there; None if there are none."""
        progress, _ = await self.last_report()
        return None if progress is None else msgspec.json.decode(progress)

    async def last_state(self) -> Any:
        """The last stored state of the job, by this attempt or an earlier one; None if there is none."""
        _, state = await self.last_report()
        return None if state is None else msgspec.json.decode(state)

    def stream(self, name: str) -> Stream:
        """A stream of items that others read while the job runs: `await current().stream("tokens").write(x)`; the caller reads
        `async for x in handle.stream("tokens")`."""
        return self.open_stream(name)


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < math.inf


class Attempt(Protocol):
    """An attempt, as seen by its handler. It creates the `Current` on demand, since most handlers never use it."""

    def current(self) -> Current: ...
    def durable(self) -> Any:
        """A `plait.sdk.durable.Durable`, created when the handler calls its first step."""

    def branches(self) -> Any:
        """The handler's `plait.sdk.branches.Branches`; None if its tasks need not be tracked."""

    def log(self) -> Any:
        """The `plait.worker.attempt_log.AttemptLog`, for lines that the handler prints or logs; None if they are not stored."""


_attempt: ContextVar[Attempt] = ContextVar("plait_attempt")


def current() -> Current:
    """The running attempt, in a handler or a function that it calls. Raises NoCurrentJob elsewhere."""
    return attempt().current()


def attempt() -> Attempt:
    try:
        return _attempt.get()
    except LookupError:
        raise NoCurrentJob from None


def running_attempt(context: Context | None = None) -> Attempt | None:
    """The attempt whose code runs in this context."""
    return _attempt.get(None) if context is None else context.get(_attempt)


def _about() -> dict[str, Any]:
    running = _attempt.get(None)
    return {} if running is None or isinstance(running, _Copy) else running.current().about()


tell_with_each_line(_about)


def ended(job_id: object, attempt: int) -> str:
    """The error for code that outlives its handler."""
    return f"attempt {attempt} of job {job_id} has ended: code that outlives its handler cannot write to the job"


class _Copy:
    """The attempt as seen by a forked copy of a process that runs a handler: only the original process owns the job."""

    def current(self) -> Current:
        raise NoCurrentJob(
            "this process was forked from the process that runs the job: only the original process can use plait"
        )

    def durable(self) -> Any:
        return self.current()

    def branches(self) -> None:
        return None

    def log(self) -> None:
        return None


def _in_copy() -> None:
    if _attempt.get(None) is not None:
        _attempt.set(_Copy())


os.register_at_fork(after_in_child=_in_copy)


def set_attempt(attempt: Attempt) -> None:
    """Set the running attempt. The worker calls this in the context that the handler will run in."""
    _attempt.set(attempt)
