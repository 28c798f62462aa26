"""Wait for results. All handles of a process share one query, which is sent less often while no job ends."""

import asyncio
import time
from dataclasses import dataclass
from uuid import UUID

from plait.model.errors import PlaitError
from plait.sdk.follower import Follower
from plait.store import Store
from plait.store.database import is_transient
from plait.store.job_rows import OutcomeRow

FIRST_S, LAST_S, MAX_BATCH = 0.005, 0.5, 500
PATIENCE_S = 30.0
"""How long the database may be unreachable before waiting callers get an error."""


@dataclass(slots=True)
class _Wait:
    tenant_id: UUID
    future: "asyncio.Future[OutcomeRow]"
    waiters: int = 0


class Waiter:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[UUID, _Wait] = {}
        self._poller: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self.follower = Follower(store)

    async def outcome(self, job_id: UUID, tenant_id: UUID) -> OutcomeRow:
        """The outcome of the job, as soon as it is final."""
        loop = asyncio.get_running_loop()
        wait = self._waiting.get(job_id)
        if wait is None:
            wait = self._waiting[job_id] = _Wait(tenant_id, loop.create_future())
        wait.waiters += 1
        self._news.set()
        if self._poller is None:
            self._poller = loop.create_task(self._poll())
        try:
            return await asyncio.shield(wait.future)
        finally:
            wait.waiters -= 1
            if wait.waiters == 0 and self._waiting.get(job_id) is wait:  # no caller waits for it: stop querying
                del self._waiting[job_id]
                wait.future.cancel()

    async def close(self) -> None:
        await self.follower.close()
        self._fail(PlaitError("the app was closed while waiting for a result"))
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.wait({self._poller})

    async def _poll(self) -> None:
        pause = FIRST_S
        reached = time.monotonic()
        try:
            while self._waiting:
                try:
                    ended = await self._ask()
                    reached = time.monotonic()
                except Exception as error:
                    if not is_transient(error) or time.monotonic() - reached > PATIENCE_S:
                        raise
                    ended = False
                pause = FIRST_S if ended else min(pause * 1.25, LAST_S)
                self._news.clear()
                try:
                    async with asyncio.timeout(pause):
                        await self._news.wait()
                    pause = FIRST_S
                except TimeoutError:
                    pass
        except Exception as error:  # noqa: BLE001 - reported to the waiting callers
            self._fail(error)
        finally:
            self._poller = None
            for wait in self._waiting.values():
                wait.future.cancel()
            self._waiting = {}

    async def _ask(self) -> bool:
        """Query all awaited jobs; returns whether any is final."""
        asked = [(job_id, wait.tenant_id) for job_id, wait in self._waiting.items()]
        any_ended = False
        for start in range(0, len(asked), MAX_BATCH):
            for row in await self._store.jobs.get_outcomes(asked[start : start + MAX_BATCH]):
                any_ended = True
                wait = self._waiting.pop(row.job_id, None)
                if wait is not None and not wait.future.done():
                    wait.future.set_result(row)
        return any_ended

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, {}
        for wait in waiting.values():
            if not wait.future.done():
                wait.future.set_exception(error)
