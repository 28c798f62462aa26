"""The worker's lease, renewed from a thread with a loop and a connection of its own.

A handler that blocks the worker's loop must not cost the worker its lease. The thread also keeps, by the monotonic clock, the
moment up to which the lease surely holds: past it the worker stops its handlers by itself, before others take them over.
"""

import asyncio
import threading
import time
from collections.abc import Callable

from plait.model.errors import DatabaseError, PlaitError, WorkerLost
from plait.runtime.logging import get_logger
from plait.store import Database, Store
from plait.store.workers import Beat

log = get_logger("heartbeat")


class Heartbeat:
    def __init__(
        self,
        database: Database,
        worker: int,
        *,
        every_s: float,
        lease_s: float,
        running: Callable[[], int],
        beat: Callable[[Beat], None],
        lost: Callable[[], None],
    ) -> None:
        self._database = database
        self._worker = worker
        self._every_s = every_s
        self._lease_s = lease_s
        self._running = running
        self._loop = asyncio.get_running_loop()
        self._on_beat = beat
        self._on_lost = lost
        self._stop = threading.Event()
        self._wake: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name="plait-heartbeat", daemon=True)
        self.valid_until = time.monotonic() + lease_s

    def start(self) -> None:
        self._thread.start()

    async def close(self) -> None:
        self._stop.set()
        self._wake()
        await asyncio.to_thread(self._thread.join, 5)

    @property
    def expired(self) -> bool:
        return time.monotonic() > self.valid_until

    def _run(self) -> None:
        asyncio.run(self._beat_until_stopped())

    async def _beat_until_stopped(self) -> None:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        self._wake = wake
        store = Store(
            Database(
                self._database.url,
                session_user=self._database.session_user,
                max_connections=1,
                pooler=self._database.pooler,
            )
        )
        pause = self._every_s
        try:
            while not self._stop.is_set():
                try:
                    async with asyncio.timeout(pause):
                        await woken.wait()
                except TimeoutError:
                    pass
                if self._stop.is_set():
                    return
                pause = await self._beat(store)
        finally:
            await store.close()

    async def _beat(self, store: Store) -> float:
        """One beat; how long to wait for the next."""
        sent = time.monotonic()
        try:
            async with asyncio.timeout(self._lease_s / 2):
                beat = await store.workers.heartbeat(self._worker, running=self._running())
        except WorkerLost:
            self._tell(self._on_lost)
            self._stop.set()
            return self._every_s
        except DatabaseError as error:
            log.error("the heartbeat was refused", error=str(error))
            return min(1.0, self._every_s)
        except (PlaitError, TimeoutError, OSError) as error:
            log.warning("a heartbeat failed", error=str(error) or type(error).__name__)
            if self.expired:
                self._tell(self._on_lost)
                self._stop.set()
            return min(1.0, self._every_s)
        self.valid_until = sent + self._lease_s
        self._tell(lambda: self._on_beat(beat))
        return self._every_s

    def _tell(self, callback: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            self._stop.set()  # the worker's loop is closed
