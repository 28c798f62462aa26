"""The result or error of a handler, as an outcome that can always be stored.

A handler may raise anything, even an exception whose `str()` raises an error or contains bytes that no database accepts. In every case
the job ends with a reason and the worker survives.
"""

import traceback
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from plait.model.durations import seconds
from plait.model.errors import (
    CommandFailed,
    DeterminismError,
    FanOutError,
    InvalidDefinition,
    InvalidPayload,
    InvalidResult,
    NotSerializable,
    Outcome,
    PermanentError,
    RequestFailed,
    RetryLater,
    Skip,
    Snooze,
    SubJobFailure,
    TooLarge,
)
from plait.model.redaction import hide_known
from plait.model.states import AttemptOutcome
from plait.model.texts import clean, message_of, safely
from plait.sdk.codec import Codec

MAX_ERROR, MAX_TRACEBACK, MAX_LEAVES = 4_000, 32_000, 20
MAX_CAUSE, MAX_CAUSES = 1_000, 5

_SAYS_IT_ALL = NotSerializable | InvalidPayload | InvalidResult | CommandFailed | RequestFailed
"""Errors that do not originate in the handler's code. Their messages are complete sentences."""


class Finished(msgspec.Struct, frozen=True, gc=False):
    """The outcome of an attempt, in the form of `plait.settle`."""

    outcome: AttemptOutcome
    result: str | None = None
    detail: str | None = None


def succeeded(value: Any, codec: Codec) -> Finished:
    """The outcome of a returned value. A result that cannot be stored, or does not fit the annotation, fails the job: callers could not decode
    it, and a retry would not help. The caller stores a result that is too large as an artifact."""
    try:
        result = codec.encode_result(value)
        return Finished(AttemptOutcome.SUCCEEDED, result if result is None else hide_known(result))
    except TooLarge as large:
        large.text = hide_known(large.text)
        raise
    except (NotSerializable, InvalidResult) as error:
        return failed(error, reason="bad_result", permanent=True)


def raised(error: BaseException) -> Finished:
    """The outcome of a handler's exception. Never raises, even if the exception's methods do."""
    try:
        return _raised(error)
    except Exception as trouble:  # noqa: BLE001 - an exception may be broken in any way
        return failed(f"{_name(error)}: (cannot be shown: {message_of(trouble)})")


def _raised(error: BaseException) -> Finished:
    if isinstance(error, BaseExceptionGroup):
        return _of_group(error)
    try:
        match error:
            case Skip():
                return Finished(AttemptOutcome.SKIPPED, detail=_detail(error=_text(error)))
            case Snooze(delay=delay):
                return Finished(
                    AttemptOutcome.SNOOZED, detail=_detail(error=_text(error), delay_s=seconds(delay, what="Snooze"))
                )
            case RetryLater(delay=delay):
                return failed(error, delay_s=seconds(delay, what="RetryLater"))
            case PermanentError():
                return failed(error, permanent=True)
            case CommandFailed():
                return failed(error, reason="exit_code", pid=error.pid, exit_code=error.exit_code)
            case RequestFailed():
                return failed(error, reason="request_failed")
            case FanOutError():
                return failed(error, reason="fan_out_failed", permanent=True)
            case DeterminismError():
                return failed(error, reason="not_deterministic", permanent=True)
            case NotSerializable() | InvalidResult():
                return failed(error, reason="bad_result", permanent=True)
            case InvalidPayload():
                return failed(error, reason="bad_payload", permanent=True)
            case _:
                return failed(error)
    except InvalidDefinition as bad_delay:
        return failed(bad_delay, permanent=True)


