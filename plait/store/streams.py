"""Streams that running jobs write, and new items for their readers. Writes are fenced by (worker, job, attempt)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from plait.model.states import Status
from plait.store.database import Database
from plait.store.workflows import Lease

STALE: Final = -1
FULL: Final = -2
CLOSED: Final = -3


class StreamItem(msgspec.Struct, frozen=True, gc=False):
    """An item of a stream. `position`: its position among the items of its branch. `value`: JSON; None closes the stream."""

    lease: Lease
    name: str
    branch: str
    position: int
    value: str | None


class Following(msgspec.Struct, frozen=True, gc=False):
    """A subject that a reader follows, such as `stream <name>` of a job. `after`: the number of the last item it has."""

    job_id: UUID
    tenant_id: UUID
    subject: str
    after: int


class News(msgspec.Struct, frozen=True, gc=False):
    """New items with their numbers. `ended`: no more items will follow. `status`: the job's status; None if the job does not exist."""

    status: Status | None
    ended: bool
    items: list[tuple[int, msgspec.Raw]]


@dataclass(frozen=True, slots=True)
class StreamToken:
    """A valid stream token. `redacted`: whether items must be redacted."""

    tenant_id: UUID
    redacted: bool


class Streams:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def write(self, items: Sequence[StreamItem]) -> list[int]:
        """Append items. Returns, for each item, the last stored position of its branch, or STALE, FULL or CLOSED."""
        stored: list[int] = await self._db.fetchval(
            "select plait.write_streams(p_workers => $1, p_jobs => $2, p_attempts => $3, p_names => $4, "
            "p_branches => $5, p_positions => $6, p_values => $7)",
            [item.lease.worker for item in items],
            [item.lease.job_id for item in items],
            [item.lease.attempt for item in items],
            [item.name for item in items],
            [item.branch for item in items],
            [item.position for item in items],
            [item.value for item in items],
        )
        return stored

    async def follow(self, followed: Sequence[Following]) -> dict[int, News]:
        """Read new items, by position in `followed`. Positions without new items are omitted."""
        rows = await self._db.fetch(
            "select * from plait.follow($1, $2, $3, $4)",
            [one.job_id for one in followed],
            [one.tenant_id for one in followed],
            [one.subject for one in followed],
            [one.after for one in followed],
        )
        return {
            row["n"] - 1: News(
                Status(row["status"]) if row["status"] else None, row["ended"], _ITEMS.decode(row["items"] or "[]")
            )
            for row in rows
        }

    async def open_stream(
        self,
        job_id: UUID,
        *,
        hash: str,  # noqa: A002 - named like the column
        ttl: timedelta,
        tenant_id: UUID | None = None,
        redacted: bool = False,
    ) -> datetime:
        """Create a token for the streams of one job. Returns when it expires."""
        sql = "select plait.open_stream($1, $2, $3, $4, $5)"
        expires: datetime = await self._db.fetchval(sql, job_id, hash, ttl, tenant_id, redacted)
        return expires

    async def authenticate_stream(self, hash: str, job_id: UUID) -> StreamToken | None:  # noqa: A002 - as above
        row = await self._db.fetchrow("select * from plait.authenticate_stream($1, $2)", hash, job_id)
        return None if row is None else StreamToken(row["tenant_id"], row["redacted"])


_ITEMS: Final = msgspec.json.Decoder(list[tuple[int, msgspec.Raw]])
