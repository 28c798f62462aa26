"""Outcomes of attempts, and the exceptions that a handler raises to choose its outcome."""

import json
import traceback
from dataclasses import dataclass
from typing import Any, Final, Literal

from plait_client.errors import PlaitError

Why = Literal["canceled", "lost", "timeout", "shutdown"]
Verb = Literal["complete", "fail", "release", "skip"]

MESSAGES: Final[dict[Why, str]] = {
    "canceled": "the job was canceled",
    "lost": "the lease was lost: another worker may run the job",
    "timeout": "the job exceeded its timeout",
    "shutdown": "the worker is shutting down",
}
REFUSED: Final = "outcome_refused"
"""The reason recorded for a job whose outcome the server rejected, for example because it is too large."""
LONGEST_ERROR: Final = 10_000
LONGEST_TRACEBACK: Final = 60_000


class PermanentError(PlaitError):
    """Fail the job without further attempts."""


class RetryLater(PlaitError):
    """Fail this attempt and retry after `delay` seconds. The attempt counts against `max_attempts`."""

    def __init__(self, delay: float, message: str = "") -> None:
        super().__init__(message)
        self.delay = delay


class Snooze(PlaitError):
    """Run the job again after `delay` seconds. The attempt does not count against `max_attempts`."""

    def __init__(self, delay: float) -> None:
        super().__init__(f"snoozed for {delay:g} s")
        self.delay = delay


class Skip(PlaitError):
    """Skip the job, because there is nothing to do."""


class Stopped(PlaitError):
    """The worker stopped the handler. `why` is the reason."""

    def __init__(self, why: Why) -> None:
        super().__init__(MESSAGES[why])
        self.why = why


@dataclass(frozen=True, slots=True)
class Outcome:
    verb: Verb
    body: dict[str, Any]

    @classmethod
    def completed(cls, result: Any) -> "Outcome":
        """The outcome for a returned result. A result that is not serializable fails the job, not the worker (T65)."""
        try:
            json.dumps(result, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            return cls.failed("not_serializable", f"result is not serializable as JSON: {error}")
        return cls("complete", {"result": result})

    @classmethod
    def failed(cls, reason: str, error: str) -> "Outcome":
        return cls("fail", {"error": _cut(error, LONGEST_ERROR), "reason": reason, "permanent": True})

    @classmethod
    def of(cls, error: BaseException, why: Why | None) -> "Outcome":
        """The outcome for an exception. `why`: the reason if the worker stopped the handler."""
        match why:
            case "timeout":
                return cls("fail", {**_described(error), "timeout": True})
            case "canceled":
                return cls("fail", {**_described(error), "reason": "canceled"})
            case "shutdown":
                return cls("release", {})
            case _:
                pass
        match error:
            case Skip():
                return cls("skip", {"reason": _cut(str(error), LONGEST_ERROR)})
            case Snooze():
                return cls("release", {"delay_seconds": error.delay})
            case RetryLater():
                return cls("fail", {**_described(error), "delay_seconds": error.delay})
            case _:
                return cls("fail", {**_described(error), "permanent": isinstance(error, PermanentError)})


def _described(error: BaseException) -> dict[str, Any]:
    try:
        text = f"{type(error).__name__}: {error}"
        lines = "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - an error whose str() raises is still an error (F19)
        return {"error": f"{type(error).__name__}: the message can't be shown", "traceback": None}
    return {"error": _cut(text, LONGEST_ERROR), "traceback": _cut(lines, LONGEST_TRACEBACK)}


def _cut(text: str, most: int) -> str:
    """Truncate, and replace lone surrogates, which can't be encoded."""
    return text[:most].encode(errors="replace").decode()
