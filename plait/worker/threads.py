"""Threads for sync handlers. A thread that outlives its timeout cannot be stopped: it is abandoned, and another thread replaces it."""

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

from plait.model.texts import shown
from plait.worker.leftovers import Original, end_copy

_IDLE_S = 30.0
_NOT_CARRIED = (StopIteration, GeneratorExit)
"""Exceptions that a future cannot pass to its awaiter: asyncio rejects StopIteration, and GeneratorExit would close coroutines."""


class Threads:
    """Threads are created as needed, and idle threads end after `_IDLE_S` seconds. All are daemon threads, so none can delay the process's exit."""

    def __init__(self, original: Original) -> None:
        self._original = original
        self._work: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._closed = False

    def submit(
        self, context: contextvars.Context, function: Callable[..., Any], arguments: dict[str, Any]
    ) -> asyncio.Future[Any]:
        """Run a function in a thread. It runs to its end, even if its caller stops waiting."""
        call = _Call(asyncio.get_running_loop(), context, function, arguments)
        with self._lock:
            if self._closed:
                raise RuntimeError("the worker is closed")
            start = self._idle == 0
            if not start:
                self._idle -= 1
        if start:
            threading.Thread(target=self._serve, args=(call,), name="plait-handler", daemon=True).start()
        else:
            self._work.put(call)
        return call.future

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for _ in range(self._idle):
                self._work.put(None)

    def _serve(self, call: "_Call | None") -> None:
        while call is not None:
            call.run(self._original)
            with self._lock:
                if self._closed:
                    return
                self._idle += 1
            try:
                call = self._work.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._idle > 0:
                        self._idle -= 1
                        return
                call = self._work.get()  # a call was just assigned to this thread


class _Call:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: contextvars.Context,
        function: Callable[..., Any],
        arguments: dict[str, Any],
    ) -> None:
        self._loop = loop
        self._context = context
        self._function = function
        self._arguments = arguments
        self.future: asyncio.Future[Any] = loop.create_future()

    def run(self, original: Original) -> None:
        try:
            value, error = self._context.run(self._function, **self._arguments), None
        except BaseException as raised:  # noqa: BLE001 - any error is the handler's outcome
            value, error = None, raised
        if original.copied:
            end_copy(error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the worker has stopped, and the lease is lost
            self._loop.call_soon_threadsafe(self._done, value, error)

    def _done(self, value: Any, error: BaseException | None) -> None:
        if self.future.done():
            return  # timed out or canceled: the outcome is already decided
        if error is None:
            self.future.set_result(value)
        elif issubclass(type(error), _NOT_CARRIED):  # not isinstance: an exception may fake its class, or raise
            self.future.set_exception(RuntimeError(f"the handler raised {shown(error)}"))
        else:
            self.future.set_exception(error)
