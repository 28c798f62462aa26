"""Templates: `{{event.a.b}}` in a payload is replaced by the value at that path. There are no expressions, filters or attributes.
Inserted values are not rendered again (T125), and text that is not a path stays unchanged.

A string that is a single token becomes the value with its type; within other text a value is inserted as text. A path that does not
exist is an error, so that no job runs with a missing value.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from plait.model.errors import InvalidTemplate

DEPTH: Final = 50
SIZE: Final = 1_000_000
"""Maximum number of characters that one template renders to. Counted while rendering, before text is joined."""
TOKENS: Final = 10_000
"""Maximum number of tokens that one template may replace."""
KEY: Final = 500

_PATH: Final = r"\{\{\s*((?:event|schedule|trigger|tenant)(?:\.[A-Za-z0-9_-]{1,100}){1,20})\s*\}\}"
_TOKEN: Final = re.compile(_PATH)


def render(template: Any, scope: Mapping[str, Any]) -> Any:
    """The template with its tokens replaced. Keys of objects are not rendered."""
    return _Rendering(scope).value(template, 0)


def render_text(template: str | None, scope: Mapping[str, Any], *, what: str) -> str | None:
    """Render a template for a key: text of 1 to 500 characters."""
    if template is None:
        return None
    text = _text(_Rendering(scope).value(template, 0))
    if not 1 <= len(text) <= KEY or "\0" in text:
        raise InvalidTemplate(
            f"{what} must be text of 1 to {KEY} characters, but {template!r} renders to {len(text)} characters"
        )
    return text


def has_token(template: Any) -> bool:
    """Whether the template contains a token, at any level."""
    match template:
        case str():
            return _TOKEN.search(template) is not None
        case Mapping():
            return any(has_token(value) for value in template.values())
        case list():
            return any(has_token(value) for value in template)
        case _:
            return False


def is_token(template: Any) -> bool:
    """Whether the string is a single token, which becomes the value with its type. Other text with tokens stays text."""
    return isinstance(template, str) and _TOKEN.fullmatch(template) is not None


class _Rendering:
    """One rendering, with its remaining output size. The output is counted piece by piece, so that text longer than the limit is never built."""

    def __init__(self, scope: Mapping[str, Any]) -> None:
        self._scope = scope
        self._left = SIZE
        self._tokens = TOKENS

    def value(self, template: Any, depth: int) -> Any:
        if depth > DEPTH:
            raise InvalidTemplate(f"a template must be at most {DEPTH} levels deep")
        match template:
            case str():
                whole = _TOKEN.fullmatch(template)
                return self._whole(whole[1]) if whole else self._within(template)
            case Mapping():
                return {key: self.value(one, depth + 1) for key, one in template.items()}
            case list():
                return [self.value(one, depth + 1) for one in template]
            case _:
                return template

    def _whole(self, path: str) -> Any:
        found = self._found(path)
        self._spend(found if isinstance(found, str) else _text(found))
        return found

    def _within(self, template: str) -> str:
        parts: list[str] = []
        at = 0
        for token in _TOKEN.finditer(template):
            parts.append(self._spend(template[at : token.start()]))
            parts.append(self._spend(_text(self._found(token[1]))))
            at = token.end()
        parts.append(self._spend(template[at:]))
        return "".join(parts)

    def _found(self, path: str) -> Any:
        self._tokens -= 1
        if self._tokens < 0:
            raise InvalidTemplate(f"a template must have at most {TOKENS:,} tokens")
        return _find(path, self._scope)

    def _spend(self, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            raise InvalidTemplate(f"a template must render to at most {SIZE:,} characters")
        return text


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
