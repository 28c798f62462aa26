"""Sends the progress of running handlers: the latest value of each, a few times per second."""

import asyncio
from collections.abc import Callable
from typing import Final

import asyncpg

from plait.model.errors import DatabaseUnreachable, PlaitError
from plait.runtime.logging import get_logger
from plait.sdk.durable_runtime import DurableRuntime
from plait.worker.run import Run
from plait.worker.slots import Slots

log = get_logger("worker")

EVERY_S: Final = 0.25


class ProgressReports:
    def __init__(self, runtime: DurableRuntime, slots: Slots, *, worker: Callable[[], int | None]) -> None:
        self._runtime = runtime
        self._slots = slots
        self._worker = worker
        self.lease_in_doubt: Callable[[], None] = lambda: None
        """Called if the database rejects progress of a run that this worker still has."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            for run in self._slots.running:
                if run.has_news:
                    await self.send(run)

    async def send(self, run: Run) -> None:
        """Send the handler's latest progress; one at a time, so that an older value never overwrites a newer one."""
        job_id, attempt = run.key
        assert run.reporting is not None
        async with run.reporting:
            news: tuple[str | None, str | None] = (None, None)
            worker = self._worker()
            try:
                news = run.take_news()
                if news == (None, None) or worker is None:
                    return
                held = await self._runtime.store.workers.progress(worker, job_id, attempt, *news)
            except DatabaseUnreachable:
                run.send_again(*news)
                return
            except (PlaitError, asyncpg.PostgresError, TypeError, ValueError) as error:
                log.warning("progress not stored", **run.current().about(), error=str(error))
                return
        if not held and run in self._slots:
            self.lease_in_doubt()
