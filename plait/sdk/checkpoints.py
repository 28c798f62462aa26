"""Checkpoints of one worker: steps that end at the same time share one statement, and each is acknowledged after its commit.

Checkpoints that arrive during a statement are batched for the next one, as with enqueues: a single job waits for nothing, and many jobs
share one commit. A checkpoint whose reply was lost is sent again; the database keeps the first one.
"""

import asyncio
import time
from itertools import chain, repeat

from plait.model.errors import DatabaseUnreachable
from plait.store import Store
from plait.store.database import is_transient
from plait.store.trees import Checkpoint

MAX_BATCH = 500
PAUSES_S = (0.05, 0.25, 1.0, 2.0)
"""Delays before each repetition of a statement whose reply was lost."""
PATIENCE_S, OUTAGE_S = 10.0, 60.0
"""No repetition begins after this time. The second value applies while the database is unavailable, which is not the handler's fault."""
CLOSE_S = 2.0

_Waiting = tuple[Checkpoint, "asyncio.Future[bool]"]


class Checkpoints:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Waiting] = []
        self._flusher: asyncio.Task[None] | None = None

    def save(self, checkpoint: Checkpoint) -> "asyncio.Future[bool]":
        """Whether it was stored; False if the lease is lost. It is sent even if its caller stops waiting."""
        future: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.append((checkpoint, future))
        if self._flusher is None:
            self._flusher = self._loop.create_task(self._flush())
        return future

    async def close(self) -> None:
        """Return when pending checkpoints are stored, or when the database is not reachable."""
        if self._flusher is not None:
            _, late = await asyncio.wait({self._flusher}, timeout=CLOSE_S)
            for task in late:
                task.cancel()
                await asyncio.wait({task})

    async def _flush(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._send(batch)
        finally:
            self._flusher = None
            for _, future in self._waiting:  # the loop ends: these can no longer be sent
                future.cancel()
            self._waiting = []

    async def _send(self, batch: list[_Waiting]) -> None:
        try:
            # From one worker, except for a moment after it was declared lost and has registered again.
            worker = batch[0][0].lease.worker
            others = [one for one in batch if one[0].lease.worker != worker]
            batch = [one for one in batch if one[0].lease.worker == worker]
            stale = await self._save_surely(worker, [checkpoint for checkpoint, _ in batch])
        except Exception as error:  # noqa: BLE001 - reported to the handlers
            if len(batch) > 1 and not isinstance(
                error, DatabaseUnreachable
            ):  # one of them caused it: split the batch until it is alone
                await self._send(batch[: len(batch) // 2])
                await self._send(batch[len(batch) // 2 :])
                return
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # retrieved, even if its caller stopped waiting
        except BaseException:
            for _, future in batch:
                future.cancel()
            raise
        else:
            for position, (_, future) in enumerate(batch):
                if not future.done():
                    future.set_result(position not in stale)
            if others:
                await self._send(others)

    async def _save_surely(self, worker: int, checkpoints: list[Checkpoint]) -> set[int]:
        began = time.monotonic()
        for pause in chain(PAUSES_S, repeat(PAUSES_S[-1])):
            try:
                return set(await self._store.trees.save_steps(worker, checkpoints))
            except Exception as error:
                if not is_transient(error):
                    raise
                if time.monotonic() - began > (OUTAGE_S if isinstance(error, DatabaseUnreachable) else PATIENCE_S):
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable: the delays never end")
