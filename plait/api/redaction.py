"""Redaction for viewers and operators: secrets in payloads, results, errors, events and templates.

Redaction is decided once, by the caller's role, before a route runs. Every response is made by `Shape.of`, which applies it, so a new shape is
redacted by default. Admins and super-admins see the stored data, and workers get the jobs that they run.
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
    """How responses to one caller are redacted."""

    by_definition: Mapping[str, Fields]
    """Only definitions with sensitive fields."""

    def fields(self, definition: str | None) -> Fields:
        """A definition's sensitive fields; those of all definitions if the definition is not known."""
        if definition is not None:
            return self.by_definition.get(definition, frozenset())
        return frozenset[tuple[str, ...]]().union(*self.by_definition.values())

    def json(self, text: str, definition: str | None = None) -> str:
        return hide_in_json(text, self.fields(definition))

    def text(self, value: str) -> str:
        return hide(value)

    def hidden_key(self, keys: Iterable[str], definition: str | None) -> str | None:
        """The first of these keys or paths that leads to a hidden field. A filter by such a field would let the caller guess its value."""
        sensitive = self.fields(definition)
        for key in keys:
            path = tuple(key.split("."))
            if any(is_secret(path[:end], sensitive) for end in range(1, len(path) + 1)):
                return key
        return None


_current: ContextVar[Redaction | None] = ContextVar("redaction", default=None)


def begin(redaction: Redaction | None) -> None:
    """Redact responses of this request from now on; None: no redaction."""
    _current.set(redaction)


def redaction() -> Redaction | None:
    """The redaction of this request."""
    return _current.get()


async def composed(make: Callable[[], Made]) -> Made:
    """Build a large response. Redacting takes longer than forwarding the data, so it runs in a thread."""
    return make() if _current.get() is None else await asyncio.to_thread(make)


def refuse_mask(value: Any, name: str, *, exact: bool = False) -> None:
    """Reject a request that contains a mask: it comes from a redacted copy, and storing it would replace the secret."""
    if (at := masked(value, exact=exact)) is not None:
        where = f"{name}.{at}" if at and not at.startswith("[") else f"{name}{at}"
        raise InvalidArguments(
            f"{where} must be the real value, got the redaction mask {HIDDEN!r}. To run a job again with its stored payload, retry it"
        )
