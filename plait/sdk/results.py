"""Results of sub-jobs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

import msgspec

from plait.model.errors import ErrorInfo, SubJobFailure

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[T]):
    """The result of one sub-job: its value or its error. A skipped sub-job counts as succeeded and has no value."""

    index: int
    job_id: UUID
    value: T | None = None
    error: SubJobFailure | None = None
    skipped: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether the sub-job has no error."""
        return self.error is None


def read_failure(text: str | None) -> ErrorInfo | None:
    """A handler's stored error; None if there is no error, or if its format is unknown."""
    try:
        return None if text is None else msgspec.json.decode(text, type=ErrorInfo)
    except msgspec.MsgspecError:
        return None


def values(results: Iterable[Result[T]]) -> list[T]:
    """The values of succeeded sub-jobs, in order, without skipped sub-jobs."""
    return [result.value for result in results if result.error is None and not result.skipped]  # type: ignore[misc]


def partition(results: Iterable[Result[T]]) -> tuple[list[T], list[SubJobFailure]]:
    """Split into values and errors."""
    given = list(results)
    return values(given), [result.error for result in given if result.error is not None]


def all_succeeded(results: Iterable[Result[T]]) -> bool:
    """Whether no sub-job failed or was canceled."""
    return all(result.error is None for result in results)
