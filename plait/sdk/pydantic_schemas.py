"""JSON Schemas of the types that pydantic decodes, changed so that they never reject a value that pydantic accepts.

pydantic converts values: `"5"` to 5, `"yes"` to True, a number to a date. Its schemas don't say so. Validators that run before the conversion, aliases
with alternatives and settings that change texts accept values that no schema describes, so a type that uses them has the schema `{}`.
"""

import re
from typing import Any, Final

from plait.model.redaction import Fields, hide, is_secret
from plait.model.schemas import ORDER

MOST_PARTS: Final = 1_000
_BEFORE: Final = frozenset(
    {"function-before", "function-wrap", "function-plain", "custom-error", "tagged-union-function"}
)
_CHANGING: Final = (
    "populate_by_name", "validate_by_name", "str_strip_whitespace", "str_to_lower", "str_to_upper", "coerce_numbers_to_str",
    "strip_whitespace", "to_lower", "to_upper", "missing", "custom_init",
)  # fmt: skip
_NOT_PARTS: Final = frozenset({"serialization", "default", "metadata", "cls", "ref"})
_KEPT: Final = frozenset({
    "title", "description", "enum", "const", "required", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "contentEncoding",
})  # fmt: skip
_CONVERTED: Final = {
    "integer": (["integer", "string", "boolean"], r"^\s*[+-]?[0-9][0-9_]*(\.0*)?\s*$"),
    "number": (["number", "string", "boolean"], r"^\s*[+-]?([0-9_.eE+-]+|[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])\s*$"),
    "boolean": (["boolean", "string", "number"], "^([01tTfFyYnN]|[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|[yY][eE][sS]|[nN][oO]|[oO][nN]|[oO][fF][fF])$"),
}  # fmt: skip
"""The types that pydantic converts to each type, and the form of a text that it converts."""
_TIMES: Final = frozenset({"date", "date-time", "time", "duration"})


def model_schema(model: Any, sensitive: Fields, path: tuple[str, ...]) -> dict[str, Any]:
    """The schema of a pydantic model, at a path in the payload."""
    if not _is_described(model.__pydantic_core_schema__):
        return {}
    return _expanded(model.model_json_schema(by_alias=True), sensitive, path)


def adapter_schema(adapter: Any, sensitive: Fields, path: tuple[str, ...]) -> dict[str, Any]:
    """The schema of an annotation that a TypeAdapter decodes."""
    if not _is_described(adapter.core_schema):
        return {}
    return _expanded(adapter.json_schema(by_alias=True), sensitive, path)


def _is_described(core: Any) -> bool:
    """Whether the values that a core schema accepts are those of its JSON Schema, apart from conversions."""
    left = [core]
    while left:
        one = left.pop()
        if isinstance(one, list | tuple):
            left.extend(one)
        elif isinstance(one, dict):
            kind = one.get("type")
            if isinstance(kind, str) and kind in _BEFORE:
                return False
            if any(one.get(name) is True or callable(one.get(name)) for name in _CHANGING):
                return False
            if isinstance(one.get("validation_alias"), list):
                return False
            left.extend(value for name, value in one.items() if name not in _NOT_PARTS)
    return True


