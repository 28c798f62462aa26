"""Enqueues of one process: calls that come at the same time share one statement, each answered only after its commit.

While a statement is under way, new calls gather for the next one, so a lone caller waits for nothing and a crowd pays for one
round trip. A caller's own transaction never comes through here.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from plait.model.errors import DatabaseError
from plait.store import Store
from plait.store.jobs import NewJob

MAX_BATCH = 1000


class Enqueuer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[NewJob, asyncio.Future[UUID]]] = []
        self._flusher: asyncio.Task[None] | None = None

    async def enqueue(self, job: NewJob) -> UUID:
        """The id of the job: its own, or that of the older one which holds its key."""
        future: asyncio.Future[UUID] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if self._flusher is None:
            self._flusher = asyncio.get_running_loop().create_task(self._flush())
        # Not canceled with its caller: a shared statement is others' too, and a repeated enqueue is harmless.
        return await future

    async def enqueue_many(self, jobs: Sequence[NewJob]) -> list[UUID]:
        ids: list[UUID] = []
        for start in range(0, len(jobs), MAX_BATCH):
            batch = jobs[start : start + MAX_BATCH]
            existing = await self._store.jobs.enqueue_many(batch)
            ids.extend(existing.get(job.id, job.id) if existing else job.id for job in batch)
        return ids

    async def _flush(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._send(batch)
        finally:
            self._flusher = None

    async def _send(self, batch: list[tuple[NewJob, asyncio.Future[UUID]]]) -> None:
        try:
            existing = await self._store.jobs.enqueue_many([job for job, _ in batch])
        except DatabaseError as error:
            if len(batch) == 1:
                _fail(batch[0][1], error)
                return
            for one in batch:  # one of them is at fault: each gets its own answer
                await self._send([one])
        except BaseException as error:
            for _, future in batch:
                _fail(future, error)
            if not isinstance(error, Exception):
                raise
        else:
            for job, future in batch:
                if not future.done():
                    future.set_result(existing.get(job.id, job.id))


def _fail(future: "asyncio.Future[UUID]", error: BaseException) -> None:
    if isinstance(error, Exception) and not future.done():
        future.set_exception(error)
    else:
        future.cancel()
