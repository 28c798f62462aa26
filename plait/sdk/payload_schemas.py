"""The JSON Schema of a job's payloads, derived from the annotations of its function when a worker registers the definition.

The API, triggers and `plait enqueue NAME` validate payloads against it, and forms are generated from it. It must never reject a payload that the
handler accepts, so it is as strict as the codec or less strict: a part without an exact schema is `{}`, which allows any value.
References are replaced by their targets, and a type that contains itself is `{}` where it repeats, so the result has a bounded size.
Handlers never use it: the codec decodes their payloads.
"""

import enum
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import inspect as kinds

from plait.model.errors import InvalidSchema
from plait.model.redaction import Fields
from plait.model.schemas import DERIVED, ORDER, check_schema
from plait.sdk.annotations import is_adapted
from plait.sdk.codec import Parameter
from plait.sdk.pydantic_schemas import adapter_schema, any_of, can_show, model_schema, portable

MOST_BYTES: Final = 32_768
MOST_PARTS: Final = 1_000
DEEPEST: Final = 10

Schema = dict[str, Any]


def payload_schema(
    parameters: Iterable[Parameter], required: Iterable[str], sensitive: Iterable[tuple[str, ...]] = ()
) -> Schema | None:
    """The schema of the payloads of a function; None if it would be too large. Defaults of `sensitive` fields are omitted."""
    needed, found = set(required), {}
    for name, kind, *default in parameters:
        part = _part(name, kind, frozenset(sensitive))
        if default and can_show(default[0], (name,), frozenset(sensitive)):
            part = {**part, "default": default[0]}
        found[name] = part if _fits(_whole({name: part}, ())) else {}
    whole = _whole(found, [name for name in found if name in needed])
    return whole if _fits(whole) else None


def _whole(properties: Mapping[str, Schema], required: Iterable[str]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
        ORDER: list(properties),  # the database does not keep the order of properties
        DERIVED: True,
    }


def _fits(schema: Schema) -> bool:
    try:
        text = json.dumps(schema, allow_nan=False)
        check_schema(schema)
    except (InvalidSchema, ValueError, TypeError, RecursionError):
        return False
    return len(text) <= MOST_BYTES and "\\u0000" not in text  # which Postgres can't store


def _part(name: str, kind: Any, sensitive: Fields) -> Schema:
    try:
        if is_adapted(kind):
            return adapter_schema(kind.adapter, sensitive, (name,))
        return _Derivation(sensitive).schema(kinds.type_info(kind), (name,))
    except Exception:  # noqa: BLE001 - a user's type may raise anything; the payload is then checked by the codec alone
        return {}


DATE_TIME: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}"
TIME: Final = "^[0-9]{2}:[0-9]{2}:[0-9]{2}"
DURATION: Final = "^[+-]?[Pp]"
UUID: Final = "^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$"


