"""Arguments and results as JSON and back, by the annotations of a job's function.

A payload is an object: the arguments by name, so that other languages and people can write one. What the handler gets is what
the payload says, decoded by type: the same on the first run, on a retry and on a replay. What has no annotation comes back as
plain JSON: a date as text, a tuple as a list.
"""

import contextlib
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Never, NoReturn, get_type_hints

import msgspec
from msgspec.structs import asdict

from plait.model.errors import (
    InvalidArguments,
    InvalidDefinition,
    InvalidPayload,
    InvalidResult,
    NotSerializable,
    TooLarge,
)
from plait.model.texts import message_of

MAX_BYTES = 1024 * 1024
"""A payload or a result in a row is at most this long. Larger ones are kept in the artifact store, with a reference here."""
MOST_BYTES = 256 * 1024 * 1024
"""What is larger is not even looked at."""
MAX_DEPTH = 200
"""Lists and objects within each other. Python reads what nests deeper only where its stack happens to have room."""

_PLAIN = (int, float, str, bool, type(None))
"""Defaults that may stand in the place of the function's own."""
_REFUSED = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)


@dataclass(frozen=True, slots=True)
class _Types:
    unset: bool
    """Some argument has a default that only the function can give."""
    arguments: msgspec.json.Decoder[Any]
    result: msgspec.json.Decoder[Any]
    plain_result: type | None
    """A result of exactly this type is right as it is."""
    none_fits: bool


