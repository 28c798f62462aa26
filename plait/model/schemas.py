"""JSON Schema validation of untrusted payloads, with jsonschema-rs. A schema is untrusted too, so it is limited before it is compiled (T126):
nothing is fetched or read, patterns run in linear time, and its expanded size is counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

import jsonschema_rs
import msgspec

from plait.model.errors import InvalidSchema
from plait.model.templates import has_token, is_token
from plait.model.texts import message_of, shown

SIZE: Final = 65_536
DEPTH: Final = 30
NODES: Final = 5_000
"""The maximum number of parts, with references expanded."""
STEPS: Final = 10_000_000
"""Maximum of (parts of a schema) x (values in a payload): a validator may visit each part for each value."""
VALUES: Final = 200_000
"""Maximum number of values in a payload that is checked against a schema, however small the schema is."""
TEMPLATE_STEPS: Final = 500_000
"""The same limit for a template. It is lower because all errors of a template are examined when it is saved."""
REPEATS: Final = 1_000
MOST_FAULTS: Final = 20
ORDER: Final = "x-order"
"""The keyword with the names of an object's properties in the order of the code: the database does not keep it."""
DERIVED: Final = "x-derived"
"""The keyword that marks a schema as derived from a function's annotations. The handler validates the payload again, so one that is too large is
accepted unchecked."""
_REFERENCES: Final = ("$dynamicRef", "$recursiveRef")


@dataclass(frozen=True, slots=True)
class Fault:
    """One error of a value: where it is, and what is wrong there."""

    path: tuple[str | int, ...]
    message: str

    def pointer(self, *above: str) -> str:
        """The place as a JSON pointer (RFC 6901), in an object that has the value at the path `above`."""
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in (*above, *self.path))
        return "".join(f"/{part}" for part in parts)


