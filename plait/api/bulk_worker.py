"""The worker of bulk jobs in an API process. It claims bulk jobs and runs them concurrently, with a shared limit on concurrent changes."""

import asyncio
import contextlib
import os
import platform
from typing import Final
from uuid import UUID

import asyncpg

from plait.api.bulk import AT_ONCE, DEFINITION, LOOK_S, run_bulk
from plait.model.errors import PlaitError, WorkerLost
from plait.runtime.logging import get_logger
from plait.runtime.outage import Retry
from plait.runtime.service import Stop
from plait.store import Store
from plait.store.workers import Claimed

log = get_logger("api")

LEASE_S: Final = 30.0
HELD: Final = 128
"""Number of bulk jobs that one process runs concurrently. A bulk job that waits for its rate limit does not delay others."""


class Bulk:
    """The worker of bulk jobs in an API process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.wake = asyncio.Event()
        self._worker: int | None = None
        self._renewed = 0.0
        self._held: dict[UUID, int] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def run(self, stop: Stop) -> None:
        """Run bulk jobs until a stop is requested, then release the running jobs."""
        working = asyncio.ensure_future(self._work())
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)

    async def _work(self) -> None:
        retry = Retry("bulk", self._store.database.outage, failing="bulk jobs cannot run, retrying")
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    pause = LOOK_S
                    try:
                        await self._once(group)
                        retry.succeeded()
                    except WorkerLost:
                        self._worker = None
                    except (PlaitError, asyncpg.PostgresError) as error:
                        pause = max(pause, retry.failed(error))
                    # Not wait_for: on Python 3.11 it swallows a cancellation that arrives just as the wait ends.
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(pause):
                            await self.wake.wait()
                    self.wake.clear()
        finally:
            retry.end()
            if self._worker is not None:
                with contextlib.suppress(PlaitError, asyncpg.PostgresError):
                    await asyncio.shield(self._store.workers.leave(self._worker))

    async def _once(self, group: asyncio.TaskGroup) -> None:
        now = asyncio.get_running_loop().time()
        if self._worker is None:
            self._worker = await self._store.workers.register(
                host=platform.node(),
                pid=os.getpid(),
                version="",
                queues=[DEFINITION],
                definitions=[DEFINITION],
                lease_s=LEASE_S,
                metadata={"concurrency": HELD},
            )
            self._renewed = now
        elif now - self._renewed > LEASE_S / 3:
            # The database releases jobs that this worker lost after an error and does not list here.
            await self._store.workers.heartbeat(self._worker, running=len(self._held), held=list(self._held.items()))
            self._renewed = now
        if (room := HELD - len(self._held)) > 0:
            for job in await self._store.workers.claim(self._worker, DEFINITION, room):
                self._held[job.job_id] = job.attempt
                group.create_task(self._do(self._worker, job))

    async def _do(self, worker: int, job: Claimed) -> None:
        try:
            await self._store.workers.settle(worker, [await run_bulk(self._store, worker, job, self._turns)])
        except Exception as error:  # noqa: BLE001 - after any error the job is released, and the API keeps running
            log.warning(
                "bulk job interrupted, will resume at its last position", job_id=str(job.job_id), error=str(error)
            )
        finally:
            del self._held[job.job_id]
            self.wake.set()
