"""The portal for sync code: a thread that runs an event loop with its own connections."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from plait.model.errors import PlaitError

T = TypeVar("T")


class Portal:
    def __init__(self) -> None:
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="plait-portal", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether its thread is running. A forked process has the portal's memory but not its thread, so a call would wait forever."""
        return self._pid == os.getpid() and self._thread.is_alive()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the portal's loop and wait for it."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise PlaitError("the sync function was called on plait's own event loop: use the async function")
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except BaseException:
            coroutine.close()
            raise
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            if left := asyncio.all_tasks(self._loop):
                for task in left:
                    task.cancel()
                self._loop.run_until_complete(asyncio.wait(left))
        finally:
            self._loop.close()