def _expanded(schema: dict[str, Any], sensitive: Fields, path: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = _Expansion(schema.get("$defs", {}), sensitive).of(schema, path, ())
    return found


class _Expansion:
    def __init__(self, definitions: dict[str, Any], sensitive: Fields) -> None:
        self._definitions = definitions
        self._sensitive = sensitive
        self._left = MOST_PARTS

    def of(self, node: Any, path: tuple[str, ...], within: tuple[str, ...]) -> Any:
        self._left -= 1
        if not isinstance(node, dict):
            return node
        if self._left < 0:
            return {}
        if "$ref" in node:
            name = str(node["$ref"]).rpartition("/")[2]
            if name in within:
                return {}
            target = self.of(self._definitions.get(name, {}), path, (*within, name))
            return {**target, **self.of({key: one for key, one in node.items() if key != "$ref"}, path, within)}
        found = {key: one for key, one in node.items() if key in _KEPT}
        if "default" in node and can_show(node["default"], path, self._sensitive):
            found["default"] = node["default"]
        if "title" in found and path and found["title"].replace(" ", "_").lower() == path[-1].lower():
            del found["title"]
        self._parts(node, found, path, within)
        _convert(node, found)
        return found

    def _parts(
        self, node: dict[str, Any], found: dict[str, Any], path: tuple[str, ...], within: tuple[str, ...]
    ) -> None:
        if "properties" in node:
            found["properties"] = {
                name: self.of(one, (*path, name), within) for name, one in node["properties"].items()
            }
            found[ORDER] = list(node["properties"])
        for key in ("additionalProperties", "items"):
            if key in node:
                found[key] = self.of(node[key], path, within)
        if "prefixItems" in node:
            found["prefixItems"] = [self.of(one, path, within) for one in node["prefixItems"]]
        # Several members of a discriminated union may match after conversions, so oneOf would reject values.
        for key in ("anyOf", "oneOf"):
            if key in node:
                union = any_of([self.of(one, path, within) for one in node[key]])
                found.update(
                    {
                        name: one
                        for name, one in union.items()
                        if name not in ("title", "description") or name not in found
                    }
                )
        if "allOf" in node:
            found["allOf"] = [self.of(one, path, within) for one in node["allOf"]]


def _convert(node: dict[str, Any], found: dict[str, Any]) -> None:
    kind, form = node.get("type"), node.get("format")
    if node.get("uniqueItems"):
        found.pop("maxItems", None)  # duplicates are allowed and removed
    if isinstance(found.get("enum"), list) and not all(isinstance(one, str | None) for one in found["enum"]):
        del found["enum"]
    if "const" in found and not isinstance(found["const"], str):
        del found["const"]
    if not isinstance(kind, str):
        return
    if kind in _CONVERTED and "enum" not in found and "const" not in found:
        found["type"], found["pattern"] = _CONVERTED[kind]
        return
    found["type"] = kind
    if kind == "string" and form is not None:
        if form in _TIMES:
            found["type"] = ["string", "number"]
        for name in ("minLength", "maxLength"):
            found.pop(name, None)
        found.setdefault("description", f"format: {form}")
    pattern = node.get("pattern")
    if kind == "string" and form is None and isinstance(pattern, str) and portable(pattern):
        found["pattern"] = pattern


def any_of(parts: list[Any]) -> dict[str, Any]:
    """The schema of a union. An optional value is one schema with two types, so that an error names the wrong field in it, not the union."""
    others = [one for one in parts if one != {"type": "null"}]
    [only, *more] = others or [{}]
    if more or len(others) == len(parts) or not isinstance(only, dict) or "anyOf" in only or "const" in only:
        return {"anyOf": parts}
    if "enum" in only:
        types = {"type": [*_types(only), "null"]} if "type" in only else {}
        return {**only, **types, "enum": [*only["enum"], None]}
    return {**only, "type": [*_types(only), "null"]} if "type" in only else {"anyOf": parts}


def _types(schema: dict[str, Any]) -> list[str]:
    return schema["type"] if isinstance(schema["type"], list) else [schema["type"]]


def can_show(value: Any, path: tuple[str, ...], sensitive: Fields) -> bool:
    """Whether everybody may see a default: a short plain value that is not secret."""
    if type(value) not in _PLAIN or is_secret(path, sensitive):
        return False
    return not isinstance(value, str) or (len(value) <= 200 and hide(value) == value)


def portable(pattern: str | None) -> bool:
    """Whether a pattern means the same to Python, pydantic and the validator: no classes such as \\d, no groups with (?, only ASCII."""
    return pattern is not None and pattern.isascii() and pattern.isprintable() and not _DIALECT.search(pattern)


_PLAIN: Final = (int, float, str, bool, type(None))
_DIALECT: Final = re.compile(r"\\[A-Za-z0-9]|\(\?|\[.*\[|&&|--|~~")
