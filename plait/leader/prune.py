"""Prune: final jobs that are older than they are kept for are forgotten, a small batch at a time."""

import time
from uuid import UUID

from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.leader import Retention

log = get_logger("leader")

BETWEEN_BATCHES_S, BETWEEN_ROUNDS_S = 0.05, 60.0


class Prune:
    def __init__(self, retention: Retention) -> None:
        self._retention = retention
        self._cursor: UUID | None = None
        self._pruned = 0
        self.forgotten = 0
        """So many jobs, ever."""
        self.through_at: float | None = None
        """When it was last through with all jobs, by the monotonic clock."""

    async def run(self, store: Store) -> float:
        pruned, self._cursor = await store.leader.prune(self._retention, cursor=self._cursor)
        self._pruned += pruned
        self.forgotten += pruned
        if self._cursor is None:
            self.through_at = time.monotonic()
        if self._cursor is not None:
            return BETWEEN_BATCHES_S
        if self._pruned:
            log.info("pruned", jobs=self._pruned)
        self._pruned = 0
        return BETWEEN_ROUNDS_S
