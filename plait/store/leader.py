"""The leader's lease and duties. Each duty is safe to call from anywhere, at once, with or without the lease."""

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
    """Who leads, and where it is."""

    holder: str
    term: int
    since: datetime
    expires_at: datetime
    node: str | None
    """None: a process that runs no jobs."""
    url: str | None
    """Of its API, as others reach it."""
    worker: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescued:
    lost: int
    requeued: int
    dead: int
    canceled: int
    resumed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    resumed: int
    timed_out: int
    canceled: int
    next_s: float | None
    """In how many seconds the next one is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long final jobs are kept, by status; None is for ever."""

    succeeded: timedelta | None = timedelta(days=7)
    skipped: timedelta | None = timedelta(days=7)
    canceled: timedelta | None = timedelta(days=30)
    failed: timedelta | None = timedelta(days=90)
    dead_letter: timedelta | None = timedelta(days=90)


class Pruned(NamedTuple):
    jobs: int
    cursor: UUID | None
    """Where to go on; None: that was the end."""


_PRUNE: Final = "select *, plait.now() as now from plait.prune($1, $2, $3, $4, $5, $6, $7, $8)"


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
        """Queue what is due; returns how many, and in how many seconds the next one is."""
        row = await self._db.fetchrow("select * from plait.promote($1)", limit)
        return row["o_promoted"], row["o_next_s"]

    async def rescue(self, *, limit: int = 1000, cancel_grace_s: float = 30, jitter_s: float = 1) -> Rescued:
        """Take back what lost workers ran, each job within `jitter_s`. Repeats while there is more: a worker's jobs move in a later call than its loss."""
        lost = requeued = dead = canceled = resumed = 0
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
            if row["o_lost"] == 0 and row["o_requeued"] + row["o_dead"] + row["o_canceled"] < limit:
                return Rescued(lost=lost, requeued=requeued, dead=dead, canceled=canceled, resumed=resumed)

    async def resume(self, limit: int = 1000) -> Resumed:
        """Let go on what need not wait any more, and cancel what decided fan-outs have left open."""
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
        """Look through all that waits for what should have gone on; how many there were, and how many seconds it took."""
        row = await self._db.fetchrow("select * from plait.resume_missed()")
        return row["o_resumed"], row["o_took_s"]

    async def release_builds(self, *, after_s: float) -> tuple[int, list[str]]:
        """Let any worker run what is queued for builds of which none has been seen for so long; how many jobs, and of which builds."""
        row = await self._db.fetchrow("select * from plait.release_builds($1)", after_s)
        return row["o_jobs"], row["o_builds"]

    async def count_live(self) -> tuple[int, float]:
        """Count what is live, for who looks; how many, and how many seconds it took."""
        row = await self._db.fetchrow("select * from plait.count_live()", timeout=LONG_S)
        return row["o_jobs"], row["o_took_s"]

    async def announce(self) -> tuple[int, bool, float]:
        """Tell endpoints of outcomes; how many deliveries that made, whether there is more at once, and how many seconds it took."""
        row = await self._db.fetchrow("select * from plait.announce()")
        return row["o_told"], row["o_more"], row["o_took_s"]

    async def roll_up(self) -> tuple[bool, float]:
        """Count how attempts ended, by minutes; whether there is more to do at once, and how many seconds it took."""
        row = await self._db.fetchrow("select * from plait.roll_up()")
        return row["o_more"], row["o_took_s"]

    async def prune(self, keep: Retention, *, cursor: UUID | None = None, limit: int = 1000) -> Pruned:
        """Forget old final jobs, one batch."""
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
        """The same; but what is forgotten is given to `archive`, and is forgotten only when that has returned. Tells also how
        many characters it was."""
        async with self._db.transaction() as connection:
            row = await connection.fetchrow(_PRUNE, *_ages(keep), cursor, limit, True, timeout=LONG_S)
            lines: list[str] = row["o_archive"] or []
            if lines:
                await archive(lines, row["now"])
        return Pruned(row["o_pruned"], row["o_cursor"]), sum(map(len, lines))


def _ages(keep: Retention) -> tuple[Any, ...]:
    return keep.succeeded, keep.skipped, keep.canceled, keep.failed, keep.dead_letter
