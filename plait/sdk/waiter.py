"""Waiting for results: all handles of a process share one question, asked ever less often while nothing ends."""

import asyncio
from uuid import UUID

from plait.store import Store
from plait.store.jobs import OutcomeRow

FIRST_S, LAST_S, MAX_BATCH = 0.005, 0.5, 500


class Waiter:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[UUID, tuple[UUID, asyncio.Future[OutcomeRow]]] = {}
        self._poller: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    async def outcome(self, job_id: UUID, tenant_id: UUID) -> OutcomeRow:
        """How the job ended, as soon as it has."""
        known = self._waiting.get(job_id)
        future = known[1] if known else asyncio.get_running_loop().create_future()
        self._waiting[job_id] = (tenant_id, future)
        self._news.set()
        if self._poller is None:
            self._poller = asyncio.get_running_loop().create_task(self._poll())
        return await asyncio.shield(future)

    async def _poll(self) -> None:
        pause = FIRST_S
        try:
            while self._waiting:
                asked = list(self._waiting.items())
                ended = 0
                for start in range(0, len(asked), MAX_BATCH):
                    batch = asked[start : start + MAX_BATCH]
                    for row in await self._store.jobs.get_outcomes([(job, tenant) for job, (tenant, _) in batch]):
                        ended += 1
                        _, future = self._waiting.pop(row.job_id)
                        if not future.done():
                            future.set_result(row)
                pause = FIRST_S if ended else min(pause * 1.5, LAST_S)
                self._news.clear()
                try:
                    async with asyncio.timeout(pause):
                        await self._news.wait()
                    pause = FIRST_S
                except TimeoutError:
                    pass
        except BaseException as error:
            waiting, self._waiting = self._waiting, {}
            for _, future in waiting.values():
                if isinstance(error, Exception) and not future.done():
                    future.set_exception(error)
                else:
                    future.cancel()
            if not isinstance(error, Exception):
                raise
        finally:
            self._poller = None
