"""Text that can always be stored and shown, even from objects whose methods fail."""

from collections.abc import Callable

from plait.model.redaction import hide

MARGIN = 8_192
"""Scan this far past a cut, so that no secret is truncated and missed."""


def clean(text: str, limit: int) -> str:
    """Text for storage: without secrets, NUL and lone surrogates, and at most `limit` characters."""
    if len(text) <= limit:
        text = hide(text)
    else:
        half = limit // 2
        text = hide(text[: half + MARGIN])[:half] + "\n… (shortened)\n" + hide(text[-half - MARGIN :])[-half:]
    return text.replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def message_of(error: BaseException, limit: int = 4_000) -> str:
    """The message of an exception; a placeholder if its `str()` fails."""
    return safely(lambda: clean(str.__str__(str(error)), limit), "(its message cannot be shown)")


def shown(value: object) -> str:
    """A value for a message: short, and safe if its `repr()` fails."""
    return safely(lambda: clean(str.__str__(repr(value)), 100), f"a value of type {type(value).__name__}")


def safely(make: Callable[[], str], otherwise: str) -> str:
    try:
        return make()
    except BaseException:  # noqa: BLE001 - an object's methods may raise anything
        return otherwise


def is_text(value: object, *, most: int) -> bool:
    """Whether a value of any type is text that is neither empty nor too long."""
    return isinstance(value, str) and 1 <= len(value) <= most


def is_storable(text: str) -> bool:
    """Whether Postgres can store the text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
