"""The installation's metrics, read at each scrape.

The leader maintains counts per minute. The counts of the last minutes may still grow. Each scrape adds their growth to the counters, so
counters start at 0 with the process, as Prometheus expects, and never decrease when old minutes are deleted.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Final

import asyncpg
from prometheus_client import Metric

from plait.model.errors import PlaitError
from plait.model.states import Status
from plait.runtime.outage import Retry
from plait.store import Store
from plait.store.metrics import Reading
from plait.telemetry import catalogue
from plait.telemetry.catalogue import Family

PATIENCE_S: Final = 8.0
"""Must be less than the scraper's timeout, so that the scraper gets the process's own metrics even if the database does not answer."""
KINDS: Final = ("enqueued", "succeeded", "failed", "dead_letter", "canceled", "skipped", "retried", "lost", "run_s")
FINAL: Final = tuple(status.value for status in Status if status.final)
SINGLE: Final = {
    "counted": catalogue.COUNTED,
    "prefetched": catalogue.PREFETCHED,
    "leader_term": catalogue.LEADER_TERM,
    "leader_present": catalogue.LEADER_PRESENT,
    "notify_queue": catalogue.NOTIFY_QUEUE,
    "dead_rows": catalogue.DEAD_ROWS,
    "oldest_job": catalogue.OLDEST_JOB,
}


class Growth:
    """The total growth since this process began to read, by kind."""

    def __init__(self) -> None:
        self.since: datetime | None = None
        """The time from which to read next."""
        self.totals = dict.fromkeys(KINDS, 0.0)
        self._told: dict[str, float] = {}

    def add(self, reading: Reading) -> None:
        if self.since is not None:
            for kind in KINDS:
                grown = reading.minutes.get(kind, 0.0) - self._told.get(kind, 0.0)
                self.totals[kind] += max(0.0, grown)
        self.since, self._told = reading.closed_to, reading.closed


class DatabaseMetrics:
    """`wanted` is called at each scrape and returns whether to report these metrics: a worker reports them only while it leads, an API
    process always."""

    def __init__(
        self, store: Callable[[], Awaitable[Store]], *, top: int, wanted: Callable[[], bool] = lambda: True
    ) -> None:
        self._store = store
        self._top = top
        self._wanted = wanted
        self._growth = Growth()
        self._retry = Retry("metrics", failing="database metrics not read")

    async def families(self) -> AsyncIterator[Metric]:
        if not self._wanted():
            return
        reading: Reading | None = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                reading = await (await self._store()).metrics.read(since=self._growth.since, top=self._top)
        except (PlaitError, asyncpg.PostgresError, TimeoutError) as error:
            self._retry.failed(error)
        else:
            self._retry.succeeded()
        yield _one(catalogue.DATABASE_UP, 0.0 if reading is None else 1.0)
        if reading is not None:
            self._growth.add(reading)
            for family in (*self._live(reading), *self._happened(), *self._others(reading)):
                yield family

    def _live(self, reading: Reading) -> list[Family]:
        jobs, queue_jobs, oldest = catalogue.JOBS.gauge(), catalogue.QUEUE_JOBS.gauge(), catalogue.QUEUE_OLDEST.gauge()
        for (label, status), value in sorted(reading.jobs.items()):
            jobs.add_metric([label, status], value)
        for (label, status), value in sorted(reading.queue_jobs.items()):
            queue_jobs.add_metric([label, status], value)
        for queue in sorted({label for label, _ in reading.queue_jobs}):
            oldest.add_metric([queue], reading.queue_oldest.get(queue, 0.0))
        return [jobs, queue_jobs, oldest]

    def _happened(self) -> list[Family]:
        finished = catalogue.FINISHED.counter()
        for status in FINAL:
            finished.add_metric([status], self._growth.totals[status])
        kinds = {
            "enqueued": catalogue.ENQUEUED,
            "retried": catalogue.RETRIED,
            "lost": catalogue.LOST,
            "run_s": catalogue.RUN_TOTAL,
        }
        counters = []
        for kind, metric in kinds.items():
            counter = metric.counter()
            counter.add_metric([], self._growth.totals[kind])
            counters.append(counter)
        return [*counters, finished]

    def _others(self, reading: Reading) -> list[Family]:
        workers = catalogue.WORKERS.gauge()
        for state in ("alive", "blocked", "stale", "lost"):
            workers.add_metric([state], reading.workers.get(state, 0.0))
        return [
            workers,
            *(_one(metric, reading.single[name]) for name, metric in SINGLE.items() if name in reading.single),
        ]


def _one(metric: catalogue.Metric, value: float) -> Family:
    family = metric.gauge()
    family.add_metric([], value)
    return family
