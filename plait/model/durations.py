"""Durations as people write them: 90, 1.5, "10m", "1h30m", timedelta(minutes=5)."""

import math
import re
from datetime import timedelta

from plait.model.errors import InvalidDefinition

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)")


def seconds(value: float | str | timedelta, *, what: str = "a duration") -> float:
    """The duration in seconds; an error that names the value for anything that is not one."""
    match value:
        case timedelta():
            result = value.total_seconds()
        case str():
            text = value.strip().lower()
            parts = _PART.findall(text)
            if not parts or _PART.sub("", text).strip():
                raise InvalidDefinition(f"{what} is a number of seconds or like '10m' or '1h30m', not {value!r}")
            result = sum(float(number) * _UNITS[unit] for number, unit in parts)
        case bool():
            raise InvalidDefinition(f"{what} is a number of seconds or like '10m', not {value!r}")
        case _:
            result = float(value)
    if not math.isfinite(result) or result < 0:
        raise InvalidDefinition(f"{what} is not negative and not infinite, not {value!r}")
    return result
