"""Leader election as a service. The leader renews its lease and runs the duties; the other processes keep trying to become the leader."""

import asyncio
import time
from collections.abc import Sequence
from typing import Protocol

import asyncpg

from plait.leader.announce import Announce
from plait.leader.archive import Archive
from plait.leader.count import Count, CountFailures, RollUp
from plait.leader.dispatch import Dispatch
from plait.leader.fire import Fire
from plait.leader.metrics import LeaderMetrics
from plait.leader.promote import Promote
from plait.leader.prune import Prune
from plait.leader.rescue import Rescue
from plait.leader.resume import ReleaseBuilds, Resume, ResumeMissed
from plait.leader.sweep import Sweep
from plait.model.errors import PlaitError
from plait.runtime.logging import get_logger
from plait.runtime.object_storage import open_objects
from plait.runtime.outage import Retry
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.sdk.app import Plait
from plait.store import Store
from plait.store.leader import Retention

log = get_logger("leader")

LEASE_S = 10.0


class Duty(Protocol):
    async def run(self, store: Store) -> float:
        """Run the duty once; returns the seconds until the next run."""


class Leader:
    def __init__(
        self,
        app: Plait,
        *,
        lease_s: float | None = None,
        retention: Retention | None = None,
        duties: Sequence[Duty] | None = None,
        holder: str | None = None,
        metrics: LeaderMetrics | None = None,
    ) -> None:
        """`holder`: the name of this process in elections. The app's worker uses the same name, so that it can run leader jobs."""
        self._app = app
        # At most half of a worker's lease: a process that dies may have been both worker and leader, and its jobs wait for the next leader.
        self._lease_s = min(LEASE_S, app.settings.lease / 2) if lease_s is None else lease_s
        self._metrics = metrics or LeaderMetrics()
        self._duties = duties or (
            Promote(),
            Resume(),
            ResumeMissed(),
            ReleaseBuilds(app.settings.build_fallback),
            Fire(),
            Dispatch(),
            Rescue(),
            _prune(app.settings, retention),
            Count(),
            CountFailures(),
            RollUp(),
            Announce(),
            *([Sweep(objects)] if (objects := app.target.objects(app.settings.artifacts)) else []),
        )
        self._metrics.prune = next((duty for duty in self._duties if isinstance(duty, Prune)), None)
        self._holder = holder or app.holder

    async def run(self, stop: Stop) -> None:
        store = await self._app.store()
        working: asyncio.Task[None] | None = None
        retry = Retry(
            "leader",
            store.database.outage,
            failing="leader election failed, retrying",
            recovered="leader election works again",
        )
        try:
            while not stop.requested:
                leads, pause = await self._elect(store, retry)
                self._metrics.lead(leads)
                if working is not None and working.done():
                    await _cancel(working)
                    working = None
                if leads and working is None:
                    working = asyncio.get_running_loop().create_task(self._work(store))
                elif not leads and working is not None:
                    await _cancel(working)
                    working = None
                if await stop.wait_for(pause):
                    break
        finally:
            retry.end()
            self._metrics.lead(False)
            if working is not None:
                await self._resign(store)  # may take a while; the duties continue meanwhile
                await _cancel(working)

    async def _elect(self, store: Store, retry: Retry) -> tuple[bool, float]:
        """Whether this process leads, and the seconds until the next election."""
        pause = self._lease_s / 3
        try:
            leads = (await store.leader.elect(self._holder, lease_s=self._lease_s)).leads
        except (PlaitError, asyncpg.PostgresError) as error:
            return False, min(pause, retry.failed(error))
        retry.succeeded()
        return leads, pause

    async def _resign(self, store: Store) -> None:
        """Resign as soon as this process's leader jobs have ended or were released. Before that, another leader would run them again."""
        patience = time.monotonic() + self._app.settings.grace + self._lease_s
        try:
            while (await store.leader.elect(self._holder, lease_s=self._lease_s, resign=True)).leads:
                if time.monotonic() > patience:
                    return
                await asyncio.sleep(0.05)
        except (PlaitError, asyncpg.PostgresError) as error:
            log.warning("could not resign as the leader; its lease will expire", error=str(error))

    async def _work(self, store: Store) -> None:
        log.info("leading", holder=self._holder)
        async with asyncio.TaskGroup() as group:
            for duty in self._duties:
                group.create_task(_repeat(duty, store, self._metrics))


def _prune(settings: Settings, retention: Retention | None) -> Prune:
    archive = Archive(open_objects(settings.archive), settings.archive_format) if settings.archive else None
    return Prune(retention or Retention(**settings.retention()), archive)


async def _repeat(duty: Duty, store: Store, metrics: LeaderMetrics) -> None:
    name = type(duty).__name__
    retry = Retry(f"leader.{name.lower()}", store.database.outage, failing="leader duty failed, retrying")
    try:
        while True:
            began, failed = time.monotonic(), True
            try:
                pause = await duty.run(store)
                failed = False
                retry.succeeded()
            except Exception as error:  # noqa: BLE001 - an error of one duty must not stop the others
                pause = retry.failed(error)
            metrics.duty(name, time.monotonic() - began, failed=failed)
            await asyncio.sleep(pause)
    finally:
        retry.end()


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    for result in await asyncio.gather(task, return_exceptions=True):
        if isinstance(result, Exception) and not isinstance(result, asyncio.CancelledError):
            log.error("leader duties failed", error=str(result))
