"""Log lines of a job: text that its handler prints or logs, with its attempt.

A page is read again when the change feed has an event `log_line` of the job.
"""

from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import Query, Response
from pydantic import BaseModel, Field

from plait.api.authentication import new_router
from plait.api.redaction import composed, redaction
from plait.api.shapes import Json, Limit, Shape
from plait.api.tenancy import Ask
from plait.model.errors import InvalidArguments
from plait.model.texts import shown
from plait.store.logs import Level, LogRow, Position, Source

router = new_router("jobs")


class LogLine(Shape):
    RAW: ClassVar[frozenset[str]] = frozenset({"fields"})
    FROM: ClassVar[dict[str, str]] = {"attempt_no": "attempt"}

    attempt_no: int
    line: int = Field(description="Number in the attempt's log, from 1.")
    at: datetime
    level: Level
    source: Source = Field(description="`log`, `stdout`, `stderr`, or `plait` for a line about dropped lines.")
    logger: str | None
    message: str
    fields: Any = Field(description="Values that were logged with the message, by name; null if there are none.")


class LogPage(BaseModel):
    items: list[LogLine] = Field(description="In order.")
    before: str | None = Field(description="Send it as `before` for earlier lines; null: these are the first.")
    after: str | None = Field(description="Send it as `after` for lines that follow; null: there are no lines yet.")


@router.get("/jobs/{job_id:uuid}/logs", response_model=LogPage)
async def logs(
    ask: Ask,
    job_id: UUID,
    attempt: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only lines of this attempt.")] = None,
    level: Annotated[Level, Query(description="Only lines of this level and above.")] = "debug",
    after: Annotated[
        str | None, Query(max_length=30, description="`after` of an earlier page: the first lines after it.")
    ] = None,
    before: Annotated[
        str | None, Query(max_length=30, description="`before` of a page: the last lines before it.")
    ] = None,
    limit: Limit = 500,
) -> Response:
    """List the log lines of a job: by default the last ones. Lines arrive within a second, and stay as long as the job."""
    start, end = _position(after, "after"), _position(before, "before")
    if start is not None and end is not None:
        raise InvalidArguments("after and before cannot be used together")
    rows = await ask.store.logs.list_logs(
        job_id, **ask.scope, attempt=attempt, level=level, after=start, before=end, limit=limit
    )
    about = (await ask.store.jobs.get_job(job_id, **ask.scope)).definition if redaction() is not None else None
    more = start is not None or len(rows) >= limit
    return Json(
        {
            "items": await composed(lambda: [LogLine.of(row, about=about) for row in rows]),
            "before": _text(rows[0]) if rows and more else None,
            "after": _text(rows[-1]) if rows else after,
        }
    )


def _text(row: LogRow) -> str:
    return f"{row.attempt}.{row.line}"


def _position(text: str | None, name: str) -> Position | None:
    if text is None:
        return None
    attempt, _, line = text.partition(".")
    if not all(part.isascii() and part.isdigit() and int(part) < 2**31 for part in (attempt, line)):
        raise InvalidArguments(f"{name} must be a position such as 1.20, from an earlier page, got {shown(text)}")
    return int(attempt), int(line)
