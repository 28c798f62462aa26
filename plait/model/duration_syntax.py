"""The syntax of durations. This module does not import plait.model.errors, which imports it."""

import re
from datetime import timedelta
from typing import Any

from plait.model.texts import shown

MAX_S = 3.2e9
"""A hundred years. Longer durations are mistakes, and would exceed the database's range of times."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)", re.ASCII)


def fault_of(value: object, what: str) -> str | None:
    """The error message for a value that is not a valid duration; None if it is valid."""
    parsed = parse(value)
    if parsed is None:
        return f"{what} must be a number of seconds, or text such as '10m' or '1h30m', got {shown(value)}"
    if not 0 <= parsed <= MAX_S:
        return f"{what} must be between 0 and 100 years, got {shown(value)}"
    return None


def parse(value: Any) -> float | None:
    """The duration in seconds; None if the value is not a duration."""
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
