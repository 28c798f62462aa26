"""What a handler raises to decide what becomes of its job, and what each way to end says to the server."""

import json
import traceback
from dataclasses import dataclass
from typing import Any, Final, Literal

from plait_client.errors import PlaitError

Why = Literal["canceled", "lost", "timeout", "shutdown"]
Verb = Literal["complete", "fail", "release", "skip"]

MESSAGES: Final[dict[Why, str]] = {
    "canceled": "somebody has canceled the job",
    "lost": "the lease is lost: the job is another worker's now",
    "timeout": "the job ran for longer than it may",
    "shutdown": "the worker ends",
}
REFUSED: Final = "outcome_refused"
"""Why a job failed whose outcome the server would not take: too large, say."""
LONGEST_ERROR: Final = 10_000
LONGEST_TRACEBACK: Final = 60_000


class PermanentError(PlaitError):
    """It will fail again: no further try."""


class RetryLater(PlaitError):
    """Failed, and to be tried again after so many seconds; it burns a try."""

    def __init__(self, delay: float, message: str = "") -> None:
        super().__init__(message)
        self.delay = delay


class Snooze(PlaitError):
    """Not now: again after so many seconds, without burning a try."""

    def __init__(self, delay: float) -> None:
        super().__init__(f"snoozed for {delay:g} s")
        self.delay = delay


class Skip(PlaitError):
    """There was nothing to do."""


class Stopped(PlaitError):
    """The worker wanted the handler to end, and `why`."""

    def __init__(self, why: Why) -> None:
        super().__init__(MESSAGES[why])
        self.why = why


@dataclass(frozen=True, slots=True)
class Outcome:
    verb: Verb
    body: dict[str, Any]

    @classmethod
    def completed(cls, result: Any) -> "Outcome":
        """What JSON has no word for fails the job, and not the worker (T65)."""
        try:
            json.dumps(result, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            return cls.failed("not_serializable", f"the result can't be written as JSON: {error}")
        return cls("complete", {"result": result})

    @classmethod
    def failed(cls, reason: str, error: str) -> "Outcome":
        return cls("fail", {"error": _cut(error, LONGEST_ERROR), "reason": reason, "permanent": True})

    @classmethod
    def of(cls, error: BaseException, why: Why | None) -> "Outcome":
        """What an error makes of the job; `why` where the worker itself wanted the handler to end."""
        match why:
            case "timeout":
                return cls("fail", {**_told(error), "timeout": True})
            case "canceled":
                return cls("fail", {**_told(error), "reason": "canceled"})
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
                return cls("fail", {**_told(error), "delay_seconds": error.delay})
            case _:
                return cls("fail", {**_told(error), "permanent": isinstance(error, PermanentError)})


def _told(error: BaseException) -> dict[str, Any]:
    try:
        text = f"{type(error).__name__}: {error}"
        lines = "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - an error whose str() raises is still an error (F19)
        return {"error": f"{type(error).__name__}: it can't be shown", "traceback": None}
    return {"error": _cut(text, LONGEST_ERROR), "traceback": _cut(lines, LONGEST_TRACEBACK)}


def _cut(text: str, most: int) -> str:
    """Cut to length, and without what is no text to others: half a character."""
    return text[:most].encode(errors="replace").decode()
