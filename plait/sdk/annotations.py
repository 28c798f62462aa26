"""Type annotations: which library decodes their values from JSON.

msgspec decodes the types that it supports. pydantic's TypeAdapter decodes others by pydantic's rules: unions of dataclasses or pydantic models, discriminated unions, `Path`.
An annotation that neither can decode raises an error here, before a value has to be decoded. pydantic is imported only when it is needed.
"""

import dataclasses
import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, NewType, get_args

import msgspec
from msgspec import inspect as kinds

from plait.model.errors import InvalidArguments
from plait.model.texts import message_of, shown

_JSON: Final = (dict, list, str, int, float, bool, type(None))
_ITEMS: Final = (list, tuple, set, frozenset)


class Undecodable(TypeError):
    """Values of this type cannot be decoded from JSON."""


class _Adapting(type):
    """The metaclass of a class that represents an annotation. msgspec decodes it with `decode_other` and accepts any result."""

    adapter: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return True


def readable(kind: Any) -> Any:
    """The type that msgspec decodes for an annotation: the annotation itself, or a class that represents it.

    Raises Undecodable, or NameError if the annotation uses a name that is not defined yet.
    """
    try:
        foreign = _foreign(kinds.type_info(kind))
    except (TypeError, ValueError, RecursionError) as error:
        reason = message_of(error)
    else:
        if foreign is None:
            return kind
        reason = f"values of type {getattr(foreign, '__qualname__', foreign)} have no JSON form"
        if foreign in (Callable, type):  # pydantic supports these, but not from JSON
            raise Undecodable(f"{_shown(kind)} cannot be decoded from JSON: {reason}")
    return _Adapting("Adapted", (), {"adapter": _adapter(kind, reason)})


def _foreign(info: kinds.Type) -> Any:
    """The first type in an annotation that msgspec leaves to `decode_other`, other than pydantic models and JSON's own types."""
    left: list[Any] = [info]
    seen: set[int] = set()
    while left:
        one = left.pop()
        if isinstance(one, tuple):
            left.extend(one)
        elif isinstance(one, kinds.Type | kinds.Field) and id(one) not in seen:
            seen.add(id(one))
            if isinstance(one, kinds.CustomType) and not _is_known(one.cls):
                return one.cls
            left.extend(getattr(one, name) for name in one.__struct_fields__)
    return None


def _is_known(cls: Any) -> bool:
    if hasattr(cls, "model_validate_json"):
        return True
    try:  # such as `object` or `numbers.Number`; isinstance would ignore type parameters
        return not hasattr(cls, "__class_getitem__") and any(issubclass(native, cls) for native in _JSON)
    except TypeError:
        return False


def _adapter(kind: Any, reason: str) -> Any:
    try:
        from pydantic import ConfigDict, PydanticUserError, TypeAdapter
    except ImportError:
        raise Undecodable(f"{_shown(kind)} cannot be decoded from JSON: {reason}") from None
    try:
        # Encode bytes as msgspec does. NewType hides the type, because pydantic rejects a config for a type that may have its own.
        settings = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
        new_type: Any = NewType
        return TypeAdapter(new_type("Value", kind), config=settings)
    except NameError:
        raise
    except Exception as error:  # noqa: BLE001 - a type may build its own schema and raise anything
        if isinstance(error, PydanticUserError) and error.code == "class-not-fully-defined":
            raise NameError(message_of(error)) from None
        also = message_of(error).partition("\n")[0]
        raise Undecodable(
            f"{_shown(kind)} cannot be decoded from JSON: {reason}; pydantic cannot decode it either: {also}"
        ) from None


def _shown(kind: Any) -> str:
    try:
        return inspect.formatannotation(kind)[:200]
    except Exception:  # noqa: BLE001 - a user's __repr__ may raise anything
        return shown(kind)


class Reader(NamedTuple):
    """Decodes values of one annotation. `kind` is the type that msgspec decodes: see `readable`."""

    kind: Any
    decoder: msgspec.json.Decoder[Any]


def reader_of(kind: Any) -> Reader:
    """Raises Undecodable, or NameError, as `readable` does."""
    try:
        return _cached(kind, get_args(kind))
    except TypeError as error:
        if isinstance(error, Undecodable):
            raise
        return _reader(kind)  # not hashable


def _reader(kind: Any) -> Reader:
    found = readable(kind)
    return Reader(found, msgspec.json.Decoder(found, dec_hook=decode_other))


@lru_cache(maxsize=256)
def _cached(kind: Any, _order: Any) -> Reader:
    """Cached by annotation, because a step that is a method or a local function is a new object at each call. `_order` distinguishes `A | B` from
    `B | A`: they are equal, but the first member that fits is used."""
    return _reader(kind)


def decode_other(kind: Any, value: Any) -> Any:
    """Decode types that msgspec does not know: pydantic models, and annotations with an adapter."""
    if isinstance(kind, _Adapting):
        return kind.adapter.validate_json(msgspec.json.encode(value))
    validate = getattr(kind, "model_validate_json", None)
    if validate is not None:
        return validate(msgspec.json.encode(value))  # as JSON, so that a strict model also accepts a date as text
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    raise NotImplementedError(f"values of type {getattr(kind, '__name__', kind)} cannot be decoded from JSON")


def encode_other(value: Any) -> Any:
    """Encode types that msgspec does not know: pydantic models, by their own rules."""
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json", by_alias=True, round_trip=True)
    raise NotImplementedError(f"objects of type {type(value).__name__} have no JSON form")


def is_adapted(kind: Any) -> bool:
    """Whether pydantic decodes it."""
    return isinstance(kind, _Adapting)


def plain(kind: Any, value: Any) -> Any:
    """A value of an adapted type as its adapter encodes it, so that it can be decoded again. A value that does not fit is returned unchanged; decoding reports it."""
    try:
        return kind.adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings="error")
    except Exception:  # noqa: BLE001 - a model's methods may raise anything
        return value


def misread(given: Any, read: Any) -> str | None:
    """The reason why a decoded value differs from the given value: another member of the union fits the same JSON. None if the values do not differ."""
    if isinstance(given, dict):
        pairs = [(item, read[key]) for key, item in given.items() if key in read] if isinstance(read, dict) else []
    elif isinstance(given, _ITEMS):
        pairs = (
            list(zip(given, read, strict=False)) if isinstance(given, list | tuple) and isinstance(read, _ITEMS) else []
        )
    elif isinstance(given, _JSON):
        return None
    elif not isinstance(read, type(given)):
        return (
            f"a {type(given).__name__} would be decoded as a {type(read).__name__}:"
            " add a field that distinguishes the members of the union, such as `kind: Literal[…]`"
        )
    else:
        pairs = [(getattr(given, name, None), getattr(read, name, None)) for name in _fields(given)]
    return next((why for pair in pairs if (why := misread(*pair)) is not None), None)


def _fields(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    return getattr(type(value), "model_fields", ())


def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    """The decoder for a user's `type=` argument."""
    try:
        return reader_of(kind).decoder
    except (TypeError, ValueError, NameError) as error:
        raise InvalidArguments(
            f"type must be a type whose values can be decoded from JSON: {message_of(error)}"
        ) from None
