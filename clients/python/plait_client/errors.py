"""What goes wrong, as types.

PlaitError
├── InvalidSettings    before anything is sent
├── Unreachable        no answer: whether it was done is not known
├── TimedOut           it took longer than the caller wanted to wait
├── JobFailed          a job has ended, and not by succeeding
└── Refused            the server said no: a problem, as RFC 9457 says
    ├── NotSignedIn  NotAllowed  NotFound  ChangedMeanwhile  TooLarge  NotValid  TooMany  NotAvailable
    └── Conflict
        └── LeaseLost
"""

import json
from typing import Final, cast

from plait_client.types import Problem, Status


class PlaitError(Exception):
    """Everything that this package raises by itself."""


class InvalidSettings(PlaitError):
    """The settings are not usable as they are; the message names all that is wrong."""


class Unreachable(PlaitError):
    """No answer came: whether the server has done what was asked is not known."""


class TimedOut(PlaitError):
    """It took longer than the caller wanted to wait."""


class JobFailed(PlaitError):
    """The job has ended, and not by succeeding."""

    def __init__(self, job_id: str, status: Status, reason: str | None, error: str | None) -> None:
        super().__init__(f"job {job_id} is {status}{f': {error}' if error else ''}")
        self.job_id = job_id
        self.status = status
        self.reason = reason
        self.error = error


class Refused(PlaitError):
    """The server refused: `code` is for programs, the message for people."""

    def __init__(self, status: int, code: str, detail: str, problem: Problem | None, retry_after: float | None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.problem = problem
        self.retry_after = retry_after

    @property
    def request_id(self) -> str | None:
        return self.problem.get("request_id") if self.problem else None


class NotSignedIn(Refused):
    """There is no such key, or it is revoked or expired."""


class NotAllowed(Refused):
    """The key's role may not do this."""


class NotFound(Refused):
    """It is not there, or it is another tenant's."""


class Conflict(Refused):
    """It can't be done to what is there now."""


class LeaseLost(Conflict):
    """Another worker holds this job now. Stop, and report no outcome."""


class ChangedMeanwhile(Refused):
    """Somebody has changed it since it was read: read it again."""


class TooLarge(Refused):
    """The request is larger than the server takes."""


class NotValid(Refused):
    """The request is not as the OpenAPI document says."""


class TooMany(Refused):
    """Too many requests, or too many jobs: `retry_after` says when to come again."""


class NotAvailable(Refused):
    """The server can't, for now."""


_BY_STATUS: Final[dict[int, type[Refused]]] = {
    401: NotSignedIn,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    412: ChangedMeanwhile,
    413: TooLarge,
    422: NotValid,
    429: TooMany,
}
_LOST: Final = frozenset({"lease-lost", "worker-lost"})


def refusal(status: int, body: bytes, retry_after: float | None) -> Refused:
    """The error that an answer stands for. What is not problem+json comes from something between us and the server."""
    problem = _problem(body)
    code, detail, parts = "http", f"the server answered {status}", list[str]()
    if problem is not None:
        code = str(problem.get("type", "http")).rpartition(":")[2]
        detail = str(problem.get("detail") or problem.get("title") or detail)
        parts = [f"{one.get('at')}: {one.get('message')}" for one in problem.get("errors") or []]
    kind = LeaseLost if code in _LOST else _BY_STATUS.get(status, NotAvailable if status >= 500 else Refused)
    return kind(status, code, "; ".join([detail, *parts]), problem, retry_after)


def _problem(body: bytes) -> Problem | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return cast("Problem", found) if isinstance(found, dict) else None