class Codec:
    """The signature of one job: encodes calls, decodes payloads, and likewise results."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self._name = name
        self._arguments = f"{name}: the arguments"
        try:
            self._signature = inspect.signature(function)
        except ValueError as error:
            raise InvalidDefinition(f"job {name}: {error}") from None
        for parameter in self._signature.parameters.values():
            if parameter.kind in _REFUSED:
                raise InvalidDefinition(
                    f"job {name}: every argument needs a name by which it can be given; {parameter} has none"
                )
        parameters = self._signature.parameters
        self._positional = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]
        self._required = {name for name, one in parameters.items() if one.default is one.empty}
        self._fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        self._types: _Types | None = None

    def encode_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The payload of a call; an error when the arguments do not fit the signature."""
        try:
            text = self.payload(args, kwargs)
        except TooLarge as large:
            self._decode(large.text)
            raise
        self._decode(text)
        return text

    def first_before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The name of the first argument, where one can be given before these; None: the function takes no more."""
        try:
            self._signature.bind(None, *args, **kwargs)
        except TypeError:
            return None
        return self._positional[0]

    def encode_rest(self, first: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The arguments of a call but for the first, which is not known yet; an error when one of them does not fit."""
        rest = dict(self._signature.bind(None, *args, **kwargs).arguments)
        del rest[first]
        text = encode(rest, what=self._arguments)
        self.check()
        try:
            decoder_of(
                msgspec.defstruct("rest", [one for one in self._fields if one[0] != first], kw_only=True)
            ).decode(text)
        except Exception as error:  # noqa: BLE001 - as in _decode
            raise InvalidArguments(self._fault(error)) from None
        return text

    def payload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The same for arguments that were checked before: only whether they can be bound and stored."""
        return encode(self._bind(args, kwargs), what=self._arguments)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, in the order of the signature."""
        if not kwargs and len(args) <= len(self._positional):
            arguments = dict(zip(self._positional, args, strict=False))  # a tenth of what `bind` takes
            if self._required <= arguments.keys():
                return arguments
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise InvalidArguments(f"{self._name}: {error}") from None

    def decode_call(self, payload: str) -> dict[str, Any]:
        """The arguments that a payload gives, by name; an error when it does not fit the signature."""
        arguments = asdict(self._decode(payload))
        return {name: arguments[name] for name in msgspec.json.decode(payload)}

    def _decode(self, payload: str) -> Any:
        types = self._types or self._resolve()
        try:
            return types.arguments.decode(payload)
        except Exception as error:  # noqa: BLE001 - a model's own validators may raise anything
            raise InvalidArguments(self._fault(error)) from None

    def _fault(self, error: Exception) -> str:
        said = "the payload is nested too deeply" if isinstance(error, RecursionError) else message_of(error)
        return f"{self._name}: {said}"

    def decode_payload(self, payload: str) -> dict[str, Any]:
        """What the function is called with, for a payload that was stored: what is wrong now was not this process's mistake."""
        types = self._types or self._resolve()
        try:
            arguments = asdict(types.arguments.decode(payload))
        except Exception as error:  # noqa: BLE001 - as in _decode
            raise InvalidPayload(self._fault(error)) from None
        if types.unset and msgspec.UNSET in arguments.values():
            return {name: value for name, value in arguments.items() if value is not msgspec.UNSET}
        return arguments

    def encode_result(self, value: Any) -> str | None:
        """The stored form of what a handler returned; an error when it has none, or does not fit the annotation."""
        types = self._types or self._resolve()
        if value is None and types.none_fits:
            return None
        if type(value) is types.plain_result and (type(value) is not str or len(value) < 1000):
            with contextlib.suppress(Exception):  # a number too large, a lone surrogate: told below
                return _ENCODE(value).decode()
        try:
            text = encode(value, what="the result")
        except TooLarge as large:
            self.decode_result(large.text)
            raise
        self.decode_result(text)
        return text

    def decode_result(self, text: str | None) -> Any:
        if text is None:
            return None
        types = self._types or self._resolve()
        try:
            return types.result.decode(text)
        except Exception as error:  # noqa: BLE001 - a model's own validators may raise anything
            raise InvalidResult(f"{self._name}: the result does not fit the annotation: {message_of(error)}") from None

    def argument(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
        """The value of one argument of a call."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments[name]

    def check(self) -> None:
        """An error when an annotation can't be decoded by. Not at decoration: it may name what is defined further down."""
        if self._types is None:
            self._resolve()

    @property
    def parameters(self) -> list[str]:
        return list(self._signature.parameters)

    @property
    def required(self) -> set[str]:
        return self._required

    def _resolve(self) -> _Types:
        try:
            hints = get_type_hints(self._function, include_extras=True)
        except Exception as error:  # noqa: BLE001 - an annotation is an expression: it may raise anything
            raise InvalidDefinition(f"job {self._name}: its annotations cannot be read: {message_of(error)}") from None
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for name, parameter in self._signature.parameters.items():
            kind = hints.get(name, Any)
            if parameter.default is parameter.empty:
                fields.append((name, kind))
            elif type(parameter.default) in _PLAIN:
                fields.append((name, kind, parameter.default))
            else:
                # UNSET stands for "not given": the function's own default applies, as in a plain call.
                fields.append((name, kind | msgspec.UnsetType, msgspec.UNSET))
        returned = hints.get("return", Any)
        if returned in (type(None), NoReturn, Never):
            returned = Any
        self._fields = fields
        try:
            struct = msgspec.defstruct(f"{self._name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
            result = msgspec.json.Decoder(returned, dec_hook=_decode_other)
            self._types = _Types(
                unset=msgspec.UNSET in struct.__struct_defaults__,
                arguments=msgspec.json.Decoder(struct, dec_hook=_decode_other),
                result=result,
                plain_result=returned if returned in (int, str, bool) else None,
                none_fits=_fits(result, "null"),
            )
        except (TypeError, ValueError) as error:
            raise InvalidDefinition(f"job {self._name}: {error}") from None
        return self._types


class ResultCodec:
    """The result of a plain function, by its annotation where that can be read."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        try:
            returned = get_type_hints(function, include_extras=True).get("return", Any)
        except Exception:  # noqa: BLE001 - an annotation is an expression: it may raise anything
            returned = Any
        if returned in (type(None), NoReturn, Never):
            returned = Any
        try:
            self._decoder = decoder_of(returned)
        except (TypeError, ValueError):
            self._decoder = decoder_of(Any)

    def encode_result(self, value: Any) -> str | None:
        text = None if value is None else encode(value, what=f"the result of {self._name}")
        self.decode_result(text)
        return text

    def decode_result(self, text: str | None) -> Any:
        if text is None:
            return None
        try:
            return self._decoder.decode(text)
        except Exception as error:  # noqa: BLE001 - a model's own validators may raise anything
            raise InvalidResult(f"{self._name}: the result does not fit the annotation: {message_of(error)}") from None


def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=_decode_other)


def encode(value: Any, *, what: str) -> str:
    """JSON text that Postgres and every reader can take; an error for what has none. TooLarge has it all the same: it may be kept elsewhere."""
    try:
        text = _ENCODE(value)
    except RecursionError:
        raise NotSerializable(f"{what} cannot be stored: nested deeper than {MAX_DEPTH}, or within itself") from None
    except Exception as error:  # noqa: BLE001 - a value's own methods may raise anything
        raise NotSerializable(f"{what} cannot be stored as JSON: {message_of(error)}") from None
    if len(text) <= MAX_DEPTH and b"null" not in text:
        return text.decode()  # nothing can be wrong with it
    if len(text) > MOST_BYTES:
        raise NotSerializable(f"{what} cannot be stored: {len(text):,} bytes, more than {MOST_BYTES:,}")
    if len(text) > MAX_DEPTH and text.count(b"[") + text.count(b"{") > MAX_DEPTH and _nests_too_deeply(text):
        raise NotSerializable(f"{what} cannot be stored: nested deeper than {MAX_DEPTH}")
    if b"null" in text and _has_nan(value):
        raise NotSerializable(f"{what} cannot be stored as JSON: NaN and Infinity have no place there")
    if len(text) > MAX_BYTES:
        raise TooLarge(f"{what} cannot be stored: {len(text):,} bytes, more than {MAX_BYTES:,}", text.decode())
    return text.decode()


def _nests_too_deeply(text: bytes) -> bool:
    """Whether brackets nest deeper than MAX_DEPTH: each pass takes away the innermost pairs of all branches."""
    outside_strings = b"".join(text.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])
    brackets = outside_strings.translate(_ONE_KIND, delete=_NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _has_nan(value: Any) -> bool:
    """Whether a float without a JSON form is in it: msgspec would write null in its place, without a word."""
    left = [msgspec.to_builtins(value, enc_hook=_encode_other)]
    while left:
        match left.pop():
            case float() as number if not math.isfinite(number):
                return True
            case dict() as items:
                left.extend(items.values())
            case list() | tuple() | set() | frozenset() as items:
                left.extend(items)
            case _:
                pass
    return False


def _fits(decoder: msgspec.json.Decoder[Any], text: str) -> bool:
    try:
        decoder.decode(text)
    except Exception:  # noqa: BLE001 - whatever it says, it does not fit
        return False
    return True


def _encode_other(value: Any) -> Any:
    """What msgspec does not know: pydantic models, by their own rules."""
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json", by_alias=True, round_trip=True)
    raise NotImplementedError(f"objects of type {type(value).__name__} have no JSON form")


_ENCODE = msgspec.json.Encoder(enc_hook=_encode_other).encode


def _decode_other(kind: Any, value: Any) -> Any:
    validate = getattr(kind, "model_validate_json", None)
    if validate is not None:
        return validate(msgspec.json.encode(value))  # as JSON: also a strict model reads a date from text then
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    raise NotImplementedError(f"values of type {getattr(kind, '__name__', kind)} cannot be read from JSON")
