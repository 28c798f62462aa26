"""Histograms. A whole batch is counted together: it is sorted, and each bound is looked up in the batch, instead of each value in the bounds."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

BOUNDS_S: Final = (
    0.001,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
    1800.0,
    3600.0,
)
"""From a millisecond, for a small handler, to an hour, the default timeout."""


class Histogram:
    def __init__(self, bounds: Sequence[float] = BOUNDS_S) -> None:
        self._bounds = tuple(bounds)
        self._up_to = [0] * len(self._bounds)
        self._count = 0
        self.sum = 0.0

    def add(self, values: Sequence[float]) -> None:
        ordered = sorted(values)
        for number, bound in enumerate(self._bounds):
            self._up_to[number] += bisect_right(ordered, bound)
        self._count += len(ordered)
        self.sum += sum(ordered)

    @property
    def buckets(self) -> list[tuple[str, float]]:
        """Upper bounds with cumulative counts, in Prometheus's form."""
        pairs = [(str(bound), float(n)) for bound, n in zip(self._bounds, self._up_to, strict=True)]
        return [*pairs, ("+Inf", float(self._count))]
