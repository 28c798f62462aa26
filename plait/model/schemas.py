"""JSON Schema, by jsonschema-rs, for payloads that come from outside. A schema is data that somebody else has written, so it is
bounded before it is compiled (T126): nothing is fetched or read, patterns run in linear time, and what a schema unfolds to is counted.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import jsonschema_rs
import msgspec

from plait.model.errors import InvalidSchema
from plait.model.texts import shown

SIZE: Final = 65_536
DEPTH: Final = 30
NODES: Final = 5_000
"""So many parts at most, references unfolded."""
REPEATS: Final = 1_000
_REFERENCES: Final = ("$dynamicRef", "$recursiveRef")


class Validator(Protocol):
    def iter_errors(self, instance: Any, /) -> Any: ...


def check_schema(schema: Mapping[str, Any]) -> None:
    """An error that says why a schema is not taken."""
    _compiled(_text(schema))


def faults(schema: Mapping[str, Any] | str, value: Any) -> str | None:
    """What is wrong with a value, in a sentence; None when it fits."""
    validator = _compiled(schema if isinstance(schema, str) else _text(schema))
    for error in validator.iter_errors(value):
        at = ".".join(str(part) for part in error.instance_path)
        said = error.message.splitlines()[0][:300]
        return f"{at}: {said}" if at else str(said)
    return None


def _text(schema: Mapping[str, Any]) -> str:
    try:
        return msgspec.json.encode(schema).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSchema(f"a schema is JSON, and this is not: {error}") from None


@lru_cache(maxsize=500)
def _compiled(text: str) -> Validator:
    if len(text) > SIZE:
        raise InvalidSchema(f"a schema is at most {SIZE:,} bytes of JSON")
    schema = msgspec.json.decode(text)
    if not isinstance(schema, dict):
        raise InvalidSchema(f"a schema is a JSON object, not {shown(schema)}")
    _Bounds(schema).check()
    try:
        validator: Validator = jsonschema_rs.validator_for(
            schema,
            retriever=_refuse,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000),
            validate_formats=True,
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise InvalidSchema(f"an invalid schema: {str(error).splitlines()[0][:300]}") from None
    return validator


def _refuse(uri: str) -> Any:
    raise InvalidSchema(f"a schema refers to itself alone, not to {shown(uri)}")


class _Bounds:
    """Walks a schema as a validator would, references unfolded."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema
        self._left = NODES

    def check(self) -> None:
        self._walk(self._root, 0, ())

    def _walk(self, node: Any, depth: int, within: tuple[str, ...]) -> None:
        self._left -= 1
        if self._left < 0 or depth > DEPTH:
            raise InvalidSchema(f"a schema has at most {NODES:,} parts, {DEPTH} levels deep, references unfolded")
        if isinstance(node, list):
            for item in node:
                self._walk(item, depth + 1, within)
        if not isinstance(node, dict):
            return
        for key, value in node.items():
            if key in _REFERENCES or (key in ("$id", "id", "$anchor", "$dynamicAnchor") and isinstance(value, str)):
                raise InvalidSchema(f"a schema has no {key}: it refers to itself by #/…")
            if key == "$ref" and isinstance(value, str):
                if value in within:
                    raise InvalidSchema(f"a schema does not contain itself: {shown(value)}")
                self._walk(self._resolve(value), depth + 1, (*within, value))
            elif key == "pattern" and isinstance(value, str) and len(value) > REPEATS:
                raise InvalidSchema(f"a pattern is at most {REPEATS} characters")
            elif key in ("$defs", "definitions") and isinstance(value, dict):
                self._left -= len(value)  # counted where they are used
            else:
                self._walk(value, depth + 1, within)

    def _resolve(self, pointer: str) -> Any:
        if not pointer.startswith("#"):
            _refuse(pointer)
        node: Any = self._root
        for part in pointer.lstrip("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or name not in node:
                raise InvalidSchema(f"a schema refers to {shown(pointer)}, which is not there")
            node = node[name]
        return node
