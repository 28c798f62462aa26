"""Statistics of jobs: counts, history, latency, and the load of fan-outs."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from plait.model.states import Status
from plait.store.database import Database

ChildOrder = Literal["index", "duration", "wait", "status"]
"""By status: those that need attention first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutRow:
    id: UUID
    strategy: str
    total: int
    needed: int
    succeeded: int
    failed: int
    canceled: int
    decision: str | None
    created_at: datetime
    decided_at: datetime | None
    timeout_at: datetime | None
    running: int
    waiting: int
    scheduled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutLoadRow:
    """How many children of a fan-out ran in one interval."""

    at: datetime
    running: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRow:
    """A child of a fan-out, with the times of its attempts."""

    id: UUID
    fan_out_index: int
    definition: str
    queue: str
    status: Status
    attempt: int
    created_at: datetime
    run_at: datetime | None
    finished_at: datetime | None
    wait_on: str | None
    node: str | None
    error: str | None
    fan_outs: int
    attempts: str
    """JSON."""
    steps: bool
    wait_s: float | None
    run_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutTimes:
    """How long the children of a fan-out waited and ran, in seconds."""

    total: int
    children: int
    """How many were read: all, up to 100,000."""
    ran: int
    """How many have started and ended: the run times are theirs."""
    unfinished: int
    never_ran: int
    started: int
    """How many have started: the wait times are theirs."""
    run_mean_s: float | None
    run_p50_s: float | None
    run_p95_s: float | None
    run_max_s: float | None
    wait_p50_s: float | None
    wait_p95_s: float | None
    wait_max_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRuns:
    """Run times of earlier jobs of the same definition, in seconds."""

    runs: int
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    since: datetime | None
    complete: bool
    """False: older ones may exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    at: datetime
    """When the unfinished jobs were counted."""
    live: dict[Status, int]
    oldest_queued_s: float | None
    failed: int
    dead_letter: int
    failures_at: datetime | None
    """When `failed` and `dead_letter` were counted; None: not counted yet."""
    fan_outs: int
    workflows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """Outcomes of attempts in one interval."""

    at: datetime
    enqueued: int
    succeeded: int
    failed: int
    dead_letter: int
    canceled: int
    skipped: int
    retried: int
    lost: int
    run_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """Wait and run times, in seconds, of a sample of the jobs of one interval."""

    at: datetime
    jobs: int
    wait_p50: float | None
    wait_p95: float | None
    run_p50: float | None
    run_p95: float | None


class Statistics:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def list_fan_outs(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[FanOutRow]:
        sql = "select * from plait.list_fan_outs($1, $2, $3)"
        return [FanOutRow(**row) for row in await self._db.fetch(sql, job_id, tenant_id, all_tenants)]

    async def list_children(
        self,
        job_id: UUID,
        fan_out_id: UUID | None = None,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        start: int = 0,
        limit: int = 100,
        sort: ChildOrder = "index",
        descending: bool = False,
    ) -> list[ChildRow]:
        """The children of a job's fan-out in this order, starting at a place in it. Default: the first fan-out, by index."""
        sql = (
            "select * from plait.list_children(p_job => $1, p_fan_out => $2, p_tenant => $3, p_all => $4, "
            "p_start => $5, p_limit => $6, p_sort => $7, p_descending => $8)"
        )
        rows = await self._db.fetch(sql, job_id, fan_out_id, tenant_id, all_tenants, start, limit, sort, descending)
        return [ChildRow(**{**row, "status": Status(row["status"])}) for row in rows]

    async def fan_out_load(
        self,
        job_id: UUID,
        fan_out_id: UUID | None = None,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        start: datetime | None = None,
        end: datetime | None = None,
        parts: int = 100,
    ) -> list[FanOutLoadRow]:
        """List how many children of a job's fan-out ran in each of `parts` equal intervals. Default: the fan-out's lifetime."""
        sql = (
            "select * from plait.fan_out_load(p_job => $1, p_fan_out => $2, p_tenant => $3, p_all => $4, "
            "p_start => $5, p_end => $6, p_parts => $7)"
        )
        rows = await self._db.fetch(sql, job_id, fan_out_id, tenant_id, all_tenants, start, end, parts)
        return [FanOutLoadRow(**row) for row in rows]

    async def fan_out_times(
        self,
        job_id: UUID,
        fan_out_id: UUID | None = None,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
    ) -> FanOutTimes | None:
        """How long the children of a job's fan-out waited and ran; None if it has no such fan-out."""
        sql = "select * from plait.fan_out_times($1, $2, $3, $4)"
        row = await self._db.fetchrow(sql, job_id, fan_out_id, tenant_id, all_tenants)
        return FanOutTimes(**row) if row else None

    async def earlier_runs(
        self, job_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> EarlierRuns:
        sql = "select * from plait.earlier_runs($1, $2, $3)"
        return EarlierRuns(**await self._db.fetchrow(sql, job_id, tenant_id, all_tenants))

    async def overview(self, *, tenant_id: UUID | None = None, all_tenants: bool = False) -> Overview:
        row = await self._db.fetchrow("select * from plait.overview($1, $2)", tenant_id, all_tenants)
        return Overview(
            at=row["o_at"],
            live={status: row[f"o_{status}"] for status in Status if not status.final},
            oldest_queued_s=row["o_oldest_queued_s"],
            failed=row["o_failed"],
            dead_letter=row["o_dead_letter"],
            failures_at=row["o_failures_at"],
            fan_outs=row["o_fan_outs"],
            workflows=row["o_workflows"],
        )

    async def history(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        start: datetime | None = None,
        step: timedelta = timedelta(minutes=1),
    ) -> list[HistoryRow]:
        """List outcomes by interval, from the leader's counts per minute. Empty intervals are omitted."""
        sql = "select * from plait.history($1, $2, $3, $4)"
        return [HistoryRow(**row) for row in await self._db.fetch(sql, tenant_id, all_tenants, start, step)]

    async def latency(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        start: datetime | None = None,
        step: timedelta = timedelta(minutes=1),
    ) -> list[LatencyRow]:
        """List wait and run times by interval, from a sample of jobs. Empty intervals are omitted."""
        sql = "select * from plait.latency($1, $2, $3, $4)"
        return [LatencyRow(**row) for row in await self._db.fetch(sql, tenant_id, all_tenants, start, step)]
