"""A worker over HTTP: it claims jobs, runs their handlers and reports outcomes. It has no connection to the database.

Three activities run concurrently: one claim at a time, which waits at the server for jobs; a heartbeat, which renews the worker's lease and
returns the jobs that must stop; and the handlers. The heartbeat has its own thread, so that a handler that blocks the event loop does not lose
the lease (T47). A claimed job stays in `_held` until the server has acknowledged its outcome, so that a heartbeat that lists the held jobs
never releases a job that is being settled (T33). Such a heartbeat would also release the jobs in the response to a claim, so it is sent only
while no claim is in progress. The lock `_claiming` ensures this.
"""

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from plait_client.errors import LeaseLost, PlaitError, Refused
from plait_client.execution import Execution, Handler, Registered
from plait_client.logs import Logger, Sink, to_stderr
from plait_client.outcomes import REFUSED, Outcome
from plait_client.protocol import Protocol
from plait_client.settings import Settings, WorkerSettings
from plait_client.transport import passing, pause
from plait_client.types import Beat, Held

Given = TypeVar("Given", bound=Handler)
EVENTS: Final = {"complete": "job succeeded", "fail": "job failed", "release": "job released", "skip": "job skipped"}


class Worker:
    """A worker. Settings default to the environment (PLAIT_URL, PLAIT_KEY, PLAIT_QUEUES …)."""

    def __init__(
        self, settings: Settings | None = None, work: WorkerSettings | None = None, *, log: Sink = to_stderr
    ) -> None:
        self._settings = settings or Settings.from_environment()
        self._work = work or WorkerSettings.from_environment()
        self._log = Logger(log, {"component": "worker"})
        self._handlers: dict[str, Registered] = {}
        self._held: dict[str, Execution] = {}
        self._ready: list[Execution] = []
        self._running = 0
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._changed = asyncio.Event()
        self._claiming = threading.Lock()
        self._ended = threading.Event()
        self._lease_until = 0.0
        """When this worker's lease expires, measured by this process. After that, other workers may claim its jobs (T31)."""
        self._doubt_until = 0.0
        """Until this time the server may still claim jobs for this worker without its knowledge, because the response to a claim was lost."""

    def handle(self, definition: str, *, timeout: float = 3600) -> Callable[[Given], Given]:
        """Register the handler of a job definition. `timeout`: seconds, for jobs that have no timeout."""
        if definition in self._handlers:
            raise ValueError(f"{definition} already has a handler")

        def register(handler: Given) -> Given:
            self._handlers[definition] = Registered(handler, timeout)
            return handler

        return register

    def run(self) -> None:
        """Run jobs until SIGTERM or SIGINT."""
        asyncio.run(self.serve())

    def stop(self) -> None:
        """Graceful shutdown: finish running handlers, release jobs that have not started, and exit. A second call skips the grace period.
        Call it on the worker's event loop."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()
        self._changed.set()

    async def serve(self, *, signals: bool = True) -> None:
        """Run jobs until stopped. Raises if the server rejects the worker permanently."""
        if not self._handlers:
            raise ValueError("the worker has no handlers: register one with handle()")
        protocol = Protocol(self._settings, self._work, list(self._handlers))
        beating = threading.Thread(target=self._keep_beating, args=(protocol, asyncio.get_running_loop()))
        self._pool = ThreadPoolExecutor(self._work.most_held + 4, "plait-worker")
        with self._signals() if signals else contextlib.nullcontext():
            beating.start()
            try:
                await self._work_and_drain(protocol)
            finally:
                self._ended.set()
                await asyncio.to_thread(beating.join)
                await self._leave(protocol)
                protocol.close()
                self._pool.shutdown(wait=False)
                self._log.info("worker stopped")

    async def _work_and_drain(self, protocol: Protocol) -> None:
        refused: PlaitError | None = None
        async with asyncio.TaskGroup() as group:
            try:
                await self._pump(protocol, group)
            except PlaitError as error:
                refused = error
            finally:
                self._stopping.set()
                await self._drain(protocol, group)
        if refused is not None:
            raise refused

    async def _pump(self, protocol: Protocol, group: asyncio.TaskGroup) -> None:
        failed = 0
        while not self._stopping.is_set():
            limit = self._claim_limit()
            if limit == 0:
                self._changed.clear()
                await self._changed.wait()
                continue
            worker = protocol.worker
            try:
                await self._claim(protocol, limit, group)
                failed = 0
            except LeaseLost:
                self._lose_all(protocol, worker)
            except PlaitError as error:
                if self._stopping.is_set():
                    return
                self._doubt()
                if not (passing(error) or (isinstance(error, Refused) and error.status >= 500)):
                    raise
                self._log.warning("claim failed", error=str(error))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause(error, failed)):
                        await self._stopping.wait()
                failed += 1

    def _claim_limit(self) -> int:
        """The number of jobs to claim. Jobs are claimed whenever a slot is free, and prefetched when at most half of the limit is held."""
        held, most = len(self._held), self._work.most_held
        idle = not self._ready and self._running < self._work.concurrency
        return max(0, most - held) if idle or held <= most / 2 else 0

    async def _claim(self, protocol: Protocol, limit: int, group: asyncio.TaskGroup) -> None:
        await self._call(self._claiming.acquire)  # a heartbeat that lists the held jobs may be in progress
        try:
            if protocol.worker is not None and time.monotonic() < self._doubt_until:
                held = [one.held for one in self._held.values()]
                self._apply_beat(time.monotonic(), await self._call(protocol.beat, None, held), held)
            asked, before = time.monotonic(), protocol.worker
            ended = asyncio.ensure_future(self._stopping.wait())
            ended.add_done_callback(lambda done: None if done.cancelled() else protocol.end_claim())
            try:
                jobs = await self._call(protocol.claim, limit, self._running)
            finally:
                ended.cancel()
            self._renewed(asked)
            for job in jobs:
                execution = Execution(job)
                self._held[job["id"]] = execution
                self._ready.append(execution)
        finally:
            self._claiming.release()
        if before != protocol.worker:
            self._log = self._log.bind(worker_id=protocol.worker)
            self._log.info("worker registered", queues=self._work.queues, definitions=list(self._handlers))
        self._start(protocol, group)

    def _start(self, protocol: Protocol, group: asyncio.TaskGroup) -> None:
        while self._ready and self._running < self._work.concurrency and not self._stopping.is_set():
            self._running += 1
            group.create_task(self._execute(protocol, self._ready.pop(0), group))

    async def _execute(self, protocol: Protocol, execution: Execution, group: asyncio.TaskGroup) -> None:
        log = self._log_of(execution)
        began = time.monotonic()

        def report(**said: Any) -> None:
            try:
                protocol.report(execution.job, **said)
            except LeaseLost:
                loop.call_soon_threadsafe(execution.stop, "lost")
                raise

        loop = asyncio.get_running_loop()
        try:
            registered = self._handlers.get(execution.job["definition_key"])
            if registered is None:
                outcome = Outcome("release", {"delay_seconds": 60})
            else:
                outcome = await execution.run(registered, execution.context(log, report))
            log = log.bind(duration_ms=round((time.monotonic() - began) * 1000))
            await self._settle(protocol, execution, outcome, log)
        finally:
            self._running -= 1
            self._start(protocol, group)
            self._changed.set()

    async def _settle(self, protocol: Protocol, execution: Execution, outcome: Outcome, log: Logger) -> None:
        """Report the outcome, unless the lease is lost."""
        try:
            if execution.lost.is_set():
                log.warning("lease lost")
                return
            await self._call(protocol.settle, execution.job, outcome, execution.lost)
            said = {"error": outcome.body["error"]} if "error" in outcome.body else {}
            log.info(EVENTS[outcome.verb], **said)
        except (PlaitError, ValueError) as error:
            if execution.lost.is_set() or isinstance(error, LeaseLost):
                log.warning("lease lost")
            elif outcome.body.get("reason") == REFUSED:
                log.error("outcome refused", error=str(error))
                self._doubt()  # the next heartbeat that lists the held jobs releases the job
            else:
                refused = Outcome.failed(REFUSED, f"the server rejected the outcome ({outcome.verb}): {error}")
                await self._settle(protocol, execution, refused, log)
        finally:
            self._drop(execution)

    def _drop(self, execution: Execution) -> None:
        """Remove the job from `_held`, unless it was lost and this worker has claimed it again."""
        if self._held.get(execution.job["id"]) is execution:
            del self._held[execution.job["id"]]
        self._changed.set()

    # Heartbeats, in their own thread

    def _keep_beating(self, protocol: Protocol, loop: asyncio.AbstractEventLoop) -> None:
        """Renew the lease while jobs are held. If renewal fails, stop the handlers before the lease expires and other workers run the jobs."""
        beats, pause_s = 0, self._work.interval
        while not self._ended.wait(pause_s):
            pause_s = self._work.interval
            if protocol.worker is None or (not self._held and time.monotonic() >= self._doubt_until):
                continue
            beats += 1
            worker = protocol.worker
            try:
                self._beat(protocol, loop, beats)
            except LeaseLost:
                loop.call_soon_threadsafe(self._lose_all, protocol, worker)
            except PlaitError as error:
                self._log.warning("heartbeat failed", error=str(error))
                if time.monotonic() >= self._lease_until:
                    loop.call_soon_threadsafe(self._lose_all, protocol, worker)
                pause_s = min(1.0, pause_s)

    def _beat(self, protocol: Protocol, loop: asyncio.AbstractEventLoop, beats: int) -> None:
        alone = self._claiming.acquire(blocking=False)
        try:
            held = [one.held for one in list(self._held.values())]
            sent = time.monotonic()
            beat = protocol.beat(held[beats % len(held)] if held else None, held if alone else None)
        finally:
            if alone:
                self._claiming.release()
        self._renewed(sent)
        loop.call_soon_threadsafe(self._apply_beat, sent, beat, held)

    def _apply_beat(self, sent: float, beat: Beat, asked: Sequence[Held]) -> None:
        self._renewed(sent)
        for job_id in beat["cancel"]:
            if execution := self._held.get(job_id):
                execution.stop("canceled")
        for job_id in beat["gone"]:
            # Stop only this attempt: the worker may have claimed the job again in the meantime.
            if (execution := self._held.get(job_id)) and execution.held in asked:
                execution.stop("lost")
                self._drop(execution)

    def _renewed(self, asked: float) -> None:
        self._lease_until = max(self._lease_until, asked + self._work.lease * 0.9)

    def _doubt(self) -> None:
        """The response to a claim was lost. The server may still execute the claim for as long as it was asked to wait."""
        self._doubt_until = time.monotonic() + self._work.wait + 5

    def _lose_all(self, protocol: Protocol, worker: int | None) -> None:
        """Drop all jobs of a lost worker. A claim and a heartbeat may both detect the loss. The second call must not stop jobs of the new worker id."""
        if protocol.worker != worker:
            return
        self._log.warning("worker lost", held=len(self._held))
        protocol.worker = None
        self._doubt()  # a claim in progress may still be answered for the old worker id
        for execution in self._held.values():
            execution.stop("lost")
        self._held.clear()
        self._ready.clear()
        self._changed.set()

    # Shutdown

    async def _drain(self, protocol: Protocol, group: asyncio.TaskGroup) -> None:
        waiting, self._ready = self._ready, []
        if self._held:
            self._log.info("draining", running=self._running, released=len(waiting))
        # Release jobs that have not started. Jobs of a claim in progress are released by the next heartbeat, or by leave (T42).
        for execution in waiting:
            group.create_task(self._settle(protocol, execution, Outcome("release", {}), self._log_of(execution)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._work.grace):
                while self._held and not self._hurry.is_set():
                    self._changed.clear()
                    await self._changed.wait()
        for execution in self._held.values():
            execution.stop("shutdown")

    async def _leave(self, protocol: Protocol) -> None:
        try:
            await asyncio.to_thread(protocol.leave)
        except PlaitError as error:
            self._log.warning("deregistration failed", error=str(error))

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        names = (signal.SIGTERM, signal.SIGINT)
        with contextlib.suppress(NotImplementedError):  # on Windows, where Ctrl-C raises KeyboardInterrupt
            for name in names:
                loop.add_signal_handler(name, self.stop)
        try:
            yield
        finally:
            with contextlib.suppress(NotImplementedError):
                for name in names:
                    loop.remove_signal_handler(name)

    def _log_of(self, execution: Execution) -> Logger:
        job = execution.job
        more = {} if job["correlation_id"] is None else {"correlation_id": job["correlation_id"]}
        return self._log.bind(
            job_id=job["id"],
            attempt=job["attempt"],
            tenant_id=job["tenant_id"],
            definition=job["definition_key"],
            trace_id=execution.trace_id,
            **more,
        )

    async def _call(self, work: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *args)
