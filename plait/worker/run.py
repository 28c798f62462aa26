"""One attempt that this worker holds: what was claimed, where it is, and why it is being stopped."""

import asyncio
import time
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from plait.model.errors import NotDurable
from plait.sdk.branches import Branches
from plait.sdk.context import Current, NoCurrentJob, ended
from plait.sdk.definition import Definition
from plait.sdk.durable import Durable
from plait.sdk.durables import Durables
from plait.sdk.operations import Suspended
from plait.store.workers import Claimed


class Stopping(Enum):
    """Why a handler is being stopped."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"
    RELEASE = "release"
    LOST = "lost"


class Run(msgspec.Struct, eq=False):
    """A struct, because a busy worker makes tens of thousands a second."""

    claimed: Claimed
    definition: Definition
    key: tuple[UUID, int]
    """Of the job and its attempt."""
    queued_at: float
    durables: Durables | None = None
    started_at: float = 0.0
    deadline: float = 0.0
    task: asyncio.Task[None] | None = None
    stopping: Stopping | None = None
    stopping_at: float = 0.0
    progress: dict[str, Any] | None = None
    told: dict[str, Any] | None = None
    info: dict[str, Any] | None = None
    reporting: asyncio.Lock | None = None
    steps: Durable | None = None
    suspended: bool = False
    over: bool = False
    """Its handler has ended, or was given up: code that outlives it can't write for this job, nor stop what runs now."""

    def begin(self, *, after_s: float = 0.0) -> None:
        """The handler starts now, or in at most `after_s`: its time runs."""
        self.started_at = time.monotonic()
        self.deadline = self.started_at + after_s + (self.claimed.timeout_s or self.definition.timeout_s)

    def current(self) -> Current:
        claimed = self.claimed
        return Current(
            job_id=UUID(bytes=claimed.job_id.bytes),
            attempt=claimed.attempt,
            tries=claimed.tries,
            max_attempts=claimed.max_attempts,
            tenant_id=UUID(bytes=claimed.tenant_id.bytes),
            definition=claimed.definition,
            queue=claimed.queue,
            correlation_id=claimed.correlation_id,
            deadline=self.deadline,
            report=self.report,
            stopping=lambda: self.stopping is not None,
            node=self.durables.node if self.durables else None,
            worker=self.durables.worker if self.durables else None,
        )

    def durable(self) -> Durable:
        if self.over:
            raise NotDurable(ended(*self.key))
        if self.steps is None:
            if self.durables is None or self.definition.isolation == "process":
                raise NotDurable
            claimed = self.claimed
            self.steps = Durable(
                self.durables,
                self,
                job_id=claimed.job_id,
                attempt=claimed.attempt,
                tenant_id=claimed.tenant_id,
                max_attempts=claimed.max_attempts,
                task=None if self.definition.isolation == "thread" else self.task,
            )
        return self.steps

    def branches(self) -> Branches | None:
        """The tasks of its handler, where it may take steps."""
        if self.over or self.durables is None or self.definition.isolation != "loop":
            return None
        return self.durable().branches

    def keep(self, size: int) -> "asyncio.Future[bool] | None":
        return self.durables.keep(self, size) if self.durables is not None and not self.over else None

    def lost(self) -> None:
        self.stop(Stopping.LOST)

    def canceled(self) -> None:
        self.stop(Stopping.CANCEL)

    def cancel(self) -> None:
        """Somebody canceled the job. Where its handlers have a grace period, this one is told, and ends by itself."""
        if self.definition.cancel_grace_s is None:
            self.stop(Stopping.CANCEL)
        elif not self.over and not self.suspended:
            durable = self.durable()
            durable.loop.create_task(durable.cancel(), context=durable.turns.context)

    def stop(self, why: Stopping) -> None:
        """Ask the handler to stop. The first reason stands, but a lost lease overrides all: then nothing may be written.
        A lease that the attempt gives up itself, by waiting, is not lost (T15). A run that is over has no task: another run may
        have it now."""
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
        """What the handler says of itself, from whatever thread."""
        if self.over:
            raise NoCurrentJob(ended(*self.key))
        if self.suspended:
            raise Suspended
        self.hear(progress)

    def progress_again(self, progress: dict[str, Any]) -> None:
        """It could not be sent: with the next round, unless the handler says something newer before."""
        if self.progress is None:
            self.progress = progress

    def hear(self, progress: dict[str, Any]) -> None:
        """Keep it; the worker sends the latest."""
        if self.reporting is None:
            self.reporting = asyncio.Lock()  # most handlers never say anything
        if "info" in progress:  # each key stays until it is said again
            self.info = {**(self.info or {}), **progress["info"]}
        else:
            self.told = progress
        self.progress = {**(self.told or {}), "info": self.info} if self.info else self.told
