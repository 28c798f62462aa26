"""Parse command-line values: key=value, 10m, 10/1s, analytics:4, 2030-01-01T12:00, none."""

import json
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_type_hints
from uuid import UUID

from plait.cli.errors import BadUsage
from plait.model.durations import FOREVER, seconds
from plait.model.errors import InvalidDefinition
from plait.model.states import FINAL
from plait.model.texts import is_storable

if TYPE_CHECKING:
    from plait.sdk.definition import Definition

NONE = ("none", "unlimited")


def job_id(text: str, what: str = "a job") -> UUID:
    if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
        raise BadUsage(f"{what}'s id must be a UUID such as 0190a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b, got {text!r}")
    return UUID(text)


def duration(text: str | None, *, what: str) -> float | None:
    """Parse `90`, `1.5`, `10m` or `1h30m` into seconds."""
    if text is None:
        return None
    try:
        return seconds(float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else text, what=what)
    except InvalidDefinition as error:
        raise BadUsage(str(error)) from None


def moment(text: str | None, *, what: str) -> datetime | None:
    """Parse a point in time. Without a time zone, it is in local time."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadUsage(
            f"{what} must be a time such as 2030-01-31T12:00 or 2030-01-31T12:00+01:00, got {text!r}"
        ) from None
    return at.astimezone() if at.tzinfo is None else at


def limit(text: str, *, what: str) -> int | None:
    """Parse a whole number, or none for no limit."""
    if text.lower() in NONE:
        return None
    if not text.isdecimal():
        raise BadUsage(f"{what} must be a whole number or none, got {text!r}")
    return int(text)


def rate(text: str) -> tuple[int, float] | None:
    """Parse a rate limit: `10/1s` or `10/s` is 10 starts per second, `none` is no limit."""
    if text.lower() in NONE:
        return None
    count, slash, period = text.partition("/")
    period = f"1{period}" if period.isalpha() else period
    if not slash or not count.isdecimal():
        raise BadUsage(f"--rate must be a rate such as 10/1s or 100/1m, or none, got {text!r}")
    period_s = duration(period, what="the period of --rate")
    assert period_s is not None
    return int(count), period_s


def queue_limits(text: str | None, *, default: int) -> dict[str, int] | None:
    """Parse `analytics:4,default:50`: the concurrency of each queue. A queue without a number gets `default`."""
    if text is None:
        return None
    limits: dict[str, int] = {}
    for part in text.split(","):
        name, colon, number = part.strip().rpartition(":")
        if not colon or not number.isdecimal():
            name, number = part.strip(), str(default)
        if not name or int(number) < 1:
            raise BadUsage(f"--queues must be a list such as analytics:4,default:50, got {text!r}")
        limits[name] = int(number)
    return limits


def retention(pairs: Sequence[str]) -> dict[str, float | None]:
    """Parse `failed=30d` and `succeeded=forever` into seconds by final status. None means forever."""
    ages: dict[str, float | None] = {}
    for status, text in _split_pairs(pairs):
        if status not in FINAL:
            raise BadUsage(f"--keep must name a final status ({', '.join(sorted(FINAL))}), got {status!r}")
        ages[status] = None if text == FOREVER else duration(text, what=f"--keep {status}")
    return ages


def payload(pairs: Sequence[str], given: str | None) -> dict[str, Any]:
    """Parse a job's arguments from key=value pairs and --payload when the types of the arguments are not known. A value that is not valid JSON is text."""
    return {**_object(given), **{key: _json_or_text(text) for key, text in _split_pairs(pairs)}}


def typed_payload(definition: "Definition", pairs: Sequence[str], given: str | None) -> dict[str, Any]:
    """Parse a job's arguments if its code is loaded: `name=123` is text if the parameter `name` is a `str`."""
    arguments = _object(given)
    hints = _hints(definition)
    for key, text in _split_pairs(pairs):
        arguments[key] = _fitting(text, hints.get(key, Any))
    wanted = definition.codec.parameters
    if unknown := [key for key in arguments if key not in wanted]:
        raise BadUsage(f"{definition.name} has no argument {unknown[0]!r}; it has {', '.join(wanted) or 'none'}")
    return definition.codec.decode_call(json.dumps(arguments))


def _hints(definition: "Definition") -> dict[str, Any]:
    if definition.command is not None:
        said = definition.command.schema.get("properties", {}).items()
        return {
            name: str for name, one in said if isinstance(one, dict) and (one.get("type") == "string" or "enum" in one)
        }
    try:
        return get_type_hints(definition.function, include_extras=True)
    except Exception:  # noqa: BLE001 - an annotation can be any expression; the codec reports the error
        return {}


def labels_of(pairs: Sequence[str]) -> dict[str, str]:
    """Parse a node's labels. All values are text."""
    return dict(_split_pairs(pairs))


def _split_pairs(pairs: Sequence[str]) -> list[tuple[str, str]]:
    split = [pair.partition("=") for pair in pairs]
    for pair, (key, equals, _) in zip(pairs, split, strict=True):
        if not equals or not key:
            raise BadUsage(f"an argument must be key=value, got {pair!r}")
    keys = [key for key, _, _ in split]
    if len(set(keys)) < len(keys):
        raise BadUsage(f"duplicate arguments: {', '.join(sorted({key for key in keys if keys.count(key) > 1}))}")
    return [(key, text) for key, _, text in split]


def _object(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    text = sys.stdin.read() if given == "-" else given
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadUsage(f"--payload must be a JSON object: {error}") from None
    if not is_storable(json.dumps(value, ensure_ascii=False)):
        raise BadUsage("--payload is not valid Unicode: it contains a lone surrogate")
    if not isinstance(value, dict):
        raise BadUsage("--payload must be a JSON object with the arguments by name")
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _fitting(text: str, kind: Any) -> Any:
    value = _json_or_text(text)
    return text if not _fits(value, kind) and _fits(text, kind) else value


def _fits(value: Any, kind: Any) -> bool:
    import msgspec

    try:
        msgspec.convert(value, kind)
    except (msgspec.MsgspecError, TypeError, ValueError, NotImplementedError):
        return False
    return True
