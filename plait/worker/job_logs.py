"""The logs of all attempts on this worker: lines wait in memory and are stored in batches, four times a second.

A handler that logs nothing costs nothing. The worker stores an attempt's last lines before its outcome, because they would be rejected
afterwards; a database that does not answer delays the outcome by at most `FLUSH_S`.
"""

import asyncio
import contextvars
import threading
import time
from collections import deque
from typing import Any, Final, Protocol
from uuid import UUID

import asyncpg

from plait.model.errors import PlaitError
from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.database import is_transient
from plait.store.logs import BUSY, Level, LogEntry, LogLine
from plait.store.workflows import Lease
from plait.worker.attempt_log import AttemptLog

log = get_logger("worker")

EVERY_S: Final = 0.25
FLUSH_S: Final = 2.0
MAX_WAITING: Final = 16_000_000
"""Characters that wait in memory, for the whole worker; further lines are dropped and counted."""
BATCH_LINES, BATCH_CHARACTERS = 500, 1_000_000
BUSY_S: Final = 0.05
"""Delay before lines of a locked job are sent again."""


class StoredLog(AttemptLog):
    """The log of an attempt that runs on this worker. `unsent` counts its lines in memory."""

    def __init__(self, logs: "JobLogs", lease: Lease) -> None:
        self.lease = lease
        self.unsent = 0
        super().__init__(lambda line, entry, must: logs.put(self, line, entry, must=must), logs.level, logs.lock)


class Logging(Protocol):
    """A run, with its job and attempt."""

    logs: StoredLog | None

    @property
    def key(self) -> tuple[UUID, int]: ...


class JobLogs:
    def __init__(self, store: Store, level: Level) -> None:
        self.level: Level = level
        self.lock = threading.RLock()
        self._store = store
        self._waiting: deque[tuple[StoredLog, LogLine]] = deque()
        self._characters = 0
        self._sending = asyncio.Lock()

    def of(self, run: Logging, worker: int) -> StoredLog:
        """The log of a run's attempt. A handler that waits in memory continues in another attempt."""
        with self.lock:
            if run.logs is None or run.logs.lease.attempt != run.key[1]:
                run.logs = StoredLog(self, Lease(worker, *run.key))
            return run.logs

    def put(self, owner: StoredLog, line: int, entry: LogEntry, *, must: bool) -> bool:
        if not must and self._characters + entry.size > MAX_WAITING:
            return False
        self._characters += entry.size
        owner.unsent += 1
        self._waiting.append((owner, LogLine(owner.lease, line, entry)))
        return True

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            before = len(self._waiting) + 1
            while 0 < len(self._waiting) < before:  # fewer than before: the database stores them
                before = len(self._waiting)
                async with self._sending:
                    await self._send()

    async def flush(self, owner: StoredLog) -> None:
        """Store the lines of an attempt, before it waits or has an outcome."""
        owner.end()
        try:
            async with asyncio.timeout(FLUSH_S):
                while owner.unsent:
                    async with self._sending:
                        sent = not owner.unsent or await self._send()
                    if not sent:
                        await asyncio.sleep(BUSY_S)
        except TimeoutError:
            _warn("log lines not stored before the outcome", job_id=str(owner.lease.job_id), lines=owner.unsent)

    async def _send(self) -> bool:
        """Send the oldest lines; returns whether any of them are done with."""
        batch = self._take()
        answers = [BUSY] * len(batch)
        try:
            answers = await self._store.logs.write([line for _, line in batch], now=time.monotonic())
        except (PlaitError, asyncpg.PostgresError, ValueError, TypeError, OSError) as error:
            if not is_transient(error):
                answers = [-1] * len(batch)
                _warn("log lines not stored", lines=len(batch), error=str(error))
        finally:
            with self.lock:
                again = [one for one, answer in zip(batch, answers, strict=True) if answer == BUSY]
                self._waiting.extendleft(reversed(again))
                for (owner, line), answer in zip(batch, answers, strict=True):
                    if answer != BUSY:
                        owner.unsent -= 1
                        self._characters -= line.entry.size
        return len(again) < len(batch)

    def _take(self) -> list[tuple[StoredLog, LogLine]]:
        batch: list[tuple[StoredLog, LogLine]] = []
        room = BATCH_CHARACTERS
        with self.lock:
            while self._waiting and len(batch) < BATCH_LINES and room > 0:
                batch.append(self._waiting.popleft())
                room -= batch[-1][1].entry.size
        return batch


def _warn(event: str, **fields: Any) -> None:
    """In an empty context: this may run in a handler's, and must not become a line of its log."""
    contextvars.Context().run(log.warning, event, **fields)
