"""What one enqueue says beside its arguments. None is "not said": a 0 is a 0."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypedDict
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    tenant: str | UUID | None = None
    queue: str | None = None
    priority: int | None = None
    retries: int | None = None
    timeout: float | str | timedelta | None = None
    delay: float | str | timedelta | None = None
    scheduled_for: datetime | None = None
    dedupe_key: str | None = None
    idempotency_key: str | None = None
    idempotency_ttl: float | str | timedelta | None = None
    limit_key: str | None = None
    correlation_id: str | None = None
    job_id: UUID | None = None
    conn: Any = None
    """A connection of the caller's: the enqueue becomes part of its transaction. asyncpg, psycopg, SQLAlchemy or Django."""


class OptionsDict(TypedDict, total=False):
    """The keywords of `.options(…)`, for type checkers."""

    tenant: str | UUID | None
    queue: str | None
    priority: int | None
    retries: int | None
    timeout: float | str | timedelta | None
    delay: float | str | timedelta | None
    scheduled_for: datetime | None
    dedupe_key: str | None
    idempotency_key: str | None
    idempotency_ttl: float | str | timedelta | None
    limit_key: str | None
    correlation_id: str | None
    job_id: UUID | None
    conn: Any
