"""The worker's log lines about finished jobs, with `duration_ms`. Above `PER_SECOND` jobs a second, one line per second has their counts
by definition and outcome, so a busy worker does not pay for them. Failed attempts have a line of their own, at any rate.
"""

import asyncio
import logging
from typing import Final

from plait.model.states import AttemptOutcome
from plait.runtime.logging import get_logger, logs_at
from plait.worker.run import Run

log = get_logger("worker")

PER_SECOND: Final = 20
_FINISHED: Final = frozenset({AttemptOutcome.SUCCEEDED, AttemptOutcome.SKIPPED, AttemptOutcome.CANCELED})


class FinishedJobs:
    def __init__(self) -> None:
        self._enabled = logs_at(logging.INFO)
        self._seen = 0
        self._left = PER_SECOND
        """How many jobs of this second still get a line of their own."""
        self._counts: dict[tuple[str, AttemptOutcome], list[float]] = {}
        """Jobs without a line, and their total duration in milliseconds."""

    def add(self, run: Run, outcome: AttemptOutcome) -> None:
        """This is on the worker's hot path."""
        if not self._enabled or outcome not in _FINISHED:
            return
        self._seen += 1
        if self._seen <= self._left:
            log.info("job finished", **run.current().about(), outcome=outcome, duration_ms=round(run.ran_ms(), 1))
            return
        key = run.claimed.definition, outcome
        counted = self._counts.get(key)
        if counted is None:
            counted = self._counts[key] = [0, 0.0]
        counted[0] += 1
        counted[1] += run.ran_ms()

    async def run(self) -> None:
        try:
            while True:
                await asyncio.sleep(1)
                self.summarize()
        finally:
            self.summarize()

    def summarize(self) -> None:
        """The second is over: log the jobs that had no line. If there were many, none of the next second has its own."""
        counts, self._counts = self._counts, {}
        self._left = 0 if self._seen > PER_SECOND else PER_SECOND
        self._seen = 0
        if not counts:
            return
        by_definition: dict[str, dict[str, int]] = {}
        for (definition, outcome), (count, _) in counts.items():
            by_definition.setdefault(definition, {})[outcome] = int(count)
        total, duration = int(sum(one[0] for one in counts.values())), sum(one[1] for one in counts.values())
        log.info("jobs finished", jobs=total, duration_ms=round(duration / total, 1), finished=by_definition)
