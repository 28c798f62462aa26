"""Checks of arguments that callers pass: names (with the database's length limits), reasons, ids and iterables."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from plait.model.errors import InvalidArguments
from plait.model.texts import is_storable, is_text, shown

SIGNAL: Final = 180
"""The maximum length of a signal's name. The step that waits for it is named `signal …`, and step names have at most 200 characters."""
UPDATE: Final = 170
VERSION: Final = 180
STREAM: Final = 100


def check_signal_name(name: object) -> None:
    _check(name, "a signal's name", SIGNAL)


def check_update_name(name: object) -> None:
    _check(name, "an update's name", UPDATE)


def check_stream_name(name: object) -> None:
    _check(name, "a stream's name", STREAM)


def check_change_id(change_id: object) -> None:
    _check(change_id, "change_id", VERSION)


def job_id_of(given: object) -> UUID:
    """A job's id, from a UUID or its text."""
    try:
        return given if isinstance(given, UUID) else UUID(given)  # type: ignore[arg-type]  # checked here
    except (ValueError, TypeError, AttributeError):
        raise InvalidArguments(f"job_id must be a UUID or its text, got {shown(given)}") from None


def check_iterable(given: Iterable[Any], what: str) -> None:
    try:
        iter(given)
    except TypeError:
        raise InvalidArguments(f"{what}, got {shown(given)}") from None


def check_reason(reason: object) -> None:
    if reason is not None and not (isinstance(reason, str) and is_storable(reason)):
        raise InvalidArguments(f"reason must be text without NUL, got {shown(reason)}")


def _check(name: object, what: str, most: int) -> None:
    if not (isinstance(name, str) and is_text(name, most=most) and is_storable(name)):
        raise InvalidArguments(f"{what} must be text of 1 to {most} characters, got {shown(name)}")
