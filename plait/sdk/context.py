"""`current()`: what a handler may ask about the attempt that it is."""

import math
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from plait.model.errors import InvalidArguments, PlaitError
from plait.model.texts import clean, shown

MAX_MESSAGE = 1_000


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
    node: str | None = None
    """The machine that the worker is on."""

    def should_stop(self) -> bool:
        """Whether the job was canceled, has timed out or must be given back. For `def` handlers, which nothing else can stop."""
        return self.stopping()

    def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is. Cheap: the worker sends the latest word some times a second."""
        given: dict[str, Any] = {}
        for name, value in (("done", done), ("total", total)):
            if value is not None:
                if not math.isfinite(value):
                    raise InvalidArguments(f"progress: {name} is a finite number, not {shown(value)}")
                given[name] = value
        if message is not None:
            given["message"] = clean(str(message), MAX_MESSAGE)
        self.report(given)

    def info(self, **values: Any) -> None:
        """Say what the work comes to, by name. Of a tree it is merged upward: children's numbers add up, a parent's own keys win. Cheap,
        as `progress()` is; read by `handle.tree_info()`."""
        for name, value in values.items():
            if not isinstance(value, str | int | float | None) or (
                isinstance(value, float) and not math.isfinite(value)
            ):
                raise InvalidArguments(f"info: {name} is text, a finite number, true or false, not {shown(value)}")
        self.report({"info": {key: clean(v, MAX_MESSAGE) if isinstance(v, str) else v for key, v in values.items()}})


class Attempt(Protocol):
    """Whoever runs a handler: it makes the `Current` when somebody asks, which most handlers never do."""

    def current(self) -> Current: ...
    def durable(self) -> Any:
        """A `plait.sdk.durable.Durable`: made when the handler first asks for a step."""


_attempt: ContextVar[Attempt] = ContextVar("plait_attempt")


def current() -> Current:
    return attempt().current()


def attempt() -> Attempt:
    try:
        return _attempt.get()
    except LookupError:
        raise NoCurrentJob from None


def set_attempt(attempt: Attempt) -> None:
    """For the worker: in the context that the handler will run in."""
    _attempt.set(attempt)