def _of_group(group: BaseExceptionGroup[Any]) -> Finished:
    """The most decisive exception of a group determines the outcome. The text lists at most MAX_LEAVES exceptions."""
    leaves = list(_leaves(group))
    for decisive in (DeterminismError, PermanentError, FanOutError, Outcome):
        for leaf in leaves:
            if isinstance(leaf, decisive) and (decisive is not Outcome or len(leaves) == 1):
                alone = _raised(leaf)
                if alone.outcome is not AttemptOutcome.FAILED:
                    return alone
                told = msgspec.json.decode(alone.detail or "{}")
                return failed(
                    group, reason=told.get("reason"), permanent=bool(told.get("permanent")), delay_s=told.get("delay_s")
                )
    return failed(group)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def failed(
    error: BaseException | str,
    *,
    outcome: AttemptOutcome = AttemptOutcome.FAILED,
    reason: str | None = None,
    permanent: bool = False,
    delay_s: float | None = None,
    pid: int | None = None,
    exit_code: int | None = None,
) -> Finished:
    text = error if isinstance(error, str) else _text(error)
    trace = None if isinstance(error, str | _SAYS_IT_ALL | RetryLater) else _traceback(error)
    return Finished(
        outcome,
        detail=_detail(
            error=clean(text, MAX_ERROR),
            traceback=trace,
            failure=_failure(error, outcome),
            reason=reason,
            permanent=permanent or None,
            delay_s=delay_s,
            pid=pid,
            exit_code=exit_code,
        ),
    )


def _failure(error: BaseException | str, outcome: AttemptOutcome) -> dict[str, Any] | None:
    """The type, message and cause of an error, for callers that wait for the job."""
    if isinstance(error, str):
        return (
            {"type": "TimeoutError", "message": clean(error, MAX_CAUSE)} if outcome is AttemptOutcome.TIMEOUT else None
        )
    chain: list[BaseException] = [error]
    while (
        len(chain) < MAX_CAUSES and (cause := _cause(chain[-1])) is not None and all(cause is not one for one in chain)
    ):
        chain.append(cause)
    told: dict[str, Any] | None = None
    causes = [*((_type(one), message_of(one, MAX_CAUSE)) for one in chain), *_of_child(chain[-1])]
    for kind, message in reversed(causes[:MAX_CAUSES]):
        told = {"type": kind, "message": message, "cause": told}
    return told


def _of_child(error: BaseException) -> Iterator[tuple[str, str]]:
    """The types and messages of the errors of a sub-job's handler, as stored with the sub-job."""
    if isinstance(error, SubJobFailure) and error.error_type is not None:
        yield error.error_type, error.error_message or ""
        cause = error.cause
        while cause is not None:
            yield cause.type, cause.message
            cause = cause.cause


def _cause(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _type(error: BaseException) -> str:
    """The name of the type as in code: `ValueError`, `shop.errors.CardDeclined`."""
    kind = type(error)
    prefix = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return safely(lambda: clean(f"{prefix}{kind.__qualname__}", 200), "Exception")


def ended(outcome: AttemptOutcome, error: str | None = None, *, exit_code: int | None = None) -> Finished:
    """An outcome that the worker determines: canceled or released."""
    return Finished(outcome, detail=_detail(error=error, exit_code=exit_code) if error or exit_code else None)


def exited(finished: Finished) -> Finished:
    """Add the exit code 0 to the outcome of a command that succeeded. The outcome of a failed command already has its exit code."""
    if finished.outcome is not AttemptOutcome.SUCCEEDED:
        return finished
    return Finished(finished.outcome, finished.result, _detail(exit_code=0))


def _detail(**parts: Any) -> str:
    return msgspec.json.encode({key: value for key, value in parts.items() if value is not None}).decode()


def _text(error: BaseException) -> str:
    message = message_of(error, MAX_ERROR)
    if isinstance(error, BaseExceptionGroup):
        message = clean(
            f"{message}: " + "; ".join(_text(leaf) for leaf in islice(_leaves(error), MAX_LEAVES)), MAX_ERROR
        )
    if isinstance(error, _SAYS_IT_ALL | Outcome):
        return message or _name(error)
    return clean(f"{_name(error)}: {message}" if message else _name(error), MAX_ERROR)


def _name(error: BaseException) -> str:
    return safely(lambda: clean(str.__str__(type(error).__name__), 200), "an exception")


def _traceback(error: BaseException) -> str:
    return safely(
        lambda: clean("".join(traceback.format_exception(error)), MAX_TRACEBACK), "(the traceback cannot be shown)"
    )
