"""Enqueues of one process: calls that come at the same time share one statement, each answered only after its commit.

While a statement is under way, new calls gather for the next one, so a lone caller waits for nothing and a crowd pays for one
round trip. A caller's own transaction never comes through here.

A reply that is lost is neither success nor failure (T111). Ids come from here, so the same statement can be sent again, and what
is stored already is left alone.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar
from uuid import UUID

from plait.model.errors import DatabaseUnreachable, InvalidJob
from plait.store import Store
from plait.store.new_jobs import NewJob

MAX_BATCH = 1000
MAX_TOTAL = 256 * 1024 * 1024
"""Payloads of one call: this process holds all of it in memory."""
MAX_SPECIAL = 10_000
PAUSES_S = (0.05, 0.25, 1.0)
"""Before each repetition of a statement whose reply was lost."""
PATIENCE_S = 5.0
"""No repetition begins after this time."""
TRANSIENT = frozenset({"40001", "40P01", "55P03", "23505"})
"""Serialization failure, deadlock, lock timeout: the server undid it all, and asks to try again."""

T = TypeVar("T")
_Waiting = tuple[NewJob, "asyncio.Future[UUID]"]


class Enqueuer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Waiting] = []
        self._flusher: asyncio.Task[None] | None = None
        self._special: set[tuple[str, UUID | None]] = set()
        """Definitions and tenants whose jobs did not go the short way: they need not be tried on it again."""

    async def enqueue(self, job: NewJob) -> UUID:
        """The id of the job: its own, or that of the older one which holds its key."""
        future: asyncio.Future[UUID] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if self._flusher is None:
            self._flusher = asyncio.get_running_loop().create_task(self._flush())
        # A caller that is canceled leaves: before the statement goes out its job is dropped, after that it may be stored.
        return await future

    async def enqueue_many(self, parts: Iterator[list[NewJob]]) -> None:
        """All of them or, if this raises, none. A part is made while the one before it is being stored. Not for jobs with keys."""
        made: list[list[NewJob]] = []
        size = 0

        def each() -> Iterator[list[NewJob]]:
            nonlocal size
            yield from list(made)  # when it is sent again
            for part in parts:
                size += sum(len(job.payload) for job in part)
                if size > MAX_TOTAL:
                    raise InvalidJob(f"the payloads are more than {MAX_TOTAL:,} bytes together: enqueue them in parts")
                made.append(part)
                yield part

        await _surely(lambda: self._store.jobs.enqueue_parts(each()))

    async def close(self) -> None:
        """Return when those who wait have their answer."""
        while self._flusher is not None:
            await asyncio.wait({self._flusher})

    async def _flush(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._send(batch)
        finally:
            self._flusher = None
            for _, future in self._waiting:  # the loop ends: nobody is left to send these
                future.cancel()
            self._waiting = []

    async def _store_jobs(self, jobs: list[NewJob]) -> dict[UUID, UUID]:
        if (
            len(jobs) == 1
            and (job := jobs[0]).is_plain()
            and (kind := (job.definition, job.tenant_id)) not in self._special
        ):
            if await self._store.jobs.enqueue_one(job):
                return {}
            if len(self._special) < MAX_SPECIAL:
                self._special.add(kind)
        return await self._store.jobs.enqueue_many(jobs)

    async def _send(self, batch: list[_Waiting]) -> None:
        batch = [(job, future) for job, future in batch if not future.done()]
        if not batch:
            return
        try:
            existing = await _surely(lambda: self._store_jobs([job for job, _ in batch]))
        except Exception as error:  # noqa: BLE001 - it is the callers' to handle
            if len(batch) == 1 or isinstance(error, DatabaseUnreachable):
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
            else:  # one of them is at fault: halve, until it stands alone
                await self._send(batch[: len(batch) // 2])
                await self._send(batch[len(batch) // 2 :])
        except BaseException:
            for _, future in batch:
                future.cancel()
            raise
        else:
            for job, future in batch:
                if not future.done():
                    future.set_result(existing.get(job.id, job.id))


async def _surely(store: Callable[[], Awaitable[T]]) -> T:
    """Store it, and again when it is not known whether it is."""
    began = time.monotonic()
    for pause in PAUSES_S:
        try:
            return await store()
        except Exception as error:
            if not _may_be_repeated(error) or time.monotonic() - began > PATIENCE_S:
                raise
        await asyncio.sleep(pause)
    return await store()


def _may_be_repeated(error: Exception) -> bool:
    return isinstance(error, DatabaseUnreachable) or getattr(error, "sqlstate", None) in TRANSIENT
