"""Exceptions.

PlaitError
├── InvalidSettings    a setting is missing or invalid; nothing was sent
├── Unreachable        no response: the request may or may not have been processed
├── TimedOut           the caller's timeout expired
├── JobFailed          the job is final and did not succeed
└── Refused            an error response from the server (RFC 9457 problem)
    ├── NotSignedIn  NotAllowed  NotFound  ChangedMeanwhile  TooLarge  NotValid  TooMany  NotAvailable
    └── Conflict
        └── LeaseLost
"""

import json
from typing import Final, cast

from plait_client.types import Problem, Status


class PlaitError(Exception):
    """The base class of all exceptions of this package."""


class InvalidSettings(PlaitError):
    """Settings are missing or invalid. The message lists every fault."""


class Unreachable(PlaitError):
    """The server did not respond. The request may or may not have been processed."""


class TimedOut(PlaitError):
    """The caller's timeout expired."""


class JobFailed(PlaitError):
    """The job is final and did not succeed."""

    def __init__(self, job_id: str, status: Status, reason: str | None, error: str | None) -> None:
        super().__init__(f"job {job_id} is {status}{f': {error}' if error else ''}")
        self.job_id = job_id
        self.status = status
        self.reason = reason
        self.error = error


class Refused(PlaitError):
    """The server responded with an error. Programs should test `code`; the message is for people."""

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
    """The API key is unknown, revoked or expired."""


class NotAllowed(Refused):
    """The API key's role does not allow this."""


class NotFound(Refused):
    """The object does not exist, or belongs to another tenant."""


class Conflict(Refused):
    """The object's current state does not allow this."""


class LeaseLost(Conflict):
    """Another worker holds this job now. Stop, and report no outcome."""


class ChangedMeanwhile(Refused):
    """The object has changed since it was read. Read it again."""


class TooLarge(Refused):
    """The request is larger than the server's limit."""


class NotValid(Refused):
    """The request is invalid. The message lists the fields."""


class TooMany(Refused):
    """A rate limit or a quota is exceeded. `retry_after`: seconds to wait, if the server sent them."""


class NotAvailable(Refused):
    """The server is temporarily unavailable."""


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
    """The exception for an error response. A body that is not problem+json comes from a proxy."""
    problem = _problem(body)
    code, detail, parts = "http", f"the server responded with status {status}", list[str]()
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
