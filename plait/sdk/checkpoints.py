"""Checkpoints of one worker: steps that end at the same time share one statement, and each is acknowledged after its commit.

A checkpoint whose reply was lost is sent again; the database keeps the first one.
"""

import asyncio
from collections.abc import Sequence

from plait.sdk.batches import Batches
from plait.store import Store
from plait.store.workflows import Checkpoint


class Checkpoints(Batches[Checkpoint, bool]):
    def __init__(self, store: Store) -> None:
        super().__init__(self._save_steps)
        self._workflows = store.workflows

    def save(self, checkpoint: Checkpoint) -> "asyncio.Future[bool]":
        """Whether it was stored; False if the lease is lost. It is sent even if its caller stops waiting."""
        return self.add(checkpoint)

    async def _save_steps(self, checkpoints: Sequence[Checkpoint]) -> list[bool]:
        # All have the same worker id, except shortly after the worker was declared lost and registered again.
        positions: dict[int, list[int]] = {}
        for position, checkpoint in enumerate(checkpoints):
            positions.setdefault(checkpoint.lease.worker, []).append(position)
        saved = [True] * len(checkpoints)
        for worker, theirs in positions.items():
            for stale in await self._workflows.save_steps(worker, [checkpoints[position] for position in theirs]):
                saved[theirs[stale]] = False
        return saved
