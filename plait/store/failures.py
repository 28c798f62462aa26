"""Failures by error, from the leader's counts (sql/functions/leader/count_failures.sql)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from plait.model.states import Status
from plait.store.database import Database
from plait.store.named_arguments import named

Order = Literal["jobs", "recent"]
_FAILURES: Final = (
    "select * from plait.failures("
    + named(("p_tenant", "p_all", "p_from", "p_statuses::text[]", "p_limit", "p_order"))
    + ")"
)
_HISTORY: Final = (
    "select * from plait.failure_history("
    + named(("p_definition", "p_fingerprint", "p_tenant", "p_all", "p_from", "p_step"))
    + ")"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """Failures of one definition with similar errors."""

    definition: str
    fingerprint: str
    error: str | None
    """The newest error; None if its job was just deleted or has no error message."""
    jobs: int
    """Jobs that are failed or dead letters now."""
    dead_letters: int
    recent: int
    """Failures since `since`, including jobs that were retried later."""
    tenants: int
    first_at: datetime
    last_at: datetime
    last_job: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureList:
    rows: list[FailureRow]
    since: datetime
    """The start of `recent`."""
    as_of: datetime | None
    """All failures committed before this time are counted. None: nothing has been counted yet."""
    all_errors: int
    """The total number of errors, including errors that are not in `rows`."""
    all_jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One error of a definition, in one tenant and with one status."""

    tenant_id: UUID
    tenant: str
    status: Status
    jobs: int
    failures: int
    """All failures whose jobs are not deleted, including jobs that were retried later."""
    first_at: datetime
    last_at: datetime
    last_job: UUID
    as_of: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureHistoryRow:
    at: datetime
    failed: int
    dead_letter: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureWorkerRow:
    worker: int | None
    """None: the job failed without a worker."""
    host: str | None
    failures: int
    last_at: datetime
    all_failures: int
    """The number of failures that were read, over all workers."""


class Failures:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def list_failures(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        start: datetime | None = None,
        statuses: list[str] | None = None,
        limit: int = 50,
        order: Order = "jobs",
    ) -> FailureList:
        """List errors by their number of jobs, or by their failures since `start`. Default: all errors, with the failures of the last 24 hours."""
        rows = [
            dict(row) for row in await self._db.fetch(_FAILURES, tenant_id, all_tenants, start, statuses, limit, order)
        ]
        totals = [{name: row.pop(name) for name in ("since", "as_of", "all_errors", "all_jobs")} for row in rows]
        return FailureList(rows=[FailureRow(**row) for row in rows if row["definition"] is not None], **totals[0])

    async def get_group(
        self, definition: str, fingerprint: str, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[GroupRow]:
        """Get one error by tenant and status. Empty if the error does not exist."""
        sql = "select * from plait.failure_group($1, $2, $3, $4)"
        rows = await self._db.fetch(sql, definition, fingerprint, tenant_id, all_tenants)
        return [GroupRow(**{**row, "status": Status(row["status"])}) for row in rows]

    async def history(
        self,
        definition: str,
        fingerprint: str,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        start: datetime | None = None,
        step: timedelta = timedelta(hours=1),
    ) -> list[FailureHistoryRow]:
        """List the failures with this error by interval. Empty intervals are omitted. Default: the last day by hour."""
        rows = await self._db.fetch(_HISTORY, definition, fingerprint, tenant_id, all_tenants, start, step)
        return [FailureHistoryRow(**row) for row in rows]

    async def list_workers(
        self, definition: str, fingerprint: str, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> list[FailureWorkerRow]:
        """The workers of the newest failures with this error."""
        sql = "select * from plait.failure_workers($1, $2, $3, $4)"
        rows = await self._db.fetch(sql, definition, fingerprint, tenant_id, all_tenants)
        return [FailureWorkerRow(**row) for row in rows]
