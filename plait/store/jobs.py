"""Jobs: enqueue, read, cancel, retry, reschedule and signal them."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Final, TypeVar, Unpack
from uuid import UUID

from plait.model.errors import Busy, IllegalMove, NotFound
from plait.model.states import Status
from plait.store.database import LONG_S, Database, Row
from plait.store.job_rows import (
    GET_JOB,
    AttemptRow,
    JobRow,
    NodeRow,
    OutcomeRow,
    StepView,
    Times,
    TreeCanceled,
    UnreadSignals,
    job_of,
)
from plait.store.listing import COUNT_JOBS, COUNTED, LIST_JOBS, Counted, Filter, Listed, arguments, listed
from plait.store.new_jobs import ENQUEUE, ENQUEUE_ONE, MAX_WAIT_MS, NewJob, enqueue_arguments, single_arguments
from plait.store.workflows import NodePlace

PAUSES_S: Final = (0.005, 0.02, 0.1, 0.5, 1.0, 2.0)
WAIT_MS: Final = 50
"""How long one statement waits for another transaction. Then it is retried later, so that it does not occupy a connection meanwhile."""
BUSY_PAUSES_S: Final = (0.02, 0.05, 0.1)
"""Delays between these retries; the last delay repeats."""

T = TypeVar("T")


class Jobs:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def enqueue_many(
        self,
        jobs: Sequence[NewJob],
        *,
        source: str = "manual",
        wait_ms: int = WAIT_MS,
        patience_s: float = MAX_WAIT_MS / 1000,
    ) -> dict[UUID, UUID]:
        """Enqueue jobs. Returns the id of the existing job for each job whose key is in use. Raises `Busy` if another open transaction locks
        a row that the jobs need for longer than `patience_s`."""
        arguments = enqueue_arguments(jobs, source=source, in_transaction=False, wait_ms=wait_ms)
        rows = await patiently(lambda: self._db.fetch(ENQUEUE, *arguments), patience_s)
        return {row["requested"]: row["existing"] for row in rows if row["requested"] is not None}

    async def enqueue_one(self, job: NewJob) -> bool:
        """Enqueue one plain job on the fast path. Returns False if the job must be enqueued with `enqueue_many`."""
        return bool(await self._db.fetchval(ENQUEUE_ONE, *single_arguments(job)))

    async def enqueue_parts(self, parts: Iterator[list[NewJob]]) -> None:
        """Enqueue many jobs without keys in one transaction. The next part is encoded while the database stores the previous part."""
        first, second = next(parts, None), next(parts, None)
        if first is None or second is None:
            if first is not None:
                await self.enqueue_many(first)
            return
        async with self._db.transaction() as connection:
            under_way: asyncio.Task[list[Row]] | None = None
            try:
                for part in chain((first, second), parts):
                    arguments = enqueue_arguments(part, in_transaction=True, wait_ms=WAIT_MS)
                    if under_way is not None:
                        await under_way
                    under_way = asyncio.create_task(connection.fetch(ENQUEUE, *arguments, timeout=self._db.statement_s))
                    await asyncio.sleep(0)  # the statement is sent now, and the next part is encoded meanwhile
                assert under_way is not None
                await under_way
            finally:
                if under_way is not None:
                    await asyncio.wait({under_way})  # until then the connection cannot be used

    async def cancel(self, job_id: UUID, *, tenant_id: UUID | None = None, reason: str | None = None) -> Status:
        return Status(await self._db.fetchval("select plait.cancel($1, $2, $3)", job_id, tenant_id, reason))

    async def retry(
        self,
        job_id: UUID,
        *,
        tenant_id: UUID | None = None,
        run_at: datetime | None = None,
        max_attempts: int | None = None,
        drop_steps: bool = False,
    ) -> Status:
        sql = "select plait.retry($1, $2, $3, $4, $5)"
        steps = "drop" if drop_steps else "keep"
        return Status(await self._db.fetchval(sql, job_id, tenant_id, run_at, max_attempts, steps))

    async def cancel_tree(
        self, job_id: UUID, *, tenant_id: UUID | None = None, reason: str | None = None
    ) -> TreeCanceled:
        """Cancel a job and all its descendants. Retries rows that other transactions lock, and raises `IllegalMove` if some stay locked."""
        canceled = asked = 0
        for pause in (*PAUSES_S, None):
            sql = "select * from plait.cancel_tree($1, $2, $3)"
            row = await self._db.fetchrow(sql, job_id, tenant_id, reason, timeout=LONG_S)
            canceled += row["o_canceled"]
            asked += row["o_asked"]
            if row["o_left"] == 0:
                break
            if pause is None:
                raise IllegalMove(
                    f"{row['o_left']} jobs of the workflow are locked by other transactions: cancel the workflow again"
                )
            await asyncio.sleep(pause)
        return TreeCanceled(canceled=canceled, asked=asked)

    async def retry_tree(self, job_id: UUID, *, tenant_id: UUID | None = None) -> int:
        """Retry the failed jobs of a workflow, from its root down. Returns their number."""
        return int(await self._db.fetchval("select plait.retry_tree($1, $2)", job_id, tenant_id, timeout=LONG_S))

    async def fork(self, job_id: UUID, *, tenant_id: UUID | None = None, from_seq: int = 1) -> UUID:
        """Create a new job with the results of this job's steps before `from_seq`."""
        forked: UUID = await self._db.fetchval("select plait.fork($1, $2, $3)", job_id, tenant_id, from_seq)
        return forked

    async def job_tree(
        self,
        job_id: UUID,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        after: NodeRow | NodePlace | None = None,
        limit: int = 10_000,
    ) -> list[NodeRow]:
        """The workflow of a job, from its root; `after` is the last node of the previous page."""
        rows = await self._db.fetch(
            "select * from plait.job_tree(p_job => $1, p_tenant => $2, p_all => $3, p_after_fan_out => $4, "
            "p_after_index => $5, p_limit => $6)",
            job_id,
            tenant_id,
            all_tenants,
            (after.fan_out_id or UUID(int=0)) if after else None,
            after.fan_out_index if after else None,
            limit,
        )
        return [NodeRow(**{**row, "status": Status(row["status"])}) for row in rows]

    async def list_steps(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[StepView]:
        sql = "select * from plait.list_steps($1, $2, $3)"
        return [StepView(**row) for row in await self._db.fetch(sql, job_id, tenant_id, all_tenants)]

    async def job_history(self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False) -> str:
        """The recorded history of a durable function for a replay, as JSON."""
        sql = "select plait.job_history($1, $2, $3)::text"
        return str(await self._db.fetchval(sql, job_id, tenant_id, all_tenants, timeout=LONG_S))

    async def signal(
        self,
        job_id: UUID,
        name: str,
        payload: str | None = None,
        *,
        tenant_id: UUID | None = None,
        signal_id: UUID | None = None,
    ) -> Status:
        """Send a signal to a job. Returns the job's status. Sending a signal with the same id again has no effect."""
        sql = "select plait.signal($1, $2, $3::json, $4, $5)"
        return Status(await self._db.fetchval(sql, job_id, name, payload, tenant_id, signal_id))

    async def unread_signals(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[UnreadSignals]:
        """Unread signals of a job, by name."""
        rows = await self._db.fetch("select * from plait.unread_signals($1, $2, $3)", job_id, tenant_id, all_tenants)
        return [UnreadSignals(**row) for row in rows]

    async def reschedule(
        self,
        job_id: UUID,
        *,
        tenant_id: UUID | None = None,
        run_at: datetime | None = None,
        max_attempts: int | None = None,
    ) -> Status:
        sql = "select plait.reschedule($1, $2, $3, $4)"
        return Status(await self._db.fetchval(sql, job_id, tenant_id, run_at, max_attempts))

    async def get_job(self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False) -> JobRow:
        row = await self._db.fetchrow(GET_JOB, job_id, tenant_id, all_tenants)
        if row is None:
            raise NotFound(f"there is no job {job_id}")
        return job_of(row)

    async def get_outcomes(self, jobs: Sequence[tuple[UUID, UUID]]) -> list[OutcomeRow]:
        """The outcomes of these (job, tenant) pairs, for jobs that are final or do not exist."""
        rows = await self._db.fetch(
            "select job_id, status, result, reason, error, traceback, failure from plait.get_outcomes($1, $2)",
            [job for job, _ in jobs],
            [tenant for _, tenant in jobs],
        )
        return [OutcomeRow(**{**row, "status": Status(row["status"]) if row["status"] else None}) for row in rows]

    async def list_jobs(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        before: UUID | None = None,
        limit: int = 50,
        offset: int = 0,
        **wanted: Unpack[Filter],
    ) -> Listed:
        """List jobs, newest first. Scans a limited number of rows."""
        rows = await self._db.fetch(LIST_JOBS, tenant_id, all_tenants, *arguments(wanted), before, limit, offset)
        return listed(rows)

    async def count_jobs(
        self, *, tenant_id: UUID | None = None, all_tenants: bool = False, **wanted: Unpack[Filter]
    ) -> Counted:
        """Count jobs, up to `COUNTED`."""
        row = await self._db.fetchrow(COUNT_JOBS, tenant_id, all_tenants, *arguments(wanted))
        return Counted(count=row["found"], more=row["found"] >= COUNTED or row["stopped"] > 0)

    async def list_attempts(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[AttemptRow]:
        sql = "select * from plait.list_attempts($1, $2, $3)"
        return [AttemptRow(**row) for row in await self._db.fetch(sql, job_id, tenant_id, all_tenants)]

    async def job_times(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> Times | None:
        """The job's total, own and waiting time; None if it has not started."""
        row = await self._db.fetchrow("select * from plait.job_times($1, $2, $3)", job_id, tenant_id, all_tenants)
        return Times(**row) if row else None

    async def explain_job(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[tuple[str, str]]:
        sql = "select code, explanation from plait.explain_job($1, $2, $3)"
        return [(row["code"], row["explanation"]) for row in await self._db.fetch(sql, job_id, tenant_id, all_tenants)]


async def patiently(send: Callable[[], Awaitable[T]], patience_s: float) -> T:
    """Repeat the call while another open transaction blocks it, for at most `patience_s`."""
    deadline = time.monotonic() + patience_s
    for n in itertools.count():
        try:
            return await send()
        except Busy:
            if time.monotonic() >= deadline:
                raise
        await asyncio.sleep(BUSY_PAUSES_S[min(n, len(BUSY_PAUSES_S) - 1)])
    raise AssertionError
