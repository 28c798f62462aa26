"""Recorded errors of steps: a handler that caught one catches the same error on a replay."""

import sys
from typing import Any

import msgspec

from plait.model.errors import PermanentError, StepFailed
from plait.model.texts import message_of, safely

MAX_ERROR = 4_000
MAX_ARGUMENTS = 10_000


class _Told(msgspec.Struct):
    type: str
    args: list[Any]


def encode_error(error: BaseException) -> str:
    """Its type and arguments; if they have no JSON form, its message instead."""
    kind = type(error)
    name = f"{kind.__module__}:{kind.__qualname__}"
    text = safely(lambda: msgspec.json.encode(_Told(name, list(error.args))).decode(), "")
    if not text or len(text) > MAX_ARGUMENTS:
        text = msgspec.json.encode(_Told(name, [message_of(error, MAX_ERROR)])).decode()
    return text


def rebuild_error(text: str | None, message: str) -> Exception:
    """Rebuild an error with the same type, message and arguments, without its other attributes. StepFailed if the type no longer exists."""
    if text is None:
        return PermanentError(message)
    told = msgspec.json.decode(text, type=_Told)
    module, _, path = told.type.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and issubclass(found, Exception):
        try:
            error = found.__new__(found, *told.args)
            error.args = tuple(told.args)
        except Exception:  # noqa: BLE001 - its constructor may raise anything
            return StepFailed(f"{path}: {message}")
        return error
    return StepFailed(f"{path}: {message}")
