"""Enqueues of one process: concurrent calls share one statement, and each returns after its commit.

Calls that arrive during a statement are batched for the next statement, so a single caller is not delayed and many callers share one
round trip. Enqueues in a caller's own transaction do not use this module.

A user's open transaction can lock a key, a quota or a job that an enqueue needs. That transaction may in turn be waiting for this
process, so a statement waits at most 10 ms for a lock. Jobs that may have to wait have a separate lane. A blocked job is parked, and
is retried outside the lanes for `MAX_WAIT_S`. Then its caller gets `Busy`.

If a reply is lost, it is unknown whether the statement succeeded (T111). Ids are generated here, so the same statement can be sent
again, and jobs that are already stored are left unchanged.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from plait.model.errors import Busy, DatabaseUnreachable, InvalidJob
from plait.store import Store
from plait.store.jobs import WAIT_MS, patiently
from plait.store.new_jobs import MAX_WAIT_MS, NewJob

MAX_BATCH = 1000
MAX_TOTAL = 256 * 1024 * 1024
"""The maximum size of the payloads of one call: this process holds all of them in memory."""
MAX_SPECIAL = 10_000
PAUSES_S = (0.05, 0.25, 1.0)
"""Delays before each repetition of a statement whose reply was lost."""
PATIENCE_S = 5.0
"""No repetition begins after this time, except the first: a statement on a dead connection may take longer than this to fail."""
TRANSIENT = frozenset({"40001", "40P01", "55P03", "23505"})
"""Serialization failure, deadlock, lock timeout, unique violation: the server rolled everything back, so the statement can be retried."""
MAX_WAIT_S = MAX_WAIT_MS / 1000
"""How long a job waits for a lock of another open transaction."""
LANE_WAIT_MS = 10
"""How long one blocked job may delay a statement with many jobs."""
PARKED_PAUSE_S = 0.1
MAX_RETRIES = 2
"""How many parked jobs are retried at the same time. This leaves connections for jobs that are not blocked."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Waiting:
    job: NewJob
    future: "asyncio.Future[UUID]"
    since: float = field(default_factory=time.monotonic)

    def needs(self) -> Hashable:
        """The keys and dependencies that another transaction can lock, apart from the tenant's quota."""
        job = self.job
        return job.tenant_id, job.definition, job.dedupe_key, job.idempotency_key, job.after

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Enqueuer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._lanes: dict[bool, list[_Waiting]] = {False: [], True: []}
        """Two lanes: True has the jobs that may have to wait for other transactions."""
        self._flushers: dict[bool, asyncio.Task[None]] = {}
        self._special: set[tuple[str, UUID | None]] = set()
        """Definitions and tenants whose jobs could not use the fast path. Their later jobs do not try it again."""
        self._parked: dict[Hashable, list[_Waiting]] = {}
        """Parked jobs, by the locked object: their key or dependency, or the id of the tenant whose quota is locked."""
        self._parkings: set[asyncio.Task[None]] = set()
        self._retries = asyncio.Semaphore(MAX_RETRIES)

    async def enqueue(self, job: NewJob) -> UUID:
        """Enqueue a job. Returns its id, or the id of the existing job with its key. Raises `Busy` if another open transaction locks the key,
        the quota or a dependency of this job for too long."""
        waiting = _Waiting(job, asyncio.get_running_loop().create_future())
        held = self._parked and [key for key in (job.tenant_id, waiting.needs()) if key in self._parked]
        if held:
            self._park(waiting, held[0])
        else:
            lane = job.may_wait()
            self._lanes[lane].append(waiting)
            if lane not in self._flushers:
                self._flushers[lane] = asyncio.get_running_loop().create_task(self._flush(lane))
        # If the caller is canceled before the statement is sent, its job is dropped. After that, the job may still be stored.
        return await waiting.future

    async def enqueue_many(self, parts: Iterator[list[NewJob]]) -> None:
        """Enqueue all jobs, or none if this raises an error. Each part is encoded while the previous one is stored. The jobs must have no keys."""
        made: list[list[NewJob]] = []
        size = 0

        def each() -> Iterator[list[NewJob]]:
            nonlocal size
            yield from list(made)  # if the statement is sent again
            for part in parts:
                size += sum(len(job.payload) for job in part)
                if size > MAX_TOTAL:
                    raise InvalidJob(
                        f"the payloads must have at most {MAX_TOTAL:,} bytes in total: enqueue them in parts"
                    )
                made.append(part)
                yield part

        await _surely(lambda: patiently(lambda: self._store.jobs.enqueue_parts(each()), MAX_WAIT_S))

    async def close(self) -> None:
        """Wait until all pending calls are answered."""
        while tasks := {*self._flushers.values(), *self._parkings}:
            await asyncio.wait(tasks)

    async def _flush(self, lane: bool) -> None:
        try:
            while waiting := self._lanes[lane]:
                batch, self._lanes[lane] = waiting[:MAX_BATCH], waiting[MAX_BATCH:]
                await self._send(batch)
        finally:
            del self._flushers[lane]
            left, self._lanes[lane] = self._lanes[lane], []
            for one in left:  # the loop ends: these can no longer be sent
                one.future.cancel()

    async def _store_jobs(self, jobs: list[NewJob], wait_ms: int) -> dict[UUID, UUID]:
        if (
            len(jobs) == 1
            and (job := jobs[0]).is_plain()
            and (kind := (job.definition, job.tenant_id)) not in self._special
        ):
            if await self._store.jobs.enqueue_one(job):
                return {}
            if len(self._special) < MAX_SPECIAL:
                self._special.add(kind)
        return await self._store.jobs.enqueue_many(jobs, wait_ms=wait_ms, patience_s=0)

    async def _send(self, batch: list[_Waiting]) -> None:
        """Answer all callers, except those whose jobs are parked."""
        while busy := await self._try(batch, LANE_WAIT_MS):
            blocked = [one for one in batch if busy.detail in (str(one.job.id), str(one.job.tenant_id))]
            if not blocked and len(batch) > 1:  # the blocked job is unknown: split the batch
                await self._send(batch[: len(batch) // 2])
                batch = batch[len(batch) // 2 :]
                continue
            for one in blocked or batch:
                self._park(one, one.job.tenant_id if busy.detail == str(one.job.tenant_id) else one.needs())
            batch = [one for one in batch if one not in blocked] if blocked else []

    async def _try(self, batch: list[_Waiting], wait_ms: int) -> Busy | None:
        """Answer all callers. Returns Busy instead if another transaction's lock blocks one of the jobs."""
        batch = [one for one in batch if not one.future.done()]
        if not batch:
            return None
        try:
            existing = await _surely(lambda: self._store_jobs([one.job for one in batch], wait_ms))
        except Busy as error:
            return error
        except Exception as error:  # noqa: BLE001 - reported to the callers
            if len(batch) == 1 or isinstance(error, DatabaseUnreachable):
                for one in batch:
                    one.fail(error)
            else:  # one job caused the error: split the batch to isolate it
                await self._send(batch[: len(batch) // 2])
                await self._send(batch[len(batch) // 2 :])
        except BaseException:
            for one in batch:
                one.future.cancel()
            raise
        else:
            for one in batch:
                if not one.future.done():
                    one.future.set_result(existing.get(one.job.id, one.job.id))
        return None

    def _park(self, one: _Waiting, held: Hashable) -> None:
        if held not in self._parked:
            self._parked[held] = []
            task = asyncio.get_running_loop().create_task(self._retry(held))
            self._parkings.add(task)
            task.add_done_callback(self._parkings.discard)
        if one not in self._parked[held]:
            self._parked[held].append(one)

    async def _retry(self, held: Hashable) -> None:
        """Retry the jobs that wait for one lock until all of them are answered."""
        try:
            while parked := [one for one in self._parked[held] if not one.future.done()]:
                self._parked[held] = parked
                await asyncio.sleep(PARKED_PAUSE_S)
                async with self._retries:
                    batch, began = parked[:MAX_BATCH], time.monotonic()
                    busy = await self._try(batch, WAIT_MS)
                if busy:
                    for one in batch:
                        if began - one.since >= MAX_WAIT_S:
                            one.fail(busy)
        finally:
            for one in self._parked.pop(held):
                one.future.cancel()


async def _surely(store: Callable[[], Awaitable[T]]) -> T:
    """Run a statement, and repeat it while it is unknown whether it succeeded."""
    began = time.monotonic()
    for tried, pause in enumerate(PAUSES_S):
        try:
            return await store()
        except Exception as error:
            if not _may_be_repeated(error) or (tried and time.monotonic() - began > PATIENCE_S):
                raise
        await asyncio.sleep(pause)
    return await store()


def _may_be_repeated(error: Exception) -> bool:
    return isinstance(error, DatabaseUnreachable) or getattr(error, "sqlstate", None) in TRANSIENT
