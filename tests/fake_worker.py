"""A worker without handlers: the test decides what it claims and settles. It makes the calls of a real worker."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from plait.model.states import AttemptOutcome
from plait.store import Store
from plait.store.workers import Beat, Claimed, Cursor, Cycle, CycleConnection, Settlement

Lease = Claimed


class FakeWorker:
    def __init__(self, store: Store, id_: int, queues: Sequence[str]) -> None:
        self.id = id_
        self.queues = queues
        self._store = store
        self._cursors: dict[str, Cursor] = {}
        self._connection: CycleConnection | None = None

    async def claim(self, n: int = 1, *, queue: str | None = None) -> list[Lease]:
        """Claim up to n jobs of each of its queues, or of `queue`, with `cycle`."""
        return (await self.cycle(n, queue=queue)).claimed

    async def claim_one(self, *, queue: str | None = None) -> Lease:
        [lease] = await self.claim(1, queue=queue)
        return lease

    async def claim_plainly(self, n: int = 1, *, queue: str = "default") -> list[Lease]:
        """Claim with `plait.claim`, as a worker in another language would."""
        return await self._store.workers.claim(self.id, queue, n)

    async def cycle(self, n: int = 0, *settlements: Settlement, queue: str | None = None, sleep: bool = False) -> Cycle:
        if self._connection is None:
            self._connection = await CycleConnection.open(self._store.database)
        wanted = dict.fromkeys([queue] if queue else self.queues, n)
        return await self._connection.cycle(self.id, wanted, self._cursors, settlements, sleep=sleep)

    async def succeed(self, lease: Lease, result: Any = None, *, ran_ms: float | None = None) -> bool:
        return await self._settle_one(lease, AttemptOutcome.SUCCEEDED, result=result, ran_ms=ran_ms)

    async def fail(self, lease: Lease, error: str = "it broke", **detail: Any) -> bool:
        return await self._settle_one(lease, AttemptOutcome.FAILED, error=error, **detail)

    async def time_out(self, lease: Lease) -> bool:
        return await self._settle_one(lease, AttemptOutcome.TIMEOUT, error="it took too long")

    async def skip(self, lease: Lease) -> bool:
        return await self._settle_one(lease, AttemptOutcome.SKIPPED)

    async def snooze(self, lease: Lease, seconds: float = 10) -> bool:
        return await self._settle_one(lease, AttemptOutcome.SNOOZED, delay_s=seconds)

    async def release(self, lease: Lease) -> bool:
        return await self._settle_one(lease, AttemptOutcome.RELEASED)

    async def report_canceled(self, lease: Lease) -> bool:
        return await self._settle_one(lease, AttemptOutcome.CANCELED)

    async def settle(self, *settlements: Settlement) -> list[bool]:
        return await self._store.workers.settle(self.id, settlements)

    async def settle_freely(self, *settlements: Settlement) -> None:
        """Settle until each outcome is recorded or stale. Outcomes of locked jobs are sent again, as by a real worker."""
        left = list(settlements)
        while left:
            accepted = await self._store.workers.settle_free(self.id, left)
            left = [one for one, ok in zip(left, accepted, strict=True) if ok is None]

    async def heartbeat(self, *, holding: Sequence[Lease] | None = None) -> Beat:
        held = None if holding is None else [(lease.job_id, lease.attempt) for lease in holding]
        return await self._store.workers.heartbeat(self.id, running=len(holding or ()), held=held)

    async def progress(self, lease: Lease, value: Any) -> bool:
        return await self._store.workers.progress(self.id, lease.job_id, lease.attempt, json.dumps(value))

    async def leave(self) -> int:
        return await self._store.workers.leave(self.id)

    def bounds(self, queue: str = "default") -> str | None:
        return self._cursors[queue].bounds

    async def flush_statistics(self) -> None:
        """Flush Postgres's statistics, so that they include the rows that this worker's claims have read."""
        await self.cycle()
        assert self._connection is not None
        await self._connection._connection.fetchval("select pg_stat_force_next_flush()")

    async def disconnect(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _settle_one(self, lease: Lease, ending: AttemptOutcome, **values: Any) -> bool:
        [accepted] = await self.settle(outcome(lease, ending, **values))
        return accepted


def outcome(
    lease: Lease | tuple[UUID, int],
    ending: AttemptOutcome | str = AttemptOutcome.SUCCEEDED,
    *,
    result: Any = None,
    ran_ms: float | None = None,
    **detail: Any,
) -> Settlement:
    """The settlement of one lease. All values except the result are details."""
    job_id, attempt = lease if isinstance(lease, tuple) else (lease.job_id, lease.attempt)
    return Settlement(
        job_id,
        attempt,
        AttemptOutcome(ending),
        result=None if result is None else json.dumps(result),
        detail=json.dumps(detail) if detail else None,
        ran_ms=ran_ms,
    )
