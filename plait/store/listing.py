"""Lists of jobs: filters and pagination."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict
from uuid import UUID

from plait.store.database import Row
from plait.store.job_rows import JOB_COLUMNS, JobRow, job_of
from plait.store.named_arguments import named


class Filter(TypedDict, total=False):
    """The jobs to find. Missing and None values are ignored."""

    statuses: Sequence[str] | None
    queue: str | None
    definition: str | None
    source: str | None
    worker: int | None
    correlation_id: str | None
    parent: UUID | None
    root: UUID | None
    fan_out: UUID | None
    has_children: bool | None
    created_after: datetime | None
    created_before: datetime | None
    search: str | None
    payload: str | None
    """JSON: values by key or path."""
    error: str | None
    """A fingerprint."""


class Listed(list[JobRow]):
    """Jobs, newest first."""

    def __init__(self, jobs: Sequence[JobRow], stopped: UUID | None) -> None:
        super().__init__(jobs)
        self.stopped = stopped
        """The id at which the scan stopped, if there may be more jobs. None if the scan is complete or the page is full."""

    def next(self, limit: int) -> UUID | None:
        """The id before which the next page begins; None if there is no next page."""
        return self[-1].id if len(self) >= limit else self.stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    count: int
    more: bool
    """Whether more jobs may match, because the count reached its limit or not all jobs were scanned."""


NAMES: Final = tuple(Filter.__annotations__)
COUNTED: Final = 1000
_WANTED: Final = named(
    ("p_tenant", "p_all", *(f"p_{name}::text::json" if name == "payload" else f"p_{name}" for name in NAMES))
)
_NEXT: Final = len(NAMES) + 3
LIST_JOBS: Final = (
    f"select {', '.join(f'(s.job).{column}' for column in JOB_COLUMNS)}, s.stopped from plait.search_jobs({_WANTED}, "
    f"p_before => ${_NEXT}, p_limit => ${_NEXT + 1}, p_offset => ${_NEXT + 2}) s"
)
COUNT_JOBS: Final = (
    "select count((s.job).id) as found, count(s.stopped) as stopped "
    f"from plait.search_jobs({_WANTED}, p_limit => {COUNTED}) s"
)


def arguments(wanted: Filter) -> list[Any]:
    values: dict[str, Any] = {**wanted, "statuses": [str(one) for one in wanted.get("statuses") or ()] or None}
    return [values.get(name) for name in NAMES]


def listed(rows: Sequence[Row]) -> Listed:
    jobs = [job_of({name: row[name] for name in JobRow.__slots__}) for row in rows if row["id"] is not None]
    return Listed(jobs, rows[-1]["stopped"] if rows else None)
