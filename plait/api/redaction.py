"""Redaction for viewers and operators: secrets in payloads, results, errors, events and templates.

The caller's role decides, before a route runs, whether its response is redacted. `Shape.of` builds the responses and redacts them, so a new shape
is redacted by default. Responses to admins, super-admins and workers are not redacted.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from plait.model.errors import InvalidArguments
from plait.model.redaction import HIDDEN, Fields, hide, hide_in_json, is_secret, masked
from plait.model.roles import Role

Made = TypeVar("Made")

REDACTED: Final = frozenset({Role.VIEWER, Role.OPERATOR})


@dataclass(frozen=True, slots=True)
class Redaction:
    """The redaction of responses to one caller."""

    by_definition: Mapping[str, Fields]
    """Only definitions with sensitive fields."""

    def fields(self, definition: str | None) -> Fields:
        """The sensitive fields of a definition. If `definition` is None, the fields of all definitions."""
        if definition is not None:
            return self.by_definition.get(definition, frozenset())
        return frozenset[tuple[str, ...]]().union(*self.by_definition.values())

    def json(self, text: str, definition: str | None = None) -> str:
        return hide_in_json(text, self.fields(definition))

    def text(self, value: str) -> str:
        return hide(value)

    def hidden_key(self, keys: Iterable[str], definition: str | None) -> str | None:
        """The first of these keys or paths that leads to a hidden field. A filter by a hidden field would let the caller guess its value."""
        sensitive = self.fields(definition)
        for key in keys:
            path = tuple(key.split("."))
            if any(is_secret(path[:end], sensitive) for end in range(1, len(path) + 1)):
                return key
        return None


_current: ContextVar[Redaction | None] = ContextVar("redaction", default=None)


def begin(redaction: Redaction | None) -> None:
    """Set the redaction of this request's response. None: no redaction."""
    _current.set(redaction)


def redaction() -> Redaction | None:
    """The redaction of this request."""
    return _current.get()


async def composed(make: Callable[[], Made]) -> Made:
    """Build a large response. With redaction this is slow, so it runs in a thread."""
    return make() if _current.get() is None else await asyncio.to_thread(make)


def refuse_mask(value: Any, name: str, *, exact: bool = False) -> None:
    """Reject a request that contains a mask. It was copied from a redacted response, and storing it would overwrite the secret."""
    if (at := masked(value, exact=exact)) is not None:
        where = f"{name}.{at}" if at and not at.startswith("[") else f"{name}{at}"
        raise InvalidArguments(
            f"{where} must be the real value, got the redaction mask {HIDDEN!r}. To run a job again with its stored payload, retry it"
        )
