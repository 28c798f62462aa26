"""The database pump, the only caller of `plait.cycle`: sends outcomes and claims jobs.

Outcomes are collected for at most 2 ms, or until there is a quarter of a batch; during a round trip they are collected for the next one. If
enough work accumulates during a round trip, a second connection is used, so that the database works while this process encodes and decodes. A
round trip whose reply is lost is sent again: the database recognises outcomes that are stored or stale. If the database rejects a batch, its outcomes
are settled one by one (unsettled.py). If it does not answer in time, the batch is sent again in halves.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from uuid import UUID

import asyncpg

from plait.model.errors import DatabaseUnreachable, NoAnswer, PlaitError, WorkerLost
from plait.runtime.logging import get_logger
from plait.runtime.outage import Retry
from plait.store import Store
from plait.store.workers import Claimed, Cursor, Cycle, CycleConnection, Settlement
from plait.worker.busy_outcomes import STOP_S, BusyOutcomes
from plait.worker.metrics import WorkerMetrics
from plait.worker.slots import Slots
from plait.worker.unsettled import Unsettled, log_stale

log = get_logger("worker")

BATCH, PART = 2000, 500
LINES = 2
"""Concurrent round trips, each on its own connection. The second is used only if it would have at least PART jobs or outcomes, and if no other
worker serves these queues. Several workers keep the database busy without it, and skip each other's locked rows."""
ALONE_S = 1.0
"""If one of two concurrent claims finds nothing, for example because both reach the same limit, only one claim is sent at a time for this long."""
COMPANY_S = 0.002
LONGEST_PAUSE_S = 2.0
"""The maximum delay between two attempts to reach the database."""
LOOK_EVERYWHERE_S = 30.0
"""How often the scan bounds of claims are discarded: they depend on the database's clock, which may have been set back."""
FEW = 20
"""After a claim of fewer jobs, their handlers start before the next round trip is prepared. After a larger claim the next round trip comes first, so that
the database works in the meantime."""
LOOK_AGAIN_S = 0.03
"""Before going to sleep, poll once more after this time: an enqueue that relies on the NOTIFY of another enqueue has committed by then."""


