"""Outcomes that cannot be recorded yet because a user's open transaction locks a row of their job or of its fan-out.

The worker keeps these outcomes and sends each of them again, with exponential backoff. Other outcomes are not delayed. The lease is renewed as for
a running job. When the worker stops, it retries for `STOP_S`; after that the job runs again on another worker.
"""

import time
from collections.abc import Collection
from uuid import UUID

from plait.store.workers import Settlement

FIRST_S, LONGEST_S = 0.05, 1.0
STOP_S = 3.0
"""Must be less than the time for which a stopping worker waits for its pump."""

_Key = tuple[UUID, int]


class BusyOutcomes:
    def __init__(self) -> None:
        self._waiting: list[tuple[float, Settlement]] = []
        self._pauses: dict[_Key, float] = {}
        """For each outcome that is not recorded yet because its rows are locked: the delay before it is sent again."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def careful(self) -> bool:
        """Whether the next batch may contain a busy outcome. That batch must not wait for row locks."""
        return bool(self._pauses)

    @property
    def keys(self) -> list[_Key]:
        return [(one.job_id, one.attempt) for _, one in self._waiting]

    @property
    def next_at(self) -> float:
        """When to send the next busy outcome, by the monotonic clock."""
        return min((at for at, _ in self._waiting), default=float("inf"))

    def answered(self, batch: list[Settlement], busy: Collection[int]) -> None:
        """Handle the reply to a batch. `busy` has the positions of outcomes that are not recorded; the others are recorded or stale."""
        if not busy and not self._pauses:
            return
        now, positions = time.monotonic(), set(busy)
        for position, one in enumerate(batch):
            key = (one.job_id, one.attempt)
            if position in positions:
                pause = self._pauses.get(key, FIRST_S)
                self._pauses[key] = min(LONGEST_S, pause * 2)
                self._waiting.append((now + pause, one))
            else:
                self._pauses.pop(key, None)

    def take_due(self) -> list[Settlement]:
        now = time.monotonic()
        due = [one for at, one in self._waiting if at <= now]
        if due:
            self._waiting = [waiting for waiting in self._waiting if waiting[0] > now]
        return due

    def clear(self) -> list[Settlement]:
        """Remove and return all busy outcomes."""
        given_up = [one for _, one in self._waiting]
        self._waiting, self._pauses = [], {}
        return given_up
