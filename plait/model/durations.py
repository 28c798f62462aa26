"""Durations as people write them: 90, 1.5, "10m", "1h30m", timedelta(minutes=5)."""

from datetime import timedelta

from plait.model.duration_syntax import fault_of, parse
from plait.model.errors import InvalidDefinition


def seconds(value: float | str | timedelta, *, what: str = "a duration") -> float:
    """The duration in seconds; raises an error with the value if it is not a duration."""
    if (fault := fault_of(value, what)) is not None:
        raise InvalidDefinition(fault)
    parsed = parse(value)
    assert parsed is not None
    return parsed


FOREVER = "forever"


def age(value: float | str | timedelta | None, *, what: str = "an age") -> timedelta | None:
    """Parse a retention period; None means forever."""
    if value is None or value == FOREVER:
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        value = float(value)
    return timedelta(seconds=seconds(value, what=what))
