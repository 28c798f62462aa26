"""Database functions for connectors: a tenant's defaults, circuit breakers, and the data of reports."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from plait.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorRow:
    tenant_id: UUID
    tenant: str
    type: str
    settings: str
    """JSON."""
    updated_at: datetime
    updated_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whether the circuit breaker admits a request now. If not, `wait_s` is the time until it does, and `open_s` how long the server has failed."""

    admitted: bool
    wait_s: float = 0
    open_s: float = 0
    well: bool = True
    """Whether no failure is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """Outcomes of one definition's jobs."""

    definition: str
    jobs: int
    live: int
    succeeded: int
    failed: int
    dead_letter: int
    canceled: int
    skipped: int
    attempts: int
    wait_p50_s: float | None
    wait_p95_s: float | None
    run_p50_s: float | None
    run_p95_s: float | None
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    now: datetime
    slug: str
    name: str
    live: int
    running: int
    max_queued: int | None
    max_running: int | None
    weight: int
    triggers: int
    max_triggers: int
    endpoints: int


class Connectors:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def set_connector(
        self,
        type_: str,
        settings: str | None,
        *,
        tenant_id: UUID | None = None,
        by: str | None = None,
    ) -> None:
        """Set the defaults of a connector. `settings`: JSON text; None removes the defaults."""
        await self._db.fetchval(
            "select plait.set_connector($1, $2::text::json, $3, $4)", type_, settings, tenant_id, by
        )

    async def list_connectors(self, *, tenant_id: UUID | None = None, all_tenants: bool = False) -> list[ConnectorRow]:
        rows = await self._db.fetch("select * from plait.list_connectors($1, $2)", tenant_id, all_tenants)
        return [ConnectorRow(**row) for row in rows]

    async def admit_request(self, tenant_id: UUID, origin: str) -> Admission:
        sql = "select * from plait.admit_requests($1, $2)"
        rows = await self._db.fetch(sql, [tenant_id], [origin])
        if not rows:
            return Admission(admitted=True)
        row = rows[0]
        return Admission(admitted=row["admitted"], wait_s=row["wait_s"] or 0, open_s=row["open_s"] or 0, well=False)

    async def report_request(self, tenant_id: UUID, origin: str, *, ok: bool) -> None:
        await self._db.fetchval("select plait.report_requests($1, $2, $3)", [tenant_id], [origin], [ok])

    async def analytics(
        self, tenant_id: UUID, *, start: datetime | None = None, end: datetime | None = None
    ) -> list[KindRow]:
        sql = "select * from plait.analytics($1, $2, $3)"
        return [KindRow(**row) for row in await self._db.fetch(sql, tenant_id, start, end)]

    async def usage(self, tenant_id: UUID) -> Usage:
        row = await self._db.fetchrow("select * from plait.usage($1)", tenant_id)
        return Usage(**{name.removeprefix("o_"): value for name, value in row.items()})
