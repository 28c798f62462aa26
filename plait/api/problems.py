"""Errors as RFC 9457 problems: the only module that maps plait's errors to HTTP statuses.

plait's error messages are written for the caller. Unexpected errors become a 500 without details; the details are in the log, with the
request's id.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import asyncpg
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from plait.api.shapes import Json
from plait.model import errors
from plait.runtime.logging import get_logger
from plait.store.database import is_transient

log = get_logger("api")

STATUS: Final[dict[type[Exception], int]] = {
    errors.InvalidJob: 422,
    errors.InvalidId: 422,
    errors.InvalidSetting: 422,
    errors.InvalidArguments: 422,
    errors.InvalidTrigger: 422,
    errors.InvalidTemplate: 422,
    errors.InvalidEndpoint: 422,
    errors.InvalidSchema: 422,
    errors.TooLarge: 413,
    errors.NotSerializable: 422,
    errors.UnknownTenant: 404,
    errors.ForeignTenant: 404,
    errors.NotFound: 404,
    errors.IdempotencyConflict: 409,
    errors.InactiveDefinition: 409,
    errors.IllegalMove: 409,
    errors.DedupeConflict: 409,
    errors.ChangedMeanwhile: 412,
    errors.AlreadyExists: 409,
    errors.WorkerLost: 409,
    errors.LeaseLost: 409,
    errors.QuotaExceeded: 429,
    errors.Busy: 503,
    errors.ArtifactMissing: 410,
    errors.ArtifactAltered: 502,
    errors.StorageFailed: 503,
    errors.DatabaseUnreachable: 503,
    errors.SchemaOutdated: 503,
}
RETRY_AFTER: Final = {429: "5", 503: "2"}
"""Default `Retry-After` in seconds, by status."""
TITLES: Final = {
    400: "Bad request", 401: "Not signed in", 403: "Not allowed", 404: "Not found", 405: "Method not allowed", 409: "Conflict", 410: "Gone",
    412: "Changed meanwhile", 413: "Too large", 415: "Unsupported media type", 421: "Misdirected", 422: "Not valid",
    428: "If-Match is needed", 429: "Too many", 500: "Internal error", 502: "Stored data was altered", 503: "Not available",
}  # fmt: skip


class Problem(BaseModel):
    """An error, as defined in RFC 9457."""

    type: str = Field(examples=["urn:plait:problem:not-found"])
    title: str
    status: int
    detail: str | None = None
    instance: str | None = Field(None, description="The path of the request.")
    request_id: str | None = None
    errors: list[dict[str, Any]] | None = Field(
        None,
        description="The errors of the request, by field: `message`, and `pointer`, a JSON pointer in the body such as `/payload/width`, or `at`.",
    )
    leader_url: str | None = Field(
        None, description="With 421: the URL of the leader's API, which accepts this request."
    )


class Refused(Exception):
    """A response with an error of the request. `fields`: JSON pointers in its body, each with what is wrong there."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        fields: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.headers = headers
        self.fields = fields


def register(app: FastAPI) -> None:
    app.add_exception_handler(Exception, _unforeseen)
    for kind in (
        errors.PlaitError,
        asyncpg.PostgresError,
        UnicodeEncodeError,
        Refused,
        RequestValidationError,
        HTTPException,
    ):
        app.add_exception_handler(kind, _foreseen)


async def _foreseen(request: Request, error: Exception) -> Response:
    return problem(request, error)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return problem(request, error)


def problem(request: Request, error: Exception) -> Response:
    """Build the response for an error."""
    match error:
        case Refused():
            wrong = [{"pointer": pointer, "message": message} for pointer, message in error.fields]
            return _answer(request, error.status, error.code, str(error), error.headers, errors=wrong)
        case RequestValidationError():
            parts = [{"at": [str(part) for part in one["loc"]], "message": one["msg"]} for one in error.errors()]
            return _answer(request, 422, "not-valid", "the request does not match the OpenAPI document", errors=parts)
        case HTTPException():
            code = TITLES.get(error.status_code, "http").lower().replace(" ", "-")
            return _answer(request, error.status_code, code, str(error.detail), error.headers)
        case errors.NotLeader():
            return _answer(request, 421, "not-leader", str(error), leader_url=error.leader_url)
        case errors.PlaitError() if (status := _status(error)) is not None:
            return _answer(request, status, _code(error), str(error))
        case UnicodeEncodeError():
            return _answer(request, 422, "not-valid", "the request contains invalid characters")
        case asyncpg.PostgresError() if is_transient(error):
            return _answer(
                request, 503, "not-available", "the database temporarily cannot process this request: retry it"
            )
        case asyncpg.DataError():
            return _answer(request, 422, "not-valid", f"the value is out of range: {error}")
        case _:
            pass
    log.error("request failed", path=request.url.path, request_id=_request_id(request), exc_info=error)
    return _answer(request, 500, "internal", "internal error: search the server's log for this request's id")


def _status(error: errors.PlaitError) -> int | None:
    if type(error) is errors.DatabaseError:  # the driver rejected a value before sending it
        return 422
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), None)


def _answer(
    request: Request,
    status: int,
    code: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
    errors: list[dict[str, Any]] | None = None,
    leader_url: str | None = None,
) -> Response:
    body = {
        "type": f"urn:plait:problem:{code}",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "instance": request.url.path,
        "request_id": _request_id(request),
        **({"errors": errors} if errors else {}),
        **({"leader_url": leader_url} if leader_url else {}),
    }
    retry = {"Retry-After": RETRY_AFTER[status]} if status in RETRY_AFTER else {}
    return Json(body, status_code=status, headers={**retry, **(headers or {})}, media_type="application/problem+json")


def _request_id(request: Request) -> str | None:
    found: str | None = getattr(request.state, "request_id", None)
    return found


def _code(error: errors.PlaitError) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower()
