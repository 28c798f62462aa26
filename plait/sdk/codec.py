"""Arguments and results as JSON and back, by the annotations of a job's function.

A payload is an object: the arguments by name, so that other languages and people can write one. What the handler gets is what
the payload says, decoded by type: the same on the first run, on a retry and on a replay.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

from plait.model.errors import InvalidArguments, InvalidDefinition, NotSerializable

MAX_BYTES = 1024 * 1024
"""A payload or a result is at most this long. Larger things belong into a store of their own, with a reference here."""

_REFUSED = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)


class Codec:
    """The signature of one job: encodes calls, decodes payloads, and likewise results."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self._name = name
        self._signature = inspect.signature(function)
        for parameter in self._signature.parameters.values():
            if parameter.kind in _REFUSED:
                raise InvalidDefinition(f"job {name}: give every argument a name; {parameter} has none")
        self._types: tuple[Any, msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]] | None = None

    def encode_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The payload of a call; an error when the arguments do not fit the signature."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidArguments(f"{self._name}: {error}") from None
        text = encode(bound.arguments, what=f"the arguments of {self._name}")
        self.decode_call(text)
        return text

    def decode_call(self, payload: str) -> dict[str, Any]:
        """The arguments of a payload, by name; an error when it does not fit the signature."""
        struct, arguments, _ = self._types or self._resolve()
        try:
            decoded = arguments.decode(payload)
        except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as error:
            raise InvalidArguments(f"{self._name}: {error}") from None
        return {
            field: value
            for field in struct.__struct_fields__
            if (value := getattr(decoded, field)) is not msgspec.UNSET
        }

    def decode_result(self, text: str | None) -> Any:
        _, _, result = self._types or self._resolve()
        return None if text is None else result.decode(text)

    def argument(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
        """The value of one argument of a call."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments[name]

    @property
    def parameters(self) -> list[str]:
        return list(self._signature.parameters)

    def _resolve(self) -> tuple[Any, msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]]:
        # At first use, not at decoration: an annotation may name what is defined further down.
        try:
            hints = get_type_hints(self._function, include_extras=True)
        except NameError as error:
            raise InvalidDefinition(f"job {self._name}: its annotations name something unknown: {error}") from None
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for name, parameter in self._signature.parameters.items():
            kind = hints.get(name, Any)
            # UNSET stands for "not given": the function's own default applies, as in a plain call.
            fields.append(
                (name, kind)
                if parameter.default is parameter.empty
                else (name, kind | msgspec.UnsetType, msgspec.UNSET)
            )
        struct = msgspec.defstruct(f"{self._name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
        returned = hints.get("return", Any)
        try:
            self._types = (
                struct,
                msgspec.json.Decoder(struct, dec_hook=_decode_other),
                msgspec.json.Decoder(Any if returned is type(None) else returned, dec_hook=_decode_other),
            )
        except TypeError as error:
            raise InvalidDefinition(f"job {self._name}: {error}") from None
        return self._types


def encode(value: Any, *, what: str) -> str:
    """JSON text that Postgres and every reader can take; an error for what has none."""
    try:
        text = msgspec.json.encode(value, enc_hook=_encode_other)
    except RecursionError:
        raise NotSerializable(f"{what} cannot be stored: nested too deeply") from None
    except (TypeError, ValueError, OverflowError, NotImplementedError, msgspec.MsgspecError) as error:
        raise NotSerializable(f"{what} cannot be stored as JSON: {error}") from None
    if len(text) > MAX_BYTES:
        raise NotSerializable(f"{what} cannot be stored: {len(text):,} bytes, more than {MAX_BYTES:,}")
    if b"null" in text and _has_nan(value):
        raise NotSerializable(f"{what} cannot be stored as JSON: NaN and Infinity have no place there")
    return text.decode()


def _has_nan(value: Any, depth: int = 0) -> bool:
    """Whether a float without a JSON form is in it: msgspec would write null in its place, without a word."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if depth > 200:
        return False
    if isinstance(value, dict):
        return any(_has_nan(item, depth + 1) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(_has_nan(item, depth + 1) for item in value)
    if hasattr(value, "__dict__"):
        return any(_has_nan(item, depth + 1) for item in vars(value).values())
    if hasattr(value, "__struct_fields__"):
        return any(_has_nan(getattr(value, field), depth + 1) for field in value.__struct_fields__)
    return False


def _encode_other(value: Any) -> Any:
    """What msgspec does not know: pydantic models, by their own rules."""
    dump = getattr(type(value), "model_dump", None)
    if dump is not None:
        return value.model_dump(mode="json")
    raise NotImplementedError(f"objects of type {type(value).__name__} have no JSON form")


def _decode_other(kind: Any, value: Any) -> Any:
    validate = getattr(kind, "model_validate", None)
    if validate is not None:
        return validate(value)
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    raise NotImplementedError(f"values of type {getattr(kind, '__name__', kind)} cannot be read from JSON")
