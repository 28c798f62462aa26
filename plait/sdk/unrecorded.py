"""Events of a run that are not recorded yet. They are recorded when the handler continues after them, so that a replay sees the same events."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import msgspec

from plait.model.texts import message_of
from plait.sdk.active_step import Step
from plait.sdk.step_delivery import StepDelivery
from plait.sdk.step_errors import MAX_ERROR, encode_error
from plait.store.workflows import StepKey, StepKind

End = tuple[StepKey, StepKind, int, str | None, str | None, str | None, float | None]
"""A step's key and kind; its number, hash, value, error and run time: a checkpoint without its lease."""


class Unrecorded:
    def __init__(self) -> None:
        self.early: list[tuple[StepKey, list[UUID]]] = []
        """Ids of the items that the handler sent before its first step."""
        self.failures: list[Failure] = []
        """Errors of steps that the handler has seen, including recorded errors."""
        self._new: list[Failure] = []
        self._recording: asyncio.Future[Any] | None = None

    def __bool__(self) -> bool:
        return bool(self.early or self._new or self._recording)

    def failed(self, failure: "Failure") -> None:
        self.failures.append(failure)
        if not failure.step.nested:
            self._new.append(failure)

    async def record(self, delivery: StepDelivery, store: Callable[..., Awaitable[None]]) -> None:
        """Record these events. Also waits for the events that another branch is recording, because no step may begin before they are recorded."""
        ends = list(self._take(delivery))
        if ends:
            before = [] if self._recording is None else [self._recording]
            self._recording = asyncio.gather(*before, *(store(*end) for end in ends))
            self._recording.add_done_callback(self._recorded)
        if self._recording is not None:
            await asyncio.shield(self._recording)  # a canceled branch does not stop it

    def _recorded(self, recording: "asyncio.Future[Any]") -> None:
        if self._recording is recording:
            self._recording = None
        if not recording.cancelled():
            recording.exception()  # marks the error as retrieved, because no branch may be waiting for it any more

    def _take(self, delivery: StepDelivery) -> Iterator[End]:
        """The ends to record now."""
        early, self.early = self.early, []
        for key, ids in early:
            delivery.number += 1
            yield key, "call", delivery.number, None, msgspec.json.encode(ids).decode(), None, None
        new, self._new = self._new, []
        for one in new:
            one.recorded = True
            said = encode_error(one.error), message_of(one.error, MAX_ERROR)
            yield one.step.key, one.step.kind, one.number, one.step.hash, *said, one.step.took_s


class Failure:
    """An error of a step that the handler has seen."""

    def __init__(self, error: Exception, step: Step, number: int, *, recorded: bool = False) -> None:
        self.error = error
        self.step = step
        self.number = number
        self.recorded = recorded

    @property
    def seen_by(self) -> list[str]:
        """The branches that have seen the error: the step's own branch, and its ancestors."""
        parts = self.step.branch.path.split(".")
        return ["", *(".".join(parts[:n]) for n in range(1, len(parts) + 1))]

    def caused(self, error: BaseException) -> bool:
        """Whether this failure is the given error, or part of it."""
        if error is self.error:
            return True
        parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        return any(self.caused(part) for part in (*parts, error.__cause__) if part is not None)
