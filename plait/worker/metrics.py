"""The worker's metrics: updated once per round trip, never per job."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final
from uuid import UUID

import asyncpg
from prometheus_client import Metric

from plait.model.errors import PlaitError
from plait.model.states import AttemptOutcome
from plait.runtime.outage import Retry
from plait.store import Store
from plait.store.listener import Listener
from plait.store.workers import Cycle, Settlement
from plait.telemetry import catalogue
from plait.telemetry.histogram import Histogram
from plait.worker.slots import Slots

SAMPLE, SAMPLE_S = 100, 1.0
"""How many claimed jobs are sampled for their wait times, and how often."""
OTHERS: Final = "*"
NEVER_RAN: Final = frozenset({AttemptOutcome.RELEASED})


class WorkerMetrics:
    def __init__(self, definitions: Iterable[str], *, top: int) -> None:
        """Only the first `top` definitions, by name, have their own metrics; the others are combined."""
        self._own_label = set(sorted(definitions)[:top])
        self._settled: dict[tuple[str, AttemptOutcome], int] = defaultdict(int)
        self._claimed: dict[str, int] = defaultdict(int)
        self._cycles = {"outcomes": 0, "claims": 0}
        self._stale = 0
        self._ran: dict[str, Histogram] = defaultdict(Histogram)
        self._waited: dict[str, Histogram] = defaultdict(Histogram)
        self._sample: list[UUID] = []
        self._sample_at = 0.0
        self.slots: Slots | None = None
        self.listener: Listener | None = None

    def count(self, cycle: Cycle, batch: Sequence[Settlement]) -> None:
        """Count one round trip: its settled outcomes and claimed jobs."""
        if batch:
            self._cycles["outcomes"] += 1
            self._stale += len(cycle.stale)
            unsettled = {*cycle.stale, *cycle.busy}
            self.count_settled(
                [one for number, one in enumerate(batch) if number not in unsettled] if unsettled else batch
            )
        if cycle.claimed:
            self._cycles["claims"] += 1
            for job in cycle.claimed:
                self._claimed[job.queue] += 1
            if not self._sample and (now := time.monotonic()) >= self._sample_at:
                self._sample_at = now + SAMPLE_S
                self._sample = [job.job_id for job in cycle.claimed[:SAMPLE] if job.attempt == 1]

    def count_settled(self, batch: Sequence[Settlement]) -> None:
        ran: dict[tuple[str, AttemptOutcome], list[float]] = defaultdict(list)
        for one in batch:
            ran[one.definition, one.outcome].append(one.ran_ms or 0.0)
        for (definition, outcome), times in ran.items():
            label = definition if definition in self._own_label else OTHERS
            self._settled[label, outcome] += len(times)
            if outcome not in NEVER_RAN:
                self._ran[label].add([ms / 1000 for ms in times])

    async def sample_waits(self, store: Store) -> None:
        """Periodically sample the wait times of some claimed jobs, until canceled."""
        retry = Retry("metrics", store.database.outage, failing="wait times not sampled, retrying")
        while True:
            await asyncio.sleep(SAMPLE_S)
            sample, self._sample = self._sample, []
            if sample:
                try:
                    waits = await store.metrics.claim_waits(sample)
                except (PlaitError, asyncpg.PostgresError) as error:
                    retry.failed(error)
                    continue
                retry.succeeded()
                by_queue: dict[str, list[float]] = defaultdict(list)
                for queue, waited_s in waits:
                    by_queue[queue].append(waited_s)
                for queue, values in by_queue.items():
                    self._waited[queue].add(values)

    async def families(self) -> AsyncIterator[Metric]:
        if self.slots is not None:
            slots, running = catalogue.SLOTS.gauge(), catalogue.RUNNING.gauge()
            for queue, limit, runs in self.slots.state():
                slots.add_metric([queue], limit)
                running.add_metric([queue], runs)
            ready = catalogue.READY.gauge()
            ready.add_metric([], self.slots.prefetched_count)
            for gauge in (slots, running, ready):
                yield gauge
        cycles, claimed, settled, stale = (
            metric.counter() for metric in (catalogue.CYCLES, catalogue.CLAIMED, catalogue.SETTLED, catalogue.STALE)
        )
        for what, n in self._cycles.items():
            cycles.add_metric([what], n)
        for queue, n in sorted(self._claimed.items()):
            claimed.add_metric([queue], n)
        for (definition, outcome), n in sorted(self._settled.items()):
            settled.add_metric([definition, outcome.value], n)
        stale.add_metric([], self._stale)
        for counter in (cycles, claimed, settled, stale):
            yield counter
        for metric, histograms in ((catalogue.RUN_SECONDS, self._ran), (catalogue.WAIT_SECONDS, self._waited)):
            family = metric.histogram()
            for label, histogram in sorted(histograms.items()):
                family.add_metric([label], histogram.buckets, histogram.sum)
            yield family
        if self.listener is not None:
            listening, heard = catalogue.LISTENING.gauge(), catalogue.NOTIFIED.counter()
            listening.add_metric([], float(self.listener.listening))
            heard.add_metric([], self.listener.notifications)
            yield listening
            yield heard
