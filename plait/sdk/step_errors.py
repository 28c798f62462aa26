"""Recorded errors of steps: a handler that caught one catches the same error on a replay."""

import sys
from typing import Any

import msgspec

from plait.model.errors import PermanentError, StepFailed
from plait.model.redaction import hide
from plait.model.texts import message_of, safely

MAX_ERROR = 4_000
MAX_ARGUMENTS = 10_000


class _Told(msgspec.Struct, omit_defaults=True):
    type: str
    args: list[Any]
    permanent: bool = False


def encode_error(error: BaseException) -> str:
    """Encode an error's type and arguments. Its redacted message replaces arguments that have no JSON form, are too large or contain a secret."""
    kind = type(error)
    name = f"{kind.__module__}:{kind.__qualname__}"
    permanent = isinstance(error, PermanentError)
    text = safely(lambda: msgspec.json.encode(_Told(name, list(error.args), permanent)).decode(), "")
    if not text or len(text) > MAX_ARGUMENTS or hide(text) != text:
        text = msgspec.json.encode(_Told(name, [message_of(error, MAX_ERROR)], permanent)).decode()
    return text


def rebuild_error(text: str | None, message: str) -> Exception:
    """Rebuild an error with the same type, message and arguments, without its other attributes. If that is not possible, for example because the type no
    longer exists, return a PermanentError for a permanent error, otherwise StepFailed."""
    if text is None:
        return PermanentError(message)
    told = msgspec.json.decode(text, type=_Told)
    module, _, path = told.type.partition(":")
    rebuilt = _rebuilt(sys.modules.get(module), path, told.args)
    if told.permanent:
        # Its message is the job's error, and must not depend on attributes that are lost.
        same = isinstance(rebuilt, PermanentError) and message_of(rebuilt, MAX_ERROR) == message
        return rebuilt if rebuilt is not None and same else PermanentError(message)
    return StepFailed(f"{path}: {message}") if rebuilt is None else rebuilt


def _rebuilt(found: Any, path: str, args: list[Any]) -> Exception | None:
    for part in path.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        return None
    try:
        error = found.__new__(found, *args)
        error.args = tuple(args)
    except Exception:  # noqa: BLE001 - its constructor may raise anything
        return None
    return error
