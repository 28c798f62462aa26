"""The start/stop contract of a service, and the process that runs services until it gets a signal.

A service runs until a stop is requested, then finishes its work and returns. At the second request it stops immediately: it releases its
jobs and returns. One process may run several services; if one of them fails, all are stopped.
"""

import asyncio
import contextlib
import math
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Sequence
from types import FrameType
from typing import Any, Final, NoReturn, Protocol, TypeVar

from plait.runtime.logging import get_logger

log = get_logger("service")

T = TypeVar("T")

BLOCKED: Final = 70
"""The exit code of a process whose event loop was blocked or stopped by a handler."""
LAST_S: Final = 15.0
"""How long a process may take to release its jobs and close, after the grace period or the second signal."""
LOOP_S: Final = 3.0
"""The same limit for a process whose event loop is blocked, because it cannot release its jobs."""
_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)
_HANDLED: Final = 0x80


class Stop:
    """A request to stop: first `gracefully`, then `now`."""

    def __init__(self) -> None:
        self._gracefully = asyncio.Event()
        self._now = asyncio.Event()
        self.owns_process = False
        """Whether the process runs only plait's services, so that it may be ended if they cannot continue."""

    def request(self) -> None:
        if self._gracefully.is_set():
            self._now.set()
        self._gracefully.set()

    @property
    def requested(self) -> bool:
        return self._gracefully.is_set()

    @property
    def hard(self) -> bool:
        return self._now.is_set()

    async def wait(self) -> None:
        await self._gracefully.wait()

    async def wait_hard(self) -> None:
        await self._now.wait()

    async def wait_for(self, seconds: float) -> bool:
        """Sleep until the time is up or a stop is requested; returns whether it was requested."""
        try:
            async with asyncio.timeout(seconds):
                await self._gracefully.wait()
        except TimeoutError:
            return False
        return True


class Service(Protocol):
    async def run(self, stop: Stop) -> None: ...


async def run_services(services: Sequence[Service], stop: Stop) -> None:
    """Run services until `stop`. When one of them ends or fails, the others are stopped."""

    async def run_one(service: Service) -> None:
        try:
            await service.run(stop)
        finally:
            if not stop.requested:
                stop.request()

    async with asyncio.TaskGroup() as group:
        for service in services:
            group.create_task(run_one(service))


class Signals:
    """While entered, SIGTERM and SIGINT start a graceful shutdown; a second signal stops immediately. Works as PID 1 too, since it installs handlers.

    A thread reads the signals, so they work while the event loop is blocked. The process always ends: soon after the second signal, or
    soon after the grace period. If its services do not stop by then, `os._exit` ends it.
    """

    def __init__(self, stop: Stop, *, grace_s: float = 30.0, last_s: float = LAST_S) -> None:
        """`grace_s`: how long the services may take to stop after the first signal; `last_s`: how long the process may take to end after that."""
        self._stop = stop
        self._grace_s = grace_s
        self._last_s = last_s
        self.received: signal.Signals | None = None

    def __enter__(self) -> "Signals":
        self._loop = asyncio.get_running_loop()
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._before = {number: signal.signal(number, self._handle) for number in _STOPPING}
        self._wakeup_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="plait-signals", daemon=True)
        self._thread.start()
        self._stop.owns_process = True
        _entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _entered.remove(self)
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self.received is None:  # otherwise the thread watches until the process ends
            self._writer.close()
            self._thread.join(5)
            self._reader.close()

    @property
    def exit_code(self) -> int:
        return 0 if self.received is None else 128 + self.received

    def _handle(self, number: int, _frame: object) -> None:
        """Used in addition to the wakeup descriptor, which other code may replace, as asyncio does when a signal handler is added to its loop."""
        with contextlib.suppress(OSError):
            self._writer.send(bytes([number | _HANDLED]))

    def _watch(self) -> None:
        """Read the signals, and end the process if it does not stop in time. Runs in a separate thread."""
        by_descriptor: list[signal.Signals] = []
        by_handler: list[signal.Signals] = []
        told, guard = 0, _Guard(self._loop, self._last_s)
        while True:
            ready, _, _ = select.select([self._reader], [], [], guard.wait_s())
            if ready:
                data = self._reader.recv(256)
                if not data:
                    return  # closed
                for byte in data:
                    if (number := byte & ~_HANDLED) in _STOPPING:
                        (by_handler if byte & _HANDLED else by_descriptor).append(signal.Signals(number))
            # Each signal arrives on both paths, unless one of them is blocked.
            for received in max(by_descriptor, by_handler, key=len)[told:]:
                told += 1
                self.received = received
                if told > 1:
                    log.info("stopping immediately", signal=received.name)
                else:
                    log.info("stopping", signal=received.name, grace_s=self._grace_s)
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._stop.request)
                guard.end_after(0.0 if told > 1 else self._grace_s)
            if guard.is_late():
                end_process(self.exit_code, "the process did not stop in time and is ended now")


