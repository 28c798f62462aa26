"""Enqueues of one process: calls that come at the same time share one statement, each answered only after its commit.

While a statement is under way, new calls gather for the next one, so a lone caller waits for nothing and a crowd pays for one
round trip. A caller's own transaction never comes through here.

An open transaction of a user can hold a key, a quota or a job that an enqueue needs. Its caller may wait for us at the same
time, so we must not wait for it: jobs that may wait have a lane of their own, a statement waits 10 ms at most, and a job that was in
the way is parked, and tried again beside the lanes, until `MAX_WAIT_S` have passed. Then its caller gets `Busy`.

A reply that is lost is neither success nor failure (T111). Ids come from here, so the same statement can be sent again, and what
is stored already is left alone.
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
"""Payloads of one call: this process holds all of it in memory."""
MAX_SPECIAL = 10_000
PAUSES_S = (0.05, 0.25, 1.0)
"""Before each repetition of a statement whose reply was lost."""
PATIENCE_S = 5.0
"""No repetition begins after this time, but for the first one: a connection that was dead is known to be only when its statement
was not answered for long."""
TRANSIENT = frozenset({"40001", "40P01", "55P03", "23505"})
"""Serialization failure, deadlock, lock timeout: the server undid it all, and asks to try again."""
MAX_WAIT_S = MAX_WAIT_MS / 1000
"""How long a job waits for what another open transaction holds."""
LANE_WAIT_MS = 10
"""How long a statement of many may be held up by one of them."""
PARKED_PAUSE_S = 0.1
MAX_RETRIES = 2
"""So many of the parked are tried again at once: the other connections are for those that can be stored."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Waiting:
    job: NewJob
    future: "asyncio.Future[UUID]"
    since: float = field(default_factory=time.monotonic)

    def needs(self) -> Hashable:
        """What another transaction can hold of it, beside its tenant's quota."""
        job = self.job
        return job.tenant_id, job.definition, job.dedupe_key, job.idempotency_key, job.after

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Enqueuer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._lanes: dict[bool, list[_Waiting]] = {False: [], True: []}
        """By whether they may have to wait for others."""
        self._flushers: dict[bool, asyncio.Task[None]] = {}
        self._special: set[tuple[str, UUID | None]] = set()
        """Definitions and tenants whose jobs did not go the short way: they need not be tried on it again."""
        self._parked: dict[Hashable, list[_Waiting]] = {}
        """By what another transaction holds: what they need, or a tenant's id for its quota."""
        self._parkings: set[asyncio.Task[None]] = set()
        self._retries = asyncio.Semaphore(MAX_RETRIES)

    async def enqueue(self, job: NewJob) -> UUID:
        """The id of the job: its own, or that of the older one which holds its key. Raises `Busy` when another open transaction
        holds the key, the quota or the dependency of this job for too long."""
        waiting = _Waiting(job, asyncio.get_running_loop().create_future())
        held = self._parked and [key for key in (job.tenant_id, waiting.needs()) if key in self._parked]
        if held:
            self._park(waiting, held[0])
        else:
            lane = job.may_wait()
            self._lanes[lane].append(waiting)
            if lane not in self._flushers:
                self._flushers[lane] = asyncio.get_running_loop().create_task(self._flush(lane))
        # A caller that is canceled leaves: before the statement goes out its job is dropped, after that it may be stored.
        return await waiting.future

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

        await _surely(lambda: patiently(lambda: self._store.jobs.enqueue_parts(each()), MAX_WAIT_S))

    async def close(self) -> None:
        """Return when those who wait have their answer."""
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
            for one in left:  # the loop ends: nobody is left to send these
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
        """Answer them all, but for those that are parked."""
        while busy := await self._try(batch, LANE_WAIT_MS):
            blocked = [one for one in batch if busy.detail in (str(one.job.id), str(one.job.tenant_id))]
            if not blocked and len(batch) > 1:  # it is not known which: halve
                await self._send(batch[: len(batch) // 2])
                batch = batch[len(batch) // 2 :]
                continue
            for one in blocked or batch:
                self._park(one, one.job.tenant_id if busy.detail == str(one.job.tenant_id) else one.needs())
            batch = [one for one in batch if one not in blocked] if blocked else []

    async def _try(self, batch: list[_Waiting], wait_ms: int) -> Busy | None:
        """Answer them all, unless another transaction is in the way."""
        batch = [one for one in batch if not one.future.done()]
        if not batch:
            return None
        try:
            existing = await _surely(lambda: self._store_jobs([one.job for one in batch], wait_ms))
        except Busy as error:
            return error
        except Exception as error:  # noqa: BLE001 - it is the callers' to handle
            if len(batch) == 1 or isinstance(error, DatabaseUnreachable):
                for one in batch:
                    one.fail(error)
            else:  # one of them is at fault: halve, until it stands alone
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
        """Those that need one thing, until they have it."""
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
    """Store it, and again when it is not known whether it is."""
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