class _Derivation:
    """The schema of one parameter, by the rules of msgspec's strict JSON decoder, which the codec uses."""

    def __init__(self, sensitive: Fields) -> None:
        self._sensitive = sensitive
        self._left = MOST_PARTS
        self._within: list[Any] = []

    def schema(self, info: Any, path: tuple[str, ...], *, tagged: bool = False) -> Schema:
        """`tagged`: in a union a struct must have its tag; alone it need not."""
        self._left -= 1
        own = getattr(info, "cls", None)
        if self._left < 0 or len(self._within) > DEEPEST or (own is not None and own in self._within):
            return {}
        self._within.append(own)
        try:
            return self._of(info, path, tagged=tagged)
        finally:
            self._within.pop()

    def _of(self, info: Any, path: tuple[str, ...], *, tagged: bool) -> Schema:
        match info:
            case kinds.Metadata():
                return {**self.schema(info.type, path, tagged=tagged), **(info.extra_json_schema or {})}
            case kinds.NoneType():
                return {"type": "null"}
            case kinds.BoolType():
                return {"type": "boolean"}
            case kinds.IntType():
                return {"type": "integer", **_number(info), **_given(multipleOf=info.multiple_of)}
            case kinds.FloatType():
                return {"type": "number", **_number(info)}
            case kinds.StrType():
                pattern = info.pattern if portable(info.pattern) else None
                return {
                    "type": "string",
                    **_given(minLength=info.min_length, maxLength=info.max_length, pattern=pattern),
                }
            case kinds.BytesType() | kinds.ByteArrayType() | kinds.MemoryViewType():
                return {"type": "string", "contentEncoding": "base64"}
            case kinds.DateTimeType():
                return {"type": "string", "pattern": DATE_TIME, "examples": ["2026-12-16T10:30:00Z"]}
            case kinds.TimeType():
                return {"type": "string", "pattern": TIME, "examples": ["10:30:00"]}
            case kinds.DateType():
                return {"type": "string", "format": "date"}
            case kinds.TimeDeltaType():
                return {"type": "string", "pattern": DURATION, "examples": ["PT90S"]}
            case kinds.UUIDType():
                return {"type": "string", "pattern": UUID, "examples": ["018f4e2a-7c1d-7b3e-9a50-1c2d3e4f5a6b"]}
            case kinds.DecimalType():
                return {"type": ["number", "string"]}
            case kinds.EnumType() if "_missing_" not in vars(info.cls):
                return {"enum": [one.value for one in info.cls]} if _is_plain_enum(info.cls) else {}
            case kinds.LiteralType():
                return {"enum": list(info.values)}
            case kinds.UnionType():
                many = sum(isinstance(one, kinds.StructType) for one in info.types) > 1
                return any_of([self.schema(one, path, tagged=many) for one in info.types])
            case kinds.CustomType() if hasattr(info.cls, "model_validate_json"):
                return model_schema(info.cls, self._sensitive, path)
            case _:
                return self._composed(info, path, tagged=tagged)

    def _composed(self, info: Any, path: tuple[str, ...], *, tagged: bool) -> Schema:
        match info:
            case kinds.SetType() | kinds.FrozenSetType():  # duplicates are allowed and removed
                return {"type": "array", "items": self.schema(info.item_type, path), **_given(minItems=info.min_length)}
            case kinds.ListType() | kinds.VarTupleType() | kinds.CollectionType():
                sizes = _given(minItems=info.min_length, maxItems=info.max_length)
                return {"type": "array", "items": self.schema(info.item_type, path), **sizes}
            case kinds.TupleType():
                parts, size = [self.schema(one, path) for one in info.item_types], len(info.item_types)
                return {"type": "array", "prefixItems": parts, "minItems": size, "maxItems": size}
            case kinds.DictType() | kinds.FrozenDictType():
                sizes = _given(minProperties=info.min_length, maxProperties=info.max_length)
                return {"type": "object", "additionalProperties": self.schema(info.value_type, path), **sizes}
            case kinds.StructType(array_like=True) | kinds.NamedTupleType():
                return {"type": "array"}
            case kinds.StructType():
                found = self._object(info.fields, path)
                if info.tag_field is not None:
                    found["properties"][info.tag_field] = {"const": info.tag}
                    if tagged:
                        found["required"].append(info.tag_field)
                return {**found, "additionalProperties": False} if info.forbid_unknown_fields else found
            case kinds.DataclassType() | kinds.TypedDictType():
                return self._object(info.fields, path)
            case _:
                return {}

    def _object(self, fields: Iterable[kinds.Field], path: tuple[str, ...]) -> Schema:
        properties: dict[str, Schema] = {}
        required = []
        for field in fields:
            name = field.encode_name
            properties[name] = self.schema(field.type, (*path, name))
            if can_show(field.default, (*path, name), self._sensitive):
                properties[name]["default"] = field.default
            if field.required:
                required.append(name)
        return {"type": "object", "properties": properties, "required": required, ORDER: list(properties)}


def _given(**limits: Any) -> Schema:
    return {name: value for name, value in limits.items() if value is not None}


def _number(info: Any) -> Schema:
    return _given(minimum=info.ge, exclusiveMinimum=info.gt, maximum=info.le, exclusiveMaximum=info.lt)


def _is_plain_enum(cls: type[enum.Enum]) -> bool:
    return all(isinstance(one.value, int | str) for one in cls)
