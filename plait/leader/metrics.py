"""Metrics of the leader's duties, in each process that may lead."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator

from prometheus_client import Metric

from plait.leader.prune import Prune
from plait.telemetry import catalogue


class LeaderMetrics:
    def __init__(self) -> None:
        self._runs: dict[str, int] = defaultdict(int)
        self._failures: dict[str, int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)
        self._leads_since = 0.0
        self.prune: Prune | None = None
        self.leads = False

    def lead(self, leads: bool) -> None:
        if leads and not self.leads:
            self._leads_since = time.monotonic()
        self.leads = leads

    def duty(self, name: str, took_s: float, *, failed: bool = False) -> None:
        self._runs[name] += 1
        self._seconds[name] += took_s
        self._failures[name] += failed

    async def families(self) -> AsyncIterator[Metric]:
        leading = catalogue.LEADING.gauge()
        leading.add_metric([], float(self.leads))
        yield leading
        for metric, values in (
            (catalogue.DUTY_RUNS, self._runs),
            (catalogue.DUTY_FAILURES, self._failures),
            (catalogue.DUTY_SECONDS, self._seconds),
        ):
            counter = metric.counter()
            for duty, value in sorted(values.items()):
                counter.add_metric([duty], value)
            yield counter
        if self.prune is not None:
            pruned = catalogue.PRUNED.counter()
            pruned.add_metric([], self.prune.forgotten)
            yield pruned
            if self.leads:  # this process assumes that the previous leader has just completed a round
                lag = catalogue.RETENTION_LAG.gauge()
                lag.add_metric([], time.monotonic() - max(self._leads_since, self.prune.through_at or 0.0))
                yield lag
