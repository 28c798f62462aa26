"""The worker as a service: it registers, runs until a stop is requested, drains, and deregisters."""

import asyncio
import os
import time
from collections.abc import Collection, Coroutine, Iterable, Mapping
from typing import Any
from uuid import UUID

from plait.model.errors import InvalidDefinition
from plait.model.states import AttemptOutcome
from plait.runtime.logging import get_logger
from plait.runtime.service import Stop
from plait.sdk.app import Plait
from plait.sdk.artifacts import is_reference
from plait.sdk.branches import follow_tasks
from plait.sdk.context import running_attempt
from plait.sdk.dependencies import is_link
from plait.sdk.durable_runtime import DurableRuntime
from plait.sdk.timers import follow_timers
from plait.store import Store
from plait.store.database import briefly
from plait.store.listener import Listener
from plait.store.workers import Beat, Claimed, Settlement
from plait.telemetry import tracing
from plait.worker.cached_handlers import CachedHandlers
from plait.worker.draining import drain
from plait.worker.execute import Executor, abandoned, log_failure
from plait.worker.finished_jobs import FinishedJobs
from plait.worker.heartbeat import Heartbeat
from plait.worker.job_logs import JobLogs
from plait.worker.log_capture import capture
from plait.worker.metrics import WorkerMetrics
from plait.worker.node import node_name
from plait.worker.outcomes import Finished, ended, exited, failed
from plait.worker.processes import Processes
from plait.worker.progress import ProgressReports
from plait.worker.pump import Pump
from plait.worker.registration import Registration
from plait.worker.run import Run, Stopping
from plait.worker.schemas import Schemas
from plait.worker.slots import GIVE_BACK_S, Slots
from plait.worker.tracing import TracedProcesses, traced
from plait.worker.watchdog import Watchdog

log = get_logger("worker")

