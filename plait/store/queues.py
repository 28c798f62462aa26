"""Queues: their jobs and settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from plait.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    name: str
    paused: bool
    queued: int
    scheduled: int
    running: int
    waiting: int
    oldest_s: float | None
    workers: int
    max_running: int | None
    rate_count: int | None
    rate_period_s: float | None
    mode: str
    """`parallel`, or `serial`, which runs one workflow at a time."""
    root_id: UUID | None
    """The root of the workflow that a serial queue runs now."""
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    name: str
    paused: bool
    serial: bool
    max_running: int | None
    rate_count: int | None
    rate_period_s: float | None


class Queues:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def list_queues(self, *, tenant_id: UUID | None = None) -> list[QueueRow]:
        """List all queues. With a tenant, only the tenant's jobs are counted."""
        return [QueueRow(**row) for row in await self._db.fetch("select * from plait.list_queues($1)", tenant_id)]

    async def list_settings(self) -> list[QueueSettings]:
        """List only queues with explicit settings, which are cheap to read."""
        rows = await self._db.fetch(
            "select name, paused, serial, max_running, rate_count, rate_period_s from plait.queues order by name"
        )
        return [QueueSettings(**row) for row in rows]

    async def set_queue(self, name: str, settings: Mapping[str, Any]) -> None:
        """Change a queue, and wait at most 5 seconds for earlier claims to finish. After this call, a paused queue starts no more jobs."""
        text = msgspec.json.encode(dict(settings)).decode()
        await self._db.fetchval("select plait.set_queue($1, $2::json)", name, text)
        await self._db.unaudited.fetchval("select plait.await_claims($1)", name)
