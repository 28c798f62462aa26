"""The change feed: recent changes to jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from plait.store.database import Database


@dataclass(frozen=True, slots=True)
class Change:
    kind: Literal["job", "fan_out", "log", "log_line", "more"]
    """`more`: there are too many changes to list each one."""
    tenant_id: UUID | None
    id: UUID | None
    detail: str


class Changes:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def changes(self, tenants: Sequence[UUID] | None, since: datetime, *, limit: int = 2000) -> list[Change]:
        """List the changes to jobs of these tenants since `since`. `tenants` None: all tenants."""
        wanted = None if tenants is None else list(tenants)
        rows = await self._db.fetch("select * from plait.changes($1, $2, $3)", wanted, since, limit)
        return [Change(row["kind"], row["tenant_id"], row["id"], row["detail"]) for row in rows]
