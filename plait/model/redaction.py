"""Redaction: secrets are not stored or logged. This module alone defines what counts as a secret.

A secret is recognised in three ways: its value is known (`learn`: the values of PLAIT_SECRET_… and of secret files); it has a name such as
`password` or `Authorization`; or it has the form of a token. Text is redacted where it is prepared for storage
(`plait.model.texts.clean`), in logs, and in the results of connectors.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

HIDDEN: Final = "[redacted]"
SHORTEST: Final = 8
"""Shorter values are not treated as secrets, because they would match everywhere."""

OVERLAP: Final = 16_384
"""The maximum length of a recognised token."""
WINDOW: Final = 3 * OVERLAP

_WORDS: Final = (
    r"(?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|credentials?"
    r"|(?:proxy-)?authorization|(?:set-)?cookie|whsec)"
)
_NAME: Final = re.compile(rf"(?:.*[_.\s-])?{_WORDS}", re.IGNORECASE)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BEGINS: Final = r"(?:(?<![a-z])|(?-i:(?=[A-Z])))"
"""Matches the end of accessToken= and access_token=, but not of compass=."""
_FORMS: Final = re.compile(
    rf"""
      (?P<header>(?:proxy-)?authorization\s*[:=]\s*["']?)(?:(?:bearer|basic|digest|token)\s+)?[^\s"',;]{{1,4096}}
    | (?P<bearer>\bbearer\s+)[a-z0-9._~+/=-]{{8,4096}}
    | (?P<cookie>\b(?:set-)?cookie\s*:\s*)[^\r\n]{{1,4096}}
    | (?P<quoted>{_BEGINS}{_WORDS}["']?\s?[=:]\s?")(?!\[redacted)[^"\r\n]{{1,4096}}
    | (?P<single>{_BEGINS}{_WORDS}["']?\s?[=:]\s?')(?!\[redacted)[^'\r\n]{{1,4096}}
    | (?P<named>{_BEGINS}{_WORDS}=)(?!\[redacted)[^\s"',;&\[\](){{}}]{{1,4096}}
    | (?P<user>://)[^/\s:@]{{0,200}}:[^/\s@]{{1,200}}(?=@)
    | (?:AKIA|ASIA)[0-9A-Z]{{16}}\b
    | gh[pousr]_[a-z0-9]{{30,255}}
    | [sr]k_(?:live|test)_[a-z0-9]{{16,255}}
    | xox[abprs]-[a-z0-9-]{{10,255}}
    | whsec_[a-z0-9+/=]{{16,255}}
    | (?<![a-z0-9_-])eyJ[a-z0-9_-]{{10,4096}}\.[a-z0-9_-]{{10,4096}}\.[a-z0-9_-]{{0,4096}}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PEM: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
_HINTS: Final = re.compile(
    r"pass|secret|token|_key|-key|apikey|accesskey|privatekey|signingkey|credential|authorization|cookie|bearer|://|akia|asia|gh[pousr]_"
    r"|k_live_|k_test_|xox|whsec|eyj",
    re.IGNORECASE,
)
"""Every pattern of _FORMS contains one of these hints, which are cheap to search for. A line without a hint is not scanned."""

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+|\s+', re.DOTALL)
_REFERENCE: Final = re.compile(r"(?:(?:bearer|basic|token)\s+)?\{\{[^{}]{1,200}\}\}", re.IGNORECASE)
"""A template's `{{secret.NAME}}` or `{{event.token}}` names a secret but does not contain it."""

Fields = frozenset[tuple[str, ...]]
"""The sensitive fields of a definition, each as the last parts of a JSON path."""

_values: set[str] = set()
_forms: tuple[str, ...] = ()
"""All encodings of the known secrets, longest first."""


def learn(values: Iterable[str]) -> None:
    """Hide these values from now on, in all usual encodings."""
    global _forms  # noqa: PLW0603 - one process has one set of secrets
    new = {value for value in values if len(value) >= SHORTEST} - _values
    if not new:
        return
    _values.update(new)
    _forms = tuple(sorted({form for value in _values for form in _written(value)}, key=lambda form: (-len(form), form)))


def hide_known(text: str) -> str:
    """The text without known secrets. Costs nothing if none are known."""
    for form in _forms:
        if form in text:
            text = text.replace(form, HIDDEN)
    return text


def hide(text: str) -> str:
    """The text without known secrets, and without text that looks like a secret."""
    text = hide_known(text)
    if "PRIVATE KEY-----" in text:
        text = _PEM.sub(HIDDEN, text)
    if _HINTS.search(text) is None:
        return text
    lines = text.split("\n")
    return "\n".join(_hide_forms(line) if _HINTS.search(line) else line for line in lines)


def _hide_forms(line: str) -> str:
    """Scan a long line in overlapping windows: one search holds the GIL, and blocks all other threads until it ends."""
    if len(line) <= WINDOW:
        return _FORMS.sub(_kept, line)
    parts: list[str] = []
    copied = at = 0
    while at < len(line):
        end = min(at + WINDOW, len(line))
        sure = end if end == len(line) else end - OVERLAP
        found = _FORMS.search(line, at, end)
        if found is None or found.start() >= sure:
            at = sure
        else:
            parts += line[copied : found.start()], _kept(found)
            copied = at = found.end()
    return "".join([*parts, line[copied:]])


def hide_in(value: Any) -> Any:
    """JSON without secrets. A value whose key names a secret is hidden completely."""
    match value:
        case str():
            return hide(value)
        case Mapping():
            return {
                hide_known(str(key)): HIDDEN if names_secret(str(key)) and item not in (None, "") else hide_in(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [hide_in(item) for item in value]
        case _:
            return value


def fields(names: Iterable[str]) -> Fields:
    """Parse names such as `ssn` and `customer.ssn` as the last parts of paths."""
    return frozenset(tuple(name.split(".")) for name in names)


def is_secret(path: tuple[str, ...], sensitive: Fields = frozenset()) -> bool:
    """Whether the field at a path contains a secret: by its own name, or because it is listed as sensitive."""
    return bool(path) and (names_secret(path[-1]) or any(path[-len(one) :] == one for one in sensitive))


def hide_in_json(text: str, sensitive: Fields = frozenset()) -> str:
    """JSON text without secrets, otherwise unchanged. It is scanned without being decoded, so the cost depends only on its length,
    even with a number of 5,000 digits or 5,000 levels of nesting."""
    if not _may_hold_secret(text, sensitive):
        return text
    out: list[str] = []
    scan = _Scan(sensitive)
    for part in _TOKEN.findall(text):
        out.append(scan.shown(part))
    return "".join(out)


def masked(value: Any, *, exact: bool = False) -> str | None:
    """The path of a string in a JSON value that contains the redaction mask or, with `exact`, equals it; None if there is no such string."""
    open_: list[tuple[str, Any]] = [("", value)]
    while open_:
        path, one = open_.pop()
        match one:
            case str():
                if one == HIDDEN or (HIDDEN in one and not exact):
                    return path
            case Mapping():
                open_ += [(f"{path}.{key}" if path else str(key), item) for key, item in one.items()]
            case list() | tuple():
                open_ += [(f"{path}[{at}]", item) for at, item in enumerate(one)]
            case _:
                pass  # a number, true, false or null
    return None


def _may_hold_secret(text: str, sensitive: Fields) -> bool:
    return (
        _HINTS.search(text) is not None
        or "PRIVATE KEY-----" in text
        or "\\u" in text
        or any(one[-1] in text for one in sensitive)
        or any(form in text for form in _forms)
    )


class _Scan:
    """Scans JSON tokens and tracks the path of each."""

    def __init__(self, sensitive: Fields) -> None:
        self._sensitive = sensitive
        self._names: list[str | None] = []
        """For each open container, the name of the current member; None in an array."""
        self._key_next = False
        self._skipping: int | None = None
        """The output is omitted until only this many containers are open."""

    def shown(self, part: str) -> str:
        match part[0]:
            case "{" | "[":
                shown = self._begun()
                self._names.append("" if part == "{" else None)
                self._key_next = part == "{"
                return shown if shown else part if self._skipping is None else ""
            case "}" | "]":
                self._names.pop()
                self._key_next = False
                if self._skipping is None:
                    return part
                if len(self._names) == self._skipping:
                    self._skipping = None
                return ""
            case ",":
                self._key_next = bool(self._names) and self._names[-1] is not None
            case '"' if self._key_next:
                self._key_next = False
                name = str(json.loads(part, strict=False))
                self._names[-1] = name
                hidden = hide_known(name)
                part = part if hidden == name else json.dumps(hidden)
            case '"':
                part = self._string(part)
            case ":" | " " | "\n" | "\r" | "\t":
                pass
            case _:
                if part != "null" and self._skipping is None and self._is_secret():
                    return f'"{HIDDEN}"'
        return part if self._skipping is None else ""

    def _begun(self) -> str | None:
        """The mask in place of a whole object or array."""
        if self._skipping is None and self._is_secret():
            self._skipping = len(self._names)
            return f'"{HIDDEN}"'
        return None

    def _string(self, token: str) -> str:
        value = str(json.loads(token, strict=False)) if "\\" in token else token[1:-1]
        if value and self._is_secret():
            return token if _REFERENCE.fullmatch(value) else f'"{HIDDEN}"'
        hidden = hide(value)
        return token if hidden == value else json.dumps(hidden)

    def _is_secret(self) -> bool:
        # In an array the name is the array's own; if it were secret, the whole array would be hidden already.
        if not self._names or self._names[-1] is None:
            return False
        if names_secret(self._names[-1]):
            return True
        return bool(self._sensitive) and is_secret(
            tuple(name for name in self._names[-32:] if name is not None), self._sensitive
        )


@lru_cache(maxsize=4096)
def names_secret(name: str) -> bool:
    """Whether the name of a field or header means that its value is secret: access_token and apiKey do, token_count does not."""
    return len(name) <= 200 and _NAME.fullmatch(_CAMEL.sub("_", name)) is not None


def _written(value: str) -> set[str]:
    """The encodings of a value: plain, JSON, Python repr, URL, and the text that results from decoding it with the wrong charset, UTF-8
    or Latin-1."""
    mistaken = (value.encode().decode("latin-1"), value.encode("latin-1", "replace").decode(errors="replace"))
    return {
        written
        for form in (value, *mistaken)
        for written in (
            form,
            json.dumps(form)[1:-1],
            json.dumps(form, ensure_ascii=False)[1:-1],
            repr(form)[1:-1],
            quote(form, safe=""),
        )
    }


def _kept(found: re.Match[str]) -> str:
    return next((part for part in found.groups() if part is not None), "") + HIDDEN