class Validator(Protocol):
    def validate(self, instance: Any, /) -> None: ...
    def iter_errors(self, instance: Any, /) -> Any: ...


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise InvalidSchema, with the reason, if a schema is rejected."""
    _compiled(_text(schema))


def faults(schema: Mapping[str, Any] | str, value: Any) -> str | None:
    """The reason why a value does not match, as a sentence; None if it matches."""
    validator, parts, derived = _compiled(schema if isinstance(schema, str) else _text(schema))
    most = min(STEPS // parts, VALUES)
    if not _has_at_most(value, most):
        if derived:
            return None
        return f"it must have at most {most:,} values to be checked against a schema of {parts:,} parts"
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:  # only the first: listing all of them takes far longer
        at = ".".join(str(part) for part in error.instance_path)
        said = error.message.splitlines()[0][:300]
        return f"{at}: {said}" if at else str(said)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # pyo3's error for a panic in Rust, which is not an Exception
            raise
        raise InvalidSchema(f"the schema cannot be checked: {message_of(error, 300)}") from None
    return None


def list_faults(schema: Mapping[str, Any] | str, value: Any) -> list[Fault]:
    """The first errors of a value, each at the field that is wrong, missing or unknown. Empty if it is too expensive to list them all."""
    text = schema if isinstance(schema, str) else _text(schema)
    validator, parts, _ = _compiled(text)
    if not _has_at_most(value, TEMPLATE_STEPS // parts):
        return []
    whole = msgspec.json.decode(text)
    found: list[Fault] = []
    try:
        for error in validator.iter_errors(value):
            found += _faults_of(error, whole)
            if len(found) >= MOST_FAULTS:
                break
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # see above
            raise
    return found[:MOST_FAULTS]


def _faults_of(error: Any, schema: Any) -> list[Fault]:
    path, message = tuple(error.instance_path), error.message.splitlines()[0][:300]
    match error.kind.name:
        case "required":
            return [Fault((*path, error.kind.property), "is required")]
        case "additionalProperties":
            return [Fault((*path, name), "is not in the schema") for name in error.kind.unexpected]
        case "pattern":
            return [Fault(path, _said_of_pattern(error, schema) or message)]
        case _:
            return [Fault(path, message)]


def _said_of_pattern(error: Any, schema: Any) -> str | None:
    """An error of a derived schema without its pattern, which the user has not written: by the type or the example next to it."""
    if not isinstance(schema, dict) or schema.get(DERIVED) is not True:
        return None
    try:
        for part in error.schema_path[:-1]:
            schema = schema[part]
        kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
        if kind != "string":
            return f"{shown(error.instance)} is not of type {kind}"
        return f"{shown(error.instance)} is not valid; an example is {schema['examples'][0]}"
    except (KeyError, IndexError, TypeError):
        return None


def _has_at_most(value: Any, most: int) -> bool:
    """Whether a JSON value consists of at most this many values. Stops counting at the limit."""
    todo = [value]
    while todo:
        most -= 1
        if most < 0:
            return False
        one = todo.pop()
        if isinstance(one, Mapping):
            if len(one) > most:
                return False
            todo.extend(one.values())
        elif isinstance(one, list | tuple):
            if len(one) > most:
                return False
            todo.extend(one)
    return True


def template_fault(schema: Mapping[str, Any] | str, template: Any) -> Fault | None:
    """The reason why no payload of a template can match; None if a payload may match. A value that contains a token may become any value. A template that is too
    expensive to check in advance is not checked; its payloads are checked when they are rendered."""
    validator, parts, _ = _compiled(schema if isinstance(schema, str) else _text(schema))
    if not _has_at_most(template, TEMPLATE_STEPS // parts):
        return None
    try:
        return next(filter(None, (_hopeless(error, template) for error in validator.iter_errors(template))), None)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # see above
            raise
        return None


def _hopeless(error: Any, template: Any) -> Fault | None:
    value = template
    for part in error.instance_path:
        value = value[part]
    keyword = error.schema_path[-1] if error.schema_path else None
    known = keyword in ("required", "additionalProperties") if isinstance(value, dict) else keyword == "type"
    if has_token(value) and (is_token(value) or not known):
        return None
    return Fault(tuple(error.instance_path), error.message.splitlines()[0][:300])


def _text(schema: Mapping[str, Any]) -> str:
    try:
        return msgspec.json.encode(schema).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSchema(f"the schema is not valid JSON: {error}") from None


@lru_cache(maxsize=500)
def _compiled(text: str) -> tuple[Validator, int, bool]:
    """The validator, the number of parts its schema expands to, and whether it is derived."""
    if len(text) > SIZE:
        raise InvalidSchema(f"a schema must have at most {SIZE:,} bytes")
    schema = msgspec.json.decode(text)
    if not isinstance(schema, dict):
        raise InvalidSchema(f"a schema must be a JSON object, got {shown(schema)}")
    parts = _Bounds(schema).check()
    try:
        validator: Validator = jsonschema_rs.validator_for(
            schema,
            retriever=_refuse,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000),
            validate_formats=True,
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise InvalidSchema(f"invalid schema: {str(error).splitlines()[0][:300]}") from None
    return validator, parts, schema.get(DERIVED) is True


def _refuse(uri: str) -> Any:
    raise InvalidSchema(f"a schema must refer only to its own parts, got {shown(uri)}")


_BY_NAME: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
"""Keywords whose value is an object that maps names chosen by the schema's author to schemas."""
_DEFINED: Final = frozenset({"$defs", "definitions"})
_DATA: Final = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose value is data and never a schema."""


class _Bounds:
    """Walks a schema as a validator would, with references expanded. Names that the author chose, as under `properties`, are never keywords."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema
        self._left = NODES

    def check(self) -> int:
        """The number of parts of the schema."""
        self._schema(self._root, 0, ())
        return NODES - self._left

    def _count(self, depth: int, parts: int = 1) -> None:
        self._left -= parts
        if self._left < 0 or depth > DEPTH:
            raise InvalidSchema(
                f"a schema must have at most {NODES:,} parts and {DEPTH} levels, with references expanded"
            )

    def _schema(self, node: Any, depth: int, within: tuple[str, ...]) -> None:
        self._count(depth)
        if isinstance(node, list):
            for item in node:
                self._schema(item, depth + 1, within)
        if not isinstance(node, dict):
            return
        for key, value in node.items():
            if key in _REFERENCES or (key in ("$id", "id", "$anchor", "$dynamicAnchor") and isinstance(value, str)):
                raise InvalidSchema(f"a schema must not contain {key}: refer to its own parts with #/…")
            if key == "$ref" and isinstance(value, str):
                if value in within:
                    raise InvalidSchema(f"a schema must not be recursive: {shown(value)}")
                self._schema(self._resolve(value), depth + 1, (*within, value))
            elif key == "pattern" and isinstance(value, str):
                self._pattern(value)
            elif key in _DATA:
                self._data(value, depth + 1)
            elif (key in _BY_NAME or key in _DEFINED) and isinstance(value, dict):
                # Definitions are counted here because they are compiled, and again wherever they are used.
                self._count(depth + 1, len(value))
                for name, part in value.items():
                    if key == "patternProperties":
                        self._pattern(name)
                    self._schema(part, depth + 2, within)
            else:
                self._schema(value, depth + 1, within)

    def _data(self, value: Any, depth: int) -> None:
        self._count(depth)
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for part in parts:
            self._data(part, depth + 1)

    def _pattern(self, pattern: str) -> None:
        self._count(0, 10)  # the cost of compiling it, compared with other parts
        if len(pattern) > REPEATS:
            raise InvalidSchema(f"a pattern must have at most {REPEATS} characters")

    def _resolve(self, pointer: str) -> Any:
        if not pointer.startswith("#"):
            _refuse(pointer)
        node: Any = self._root
        for part in pointer.lstrip("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or name not in node:
                raise InvalidSchema(f"a schema refers to {shown(pointer)}, which does not exist")
            node = node[name]
        return node
