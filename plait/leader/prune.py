"""Prune: final jobs that are older than they are kept for are forgotten, a small batch at a time."""

from collections.abc import Callable
from uuid import UUID

from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.leader import Retention

log = get_logger("leader")

BETWEEN_BATCHES_S, BETWEEN_ROUNDS_S = 0.05, 60.0


class Prune:
    def __init__(self, retention: Retention, *, told: Callable[..., None] | None = None) -> None:
        """`told(jobs, through=…)` is called for each batch."""
        self._retention = retention
        self._told = told
        self._cursor: UUID | None = None
        self._pruned = 0

    async def run(self, store: Store) -> float:
        pruned, self._cursor = await store.leader.prune(self._retention, cursor=self._cursor)
        self._pruned += pruned
        if self._told is not None:
            self._told(pruned, through=self._cursor is None)
        if self._cursor is not None:
            return BETWEEN_BATCHES_S
        if self._pruned:
            log.info("pruned", jobs=self._pruned)
        self._pruned = 0
        return BETWEEN_ROUNDS_S
