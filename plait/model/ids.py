"""Ids: UUIDv7, made by the caller, so that an enqueue whose reply was lost can be sent again."""

from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid7

DEFAULT_TENANT: Final = UUID("00000000-0000-7000-8000-000000000000")


def new_id() -> UUID:
    return uuid7()
