"""Events, and the triggers that they match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from plait.model.errors import NotFound
from plait.store.database import Database
from plait.store.workflows import Lease

EMIT: Final = "select plait.emit($1::text, $2::text::json, $3::text, $4::text, $5::uuid)"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    id: UUID
    tenant_id: UUID
    at: datetime
    dispatched_at: datetime | None
    jobs: int
    deduplicated: int
    name: str
    correlation_id: str | None
    error: str | None
    data: str = field(repr=False)


class Matched(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger that an event matches."""

    id: UUID
    revision: int
    label: str
    definition: str
    payload: str
    """JSON from a user, decoded separately because its nesting depth is not limited."""
    dedupe_key: str | None
    correlation_id: str | None
    limit_key: str | None
    schema: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingEvent:
    id: UUID
    name: str
    at: datetime
    correlation_id: str | None
    data: str
    tenant_id: UUID
    tenant_slug: str
    tenant_name: str
    triggers: list[Matched]


class Events:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def emit(
        self, name: str, data: str, *, tenant: str | None, correlation_id: str | None, event_id: UUID
    ) -> UUID:
        emitted: UUID = await self._db.fetchval(EMIT, name, data, tenant, correlation_id, event_id)
        return UUID(bytes=emitted.bytes)

    async def await_event(self, lease: Lease, branch: str, signal: str, event: str, match: str) -> bool:
        """Record that the job waits for a matching event, which arrives as this signal. Returns False if the lease is lost."""
        sql = (
            "select plait.await_event(p_worker => $1, p_job => $2, p_attempt => $3, p_branch => $4, "
            "p_signal => $5, p_event => $6, p_match => $7::json)"
        )
        return bool(
            await self._db.fetchval(sql, lease.worker, lease.job_id, lease.attempt, branch, signal, event, match)
        )

    async def pending_events(self, limit: int = 100, *, skip: Sequence[UUID] = ()) -> list[PendingEvent]:
        """List pending events, round-robin over tenants. A page may have fewer than `limit` events. `skip`: events to omit."""
        rows = await self._db.fetch("select * from plait.pending_events($1, $2)", limit, list(skip))
        return [
            PendingEvent(**{**row, "triggers": msgspec.json.decode(row["triggers"], type=list[Matched])})
            for row in rows
        ]

    async def dispatch(self, events: Sequence[Mapping[str, Any] | msgspec.Raw]) -> int:
        """Enqueue the jobs of events. Returns the number of dispatched events; the others are still pending."""
        text = msgspec.json.encode(list(events)).decode()
        return int(await self._db.fetchval("select plait.dispatch($1::json)", text))

    async def list_events(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        event_id: UUID | None = None,
        name: str | None = None,
        failed: bool = False,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[EventRow]:
        sql = (
            "select * from plait.list_events(p_tenant => $1, p_all => $2, p_event => $3, p_name => $4, "
            "p_failed => $5, p_before => $6, p_limit => $7)"
        )
        rows = await self._db.fetch(sql, tenant_id, all_tenants, event_id, name, failed, before, limit)
        return [EventRow(**row) for row in rows]

    async def get_event(self, event_id: UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False) -> EventRow:
        rows = await self.list_events(tenant_id=tenant_id, all_tenants=all_tenants, event_id=event_id)
        if not rows:
            raise NotFound(f"there is no event {event_id}")
        return rows[0]
