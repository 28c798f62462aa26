"""The metrics of the whole installation, for a scrape."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from plait.store.database import Database


@dataclass(slots=True, kw_only=True)
class Reading:
    jobs: dict[tuple[str, str], float] = field(default_factory=dict)
    """By tenant and status. `*` is the sum of all tenants without their own entry."""
    queue_jobs: dict[tuple[str, str], float] = field(default_factory=dict)
    queue_oldest: dict[str, float] = field(default_factory=dict)
    minutes: dict[str, float] = field(default_factory=dict)
    """Counts since the requested time, by kind."""
    closed: dict[str, float] = field(default_factory=dict)
    """Counts since `closed_to`."""
    workers: dict[str, float] = field(default_factory=dict)
    single: dict[str, float] = field(default_factory=dict)

    @property
    def closed_to(self) -> datetime:
        return datetime.fromtimestamp(self.single["closed_to"], UTC)


class Metrics:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def read(self, *, since: datetime | None = None, top: int = 50) -> Reading:
        reading = Reading()
        for metric, label, status, value in await self._db.fetch("select * from plait.metrics($1, $2)", since, top):
            match metric:
                case "jobs":
                    reading.jobs[label, status] = value
                case "queue_jobs":
                    reading.queue_jobs[label, status] = value
                case "queue_oldest":
                    reading.queue_oldest[label] = value
                case "minutes":
                    reading.minutes[label] = value
                case "closed":
                    reading.closed[label] = value
                case "workers":
                    reading.workers[label] = value
                case _:
                    reading.single[metric] = value
        return reading

    async def claim_waits(self, jobs: Sequence[UUID]) -> list[tuple[str, float]]:
        """The queue of each of these jobs, and how long the job waited for its first claim."""
        rows = await self._db.fetch("select * from plait.claim_waits($1)", list(jobs))
        return [(row["queue"], row["waited_s"]) for row in rows]
