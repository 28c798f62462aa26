"""Durations as people write them: 90, 1.5, "10m", "1h30m", timedelta(minutes=5)."""

import re
from datetime import timedelta
from typing import Any

from plait.model.errors import InvalidDefinition
from plait.model.texts import shown

MAX_S = 3.2e9
"""A hundred years: longer ones are mistakes, and the database's own times end somewhere."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)", re.ASCII)


def seconds(value: float | str | timedelta, *, what: str = "a duration") -> float:
    """The duration in seconds; an error that names the value for anything that is not one."""
    result = _seconds(value)
    if result is None:
        raise InvalidDefinition(f"{what} is a number of seconds, or like '10m' or '1h30m', not {shown(value)}")
    if not 0 <= result <= MAX_S:
        raise InvalidDefinition(f"{what} is between 0 and 100 years, not {shown(value)}")
    return result


FOREVER = "forever"


def age(value: float | str | timedelta | None, *, what: str = "an age") -> timedelta | None:
    """How long something is kept; None is for ever."""
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
