"""The options of one enqueue. None means "not set"; 0 is a value."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any, Literal, TypedDict
from uuid import UUID

from plait.model.durations import seconds
from plait.model.errors import InvalidDefinition, InvalidJob
from plait.model.policies import QUEUE_NAME
from plait.model.texts import is_storable, shown

_TEXTS = ("queue", "dedupe_key", "idempotency_key", "limit_key", "correlation_id")
_DURATIONS = ("timeout", "deadline", "delay", "idempotency_ttl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one enqueue. They are validated on creation, so that the caller gets the error and a mistake never reaches a shared statement."""

    tenant: str | UUID | None = None
    queue: str | None = None
    priority: int | None = None
    retries: int | None = None
    timeout: float | str | timedelta | None = None
    deadline: float | str | timedelta | None = None
    """The time limit of the whole job, from its earliest start, including waits, time in the queue and retries."""
    delay: float | str | timedelta | None = None
    scheduled_for: datetime | None = None
    dedupe_key: str | None = None
    idempotency_key: str | None = None
    idempotency_ttl: float | str | timedelta | None = None
    limit_key: str | None = None
    correlation_id: str | None = None
    job_id: UUID | None = None
    after: Sequence[Any] | None = None
    """Jobs that must succeed before this one starts: handles, or ids."""
    on_dependency_failure: Literal["cancel", "run"] | None = None
    """If a job in `after` does not succeed: `cancel` this job (the default), or `run` it once all have ended."""
    conn: Any = None
    """The caller's connection: the enqueue becomes part of its transaction. asyncpg, psycopg, SQLAlchemy or Django."""

    def __post_init__(self) -> None:
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and 1 <= len(value) <= 500 and is_storable(value)):
                raise InvalidJob(f"{name} must be text of 1 to 500 characters without NUL, got {shown(value)}")
        if self.queue is not None and not QUEUE_NAME.fullmatch(self.queue):
            raise InvalidJob(f"queue must be 1 to 100 letters, digits and _ . : -, got {shown(self.queue)}")
        for name in _DURATIONS:
            self.seconds_of(name)
        _check_whole("priority", self.priority, -32768, 32767)
        _check_whole("retries", self.retries, 0, 9999)
        for name in ("timeout", "deadline"):
            if self.seconds_of(name) == 0:
                raise InvalidJob(f"{name} must be more than 0, got {shown(getattr(self, name))}")
        _check_kind("scheduled_for", self.scheduled_for, datetime)
        if self.scheduled_for is not None and self.scheduled_for.utcoffset() is None:
            raise InvalidJob(f"scheduled_for must have a time zone, got {shown(self.scheduled_for)}")
        _check_kind("job_id", self.job_id, UUID)
        check_tenant(self.tenant)
        if self.on_dependency_failure not in (None, "cancel", "run"):
            raise InvalidJob(f"on_dependency_failure must be cancel or run, got {shown(self.on_dependency_failure)}")
        self.after_text()

    def after_text(self) -> str | None:
        """The jobs to wait for, as a text array."""
        if self.after is None:
            return None
        try:
            jobs = (self.after,) if isinstance(self.after, str | UUID) else tuple(self.after)
            ids = [getattr(one, "id", one) for one in jobs]
            return (
                "{" + ",".join(str(one if isinstance(one, UUID) else UUID(one)) for one in ids) + "}" if ids else None
            )
        except (ValueError, TypeError, AttributeError):
            raise InvalidJob(f"after must be a list of handles or job ids, got {shown(self.after)}") from None

    def seconds_of(self, name: str) -> float | None:
        """A duration option, in seconds."""
        value = getattr(self, name)
        try:
            return None if value is None else seconds(value, what=name)
        except InvalidDefinition as error:
            raise InvalidJob(str(error)) from None


def nearest(name: str, *options: Options) -> Any:
    """The value of an option from the first `Options` that set it; 0 is a value (T19). If none does, the database chooses the value:
    plait/sql/functions/enqueue/_resolve_options.sql has the precedence."""
    return next((value for one in options if (value := getattr(one, name)) is not None), None)


