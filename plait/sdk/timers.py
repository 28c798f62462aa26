"""Deadlines that a durable function sets with asyncio: `timeout`, `wait_for`, and the `timeout=` of `wait` and `as_completed`.

Each deadline is a step. Its time is fixed by the database's clock when the job first waits. Its expiry is recorded before the handler sees it, and a replay
delivers it at the same place. A deadline is named after the function that sets it, so that deadlines set by libraries do not change the numbering of the
handler's own deadlines. Other timers of a handler, such as `asyncio.sleep`, are not durable and restart in each run.
"""

import asyncio
import sys
from asyncio import tasks as asyncio_tasks
from collections.abc import Callable
from types import FrameType
from typing import Any

from plait.sdk.branches import in_step
from plait.sdk.context import Attempt
from plait.store.workflows import StepEnd, StepKey, Wait

CallAt = Callable[..., asyncio.TimerHandle]


class Timer(asyncio.TimerHandle):
    """The handle of a deadline: the code that set it may cancel it."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(
        self, when: float, callback: Any, args: Any, context: Any, loop: Any, key: StepKey, delay_s: float | None
    ) -> None:
        """`delay_s`: the remaining time, if this process's clock cannot be used; see DurableRuntime."""
        super().__init__(when, callback, args, loop, context)
        self.key = key
        self._delay_s = delay_s
        self.end: StepEnd | None = None
        self.number = 0
        self.ready = False
        self.stored = False
        self.canceled: Callable[[Timer], None] = lambda _: None
        self.real: asyncio.TimerHandle | None = None

    @property
    def wait(self) -> Wait:
        key = self.key
        remaining = self._delay_s
        if remaining is None:
            remaining = max(0.0, self.when() - asyncio.get_running_loop().time())
        return Wait(key.branch, key.name, key.occurrence, key.seq, "timer", None, remaining)

    def cancel(self) -> None:
        if not self.cancelled():
            asyncio.Handle.cancel(
                self
            )  # not TimerHandle.cancel: the loop does not have this timer, and uvloop would fail
            if self.real is not None:
                self.real.cancel()
            self.canceled(self)

    def fire(self) -> None:
        if not self.cancelled():
            self._run()


def follow_timers(loop: asyncio.AbstractEventLoop, owner_of: Callable[..., Attempt | None]) -> Callable[[], None]:
    """Track the deadlines that handlers set on this loop. Returns a function that stops the tracking. Wraps both `call_at` and `call_later`, because
    uvloop's `call_later` does not use `call_at`."""
    before_at, before_later = loop.call_at, loop.call_later

    def durable_timer(when: float, callback: Any, args: Any, context: Any) -> asyncio.TimerHandle | None:
        if not _is_deadline(callback) or in_step.get() is not None:
            return None
        owner, setter = owner_of(), _setter()
        if owner is None or setter is None or owner.branches() is None:
            return None
        timer: asyncio.TimerHandle = owner.durable().timer(setter, before_at, when, callback, args, context)
        return timer

    def call_at(when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        return durable_timer(when, callback, args, context) or before_at(when, callback, *args, context=context)

    def call_later(delay: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        found = durable_timer(loop.time() + delay, callback, args, context)
        return found or before_later(delay, callback, *args, context=context)

    def undo() -> None:
        for name, ours in (("call_at", call_at), ("call_later", call_later)):
            if getattr(loop, name, None) is ours:
                delattr(loop, name)

    loop.call_at, loop.call_later = call_at, call_later  # type: ignore[method-assign,assignment]
    return undo


def _setter() -> str | None:
    """The name of the function that sets the deadline; None if plait itself sets it."""
    frame: FrameType | None = sys._getframe(3)  # noqa: SLF001 - the code that sets the timer
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "asyncio":
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").partition(".")[0] == "plait":
        return None
    return frame.f_code.co_qualname[-100:]


def _is_deadline(callback: Any) -> bool:
    if callback is _release_waiter or isinstance(getattr(callback, "__self__", None), asyncio.Timeout):
        return True
    return getattr(callback, "__qualname__", "") in (
        "as_completed.<locals>._on_timeout",
        "_AsCompletedIterator._handle_timeout",
    )


_release_waiter = getattr(asyncio_tasks, "_release_waiter", None)
