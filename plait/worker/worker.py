"""The worker as a service: it registers, runs until asked to stop, drains, and leaves."""

import asyncio
import contextlib
import os
import platform
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from plait import __version__
from plait.model.errors import InvalidDefinition, PlaitError
from plait.model.states import Ending
from plait.runtime.logging import get_logger
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.sdk.app import Plait
from plait.store import Store
from plait.store.workers import Beat, Claimed, Settlement
from plait.worker.execute import Executor, abandoned
from plait.worker.heartbeat import Heartbeat
from plait.worker.listener import Listener
from plait.worker.outcomes import Finished, ended
from plait.worker.pump import Pump
from plait.worker.run import Run, Stopping
from plait.worker.slots import GIVE_BACK_S, Slots

log = get_logger("worker")

TICK_S = 0.1
STOP_GRACE_S = 1.0
"""How long a handler may take to stop when asked, before its slot is taken from it."""


class Worker:
    def __init__(
        self,
        app: Plait,
        *,
        queues: Mapping[str, int] | None = None,
        concurrency: int = 100,
        processes: int | None = None,
        once: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """`queues`: how many jobs of each to run at once; all that the app's jobs name when not given. `concurrency` bounds the
        worker as a whole. `once`: end when nothing is left to claim."""
        if concurrency < 1 or any(limit < 1 for limit in (queues or {}).values()):
            raise InvalidDefinition("a worker's concurrency is at least 1")
        self._app = app
        self._settings: Settings = app.settings
        named = {definition.queue for definition in app.definitions.values()} | {"default"}
        self._queues = dict(queues) if queues else dict.fromkeys(sorted(named), concurrency)
        self._concurrency = concurrency
        self._once = once
        self._metadata = dict(metadata or {})
        self._executor = Executor(processes=processes or os.cpu_count() or 1)
        self._slots = Slots(self._queues, concurrency, self._start)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._lost = asyncio.Event()
        self.id: int | None = None

    async def run(self, stop: Stop) -> None:
        store = await self._app.store()
        await store.definitions.define([definition.row() for definition in self._app.definitions.values()])
        self._pump = Pump(store, self._slots, poll_s=self._settings.poll, accept=self._accept, canceled=self._cancel)
        async with asyncio.TaskGroup() as group:
            helpers = [group.create_task(self._tick(store))]
            if self._settings.listen:
                helpers.append(group.create_task(Listener(_direct(store, self._settings), self._heard).run()))
            try:
                await self._live(store, stop)
            finally:
                for helper in helpers:
                    helper.cancel()
                await self._executor.close()
                await self._pump.close()

    async def _live(self, store: Store, stop: Stop) -> None:
        """One registration after another: a worker that was declared lost begins anew."""
        while not stop.requested:
            self.id = await self._register(store)
            self._lost.clear()
            heartbeat = Heartbeat(
                store.database, self.id, every_s=self._settings.heartbeat, lease_s=self._settings.lease,
                running=lambda: len(self._slots), beat=self._beaten, lost=self._lost.set,
            )  # fmt: skip
            heartbeat.start()
            try:
                log.info("worker started", worker_id=self.id, queues=self._queues)
                await self._serve(self.id, stop)
                if self._lost.is_set():
                    self._give_up()
                    continue
                await self._drain(self.id, stop)
                await self._pump.flush(self.id)
                with contextlib.suppress(PlaitError):
                    await store.workers.leave(self.id)
                log.info("worker stopped", worker_id=self.id)
                return
            finally:
                await heartbeat.close()

    async def _register(self, store: Store) -> int:
        return await store.workers.register(
            host=platform.node(), pid=os.getpid(), version=__version__, queues=list(self._queues),
            definitions=list(self._app.definitions), lease_s=self._settings.lease,
            metadata={"concurrency": self._concurrency, "python": platform.python_version(), **self._metadata},
        )  # fmt: skip

    async def _serve(self, worker: int, stop: Stop) -> None:
        """Pump until asked to stop, lost, or (once) idle."""
        pumping = asyncio.get_running_loop().create_task(self._pumping(worker))
        waits = [asyncio.get_running_loop().create_task(w) for w in (stop.wait(), self._lost.wait())]
        if self._once:
            waits.append(asyncio.get_running_loop().create_task(self._idle()))
        try:
            await asyncio.wait({pumping, *waits}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*waits, pumping):
                if not task.done():
                    task.cancel()
            results = await asyncio.gather(pumping, *waits, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result

    async def _pumping(self, worker: int) -> None:
        while await self._pump.turn(worker):
            pass
        self._lost.set()

    async def _idle(self) -> None:
        while True:
            await self._pump.idle.wait()
            if not self._slots and not self._pump.unsent:
                return
            self._pump.idle.clear()

    async def _drain(self, worker: int, stop: Stop) -> None:
        """Give back what has not started, let the rest finish; past the grace, or asked again, stop it and give it back too."""
        self._pump.claiming = False
        for run in self._slots.give_back():
            self._settle(run, ended(Ending.RELEASED))
        pumping = asyncio.get_running_loop().create_task(self._pumping(worker))
        try:
            deadline = time.monotonic() + self._settings.grace
            while self._slots.running_count and not self._lost.is_set():
                if stop.hard or time.monotonic() >= deadline:
                    for run in self._slots.running:
                        run.stop(Stopping.RELEASE)
                self._ended.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await self._ended.wait()
        finally:
            pumping.cancel()
            await asyncio.gather(pumping, return_exceptions=True)

    def _accept(self, claimed: list[Claimed]) -> None:
        self._slots.add(Run(one, self._app.definitions[one.definition]) for one in claimed)

    def _start(self, run: Run) -> None:
        run.task = asyncio.get_running_loop().create_task(self._execute(run))
        self._tasks.add(run.task)
        run.task.add_done_callback(self._tasks.discard)

    async def _execute(self, run: Run) -> None:
        finished = await self._executor.execute(run)
        if self._slots.get(run.key) is run:  # else it was given up before it ended: the outcome is decided
            self._end(run, finished)

    def _end(self, run: Run, finished: Finished | None) -> None:
        if finished is not None:
            self._settle(run, finished)
        self._slots.finish(run)
        self._ended.set()
        self._pump.room()

    def _settle(self, run: Run, finished: Finished) -> None:
        job_id, attempt = run.key
        self._pump.settle(Settlement(job_id, attempt, finished.ending, finished.result, finished.detail, run.ran_ms()))

    def _cancel(self, job_id: UUID, attempt: int) -> None:
        """A person asked to cancel this attempt; a negative one is no longer ours, and must stop without a word."""
        run = self._slots.get((job_id, abs(attempt)))
        if run is not None:
            run.stop(Stopping.CANCEL if attempt > 0 else Stopping.LOST)

    def _give_up(self) -> None:
        """The lease is lost: stop every handler, and say nothing of them."""
        log.error(
            "the lease is lost: handlers are stopped, and others run their jobs",
            worker_id=self.id,
            held=len(self._slots),
        )
        for run in self._slots.running:
            run.stop(Stopping.LOST)
        self._slots.clear()
        self._pump.forget()

    async def _tick(self, store: Store) -> None:
        """One clock for all: deadlines, handlers that do not stop, jobs that wait too long, progress."""
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            self._slots.tick()
            for run in self._slots.running:
                if run.stopping is None and run.deadline and now >= run.deadline:
                    run.stop(Stopping.TIMEOUT)
                elif (
                    run.stopping is not None
                    and now >= run.stopping_at + STOP_GRACE_S
                    and run.definition.isolation != "process"
                ):
                    log.warning(
                        "a handler does not stop; its slot is taken from it",
                        job_id=str(run.claimed.job_id),
                        definition=run.claimed.definition,
                    )
                    self._end(run, abandoned(run))
                if run.progress is not None:
                    await self._send_progress(store, run)
            for run in self._slots.give_back(older_than_s=GIVE_BACK_S):
                self._settle(run, ended(Ending.RELEASED))

    async def _send_progress(self, store: Store, run: Run) -> None:
        progress, run.progress = run.progress, None
        job_id, attempt = run.key
        if self.id is None:
            return
        try:
            held = await store.workers.progress(self.id, job_id, attempt, msgspec.json.encode(progress).decode())
        except (PlaitError, TypeError, ValueError) as error:
            log.warning("progress was not stored", job_id=str(job_id), error=str(error))
            return
        if not held and self._slots.get(run.key) is run:
            self._pump.reconcile = True  # it may have ended meanwhile, or been taken from us: find out

    def _heard(self, kind: str, name: str) -> None:
        if (kind == "queue" and (name == "*" or name in self._queues)) or (kind == "cancel" and name == str(self.id)):
            self._pump.look()

    def _beaten(self, beat: Beat) -> None:
        for job_id, attempt in beat.cancels:
            self._cancel(job_id, attempt)
        if beat.running != len(self._slots) + len(self._pump.unsent):
            self._pump.reconcile = True


def _direct(store: Store, settings: Settings) -> Any:
    if settings.direct_url is None:
        return store.database
    return type(store.database)(settings.direct_url)
