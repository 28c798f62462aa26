"""Text that can always be stored and shown, also from things that refuse to give any."""

from collections.abc import Callable

from plait.model.redaction import hide

MARGIN = 8_192
"""So far beyond a cut is looked for secrets: half of one is told by nobody."""


def clean(text: str, limit: int) -> str:
    """Text that is stored: without secrets, NUL and lone surrogates, and no more than `limit` characters."""
    if len(text) <= limit:
        text = hide(text)
    else:
        half = limit // 2
        text = hide(text[: half + MARGIN])[:half] + "\n… (shortened)\n" + hide(text[-half - MARGIN :])[-half:]
    return text.replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def message_of(error: BaseException, limit: int = 4_000) -> str:
    """What an exception says; a word about it when its own `str()` fails."""
    return safely(lambda: clean(str.__str__(str(error)), limit), "(its message cannot be shown)")


def shown(value: object) -> str:
    """A value in a message about it: short, and whatever its own `repr()` does."""
    return safely(lambda: clean(str.__str__(repr(value)), 100), f"a value of type {type(value).__name__}")


def safely(make: Callable[[], str], otherwise: str) -> str:
    try:
        return make()
    except BaseException:  # noqa: BLE001 - an exception's own methods may raise anything, and this must go on
        return otherwise


def is_text(value: object, *, most: int) -> bool:
    """Whether it is text at all, neither empty nor too long: what a caller gives may be of any type."""
    return isinstance(value, str) and 1 <= len(value) <= most


def is_storable(text: str) -> bool:
    """Whether Postgres takes the text as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
