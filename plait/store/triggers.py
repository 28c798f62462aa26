"""Triggers and their firings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from plait.model.errors import NotFound
from plait.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerRow:
    now: datetime
    """The database's time when the row was read."""
    id: UUID
    tenant_id: UUID
    tenant: str
    tenant_name: str
    label: str
    kind: str
    origin: str
    definition: str
    enabled: bool
    event_name: str | None
    cron: str | None
    every_s: float | None
    time_zone: str | None
    anchor_at: datetime
    cursor_at: datetime
    next_at: datetime | None
    last_at: datetime | None
    last_job_id: UUID | None
    fired: int
    missed: int
    skipped: int
    held: int
    catch_up: str
    catch_up_window_s: float | None
    overlap: str
    jitter_s: float
    dedupe_window_s: int
    queue: str | None
    priority: int | None
    max_attempts: int | None
    timeout_s: float | None
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    payload: str = field(repr=False)
    created_by: str
    created_at: datetime
    updated_at: datetime
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSchedule:
    now: datetime
    id: UUID
    revision: int
    label: str
    definition: str
    cron: str | None
    every_s: float | None
    time_zone: str
    anchor_at: datetime
    cursor_at: datetime
    catch_up: str
    catch_up_window_s: float | None
    payload: str
    dedupe_key: str | None
    correlation_id: str | None
    limit_key: str | None
    tenant_id: UUID
    tenant_slug: str
    tenant_name: str
    schema: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FireRow:
    id: UUID
    tenant_id: UUID
    trigger_id: UUID
    label: str
    definition: str
    at: datetime
    instant: datetime | None
    event_id: UUID | None
    outcome: str
    job_id: UUID | None
    error: str | None


class Triggers:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def set_trigger(
        self,
        label: str,
        settings: Mapping[str, Any],
        *,
        tenant_id: UUID | None = None,
        unchanged_since: datetime | None = None,
        new: bool = False,
    ) -> UUID:
        """Create or change a trigger by its label. `new`: raise an error if it exists."""
        text = msgspec.json.encode(dict(settings)).decode()
        sql = "select plait.set_trigger($1, $2::json, $3, $4, $5)"
        return UUID(bytes=(await self._db.fetchval(sql, label, text, tenant_id, unchanged_since, new)).bytes)

    async def declare_triggers(self, triggers: Sequence[Mapping[str, Any]], definitions: Sequence[str]) -> int:
        """Register the triggers of an application's code. Returns how many triggers were removed."""
        text = msgspec.json.encode(list(triggers)).decode()
        return int(await self._db.fetchval("select plait.declare_triggers($1::json, $2)", text, list(definitions)))

    async def delete_trigger(self, trigger_id: UUID, *, tenant_id: UUID | None = None) -> None:
        await self._db.fetchval("select plait.delete_trigger($1, $2)", trigger_id, tenant_id)

    async def list_triggers(
        self,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        trigger_id: UUID | None = None,
        label: str | None = None,
    ) -> list[TriggerRow]:
        sql = "select * from plait.list_triggers($1, $2, $3, $4)"
        rows = await self._db.fetch(sql, tenant_id, all_tenants, trigger_id, label)
        return [TriggerRow(**row) for row in rows]

    async def get_trigger(
        self, named: str | UUID, *, tenant_id: UUID | None = None, all_tenants: bool = False
    ) -> TriggerRow:
        """Get a trigger by its id or label."""
        chosen: dict[str, Any] = {"trigger_id": named} if isinstance(named, UUID) else {"label": named}
        rows = await self.list_triggers(tenant_id=tenant_id, all_tenants=all_tenants, **chosen)
        if len(rows) != 1:
            raise NotFound(f"there is no trigger {named}" if not rows else f"several tenants have a trigger {named}")
        return rows[0]

    async def list_fires(
        self,
        *,
        trigger_id: UUID | None = None,
        event_id: UUID | None = None,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        limit: int = 50,
    ) -> list[FireRow]:
        sql = "select * from plait.list_fires($1, $2, $3, $4, $5)"
        rows = await self._db.fetch(sql, trigger_id, event_id, tenant_id, all_tenants, limit)
        return [FireRow(**row) for row in rows]

    async def due_schedules(self, limit: int = 100, *, after: UUID | None = None) -> list[DueSchedule]:
        rows = await self._db.fetch("select * from plait.due_schedules($1, $2)", limit, after)
        return [DueSchedule(**row) for row in rows]

    async def fire(
        self,
        due: DueSchedule,
        *,
        upto: datetime,
        next_at: datetime | None,
        fires: Sequence[Mapping[str, Any]],
        missed: int,
        error: str | None = None,
    ) -> int | None:
        """Enqueue the jobs of these instants, and advance the schedule. Returns None if the schedule was changed meanwhile; then nothing is done."""
        fired: int | None = await self._db.fetchval(
            "select plait.fire(p_trigger => $1, p_revision => $2, p_cursor => $3, p_upto => $4, p_next => $5, "
            "p_fires => $6::json, p_missed => $7, p_error => $8)",
            due.id, due.revision, due.cursor_at, upto, next_at, msgspec.json.encode(list(fires)).decode(), missed, error,
        )  # fmt: skip
        return fired

    async def release_fires(self, limit: int = 100) -> int:
        """Fire instants that waited for a previous job, if it is final now. Returns their number."""
        return int(await self._db.fetchval("select plait.release_fires($1)", limit))
