"""Log lines of attempts. Writes are fenced by (worker, job, attempt)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

import msgspec

from plait.store.database import Database
from plait.store.workflows import Lease

BUSY: Final = 0
"""The job's row is locked: send the line again. Other answers are 1, stored, and -1, the lease is lost."""

Level = Literal["debug", "info", "warning", "error", "critical"]
Source = Literal["log", "stdout", "stderr", "plait"]
Position = tuple[int, int]
"""An attempt, and the number of a line in its log."""


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """Text that a handler printed or logged. `at` is on the monotonic clock, `fields` is JSON."""

    at: float
    level: Level
    source: Source
    logger: str | None
    message: str
    fields: str | None

    @property
    def size(self) -> int:
        return len(self.message) + len(self.fields or "")


class LogLine(msgspec.Struct, frozen=True, gc=False):
    """An entry with its number in the log of its attempt."""

    lease: Lease
    line: int
    entry: LogEntry


@dataclass(frozen=True, slots=True)
class LogRow:
    attempt: int
    line: int
    at: datetime
    level: Level
    source: Source
    logger: str | None
    message: str
    fields: str | None

    @property
    def position(self) -> Position:
        return self.attempt, self.line


class Logs:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def write(self, lines: Sequence[LogLine], *, now: float) -> list[int]:
        """Append lines; `now` is the time on the monotonic clock. Returns for each line whether it is stored."""
        stored: list[int] = await self._db.fetchval(
            "select plait.write_logs(p_workers => $1, p_jobs => $2, p_attempts => $3, p_lines => $4, p_ages => $5, "
            "p_levels => $6, p_sources => $7, p_loggers => $8, p_messages => $9, p_fields => $10)",
            [line.lease.worker for line in lines],
            [line.lease.job_id for line in lines],
            [line.lease.attempt for line in lines],
            [line.line for line in lines],
            [now - line.entry.at for line in lines],
            [line.entry.level for line in lines],
            [line.entry.source for line in lines],
            [line.entry.logger for line in lines],
            [line.entry.message for line in lines],
            [line.entry.fields for line in lines],
        )
        return stored

    async def list_logs(
        self,
        job_id: UUID,
        *,
        tenant_id: UUID | None = None,
        all_tenants: bool = False,
        attempt: int | None = None,
        level: Level = "debug",
        after: Position | None = None,
        before: Position | None = None,
        limit: int = 1000,
    ) -> list[LogRow]:
        """The first lines after a position; otherwise the last lines, or the last before a position. In order."""
        rows = await self._db.fetch(
            "select * from plait.list_logs(p_job => $1, p_tenant => $2, p_all => $3, p_attempt => $4, p_level => $5, "
            "p_after => $6, p_before => $7, p_limit => $8)",
            job_id,
            tenant_id,
            all_tenants,
            attempt,
            level,
            after,
            before,
            limit,
        )
        return [LogRow(**row) for row in rows]
