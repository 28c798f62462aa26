"""`current()`: what a handler may ask about the attempt that it is."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from plait.model.errors import PlaitError


class NoCurrentJob(PlaitError):
    """There is no current job here: `current()` works inside a handler that a worker runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The attempt that runs. `deadline` is in seconds of the monotonic clock: how long the handler may still take."""

    job_id: UUID
    attempt: int
    tries: int
    max_attempts: int
    tenant_id: UUID
    definition: str
    queue: str
    correlation_id: str | None
    deadline: float
    logger: Any = field(repr=False)
    report: Callable[[dict[str, Any]], None] = field(repr=False)
    stopping: Callable[[], bool] = field(repr=False, default=lambda: False)

    def should_stop(self) -> bool:
        """Whether the job was canceled, has timed out or must be given back. For `def` handlers, which nothing else can stop."""
        return self.stopping()

    def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is. Cheap: the worker sends the latest word some times a second."""
        given = {"done": done, "total": total, "message": message}
        self.report({key: value for key, value in given.items() if value is not None})


_current: ContextVar[Current] = ContextVar("plait_current")


def current() -> Current:
    try:
        return _current.get()
    except LookupError:
        raise NoCurrentJob from None


def set_current(value: Current) -> None:
    """For the worker: in the context that the handler will run in."""
    _current.set(value)
