"""What became of a handler, as an outcome that can always be stored.

A handler may raise anything, also an exception whose `str()` raises, or one that quotes bytes no database takes. Whatever it is,
the job ends with a reason and the worker lives.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from plait.model.durations import seconds
from plait.model.errors import (
    InvalidArguments,
    InvalidDefinition,
    NotSerializable,
    Outcome,
    PermanentError,
    RetryLater,
    Skip,
    Snooze,
)
from plait.model.states import Ending
from plait.sdk.codec import encode

MAX_ERROR, MAX_TRACEBACK = 4_000, 32_000


@dataclass(frozen=True, slots=True)
class Finished:
    """How an attempt ended, in the words of `plait.settle`."""

    ending: Ending
    result: str | None = None
    detail: str | None = None


def succeeded(value: Any) -> Finished:
    if value is None:
        return Finished(Ending.SUCCEEDED)
    try:
        return Finished(Ending.SUCCEEDED, encode(value, what="the result"))
    except NotSerializable as error:
        return failed(error, reason="bad_result", permanent=True)


def raised(error: BaseException) -> Finished:
    """What an exception of a handler says about its job."""
    try:
        match error:
            case Skip():
                return Finished(Ending.SKIPPED, detail=_detail(error=_text(error)))
            case Snooze(delay=delay):
                return Finished(
                    Ending.SNOOZED, detail=_detail(error=_text(error), delay_s=seconds(delay, what="Snooze"))
                )
            case RetryLater(delay=delay):
                return failed(error, delay_s=seconds(delay, what="RetryLater"))
            case PermanentError():
                return failed(error, permanent=True)
            case InvalidArguments():
                return failed(error, reason="bad_payload", permanent=True)
            case _:
                return failed(error)
    except InvalidDefinition as bad_delay:
        return failed(bad_delay, permanent=True)


def failed(
    error: BaseException | str,
    *,
    ending: Ending = Ending.FAILED,
    reason: str | None = None,
    permanent: bool = False,
    delay_s: float | None = None,
    pid: int | None = None,
    exit_code: int | None = None,
) -> Finished:
    text = error if isinstance(error, str) else _text(error)
    told = isinstance(error, str | RetryLater | NotSerializable | InvalidArguments)  # the message says it all
    trace = None if told or isinstance(error, str) else _traceback(error)
    return Finished(
        ending,
        detail=_detail(
            error=clean(text, MAX_ERROR),
            traceback=trace,
            reason=reason,
            permanent=permanent or None,
            delay_s=delay_s,
            pid=pid,
            exit_code=exit_code,
        ),
    )


def ended(ending: Ending, error: str | None = None) -> Finished:
    """An ending that the worker decided: canceled, released."""
    return Finished(ending, detail=_detail(error=error) if error else None)


def clean(text: str, limit: int) -> str:
    """Text that Postgres stores: no NUL, no lone surrogate, no more than `limit` characters."""
    if len(text) > limit:
        text = text[: limit // 2] + "\n… (shortened)\n" + text[-limit // 2 :]
    return text.replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def _detail(**parts: Any) -> str:
    return msgspec.json.encode({key: value for key, value in parts.items() if value is not None}).decode()


def _text(error: BaseException) -> str:
    name = type(error).__name__
    message = _safely(lambda: str(error), "(its message cannot be shown)")
    if isinstance(error, Outcome | NotSerializable | InvalidArguments):
        return clean(message or name, MAX_ERROR)
    return clean(f"{name}: {message}" if message else name, MAX_ERROR)


def _traceback(error: BaseException) -> str:
    return clean(
        _safely(lambda: "".join(traceback.format_exception(error)), "(the traceback cannot be shown)"),
        MAX_TRACEBACK,
    )


def _safely(make: Callable[[], str], otherwise: str) -> str:
    try:
        return make()
    except BaseException:  # noqa: BLE001 - an exception's own __str__ may raise anything
        return otherwise
