"""Ids: UUIDv7, made by the caller, so that an enqueue whose reply was lost can be sent again."""

from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid7

DEFAULT_TENANT: Final = UUID("00000000-0000-7000-8000-000000000000")


def new_id() -> UUID:
    return uuid7()


def parse_id(text: str) -> UUID | None:
    """The id that the text spells, or None: what a person typed is not an error yet."""
    try:
        return UUID(text)
    except ValueError:
        return None
