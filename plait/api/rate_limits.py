"""Rate limits: token buckets in memory, one per name."""

import math
from collections.abc import Callable
from typing import Final

KEPT: Final = 10_000
"""Maximum number of buckets. When it is reached, full buckets are removed. If none is full, all buckets are removed."""


class Rates:
    def __init__(self, per_s: float, burst: float, *, clock: Callable[[], float]) -> None:
        self._per_s = per_s
        self._burst = burst
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> int:
        """Take a token. Returns 0, or the seconds until a token is available."""
        now = self._clock()
        tokens = self._tokens(name, now)
        if tokens < 1:
            return self._wait(tokens)
        if name not in self._buckets and len(self._buckets) >= KEPT:
            self._buckets = {
                one: bucket for one, bucket in self._buckets.items() if self._tokens(one, now) < self._burst
            }
            if len(self._buckets) >= KEPT:
                self._buckets.clear()
        self._buckets[name] = (tokens - 1, now)
        return 0

    def full(self, name: str) -> int:
        """Check without taking a token. Returns 0, or the seconds until a token is available."""
        tokens = self._tokens(name, self._clock())
        return 0 if tokens >= 1 else self._wait(tokens)

    def _tokens(self, name: str, now: float) -> float:
        tokens, at = self._buckets.get(name, (self._burst, now))
        return min(self._burst, tokens + (now - at) * self._per_s)

    def _wait(self, tokens: float) -> int:
        return max(1, math.ceil((1 - tokens) / self._per_s))
