"""Durations as people write them."""

from datetime import timedelta
from typing import Any

import pytest

from plait.model.duration_syntax import MAX_S
from plait.model.durations import seconds
from plait.model.errors import InvalidDefinition


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0, 0), (90, 90), (1.5, 1.5), ("90s", 90), ("250ms", 0.25), ("10m", 600), ("1h30m", 5400), ("1h 30m", 5400), (" 2D ", 172800),
        ("1.5h", 5400), ("1w", 604800), (timedelta(minutes=5), 300), (MAX_S, MAX_S),
    ],
)  # fmt: skip
def test_a_duration_is_a_number_of_seconds_or_as_people_write_it(given: Any, expected: float) -> None:
    assert seconds(given) == expected


@pytest.mark.parametrize(
    "given",
    ["", "5", "m", "5 minutes", "1h-30m", "-5m", "1e3s", "٣s", "nan", None, True, [], object(), -1, float("nan"), float("inf"),
     10**400, -(10**400), "9" * 400 + "s", timedelta(days=-1), timedelta.max],
)  # fmt: skip
def test_anything_else_is_refused_with_a_sentence(given: Any) -> None:
    with pytest.raises(InvalidDefinition, match=r"^timeout must be "):
        seconds(given, what="timeout")
