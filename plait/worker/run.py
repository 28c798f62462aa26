"""One attempt on this worker: the claimed job, its state, and why it is being stopped."""

import asyncio
import contextlib
import time
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from plait.model.errors import NotDurable
from plait.model.redaction import hide_known
from plait.sdk.active_step import Suspended
from plait.sdk.branches import Branches
from plait.sdk.context import Current, NoCurrentJob, ended
from plait.sdk.definition import Definition
from plait.sdk.durable import Durable
from plait.sdk.durable_runtime import DurableRuntime
from plait.sdk.streams import AttemptStreams, OwnStream, no_streams
from plait.store.workers import Claimed
from plait.store.workflows import Lease
from plait.worker.job_logs import JobLogs, StoredLog

FLUSH_S = 5.0
"""How long sending a handler's progress may delay its wait or its outcome."""


class Stopping(Enum):
    """Why a handler is being stopped."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"
    RELEASE = "release"
    LOST = "lost"


class Run(msgspec.Struct, eq=False):
    """One attempt. It is a struct, because a busy worker creates tens of thousands of them per second."""

    claimed: Claimed
    definition: Definition
    key: tuple[UUID, int]
    """The job's id and the number of the attempt."""
    queued_at: float
    runtime: DurableRuntime | None = None
    started_at: float = 0.0
    deadline: float = 0.0
    task: asyncio.Task[None] | None = None
    stopping: Stopping | None = None
    stopping_at: float = 0.0
    progress: dict[str, Any] | None = None
    told: dict[str, Any] | None = None
    told_in: int = 0
    """The attempt under which its progress was last sent."""
    info: dict[str, Any] | None = None
    state: str | None = None
    reporting: asyncio.Lock | None = None
    steps: Durable | None = None
    streams: AttemptStreams | None = None
    logs: StoredLog | None = None
    suspended: bool = False
    over: bool = False
    """Whether its handler has ended or was abandoned. Code that outlives the handler can neither write to this job nor stop another run."""

    def begin(self, *, after_s: float = 0.0) -> None:
        """Start the timeout of the handler, which starts now or within `after_s` seconds."""
        self.started_at = time.monotonic()
        self.deadline = self.started_at + after_s + (self.claimed.timeout_s or self.definition.timeout_s)

    def current(self) -> Current:
        claimed = self.claimed
        return Current(
            job_id=UUID(bytes=claimed.job_id.bytes),
            attempt=claimed.attempt,
            failed_attempts=claimed.failed_attempts,
            max_attempts=claimed.max_attempts,
            tenant_id=UUID(bytes=claimed.tenant_id.bytes),
            definition=claimed.definition,
            queue=claimed.queue,
            correlation_id=claimed.correlation_id,
            deadline=self.deadline,
            report=self.report,
            open_stream=self.stream,
            last_report=self.last_report,
            stopping=lambda: self.stopping is not None,
            node=self.runtime.node if self.runtime else None,
            worker=self.runtime.worker if self.runtime else None,
        )

    def durable(self) -> Durable:
        if self.over:
            raise NotDurable(ended(*self.key))
        if self.steps is None:
            if self.runtime is None or self.definition.isolation == "process":
                raise NotDurable
            claimed = self.claimed
            self.steps = Durable(
                self.runtime,
                self,
                job_id=claimed.job_id,
                attempt=claimed.attempt,
                tenant_id=claimed.tenant_id,
                max_attempts=claimed.max_attempts,
                task=None if self.definition.isolation == "thread" else self.task,
            )
        return self.steps

    def branches(self) -> Branches | None:
        """The branches of the handler; None if it cannot call steps."""
        if self.over or self.runtime is None or self.definition.isolation != "loop":
            return None
        return self.durable().branches

    def keep(self, size: int) -> "asyncio.Future[bool] | None":
        return self.runtime.keep(self, size) if self.runtime is not None and not self.over else None

    def reading(self) -> AbstractContextManager[None]:
        """A block in which no step's end is delivered, for a branch that writes."""
        return self.durable().reading()

    def stream(self, name: str) -> OwnStream:
        self.check_writable()
        if self.runtime is None or self.definition.isolation == "process":
            no_streams(name)
        if self.streams is None:
            runtime = self.runtime
            self.streams = AttemptStreams(
                lambda: Lease(runtime.worker, *self.key), self, runtime.stream_items, runtime.loop
            )
        return OwnStream(name, self.streams)

    def log(self) -> StoredLog | None:
        """Its log. A replay repeats earlier lines, which are not stored again."""
        runtime = self.runtime
        if self.over or self.suspended or runtime is None or runtime.job_logs is None:
            return None
        history = self.steps.delivery.history if self.steps is not None else None
        if history is not None and history.replaying:
            return None
        logs: JobLogs = runtime.job_logs
        return logs.of(self, runtime.worker)

    def lost(self) -> None:
        self.stop(Stopping.LOST)

    def canceled(self) -> None:
        self.stop(Stopping.CANCEL)

    def cancel(self) -> None:
        """Cancel the handler. If the definition has a grace period, the handler receives the cancellation and ends on its own."""
        if self.definition.cancel_grace_s is None:
            self.stop(Stopping.CANCEL)
        elif not self.over and not self.suspended:
            durable = self.durable()
            durable.loop.create_task(durable.cancel(), context=durable.delivery.context)

    def stop(self, why: Stopping) -> None:
        """Stop the handler. The first reason counts, but a lost lease overrides all others, because nothing may be written then. A lease that
        the attempt itself releases by waiting is not lost (T15). The task of a finished run is not canceled, because another run may be using it."""
        if self.over or (self.suspended and why is Stopping.LOST):
            return
        if self.stopping is None or why is Stopping.LOST:
            if self.stopping is None:
                self.stopping_at = time.monotonic()
            self.stopping = why
            if why is Stopping.LOST and self.steps is not None:
                self.steps.refuse()
            if self.task is not None:
                self.task.cancel()

    def ran_ms(self) -> float:
        return (time.monotonic() - self.started_at) * 1000 if self.started_at else 0.0

    def report(self, progress: dict[str, Any]) -> None:
        """Store the handler's progress or state, from any thread."""
        self.check_writable()
        self.hear(progress)

    def check_writable(self) -> None:
        """Raise an error if the handler may no longer write to its job."""
        if self.over:
            raise NoCurrentJob(ended(*self.key))
        if self.suspended:
            raise Suspended

    @property
    def has_news(self) -> bool:
        """Whether there is progress to send now. A replay repeats earlier progress, which is not sent until the replay is over."""
        if self.progress is None and self.state is None:
            return False
        history = self.steps.delivery.history if self.steps is not None else None
        return history is None or not history.replaying

    def take_news(self) -> tuple[str | None, str | None]:
        """The progress and the job's state to send, as JSON."""
        progress, state, self.progress, self.state = self.progress, self.state, None, None
        if progress is not None:
            self.told_in = self.key[1]
        return None if progress is None else hide_known(msgspec.json.encode(progress).decode()), state

    def send_again(self, progress: str | None, state: str | None) -> None:
        """After a failed send, send the values in the next round, unless there are newer values by then."""
        if self.progress is None and progress is not None:
            self.progress = msgspec.json.decode(progress)
        if self.state is None:
            self.state = state

    async def flush(self) -> None:
        """Send the handler's progress and log lines before its job waits or has an outcome. A database that does not answer delays the handler only for a
        short time."""
        # If the handler waited in memory, it may have reported this in an earlier attempt.
        if self.progress is None and (self.told or self.info) and self.told_in != self.key[1]:
            self.progress = self._said()
        unsent = self.progress is not None or self.state is not None
        # It must not overtake a send that is still running.
        if self.runtime is not None and (unsent or (self.reporting is not None and self.reporting.locked())):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_S):
                    await self.runtime.flush(self)
        if self.runtime is not None and self.logs is not None:
            await self.runtime.job_logs.flush(self.logs)

    async def last_report(self) -> tuple[str | None, str | None]:
        """The last progress and state of earlier attempts."""
        self.check_writable()
        if self.runtime is None:
            raise NoCurrentJob
        await self.flush()
        return await self.runtime.store.workers.last_report(self.runtime.worker, *self.key)

    def hear(self, progress: dict[str, Any]) -> None:
        """Store reported values. The worker sends the latest."""
        if self.reporting is None:
            self.reporting = asyncio.Lock()  # most handlers never report anything
        if "state" in progress:
            self.state = hide_known(progress["state"])
            return
        if "info" in progress:  # each key stays until it is set again
            self.info = {**(self.info or {}), **progress["info"]}
        else:
            self.told = progress
        self.progress = self._said()

    def _said(self) -> dict[str, Any] | None:
        return {**(self.told or {}), "info": self.info} if self.info else self.told
