"""Suspended handlers that stay in memory. If the same worker claims the job when its wait ends, the handler continues without a replay.

This is only an optimisation, and the database does not know about it: the job waits as a row, without a lease, and any worker may claim it. A handler is dropped if
another worker has run its job in the meantime, if it has been kept for too long, or if the memory limit is reached. A dropped handler is unwound without
effects, as at any suspension.
"""

import asyncio
import time
from collections.abc import Callable
from uuid import UUID

from plait.runtime.settings import Settings
from plait.store.workers import Claimed
from plait.worker.run import Run


class CachedHandlers:
    def __init__(self, *, count: int, age_s: float, size: int, free_slot: Callable[[Run], None]) -> None:
        """At most `count` handlers, for at most `age_s` seconds, whose payloads and recorded steps have at most `size` bytes in total."""
        self._count = count
        self._age_s = age_s
        self._size = size
        self._free_slot = free_slot
        self._kept: dict[UUID, _Kept] = {}
        """The handlers by job, oldest first."""
        self._held = 0
        self._claimed: dict[Run, _Kept] = {}
        """Handlers whose jobs were claimed by this worker and wait for a slot."""

    @classmethod
    def of(cls, settings: Settings, *, free_slot: Callable[[Run], None]) -> "CachedHandlers":
        count, age_s, size = settings.cached_handlers, settings.cached_handlers_age, settings.cached_handlers_size
        return cls(count=count, age_s=age_s, size=size, free_slot=free_slot)

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, run: Run, size: int) -> "asyncio.Future[bool] | None":
        """Keep the handler of a suspended job. Returns a future that tells whether it continues here, or None if it cannot be kept."""
        size += len(run.claimed.payload or "")
        if not self._count or size > self._size:
            return None
        while self._kept and (len(self._kept) >= self._count or self._held + size > self._size):
            self._drop(next(iter(self._kept)))
        kept = _Kept(run, size)
        self._kept[run.claimed.job_id] = kept
        self._held += size
        self._free_slot(run)
        return kept.continues

    def claim(self, claimed: Claimed) -> Run | None:
        """The run of a claimed job, if its handler is in memory and no other worker has run the job since."""
        kept = self._pop(claimed.job_id)
        if kept is None:
            return None
        run = kept.run
        if claimed.attempt != run.claimed.attempt + 1:  # another worker has run it in between
            kept.end(continues=False)
            return None
        run.claimed, run.key, run.queued_at = claimed, (claimed.job_id, claimed.attempt), time.monotonic()
        self._claimed[run] = kept
        return run

    def start(self, run: Run) -> bool:
        """Continue the handler of a run that got a slot. Returns whether it was in memory."""
        kept = self._claimed.pop(run, None)
        if kept is None:
            return False
        run.begin()
        kept.end(continues=True)
        return True

    def give_back(self, run: Run) -> None:
        """Drop the handler of a run that was claimed but will not be started here."""
        kept = self._claimed.pop(run, None)
        if kept is not None:
            kept.end(continues=False)

    def sweep(self) -> None:
        """Drop handlers that have waited for too long."""
        before = time.monotonic() - self._age_s
        while self._kept:
            job_id, kept = next(iter(self._kept.items()))
            if kept.since > before:
                return
            self._drop(job_id)

    def clear(self) -> None:
        for job_id in list(self._kept):
            self._drop(job_id)
        for run in list(self._claimed):
            self.give_back(run)

    def _pop(self, job_id: UUID) -> "_Kept | None":
        kept = self._kept.pop(job_id, None)
        if kept is not None:
            self._held -= kept.size
        return kept

    def _drop(self, job_id: UUID) -> None:
        kept = self._pop(job_id)
        if kept is not None:
            kept.end(continues=False)


class _Kept:
    def __init__(self, run: Run, size: int) -> None:
        self.run = run
        self.size = size
        self.since = time.monotonic()
        self.continues: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def end(self, *, continues: bool) -> None:
        if not self.continues.done():  # otherwise its task was canceled
            self.continues.set_result(continues)
