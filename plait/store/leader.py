"""Leader election and the leader's duties. Any process may call any duty, concurrently and without being the leader."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from plait.store.database import LONG_S, Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    leads: bool
    term: int | None
    holder: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leading:
    """The leader, and its address."""

    holder: str
    term: int
    since: datetime
    expires_at: datetime
    node: str | None
    """None if its process runs no jobs."""
    url: str | None
    """The public URL of its API."""
    worker: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescued:
    lost: int
    requeued: int
    dead: int
    canceled: int
    resumed: int
    workers: list[str]
    """The lost workers: ids, hosts and process ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    resumed: int
    timed_out: int
    canceled: int
    next_s: float | None
    """Seconds until the next waiting job is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The retention of final jobs, by status. None means forever."""

    succeeded: timedelta | None = timedelta(days=7)
    skipped: timedelta | None = timedelta(days=7)
    canceled: timedelta | None = timedelta(days=30)
    failed: timedelta | None = timedelta(days=90)
    dead_letter: timedelta | None = timedelta(days=90)


class Pruned(NamedTuple):
    jobs: int
    cursor: UUID | None
    """The position to continue at; None if the round is complete."""


_PRUNE: Final = (
    "select *, plait.now() as now from plait.prune(p_succeeded => $1, p_skipped => $2, p_canceled => $3, "
    "p_failed => $4, p_dead_letter => $5, p_cursor => $6, p_limit => $7, p_archive => $8)"
)


class Leader:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def elect(self, holder: str, *, lease_s: float, resign: bool = False) -> Election:
        row = await self._db.fetchrow("select * from plait.elect($1, $2, $3)", holder, lease_s, resign)
        return Election(leads=row["o_leads"], term=row["o_term"], holder=row["o_holder"])

    async def get_leader(self) -> Leading | None:
        row = await self._db.fetchrow("select * from plait.get_leader()")
        return Leading(**row) if row else None

    async def promote(self, limit: int = 1000) -> tuple[int, float | None]:
        """Queue due jobs. Returns their number, and the seconds until the next job is due."""
        row = await self._db.fetchrow("select * from plait.promote($1)", limit)
        return row["o_promoted"], row["o_next_s"]

    async def rescue(self, *, limit: int = 1000, cancel_grace_s: float = 30, jitter_s: float = 1) -> Rescued:
        """Requeue the jobs of lost workers, each after a random delay of up to `jitter_s`. Repeats the statement while there is more to do: one
        call declares a worker lost, and a later call requeues its jobs."""
        lost = requeued = dead = canceled = resumed = 0
        workers: list[str] = []
        while True:
            row = await self._db.fetchrow(
                "select * from plait.rescue($1, p_cancel_grace_s => $2, p_jitter_s => $3)",
                limit,
                cancel_grace_s,
                jitter_s,
            )
            lost += row["o_lost"]
            requeued += row["o_requeued"]
            dead += row["o_dead"]
            canceled += row["o_canceled"]
            resumed += row["o_resumed"]
            workers += row["o_workers"]
            if row["o_lost"] == 0 and row["o_requeued"] + row["o_dead"] + row["o_canceled"] < limit:
                return Rescued(
                    lost=lost, requeued=requeued, dead=dead, canceled=canceled, resumed=resumed, workers=workers
                )

    async def resume(self, limit: int = 1000) -> Resumed:
        """Resume jobs whose wait is over, and cancel open children of decided fan-outs."""
        row = await self._db.fetchrow("select * from plait.resume($1)", limit)
        after: UUID | None = None
        canceled = 0
        while True:
            left = await self._db.fetchrow("select * from plait.cancel_remaining($1)", after)
            if left["o_fan_out"] is None:
                return Resumed(
                    resumed=row["o_resumed"], timed_out=row["o_timed_out"], canceled=canceled, next_s=row["o_next_s"]
                )
            after, canceled = left["o_fan_out"], canceled + left["o_jobs"]

    async def resume_missed(self) -> tuple[int, float]:
        """Resume waiting jobs whose resume was missed. Returns their number, and the seconds it took."""
        row = await self._db.fetchrow("select * from plait.resume_missed()")
        return row["o_resumed"], row["o_took_s"]

    async def release_builds(self, *, after_s: float) -> tuple[int, list[str]]:
        """Let any worker run the jobs of builds that have had no worker for `after_s`. Returns the number of jobs, and the builds."""
        row = await self._db.fetchrow("select * from plait.release_builds($1)", after_s)
        return row["o_jobs"], row["o_builds"]

    async def count_live(self) -> tuple[int, float]:
        """Count unfinished jobs, for display. Returns their number, and the seconds it took."""
        row = await self._db.fetchrow("select * from plait.count_live()", timeout=LONG_S)
        return row["o_jobs"], row["o_took_s"]

    async def count_failures(self) -> tuple[bool, float]:
        """Count failures by error. Returns whether there is more to count now, and the seconds it took."""
        row = await self._db.fetchrow("select * from plait.count_failures()", timeout=LONG_S)
        return row["o_more"], row["o_took_s"]

    async def announce(self) -> tuple[int, bool, float]:
        """Enqueue webhook deliveries of outcomes. Returns their number, whether there is more to do now, and the seconds it took."""
        row = await self._db.fetchrow("select * from plait.announce()")
        return row["o_told"], row["o_more"], row["o_took_s"]

    async def roll_up(self) -> tuple[bool, float]:
        """Aggregate outcomes by minute. Returns whether there is more to do now, and the seconds it took."""
        row = await self._db.fetchrow("select * from plait.roll_up()")
        return row["o_more"], row["o_took_s"]

    async def prune(self, keep: Retention, *, cursor: UUID | None = None, limit: int = 1000) -> Pruned:
        """Delete one batch of old final jobs."""
        row = await self._db.fetchrow(_PRUNE, *_ages(keep), cursor, limit, False, timeout=LONG_S)
        return Pruned(row["o_pruned"], row["o_cursor"])

    async def prune_into(
        self,
        archive: Callable[[Sequence[str], datetime], Awaitable[None]],
        keep: Retention,
        *,
        cursor: UUID | None = None,
        limit: int = 1000,
    ) -> tuple[Pruned, int]:
        """Like `prune`, but first pass the jobs to `archive`. They are deleted only after it returns. Also returns the number of
        archived characters."""
        async with self._db.transaction() as connection:
            row = await connection.fetchrow(_PRUNE, *_ages(keep), cursor, limit, True, timeout=LONG_S)
            lines: list[str] = row["o_archive"] or []
            if lines:
                await archive(lines, row["now"])
        return Pruned(row["o_pruned"], row["o_cursor"]), sum(map(len, lines))


def _ages(keep: Retention) -> tuple[Any, ...]:
    return keep.succeeded, keep.skipped, keep.canceled, keep.failed, keep.dead_letter
