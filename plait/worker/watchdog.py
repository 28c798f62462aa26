"""Detect handlers that block the worker's event loop.

`async def` handlers share one event loop. A handler that computes, or waits without `await`, blocks the others: their timeouts do not fire,
cancellations do not reach them, and no outcome is recorded. A separate thread checks whether the loop runs. It logs the stack and the job, and
the heartbeat reports them to the database. After a limit (`PLAIT_LOOP_TIMEOUT`; default: the lease) the lease is no longer renewed and the
process ends, so that other workers run its jobs. A process that is not plait's own, such as a test, is not ended; only its lease expires.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any
from uuid import UUID

from plait.runtime.logging import get_logger
from plait.runtime.service import BLOCKED, Stop, end_process, frame_of, stack_of
from plait.runtime.settings import Settings
from plait.sdk.context import running_attempt
from plait.worker.run import Run

log = get_logger("watchdog")

NOTICE_S = 2.0
"""A loop that has not run for this long is blocked."""
_DEBUGGERS = ("bdb", "pdb", "pydevd", "_pydevd", "debugpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """How long the loop has been blocked, and by which job, if known."""

    seconds: float
    job_id: UUID | None


class Watchdog:
    def __init__(
        self, settings: Settings, stop: Stop, *, runs: Callable[[], Iterable[Run]], lost: Callable[[], None]
    ) -> None:
        """`lost`: called on the loop when it runs again after the lease was given up."""
        bound_s = settings.lease if settings.loop_timeout is None else settings.loop_timeout
        self._bound_s = bound_s
        self._runs = runs
        self._ends_process = stop.owns_process
        self._lost = lost
        self._every_s = min(0.5, NOTICE_S / 4, bound_s / 4 or 0.5)
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._closed = threading.Event()
        self._turned = True
        self._still_s = 0.0
        self._job_id: UUID | None = None
        self._noticed = False
        self.may_renew = True
        """False after the loop was blocked for too long. This is an attribute because it is read for every job."""
        self._thread = threading.Thread(target=self._watch, name="plait-watchdog", daemon=True)

    def start(self) -> None:
        self._guard_stop()
        self._thread.start()

    async def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(AttributeError):
            del self._loop.stop
        await asyncio.to_thread(self._thread.join, 5)

    @property
    def blocked(self) -> Blocked | None:
        """The state that the heartbeat reports."""
        return Blocked(seconds=self._still_s, job_id=self._job_id) if self._noticed else None

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._closed.wait(self._every_s):
            now = time.monotonic()
            # If this thread itself was delayed (a suspended machine, no CPU), the loop could not run either, so this delay does not count.
            passed, before = min(now - before, 2 * self._every_s), now
            if self._turned:
                if self._noticed:
                    log.warning("event loop running again", blocked_s=round(self._still_s, 1), job_id=self._job_name())
                self._still_s, self._noticed, self._job_id, self._turned = 0.0, False, None, False
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._turn)
                continue
            if self._is_debugged():
                continue
            self._still_s += passed
            if not self._noticed and self._still_s >= min(NOTICE_S, self._bound_s or NOTICE_S):
                self._notice()
            if self._bound_s and self._still_s >= self._bound_s and self.may_renew:
                self._give_up()

    def _turn(self) -> None:
        """Record that the loop runs. Called on the loop."""
        self._turned = True
        if not self.may_renew:
            self._lost()

    def _notice(self) -> None:
        run = self._blocker()
        self._job_id, self._noticed = None if run is None else UUID(bytes=run.claimed.job_id.bytes), True
        log.error(
            "event loop blocked by a handler: use `await`, a `def` handler or isolation='process'",
            blocked_s=round(self._still_s, 1),
            stack=stack_of(self._loop_thread),
            **_about(run),
        )

    def _give_up(self) -> None:
        self.may_renew = False
        said = "event loop blocked for too long: the lease is not renewed"
        about = {"blocked_s": round(self._still_s, 1), "bound_s": self._bound_s, **_about(self._blocker())}
        if self._ends_process:
            end_process(BLOCKED, f"{said}, and the process ends", **about)
        log.critical(said, **about)

    def _blocker(self) -> Run | None:
        """The run whose code blocks the loop, as far as it can be determined."""
        task = asyncio.current_task(self._loop)
        if task is None:
            return None
        context = getattr(task, "get_context", lambda: None)()  # Python 3.12
        found = None if context is None else running_attempt(context)
        if isinstance(found, Run):
            return found
        with contextlib.suppress(RuntimeError):  # the runs changed during the iteration, so the loop is running
            for run in self._runs():
                if run.task is task:
                    return run
        return _run_in(frame_of(self._loop_thread))

    def _job_name(self) -> str | None:
        return None if self._job_id is None else str(self._job_id)

    def _is_debugged(self) -> bool:
        frame = frame_of(self._loop_thread)
        while frame is not None:
            if str(frame.f_globals.get("__name__", "")).split(".")[0].startswith(_DEBUGGERS):
                return True
            frame = frame.f_back
        return False

    def _guard_stop(self) -> None:
        """Replace `loop.stop()`, which would end all other handlers if a handler called it."""
        stop = self._loop.stop

        def guarded() -> None:
            run = running_attempt()
            if not isinstance(run, Run):
                stop()
            elif self._ends_process:
                end_process(BLOCKED, "a handler stopped the event loop: the process ends", **_about(run))
            else:
                raise RuntimeError("a handler must not stop the worker's event loop")

        with contextlib.suppress(AttributeError):  # a loop that cannot be guarded
            self._loop.stop = guarded  # type: ignore[method-assign]


def _run_in(frame: FrameType | None) -> Run | None:
    """The run in the nearest frame of the executor."""
    while frame is not None:
        if isinstance(run := frame.f_locals.get("run"), Run):
            return run
        frame = frame.f_back
    return None


def _about(run: Run | None) -> dict[str, Any]:
    return {} if run is None else run.current().about()
