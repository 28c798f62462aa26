"""Queues: what is in them, and their settings."""

from collections.abc import Mapping
from dataclasses import dataclass
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
    """parallel, or serial: one root tree at a time."""
    root_id: UUID | None
    """Whose tree has a serial queue now."""


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
        """All of them; with one tenant's jobs alone where it is named."""
        return [QueueRow(**row) for row in await self._db.fetch("select * from plait.list_queues($1)", tenant_id)]

    async def list_settings(self) -> list[QueueSettings]:
        """Only what was set, which costs nothing to look at."""
        rows = await self._db.fetch(
            "select name, paused, serial, max_running, rate_count, rate_period_s from plait.queues order by name"
        )
        return [QueueSettings(**row) for row in rows]

    async def set_queue(self, name: str, settings: Mapping[str, Any]) -> None:
        """Change it, and wait (5 s at most) for claims that began before: when this returns, a paused queue starts nothing more."""
        text = msgspec.json.encode(dict(settings)).decode()
        await self._db.fetchval("select plait.set_queue($1, $2::json)", name, text)
        await self._db.unaudited.fetchval("select plait.await_claims($1)", name)
