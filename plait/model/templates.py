"""Templates: `{{event.a.b}}` in a payload is replaced by the value found there, and that is all there is. No expressions, no
filters, no attributes: what is put in is never looked at again (T125), and what is no path stays as it is written.

A string that is one token takes the value with its type; within other text a value is written as text. A path that leads nowhere
is an error: a job with a hole in it is worse than none.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from plait.model.errors import InvalidTemplate

ROOTS: Final = ("event", "schedule", "trigger", "tenant")
DEPTH: Final = 50
SIZE: Final = 1_000_000
"""So much text at most; a small template could else repeat a large event many times."""

_PATH: Final = r"\{\{\s*((?:event|schedule|trigger|tenant)(?:\.[A-Za-z0-9_-]{1,100}){1,20})\s*\}\}"
_TOKEN: Final = re.compile(_PATH)


def render(template: Any, scope: Mapping[str, Any]) -> Any:
    """The template with its tokens replaced. Keys of objects are left as they are."""
    left = [SIZE]
    return _render(template, scope, 0, left)


def render_text(template: str | None, scope: Mapping[str, Any], *, what: str) -> str | None:
    """A template that makes a key: text of 1 to 500 characters."""
    if template is None:
        return None
    text = _text(_render(template, scope, 0, [SIZE]))
    if not 1 <= len(text) <= 500 or "\0" in text:
        raise InvalidTemplate(f"{what} is text of 1 to 500 characters, and {template!r} gives {len(text)}")
    return text


def _render(template: Any, scope: Mapping[str, Any], depth: int, left: list[int]) -> Any:
    if depth > DEPTH:
        raise InvalidTemplate(f"a template is at most {DEPTH} levels deep")
    match template:
        case str():
            whole = _TOKEN.fullmatch(template)
            value = _find(whole[1], scope) if whole else _TOKEN.sub(lambda m: _text(_find(m[1], scope)), template)
            left[0] -= len(value) if isinstance(value, str) else len(_text(value))
            if left[0] < 0:
                raise InvalidTemplate(f"what a template gives is at most {SIZE:,} characters")
            return value
        case Mapping():
            return {key: _render(value, scope, depth + 1, left) for key, value in template.items()}
        case list():
            return [_render(value, scope, depth + 1, left) for value in template]
        case _:
            return template


def _find(path: str, scope: Mapping[str, Any]) -> Any:
    value: Any = scope
    walked: list[str] = []
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise InvalidTemplate(f"{{{{{path}}}}}: there is no {part!r} in {'.'.join(walked) or 'this template'}")
        walked.append(part)
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