_entered: list[Signals] = []


def _in_copy() -> None:
    """Reset signal handling in a forked copy, which must not forward its signals to this process."""
    if _entered:
        signal.set_wakeup_fd(-1)
        for number in _STOPPING:
            signal.signal(number, signal.SIG_DFL)


os.register_at_fork(after_in_child=_in_copy)


class _Guard:
    """When to end a stopping process: `last_s` after its deadline, or LOOP_S after it if its event loop is blocked."""

    def __init__(self, loop: asyncio.AbstractEventLoop, last_s: float) -> None:
        self._loop = loop
        self._last_s = last_s
        self._ask_at = self._answer_by = self._end_at = math.inf
        self._turns = threading.Event()

    def end_after(self, seconds: float) -> None:
        self._ask_at = min(self._ask_at, time.monotonic() + seconds)
        self._end_at = min(self._end_at, self._ask_at + self._last_s)

    def wait_s(self) -> float | None:
        until = min(self._ask_at, self._answer_by, self._end_at)
        return None if until == math.inf else max(0.0, until - time.monotonic())

    def is_late(self) -> bool:
        now = time.monotonic()
        if now >= self._ask_at:
            self._ask_at, self._answer_by = math.inf, now + LOOP_S
            try:
                self._loop.call_soon_threadsafe(self._turns.set)
            except RuntimeError:  # the loop is closed: only threads are left
                self._turns.set()
        if self._turns.is_set():
            self._answer_by = math.inf
        return now >= min(self._answer_by, self._end_at)


def end_process(code: int, why: str, **about: object) -> NoReturn:
    """End this process immediately, whatever its loop and threads do. The log has the stack of the main thread."""

    def tell() -> None:
        log.critical(why, exit_code=code, stack=stack_of(threading.main_thread().ident), **about)
        sys.stdout.flush()
        sys.stderr.flush()

    telling = threading.Thread(target=tell, daemon=True)  # the main thread may hold the lock of a stream
    telling.start()
    telling.join(2)
    os._exit(code)


def stack_of(thread: int | None) -> str:
    """The current stack of a thread."""
    frame = frame_of(thread)
    return "" if frame is None else "".join(traceback.format_stack(frame, limit=50))


def frame_of(thread: int | None) -> FrameType | None:
    return None if thread is None else sys._current_frames().get(thread)  # noqa: SLF001 - documented, for debuggers


def run_to_end(coroutine: Coroutine[Any, Any, T], *, loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> T:
    """Like `asyncio.run`. If code stops the loop while services run, the process ends before any outcome is recorded."""
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        main: list[asyncio.Task[Any] | None] = []

        async def run() -> T:
            main.append(asyncio.current_task())
            return await coroutine

        try:
            return runner.run(run())
        except RuntimeError:
            if main and main[0] is not None and not main[0].done() and _entered:
                end_process(BLOCKED, "the event loop was stopped by code that runs on it: it must not call loop.stop()")
            raise
