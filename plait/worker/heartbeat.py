"""The worker's lease, renewed from a thread with its own event loop and connection.

A handler that blocks the worker's loop for a short time does not cost the worker its lease; the watchdog sets the limit. The thread also tracks, by the monotonic
clock, how long the lease is certainly valid. When that time has passed, the worker stops its handlers, before other workers claim their jobs.

A worker that cannot make progress must not keep its jobs, so the lease is not renewed while `stalled` returns True.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable

from plait.model.errors import DatabaseUnreachable, NoAnswer, WorkerLost
from plait.runtime.logging import get_logger
from plait.runtime.outage import Retry
from plait.store import Database, Store
from plait.store.workers import Beat
from plait.worker.watchdog import Watchdog

log = get_logger("heartbeat")


class Heartbeat:
    """`beat` and `lost` are called on the loop that created the heartbeat; `running`, `prefetched` and `stalled` are called in its thread."""

    def __init__(
        self,
        database: Database,
        worker: int,
        *,
        every_s: float,
        lease_s: float,
        running: Callable[[], int],
        prefetched: Callable[[], int],
        watchdog: Watchdog,
        beat: Callable[[Beat], None],
        lost: Callable[[], None],
        stalled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._database = database
        self._worker = worker
        self._every_s = every_s
        self._lease_s = lease_s
        self._running = running
        self._prefetched = prefetched
        self._watchdog = watchdog
        self._stalled = stalled
        self._on_beat = beat
        self._on_lost = lost
        self._worker_loop = asyncio.get_running_loop()
        self._own_loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._valid_until = time.monotonic() + lease_s
        self._retry = Retry(
            "heartbeat",
            database.outage,
            longest_s=min(1.0, every_s),
            failing="lease not renewed, retrying",
            recovered="lease renewed again",
        )
        self._thread = threading.Thread(target=self._run, name="plait-heartbeat", daemon=True)

    def start(self) -> None:
        self._watchdog.start()
        self._thread.start()

    async def close(self) -> None:
        await self._watchdog.close()
        with contextlib.suppress(RuntimeError):  # the thread has ended: the lease is lost
            self._own_loop.call_soon_threadsafe(self._stopped.set)
        await asyncio.to_thread(self._thread.join, 5)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._own_loop) as runner:
            runner.run(self._beat_until_stopped())

    async def _beat_until_stopped(self) -> None:
        store, pause = Store(self._database.beside(max_connections=1)), self._every_s
        try:
            while not self._stopped.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._stopped.wait()
                        return
                pause = await self._beat(store)
        finally:
            self._retry.end()
            await store.close()

    async def _beat(self, store: Store) -> float:
        """Send one heartbeat. Returns the delay until the next."""
        sent = time.monotonic()
        if not self._watchdog.may_renew:
            if sent >= self._valid_until:
                self._lost()
            return min(1.0, self._every_s)
        blocked = self._watchdog.blocked
        try:
            self._check_progress()
            # Wait no longer than the lease is certainly valid: a hanging connection must not hide an expired lease.
            async with asyncio.timeout(max(0.01, min(self._lease_s / 2, self._valid_until - sent))):
                beat = await store.workers.heartbeat(
                    self._worker,
                    running=self._running(),
                    prefetched=self._prefetched(),
                    blocked_s=None if blocked is None else blocked.seconds,
                    blocked_job=None if blocked is None else blocked.job_id,
                )
        except WorkerLost:
            self._lost()
            return 0.0
        except Exception as error:  # noqa: BLE001 - after any error: if the thread ended, the lease would expire silently
            pause = self._retry.failed(NoAnswer() if isinstance(error, TimeoutError) else error)
        else:
            self._retry.succeeded()
            self._valid_until = sent + self._lease_s
            self._tell(lambda: self._on_beat(beat))
            return self._every_s
        if time.monotonic() >= self._valid_until:
            self._lost()
        return pause

    def _check_progress(self) -> None:
        if self._stalled():
            raise DatabaseUnreachable(
                "the worker completed no round trip during one lease, so the lease is not renewed"
            )

    def _lost(self) -> None:
        self._stopped.set()
        self._tell(self._on_lost)

    def _tell(self, callback: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the worker's loop is closed
            self._worker_loop.call_soon_threadsafe(callback)
