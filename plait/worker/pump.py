"""The one loop that talks to `plait.cycle`: outcomes out, jobs in, one round trip at a time.

Outcomes wait for company, but no longer than 2 ms and not past a batch; while a round trip is under way they gather for the
next one. A round trip whose reply is lost is sent again: the database tells what it has from what is stale.
"""

import asyncio
import time
from collections.abc import Callable
from uuid import UUID

import asyncpg

from plait.model.errors import DatabaseUnreachable, PlaitError
from plait.runtime.logging import get_logger
from plait.store import Store
from plait.store.workers import Claimed, Cursor, Cycle, CycleConnection, Settlement
from plait.worker import outcomes
from plait.worker.slots import Slots

log = get_logger("worker")

BATCH = 500
COMPANY_S = 0.002
LOOK_AGAIN_S = 0.03
"""After a notification or on going to sleep, look once more: an enqueue that skipped its NOTIFY commits within this time."""


class Pump:
    def __init__(
        self,
        store: Store,
        slots: Slots,
        *,
        poll_s: float,
        accept: Callable[[list[Claimed]], None],
        canceled: Callable[[UUID, int], None],
    ) -> None:
        self._store = store
        self._slots = slots
        self._poll_s = poll_s
        self._accept = accept
        self._canceled = canceled
        self._connection: CycleConnection | None = None
        self._outbox: list[Settlement] = []
        self._cursors: dict[str, Cursor] = {}
        self._wake = asyncio.Event()
        self._company: asyncio.TimerHandle | None = None
        self._claim_at = 0.0
        self._looks = 0
        self._sleepy = False
        self.claiming = True
        self.idle = asyncio.Event()
        """Set when the last look found nothing, and nothing is held."""
        self.reconcile = False
        """The database may think that we hold something else than we do: tell it, before the next claim."""

    def settle(self, settlement: Settlement) -> None:
        """An outcome, to be sent soon."""
        self._outbox.append(settlement)
        if len(self._outbox) >= BATCH or self._slots.running_count == 0:
            self._wake.set()
        elif self._company is None:
            self._company = asyncio.get_running_loop().call_later(COMPANY_S, self._wake.set)

    def look(self) -> None:
        """There may be something to claim: look now, and once more a little later."""
        self._claim_at = 0.0
        self._looks = 1
        self._wake.set()

    def room(self) -> None:
        """A slot is free."""
        if self._claim_at == 0.0:
            self._wake.set()

    @property
    def unsent(self) -> list[tuple[UUID, int]]:
        return [(s.job_id, s.attempt) for s in self._outbox]

    def forget(self) -> None:
        """The lease is lost: nothing that waits here may be sent."""
        self._outbox.clear()
        self._cursors.clear()

    async def turn(self, worker: int) -> bool:
        """Wait until there is reason for a round trip, and make it. False: the database says that this worker is lost."""
        wanted = await self._wait_for_reason()
        if self.reconcile and not await self._reconcile(worker):
            return True
        batch, self._outbox = self._outbox[:BATCH], self._outbox[BATCH:]
        if not batch and not wanted:
            wanted = {}  # nothing to say and no room: still ask who is to be canceled
        try:
            cycle = await self._cycle(worker, wanted, batch)
        except DatabaseUnreachable as error:
            self._outbox[:0] = batch
            self.reconcile = True  # a reply may have been lost, and with it what was claimed
            await self._drop_connection()
            log.warning("the database is out of reach", error=str(error))
            await asyncio.sleep(min(1.0, self._poll_s))
            return True
        except (PlaitError, asyncpg.PostgresError) as error:
            await self._one_by_one(worker, batch, error)
            return True
        self._take(cycle, wanted, batch)
        return cycle.alive

    async def flush(self, worker: int) -> None:
        """Send what is left, before leaving."""
        while self._outbox:
            batch, self._outbox = self._outbox[:BATCH], self._outbox[BATCH:]
            try:
                await self._cycle(worker, {}, batch)
            except (PlaitError, asyncpg.PostgresError) as error:
                await self._drop_connection()
                await self._one_by_one(worker, batch, error)

    async def close(self) -> None:
        await self._drop_connection()

    async def _wait_for_reason(self) -> dict[str, int]:
        while True:
            now = time.monotonic()
            wanted = self._slots.wanted() if self.claiming else {}
            if self._wake.is_set() and self._outbox:
                break
            if wanted and now >= self._claim_at:
                break
            until = self._claim_at if wanted else now + self._poll_s
            if not wanted and now >= self._claim_at + self._poll_s:
                break  # full, or draining: ask about cancels all the same
            self._wake.clear()
            if self._outbox and self._company is None:
                self._company = asyncio.get_running_loop().call_later(COMPANY_S, self._wake.set)
            try:
                async with asyncio.timeout(max(0.0, min(until - now, self._poll_s))):
                    await self._wake.wait()
            except TimeoutError:
                pass
        self._wake.clear()
        if self._company is not None:
            self._company.cancel()
            self._company = None
        return wanted

    async def _cycle(self, worker: int, wanted: dict[str, int], batch: list[Settlement]) -> Cycle:
        if self._connection is None or self._connection.broken:
            await self._drop_connection()
            self._connection = await CycleConnection.open(self._store.database)
        return await self._connection.cycle(worker, wanted, self._cursors, batch, sleep=self._sleepy)

    def _take(self, cycle: Cycle, wanted: dict[str, int], batch: list[Settlement]) -> None:
        for position in cycle.stale:
            log.warning(
                "the lease was lost before the outcome arrived",
                job_id=str(batch[position].job_id),
                attempt=batch[position].attempt,
            )
        if cycle.claimed:
            self._accept(cycle.claimed)
        for job_id, attempt in cycle.cancels:
            self._canceled(job_id, attempt)
        if not wanted:
            self._claim_at = max(self._claim_at, time.monotonic()) if self._claim_at else 0.0
            return
        if len(cycle.claimed) >= sum(wanted.values()) or cycle.claimed:
            self._claim_at, self._looks, self._sleepy = 0.0, 1, False
            self.idle.clear()
        elif not self._sleepy:
            self._sleepy = True  # say so with the next look, which comes at once: what arrives after it will notify
            self._claim_at = 0.0
        elif self._looks > 0:
            self._looks -= 1
            self._claim_at = time.monotonic() + LOOK_AGAIN_S
        else:
            self._claim_at = time.monotonic() + self._poll_s
            if not self._slots and not self._outbox:
                self.idle.set()

    async def _reconcile(self, worker: int) -> bool:
        """No claim is under way: what we hold is all there is."""
        try:
            beat = await self._store.workers.heartbeat(
                worker, running=len(self._slots), held=[*self._slots.held, *self.unsent]
            )
        except DatabaseUnreachable:
            await asyncio.sleep(min(1.0, self._poll_s))
            return False
        except PlaitError:
            return True  # the cycle will tell that we are lost
        self.reconcile = False
        gone = set(beat.gone)
        for job_id, attempt in self._slots.held:
            if job_id in gone:
                self._canceled(job_id, -attempt)
        if beat.released or beat.gone:
            log.info("told the database what is held", released=beat.released, gone=len(beat.gone))
        return True

    async def _one_by_one(self, worker: int, batch: list[Settlement], error: Exception) -> None:
        """Something in the batch can't be stored: the others must not suffer, and it must end all the same."""
        log.error("a batch of outcomes was refused", error=str(error), outcomes=len(batch))
        for settlement in batch:
            try:
                await self._store.workers.settle(worker, [settlement])
            except DatabaseUnreachable:
                self._outbox.append(settlement)
            except (PlaitError, asyncpg.PostgresError) as refused:
                finished = outcomes.failed(
                    f"its outcome could not be stored: {refused}", reason="bad_result", permanent=True
                )
                await self._store.workers.settle(
                    worker,
                    [
                        Settlement(
                            settlement.job_id,
                            settlement.attempt,
                            finished.ending,
                            None,
                            finished.detail,
                            settlement.ran_ms,
                        )
                    ],
                )

    async def _drop_connection(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