TICK_S = 0.1
STOP_GRACE_S = 1.0
"""How long a handler may take to stop after a request, before it loses its slot."""
FLUSH_S = 5.0
"""How long a stopping worker tries to record its last outcomes if the database does not answer."""
LEAVE_S = 2.0
"""How long a stopping worker tries each of its other writes."""


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
        node: str | None = None,
        labels: Mapping[str, str] | None = None,
        metrics: WorkerMetrics | None = None,
        except_jobs: Collection[str] = (),
        build: str | None = None,
    ) -> None:
        """`queues`: the concurrency of each queue. Default: all queues of the app's jobs. `concurrency` limits the worker as a whole. `once`: exit
        when no job is left to claim. `node`: the name of the worker's node. Default: the host name."""
        if concurrency < 1 or any(limit < 1 for limit in (queues or {}).values()):
            raise InvalidDefinition("concurrency must be at least 1")
        self._app = app
        self._settings = app.settings
        named = {definition.queue for definition in app.definitions.values()} | {"default"}
        self._serves_all = not queues
        self._queues = dict(queues) if queues else dict.fromkeys(sorted(named), concurrency)
        self._concurrency = concurrency
        self._once = once
        self._node = node_name(node or app.settings.node)
        self._registration = Registration(
            app,
            queues=list(self._queues),
            node=self._node,
            labels=labels,
            metadata={"concurrency": concurrency, **(metadata or {})},
            except_jobs=except_jobs,
            build=build or app.settings.build,
        )
        tracer = tracing.tracer()
        self._definitions = app.definitions if tracer is None else traced(app.definitions, tracer)
        self._released_late = 0
        self._cached = CachedHandlers.of(app.settings, free_slot=lambda run: self._end(run, None))
        self._schemas = Schemas(app.definitions)
        at_once = processes or os.cpu_count() or 1
        self._executor = Executor(
            processes=Processes(at_once) if tracer is None else TracedProcesses(at_once, tracer),
            ended=self._ended,
            unfit=self._schemas.unfit,
            continues=self._cached.start,
        )
        self._slots = Slots(self._queues, concurrency, self._executor.start)
        self._let_go: set[asyncio.Task[None]] = set()
        self._lost = asyncio.Event()
        self._empty = asyncio.Event()
        self._stalled = False
        self._metrics = metrics
        self.id: int | None = None

    async def run(self, stop: Stop) -> None:
        store = await self._app.store()
        if not await self._registration.prepare(store, self._learn, stop):
            return
        artifacts = await self._app.artifacts()
        self._executor.artifacts = artifacts
        self._runtime = DurableRuntime(
            store, self._app.definitions, artifacts, node=self._node, real_time=not self._once
        )
        self._progress = ProgressReports(self._runtime, self._slots, worker=lambda: self.id)
        self._finished = FinishedJobs()
        self._runtime.settings, self._runtime.flush = self._settings, self._progress.send
        if not self._once:
            self._runtime.keep = self._cached.keep
        loop = asyncio.get_running_loop()
        unfollow = [follow_tasks(loop, running_attempt), follow_timers(loop, running_attempt)]
        self._pump = Pump(
            store,
            self._slots,
            poll_s=self._settings.poll,
            accept=self._accept,
            cancel=self._cancel,
            gone=self._gone,
            metrics=self._metrics,
        )
        helpers: list[Coroutine[Any, Any, None]] = [
            self._tick(),
            self._progress.run(),
            self._finished.run(),
            self._schemas.keep(store),
        ]
        if self._settings.job_logs != "off":
            self._runtime.job_logs = JobLogs(store, self._settings.job_logs)
            helpers.append(self._runtime.job_logs.run())
            unfollow.append(capture())
        self._progress.lease_in_doubt = self._check_leases
        listener: Listener | None = None
        if self._settings.listen:
            listener = Listener(store.database.beside(url=self._settings.direct_url), self._heard)
            helpers.append(listener.run())
        if self._metrics is not None:
            self._metrics.slots, self._metrics.listener = self._slots, listener
            helpers.append(self._metrics.sample_waits(store))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(helper) for helper in helpers]
            try:
                while not stop.requested and not await self._live(store, stop):
                    pass
            finally:
                for task in tasks:
                    task.cancel()
                self._cached.clear()
                await self._executor.close()
                for undo in unfollow:
                    undo()
                await self._runtime.close()
                await self._pump.close()

    async def _learn(self, store: Store) -> None:
        """Read operators' overrides of this worker's definitions."""
        moved = await store.definitions.definition_queues(list(self._app.definitions)) if self._serves_all else []
        self._queues |= dict.fromkeys(set(moved) - set(self._queues), self._concurrency)  # queues from overrides
        self._registration.queues = list(self._queues)
        self._slots = Slots(self._queues, self._concurrency, self._executor.start)
        await self._schemas.learn(store)

    async def _live(self, store: Store, stop: Stop) -> bool:
        """Run under one registration. Returns False if this worker was declared lost and must register again."""
        worker = self.id = await self._registration.register(store, stop)
        if worker is None:
            return True
        self._lost.clear()
        self._runtime.worker = worker
        self._watchdog = Watchdog(self._settings, stop, runs=lambda: self._slots.running, lost=self._lost.set)
        heartbeat = Heartbeat(
            store.database,
            worker,
            every_s=self._settings.heartbeat_s,
            lease_s=self._settings.lease,
            running=lambda: self._slots.running_count,
            prefetched=lambda: self._slots.prefetched_count,
            watchdog=self._watchdog,
            beat=self._beaten,
            lost=self._lost.set,
            stalled=lambda: self._stalled,
        )
        heartbeat.start()
        log.info("worker started", worker_id=worker, queues=self._queues)
        released = 0
        try:
            async with asyncio.TaskGroup() as group:
                pumping = group.create_task(self._pump.run(worker))
                if await self._until_stopped(stop, pumping):
                    released = await self._drain(stop)
                    self._pump.stop()
                    lost = group.create_task(self._lost.wait())
                    await asyncio.wait({pumping, lost}, timeout=FLUSH_S, return_when=asyncio.FIRST_COMPLETED)
                pumping.cancel()
                self._lost.set()  # wakes all tasks that wait for it
            if pumping.cancelled() or not pumping.result():
                self._give_up(worker)
                if stop.requested:
                    await briefly(self._registration.settle_late(store), LEAVE_S)
                return stop.requested
            await briefly(
                store.workers.leave(worker, released=released + self._released_late), FLUSH_S
            )  # otherwise the lease expires
            log.info("worker stopped", worker_id=worker, released=released)
            return True
        finally:
            await heartbeat.close()

    async def _until_stopped(self, stop: Stop, pumping: "asyncio.Task[bool]") -> bool:
        """Run until there is a reason to drain. Returns False if the lease is lost, so that there is nothing to drain."""
        reasons = [stop.wait(), self._lost.wait()]
        if self._once:
            reasons.append(self._pump.idle.wait())
        waits = [asyncio.ensure_future(reason) for reason in reasons]
        try:
            await asyncio.wait({pumping, *waits}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return not self._lost.is_set() and not pumping.done()

    async def _drain(self, stop: Stop) -> int:
        """Graceful shutdown: release jobs that have not started, and let the others finish. Returns how many jobs it has released."""
        self._pump.claiming, self._released_late = False, 0
        waiting = self._slots.give_back()
        self._give_back(waiting)
        if self.id is not None:
            store = await self._app.store()
            # Otherwise its node would take part in new node jobs until the worker has left.
            await briefly(store.workers.drain(self.id), LEAVE_S)
        grace_s, empty, lost = self._settings.grace, self._empty, self._lost
        return len(waiting) + await drain(self._slots, stop, worker=self.id, grace_s=grace_s, empty=empty, lost=lost)

    def _accept(self, claimed: list[Claimed], wanted: dict[str, int]) -> None:
        now, definitions, runtime = time.monotonic(), self._definitions, self._runtime
        runs = [Run(one, definitions[one.definition], (one.job_id, one.attempt), now, runtime) for one in claimed]
        if self._cached:
            runs = [self._cached.claim(run.claimed) or run for run in runs]
        if self._schemas:
            runs = self._refuse_unfit(runs)
        if self._pump.claiming:
            self._slots.add(runs, wanted)
            return
        self._released_late += len(runs)
        self._give_back(runs)  # claimed while the stop was requested

    def _give_back(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self._cached.give_back(run)
            self._settle(run, ended(AttemptOutcome.RELEASED))

    def _keep(self, run: Run) -> None:
        """Keep the task of a run that leaves its slot before it has ended: it must not be garbage-collected."""
        run.over = True
        if run.task is not None and not run.task.done():
            self._let_go.add(run.task)
            run.task.add_done_callback(self._let_go.discard)

    def _refuse_unfit(self, runs: list[Run]) -> list[Run]:
        """The runs whose payloads fit their schemas; the others are never started."""
        fit = []
        for run in runs:
            payload = run.claimed.payload
            if (wrong := self._schemas.unfit(run.claimed)) and not (is_reference(payload) or is_link(payload)):
                finished = failed(wrong, reason="bad_payload", permanent=True)
                self._cached.give_back(run)
                self._settle(run, finished)
                log_failure(run, finished)
            else:
                fit.append(run)
        return fit

    def _ended(self, run: Run, finished: Finished | None) -> Coroutine[Any, Any, None] | None:
        if finished is not None and (run.reporting is not None or run.logs is not None):
            return self._end_after_output(run, finished)
        self._end(run, finished)
        return None

    async def _end_after_output(self, run: Run, finished: Finished) -> None:
        """Send the last progress and log lines before the outcome, because they would be rejected afterwards. A command always has progress."""
        if run.definition.command is not None:
            finished = exited(finished)
        await run.flush()
        self._end(run, finished)

    def _end(self, run: Run, finished: Finished | None) -> None:
        if not self._slots.finish(run):
            return  # abandoned before it ended: its outcome is already decided
        if (
            finished is not None and self._watchdog.may_renew
        ):  # otherwise the loop was blocked for too long, and other workers run the job
            self._settle(run, finished)
            if finished.outcome in (AttemptOutcome.FAILED, AttemptOutcome.TIMEOUT):
                log_failure(run, finished)
            else:
                self._finished.add(run, finished.outcome)
        elif run.suspended:
            self._pump.look()  # its children can be claimed now
        else:
            self._pump.room()
        if not self._slots.running_count:
            self._empty.set()

    def _settle(self, run: Run, finished: Finished) -> None:
        job_id, attempt = run.key
        outcome, result, detail = finished.outcome, finished.result, finished.detail
        self._pump.settle(Settlement(job_id, attempt, outcome, result, detail, run.ran_ms(), run.claimed.definition))

    def _cancel(self, job_id: UUID, attempt: int) -> None:
        """Cancel an attempt."""
        run = self._slots.find((job_id, attempt))
        if run is not None:
            run.cancel()
        elif (waiting := self._slots.withdraw((job_id, attempt))) is not None:
            self._cached.give_back(waiting)
            self._settle(waiting, ended(AttemptOutcome.CANCELED))

    def _gone(self, job_id: UUID, attempt: int) -> None:
        """Stop an attempt whose lease is lost, and report no outcome."""
        run = self._slots.find((job_id, attempt))
        if run is not None:
            run.stop(Stopping.LOST)
        elif (waiting := self._slots.withdraw((job_id, attempt))) is not None:
            self._cached.give_back(waiting)

    def _give_up(self, worker: int) -> None:
        """Stop every handler after the lease was lost, and report no outcomes. Outcomes that were ready before may still be recorded."""
        log.error(
            "lease lost: stopping all handlers; other workers will run their jobs",
            worker_id=worker,
            held=len(self._slots),
        )
        for run in self._slots.running:
            run.stop(Stopping.LOST)
            self._keep(run)
        self._slots.clear()
        self._cached.clear()
        self._stalled = False
        self._registration.keep(worker, self._pump.forget())

    async def _tick(self) -> None:
        """One timer for all runs: checks timeouts, handlers that do not stop, and jobs that wait too long for a slot."""
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            self._stalled = self._pump.stalled_s >= self._settings.lease
            for run in self._slots.running:
                if run.stopping is None:
                    if run.deadline and now >= run.deadline:
                        run.stop(Stopping.TIMEOUT)
                elif now >= run.stopping_at + STOP_GRACE_S and run.definition.isolation != "process":
                    log.warning("handler does not stop; it loses its slot", **run.current().about())
                    self._keep(run)
                    self._end(run, abandoned(run))
            self._give_back(self._slots.give_back(older_than_s=GIVE_BACK_S))
            self._cached.sweep()

    def _check_leases(self) -> None:
        self._pump.reconcile = True

    def _heard(self, kind: str, name: str) -> None:
        if (kind == "queue" and (name == "*" or name in self._queues)) or (kind == "cancel" and name == str(self.id)):
            self._pump.look()

    def _beaten(self, beat: Beat) -> None:
        for job_id, attempt in beat.cancels:
            self._cancel(job_id, attempt)
        if beat.running != len(self._slots) + len(self._pump.unsent):
            self._pump.reconcile = True
