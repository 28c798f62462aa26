"""Prune: apply retention. Deletes old final jobs, a small batch at a time, after archiving them if an archive is configured."""

import time
from uuid import UUID

from plait.leader.archive import Archive
from plait.model.errors import StorageFailed
from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.leader import Pruned, Retention

log = get_logger("leader")

BATCH = 1000
BETWEEN_BATCHES_S, BETWEEN_ROUNDS_S = 0.05, 60.0
SHARE = 6
"""The pause after a batch, as a multiple of the time that the batch took: running jobs have precedence."""
ARCHIVED_AT_ONCE = 16 * 1024 * 1024
"""If a batch is larger than this, the next one has fewer jobs, because a batch is held in memory."""


class Prune:
    def __init__(self, retention: Retention, archive: Archive | None = None) -> None:
        self._retention = retention
        self._archive = archive
        self._cursor: UUID | None = None
        self._pruned = 0
        self._took_s = 0.0
        self._batch = BATCH
        self.forgotten = 0
        """The number of pruned jobs."""
        self.through_at: float | None = None
        """When it last completed a round over all jobs, by the monotonic clock."""

    async def run(self, store: Store) -> float:
        began = time.monotonic()
        pruned = await self._prune(store)
        took_s = time.monotonic() - began
        self._cursor = pruned.cursor
        self._pruned += pruned.jobs
        self.forgotten += pruned.jobs
        self._took_s += took_s
        if self._cursor is None:
            self.through_at = time.monotonic()
        if self._cursor is not None:
            return max(BETWEEN_BATCHES_S, SHARE * took_s)
        if self._pruned:
            log.info("pruned", jobs=self._pruned)
        pause = max(BETWEEN_ROUNDS_S, 20 * self._took_s)  # jobs with a long retention are checked again in each round
        self._pruned, self._took_s = 0, 0.0
        return pause

    async def _prune(self, store: Store) -> Pruned:
        if self._archive is None:
            return await store.leader.prune(self._retention, cursor=self._cursor, limit=self._batch)
        try:
            pruned, size = await store.leader.prune_into(
                self._archive.put, self._retention, cursor=self._cursor, limit=self._batch
            )
        except StorageFailed:
            self._batch = max(1, self._batch // 2)  # the batch may have been too large
            raise
        if size > ARCHIVED_AT_ONCE:
            self._batch = max(1, self._batch // 2)
        elif size < ARCHIVED_AT_ONCE // 4:
            self._batch = min(BATCH, self._batch * 2)
        return pruned