def nearest_attempts(*options: Options) -> int | None:
    """The number of attempts: one more than the retries."""
    retries = nearest("retries", *options)
    return None if retries is None else retries + 1


def nearest_seconds(name: str, *options: Options) -> float | None:
    """The value of a duration option from the first `Options` that set it, in seconds."""
    return next((given for one in options if (given := one.seconds_of(name)) is not None), None)


def unsupported_option(options: Options, supported: Collection[str]) -> str | None:
    """The first option that is set but not supported."""
    return next((n for n in options.__slots__ if n not in supported and getattr(options, n) is not None), None)


class OptionsDict(TypedDict, total=False):
    """The keywords of `.options(…)`, for type checkers and the reference."""

    tenant: str | UUID | None
    """Slug or id of the tenant. Default: the app's tenant, else the tenant `default`."""
    queue: str | None
    """Queue. Default: the definition's."""
    priority: int | None
    """Lower runs first. Default: the definition's."""
    retries: int | None
    """n retries allow n + 1 attempts. Default: the definition's."""
    timeout: float | str | timedelta | None
    """Time limit of one attempt. Default: the definition's."""
    deadline: float | str | timedelta | None
    """Time limit of the whole job, from its earliest start, including waits, time in the queue and retries. Default: the definition's."""
    delay: float | str | timedelta | None
    """Delay before the job may start. Default: none."""
    scheduled_for: datetime | None
    """Earliest start, with a time zone. Default: now."""
    dedupe_key: str | None
    """At most one unfinished job per key and tenant. While such a job exists, the handle refers to it."""
    idempotency_key: str | None
    """One payload per key for as long as the job is kept: the same call returns the same job, and another payload raises IdempotencyConflict."""
    idempotency_ttl: float | str | timedelta | None
    """Time after which the idempotency key may be used again. Default: as long as the job is kept."""
    limit_key: str | None
    """Value for the definition's per-key limits. Default: from the definition's `key`."""
    correlation_id: str | None
    """Your id for a group of related jobs, to search by."""
    job_id: UUID | None
    """The job's id: a new UUIDv7. Set it to be able to repeat the call safely. Default: generated."""
    after: Sequence[Any] | None
    """Jobs that must succeed before this one starts: handles or ids."""
    on_dependency_failure: Literal["cancel", "run"] | None
    """If a job in `after` does not succeed: `"cancel"` this job, or `"run"` it once all have ended. Default: `"cancel"`."""
    conn: Any
    """Your connection (asyncpg, psycopg, SQLAlchemy or Django): the enqueue is part of its transaction."""


def unknown_option(given: Iterable[str], valid: Collection[str]) -> str | None:
    """The error message for the first unknown option. It suggests the closest valid option, if any, and lists all valid options."""
    for name in given:
        if name not in valid:
            near = get_close_matches(name, valid, n=1)
            meant = f", did you mean {near[0]!r}?" if near else ""
            return f"there is no option {shown(name)}{meant} (options: {', '.join(sorted(valid))})"
    return None


def check_tenant(tenant: str | UUID | None) -> None:
    """Raise InvalidJob for an invalid tenant. An empty name does not mean the default tenant: it is most likely an unset variable."""
    _check_kind("tenant", tenant, str, UUID)
    if isinstance(tenant, str) and not (tenant and is_storable(tenant)):
        raise InvalidJob(f"tenant must be a tenant's slug or id, got {shown(tenant)}")


def _check_kind(name: str, value: object, *kinds: type) -> None:
    if value is not None and not isinstance(value, kinds):
        raise InvalidJob(f"{name} must be of type {' or '.join(kind.__name__ for kind in kinds)}, got {shown(value)}")


def _check_whole(name: str, value: object, low: int, high: int) -> None:
    if value is not None and not (type(value) is int and low <= value <= high):
        raise InvalidJob(f"{name} must be a whole number between {low} and {high}, got {shown(value)}")
