"""Durations as people write them: 90, 1.5, "10m", "1h30m", timedelta(minutes=5)."""

import re
from datetime import timedelta
from typing import Any

from plait.model.errors import InvalidArguments, InvalidDefinition
from plait.model.texts import shown

MAX_S = 3.2e9
"""A hundred years: longer durations are mistakes, and would exceed the database's range of times."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)", re.ASCII)


def seconds(value: float | str | timedelta, *, what: str = "a duration") -> float:
    """The duration in seconds; raises an error with the value if it is not a duration."""
    result = _seconds(value)
    if result is None:
        raise InvalidDefinition(f"{what} must be a number of seconds, or like '10m' or '1h30m', got {shown(value)}")
    if not 0 <= result <= MAX_S:
        raise InvalidDefinition(f"{what} must be between 0 and 100 years, got {shown(value)}")
    return result


def check_delay(value: float | str | timedelta, *, what: str) -> None:
    """Raises an error of the caller's code, not of a definition."""
    try:
        seconds(value, what=what)
    except InvalidDefinition as error:
        raise InvalidArguments(str(error)) from None


FOREVER = "forever"


def age(value: float | str | timedelta | None, *, what: str = "an age") -> timedelta | None:
    """A retention; None is forever."""
    if value is None or value == FOREVER:
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        value = float(value)
    return timedelta(seconds=seconds(value, what=what))


def _seconds(value: Any) -> float | None:
    match value:
        case bool():
            return None
        case timedelta():
            return value.total_seconds()
        case str():
            text = value.strip().lower()
            parts = _PART.findall(text)
            if not parts or _PART.sub("", text).strip():
                return None
            return sum(float(number) * _UNITS[unit] for number, unit in parts)
        case int() | float():
            return float(value) if abs(value) <= MAX_S else MAX_S * 2  # an int may be too large for a float
        case _:
            return None