class Pump:
    """`accept` receives claimed jobs and the requested numbers, `cancel` an attempt to stop, `gone` an attempt whose lease is lost."""

    def __init__(
        self,
        store: Store,
        slots: Slots,
        *,
        poll_s: float,
        accept: Callable[[list[Claimed], dict[str, int]], None],
        cancel: Callable[[UUID, int], None],
        gone: Callable[[UUID, int], None],
        metrics: WorkerMetrics | None = None,
    ) -> None:
        self._store = store
        self._slots = slots
        self._poll_s = poll_s
        self._accept = accept
        self._cancel = cancel
        self._gone = gone
        self._metrics = metrics
        self._idle_lines: list[CycleConnection] = []
        self._under_way = 0
        self._asking = 0
        self._lines = LINES
        self._alive = True
        self._outbox: list[Settlement] = []
        self._busy = BusyOutcomes()
        self._give_up_at = math.inf
        self._unsettled = Unsettled(store, metrics)
        self._batch = BATCH
        """Reduced after a round trip that was not answered in time, because the batch may have been too large."""
        self._retry = Retry("worker", store.database.outage, longest_s=LONGEST_PAUSE_S)
        self._trying_since: float | None = None
        self._cursors: dict[str, Cursor] = {}
        self._wake = asyncio.Event()
        self._turned_at = 0.0
        self._forget_at = 0.0
        self._together_at = 0.0
        self._claim_at = 0.0
        self._said_asleep = False
        self._look_again = True
        self._news = False
        self._stop = False
        self.claiming = True
        self.idle = asyncio.Event()
        """Set if the last poll found nothing, and no job is held."""
        self.reconcile = False
        """Whether the database's list of this worker's jobs may differ from the local list, which must then be sent before the next claim."""

    async def run(self, worker: int) -> bool:
        """Run until stopped and empty. Returns False if the database has declared this worker lost."""
        self._alive = True
        self._trying_since = None
        async with asyncio.TaskGroup() as group:
            unsettled = group.create_task(self._unsettled.run(worker))
            async with asyncio.TaskGroup() as lines:
                for _ in range(LINES):
                    lines.create_task(self._line(worker))
            self._unsettled.stop()
            if not self._alive:
                unsettled.cancel()
        return self._alive

    @property
    def stalled_s(self) -> float:
        """How long the pump has been trying to complete a round trip."""
        return 0.0 if self._trying_since is None else time.monotonic() - self._trying_since

    async def _line(self, worker: int) -> None:
        """Make round trips, one after another."""
        while self._alive and not (self._stop and not self._outbox and not self._under_way and not self._busy):
            wanted = await self._reason()
            if not self._alive:
                break
            self._send_busy()
            if self.reconcile:
                await self._reconcile(worker)
            elif self._stop and not wanted and not self._outbox:
                continue
            elif not self._idle_lines:
                await self._open()  # this takes a while, so decide afterwards what to claim
            else:
                # If only one connection may claim, it does nothing else; the other one sends the outcomes.
                apart = wanted and self._lines > 1 and time.monotonic() < self._together_at
                size = 0 if apart and len(self._outbox) >= PART else self._batch
                if self._batch < BATCH:
                    wanted = {queue: min(n, self._batch) for queue, n in wanted.items()}
                batch, self._outbox = self._outbox[:size], self._outbox[size:]
                if 0 < await self._turn(worker, wanted, batch) < FEW:
                    await asyncio.sleep(0)

    def settle(self, settlement: Settlement) -> None:
        """Send an outcome soon."""
        self._outbox.append(settlement)
        self._wake.set()

    def look(self) -> None:
        """Poll now, because there may be jobs to claim. If a poll is running, poll once more after it."""
        self._claim_at = 0.0
        self._look_again = True
        self._news = True
        self._wake.set()

    def room(self) -> None:
        """Wake the pump, because a slot is free."""
        self._wake.set()

    def stop(self) -> None:
        """Claim nothing more, send remaining outcomes, and end."""
        self.claiming = False
        self._stop = True
        self._give_up_at = time.monotonic() + STOP_S
        self._wake.set()

    @property
    def unsent(self) -> list[tuple[UUID, int]]:
        return [(s.job_id, s.attempt) for s in [*self._outbox, *self._unsettled.settlements]] + self._busy.keys

    def forget(self) -> list[Settlement]:
        """Reset the state after the lease was lost. Returns the outcomes that were not sent."""
        unsent = [*self._outbox, *self._unsettled.settlements, *self._busy.clear()]
        self._outbox.clear()
        self._unsettled.clear()
        self._cursors.clear()
        self._retry.end()
        self._drop_lines()
        self.reconcile = False
        self._said_asleep = False
        self._claim_at = 0.0
        return unsent

    async def close(self) -> None:
        while self._idle_lines:
            await self._idle_lines.pop().close()

    def _drop_lines(self) -> None:
        while self._idle_lines:
            self._idle_lines.pop().terminate()

    async def _turn(self, worker: int, wanted: dict[str, int], batch: list[Settlement]) -> int:
        """Make a round trip. Returns how many jobs were claimed."""
        claimed = 0
        self._news = False
        self._under_way += 1
        self._asking += bool(wanted)
        self._slots.asked(wanted)
        alone, beside = self._under_way == 1, self._asking > 1
        began = time.monotonic()
        self._begin()
        try:
            cycle = await self._cycle(worker, wanted, batch, sleep=alone)
        except DatabaseUnreachable as error:
            if isinstance(error, NoAnswer) and len(batch) == 1:
                self._unsettled.add(batch, error)  # its row may be locked: settle the others without it
            else:
                self._outbox[:0] = batch
            if isinstance(error, NoAnswer):
                self._batch = max(1, min(self._batch, len(batch) or self._batch) // 2)
            self._cursors.clear()  # the next connection may reach another server
            self.reconcile = True  # a reply may have been lost, and claimed jobs with it
            self._drop_lines()
            await asyncio.sleep(self._retry.failed(error))
        except (PlaitError, asyncpg.PostgresError) as error:
            self._trying_since = None  # the database rejected the batch, but it answered
            self._busy.answered(batch, ())
            self._unsettled.add(batch, error)
            if not batch:
                await asyncio.sleep(self._retry.failed(error))
        except asyncio.CancelledError:
            self._outbox[:0] = batch  # unknown whether it was stored: send it again
            raise
        else:
            self._complete()
            self._batch = min(BATCH, self._batch * 2)
            self._alive = self._alive and cycle.alive
            self._slots.tripped(time.monotonic() - began)
            self._take(cycle, wanted, batch, alone=alone, beside=beside or self._asking > 1)
            claimed = len(cycle.claimed)
        finally:
            self._under_way -= 1
            self._asking -= bool(wanted)
            self._slots.answered(wanted)
            self._turned_at = time.monotonic()
            self._wake.set()
        return claimed

    async def _reason(self) -> dict[str, int]:
        """Wait until there is a reason for a round trip. Returns the number of jobs to claim from each queue."""
        while True:
            now = time.monotonic()
            may_claim = self.claiming and (not self._asking or now >= self._together_at)
            wanted = self._slots.wanted() if may_claim else {}
            at = self._turned_at + self._poll_s  # at the latest, to check for cancellations
            if self._under_way:
                at = math.inf
                if self._under_way < self._lines and not self.reconcile:
                    if len(self._outbox) >= PART:
                        at = 0.0
                    elif sum(wanted.values()) >= PART:
                        at = self._claim_at
            else:
                if self._outbox or (self._stop and not self._busy) or self.reconcile or not self._alive:
                    at = 0.0
                elif self._stop:
                    at = math.inf  # only busy outcomes are left
                elif wanted:
                    at = min(at, self._claim_at)
                at = min(at, self._busy.next_at, self._give_up_at)
                full = max(len(self._outbox), sum(wanted.values())) >= PART or self._slots.running_count == 0
                at = max(at, 0.0 if full else self._turned_at + COMPANY_S)
            self._wake.clear()
            if now >= at:
                return wanted
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if at == math.inf else at - now):
                    await self._wake.wait()

    def _forget_bounds(self) -> None:
        if (now := time.monotonic()) >= self._forget_at:
            self._forget_at = now + LOOK_EVERYWHERE_S
            for cursor in self._cursors.values():
                cursor.bounds = None

    def _begin(self) -> None:
        if self._trying_since is None:
            self._trying_since = time.monotonic()

    def _complete(self) -> None:
        self._trying_since = None
        self._retry.succeeded()

    async def _open(self) -> None:
        self._under_way += 1
        self._begin()
        try:
            self._idle_lines.append(await CycleConnection.open(self._store.database))
        except (PlaitError, asyncpg.PostgresError) as error:
            await asyncio.sleep(self._retry.failed(error))
        finally:
            self._under_way -= 1
            self._wake.set()

    async def _cycle(self, worker: int, wanted: dict[str, int], batch: list[Settlement], *, sleep: bool) -> Cycle:
        self._forget_bounds()
        line = self._idle_lines.pop()
        try:
            cycle = await line.cycle(worker, wanted, self._cursors, batch, sleep=sleep, careful=self._busy.careful)
        except BaseException:
            line.terminate()  # it may be in the middle of a statement, so it is no longer usable
            raise
        self._idle_lines.append(line)
        return cycle

    def _send_busy(self) -> None:
        """Add busy outcomes whose delay is over to the next batch. A stopping worker retries them only for a limited time."""
        if time.monotonic() >= self._give_up_at:
            for one in self._busy.clear():
                log.error(
                    "outcome lost: another transaction still locks the job's row; the job will run again",
                    job_id=str(one.job_id),
                    definition=one.definition,
                )
        else:
            self._outbox += self._busy.take_due()

    def _take(
        self, cycle: Cycle, wanted: dict[str, int], batch: list[Settlement], *, alone: bool, beside: bool
    ) -> None:
        for position in cycle.stale:
            log_stale(batch[position])
        if cycle.busy and not self._busy.careful:
            log.info(
                "another transaction locks the rows of some jobs; their outcomes will be sent again",
                jobs=len(cycle.busy),
            )
        self._busy.answered(batch, cycle.busy)
        if self._metrics is not None:
            self._metrics.count(cycle, batch)
        if cycle.claimed:
            self._accept(cycle.claimed, wanted)
        if cycle.alone is not None:
            self._lines = LINES if cycle.alone else 1
        for job_id, attempt in cycle.cancels:
            self._cancel(job_id, attempt)
        if not wanted:
            return
        if cycle.claimed:
            self._claim_at, self._look_again = 0.0, True
            if len(cycle.claimed) == sum(wanted.values()):
                self._said_asleep = False  # as recorded by the database
            self.idle.clear()
            return
        if beside:
            self._together_at = time.monotonic() + ALONE_S
            return
        if not alone:
            self._claim_at = time.monotonic() + COMPANY_S  # a concurrent poll cannot be the last before sleep
            return
        if self._news:
            return  # the notification came too late for this poll: the next poll is due now
        if not self._said_asleep:
            self._said_asleep = True  # recorded by this poll; earlier enqueues sent no notification: poll again now
            self._claim_at = 0.0
        elif self._look_again:
            self._look_again = False
            self._claim_at = time.monotonic() + LOOK_AGAIN_S
        else:
            self._claim_at = time.monotonic() + self._poll_s
        if not len(self._slots) and not self._outbox and not self._busy and self._under_way == 1:
            self.idle.set()

    async def _reconcile(self, worker: int) -> None:
        """Send the local list of jobs. It is complete, because no other round trip is running. The database releases jobs that are not on the list."""
        self.reconcile = False
        self._under_way += LINES  # prevents further round trips
        self._begin()
        try:
            beat = await self._store.workers.heartbeat(
                worker,
                running=self._slots.running_count,
                prefetched=self._slots.prefetched_count,
                held=[*self._slots.held, *self.unsent],
            )
        except WorkerLost:
            self._alive = False
            return
        except (PlaitError, asyncpg.PostgresError) as error:
            self.reconcile = True
            await asyncio.sleep(self._retry.failed(error))
            return
        finally:
            self._under_way -= LINES
            self._wake.set()
        self._complete()
        gone = set(beat.gone)
        for job_id, attempt in self._slots.held:
            if job_id in gone:
                self._gone(job_id, attempt)
        if beat.released or gone:
            log.info("reconciled held jobs with the database", released=beat.released, gone=len(gone))
