"""Outcomes of a batch that the database rejected. Each is settled alone, so that it does not affect the others.

An outcome is replaced by a failure only if its own data is the cause: the database cannot store it, and has rejected it twice when it was
sent alone (the first time may be a race). Any other error may be temporary: a lock, a deadlock, a server that is read-only or out of
resources. The worker keeps the outcome and retries it, with backoff, for `PATIENCE_S`. Then the outcome is dropped. The job is released by the
next reconciliation or at the end of the lease, and runs again.
"""

import asyncio
import contextlib
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from plait.model.errors import DatabaseUnreachable, NoAnswer, PlaitError
from plait.runtime.logging import get_logger
from plait.runtime.outage import Retry
from plait.store import Store
from plait.store.database import is_own_fault
from plait.store.workers import Settlement
from plait.worker import outcomes
from plait.worker.metrics import WorkerMetrics

log = get_logger("worker")

PATIENCE_S: Final = 300.0
FIRST_S: Final = 0.1
LONGEST_S: Final = 10.0
AT_ONCE: Final = 4


@dataclass(eq=False, slots=True)
class _Refused:
    settlement: Settlement
    since: float
    due_at: float = 0.0
    failures: int = 0
    faults: int = 0
    replaced: bool = False


class Unsettled:
    def __init__(self, store: Store, metrics: WorkerMetrics | None) -> None:
        self._store = store
        self._metrics = metrics
        self._refused: list[_Refused] = []
        self._news = asyncio.Event()
        self._stop = False
        self._retry = Retry(
            "outcomes",
            store.database.outage,
            failing="outcomes not stored, retrying each of them separately",
            recovered="unstored outcomes are settled or dropped",
        )

    def __len__(self) -> int:
        return len(self._refused)

    @property
    def settlements(self) -> list[Settlement]:
        return [one.settlement for one in self._refused]

    def add(self, batch: Sequence[Settlement], error: Exception) -> None:
        if batch:
            self._retry.failed(error)
            now = time.monotonic()
            self._refused += [_Refused(settlement, now) for settlement in batch]
            self._news.set()

    def clear(self) -> None:
        self._refused.clear()
        self._retry.end()

    def stop(self) -> None:
        """Retry all outcomes now. `run` ends when none is left."""
        self._stop = True
        for one in self._refused:
            one.due_at = 0.0
        self._news.set()

    async def run(self, worker: int) -> None:
        """Run until stopped and empty, or canceled."""
        self._stop = False
        while not (self._stop and not self._refused):
            self._news.clear()
            now = time.monotonic()
            due = [one for one in self._refused if one.due_at <= now]
            for start in range(0, len(due), AT_ONCE):
                tried = [self._settle(worker, one) for one in due[start : start + AT_ONCE]]
                if not all(await asyncio.gather(*tried)):
                    for one in due[start + AT_ONCE :]:  # the database is unreachable: retry the others later
                        one.due_at = time.monotonic() + FIRST_S
                    break
            if due and not self._refused:
                self._retry.succeeded()
            pause = min((one.due_at for one in self._refused), default=math.inf) - time.monotonic()
            if (self._refused or not self._stop) and pause > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if pause == math.inf else pause):
                        await self._news.wait()

    async def _settle(self, worker: int, one: _Refused) -> bool:
        """Retry one outcome. Returns False if the database is unreachable."""
        settlement = one.settlement
        try:
            [accepted] = await self._store.workers.settle(worker, [settlement])
        except (PlaitError, asyncpg.PostgresError) as error:
            self._failed(one, error)
            return not isinstance(error, DatabaseUnreachable) or isinstance(error, NoAnswer)
        self._remove(one)
        if not accepted:
            log_stale(settlement)
        elif self._metrics is not None:
            self._metrics.count_settled([settlement])
        return True

    def _failed(self, one: _Refused, error: Exception) -> None:
        self._retry.failed(error)
        now = time.monotonic()
        one.failures += 1
        one.faults = one.faults + 1 if is_own_fault(error) else 0
        if one.faults >= 2 and not one.replaced:
            one.settlement, one.replaced, one.failures, one.faults = _replacement(one.settlement, error), True, 0, 0
        elif one.faults >= 2 or now - one.since > PATIENCE_S:
            job_id = str(one.settlement.job_id)
            log.error("outcome dropped; the job will run again", job_id=job_id, error=str(error))
            self._remove(one)
        pause = min(LONGEST_S, FIRST_S * 2.0 ** min(one.failures, 20))
        one.due_at = now + pause * random.uniform(0.5, 1.0)

    def _remove(self, one: _Refused) -> None:
        if one in self._refused:  # `clear` removes it if the lease is lost
            self._refused.remove(one)


def _replacement(settlement: Settlement, refused: Exception) -> Settlement:
    finished = outcomes.failed(f"the outcome could not be stored: {refused}", reason="bad_result", permanent=True)
    log.error("outcome cannot be stored; the job fails", job_id=str(settlement.job_id), error=str(refused))
    return Settlement(
        settlement.job_id,
        settlement.attempt,
        finished.outcome,
        None,
        finished.detail,
        settlement.ran_ms,
        settlement.definition,
    )


def log_stale(settlement: Settlement) -> None:
    log.warning(
        "the lease was lost before the outcome was stored",
        job_id=str(settlement.job_id),
        definition=settlement.definition,
        attempt=settlement.attempt,
    )
