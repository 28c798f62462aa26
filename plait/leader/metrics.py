"""What a process that may lead counts of its duties."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator

from prometheus_client import Metric

from plait.telemetry import catalogue


class LeaderMetrics:
    def __init__(self) -> None:
        self._runs: dict[str, int] = defaultdict(int)
        self._failures: dict[str, int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)
        self._pruned = 0
        self._pruned_at: float | None = None
        self.leads = False

    def lead(self, leads: bool) -> None:
        if leads and not self.leads:
            self._pruned_at = time.monotonic()  # whoever led before has pruned up to now, as far as is known here
        self.leads = leads

    def duty(self, name: str, took_s: float, *, failed: bool = False) -> None:
        self._runs[name] += 1
        self._seconds[name] += took_s
        self._failures[name] += failed

    def pruned(self, jobs: int, *, through: bool) -> None:
        """A batch of retention's; `through`: it was the last one of its round."""
        self._pruned += jobs
        if through:
            self._pruned_at = time.monotonic()

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
        pruned = catalogue.PRUNED.counter()
        pruned.add_metric([], self._pruned)
        yield pruned
        if self.leads and self._pruned_at is not None:
            lag = catalogue.RETENTION_LAG.gauge()
            lag.add_metric([], time.monotonic() - self._pruned_at)
            yield lag
