"""Encode and decode arguments and results as JSON, according to the annotations of a job's function.

A payload is an object with the arguments by name, so that people and other languages can write payloads. The handler always
gets the decoded payload, so the first run, a retry and a replay see the same values. Values without an annotation are decoded as plain JSON: a
date as text, a tuple as a list. An annotation that cannot be decoded is rejected when the job is defined.
"""

import contextlib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
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
from plait.sdk.annotations import (
    Undecodable,
    decode_other,
    encode_other,
    is_adapted,
    misread,
    plain,
    readable,
    reader_of,
)

MAX_BYTES = 1024 * 1024
"""The maximum size of a payload or result in a row. Larger values are stored as artifacts, with a reference in the row."""
MOST_BYTES = 256 * 1024 * 1024
"""Larger values are rejected without further checks."""
MAX_DEPTH = 200
"""The maximum nesting of lists and objects. Whether Python can parse deeper nesting depends on the free stack space."""

Parameter = tuple[str, Any] | tuple[str, Any, Any]
"""Name, type and default, as for `msgspec.defstruct`."""
_PLAIN = (int, float, str, bool, type(None))
"""Types of defaults that the decoder can fill in. The function provides all others."""
_REFUSED = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)


@dataclass(frozen=True, slots=True)
class _Types:
    unset: bool
    """Whether an argument's default has no JSON form, so that only the function can provide it."""
    arguments: msgspec.json.Decoder[Any]
    result: "_Result"
    adapted: Mapping[str, Any]
    """Arguments that pydantic encodes and decodes, by name."""
    plain_result: type | None
    """A result of exactly this type needs no check."""
    none_fits: bool


class Codec:
    """The signature of one job: encodes calls and results, decodes payloads and results."""

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
                    f"job {name}: every parameter must accept a keyword argument; {parameter} does not"
                )
        parameters = self._signature.parameters
        self._positional = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]
        self._required = {name for name, one in parameters.items() if one.default is one.empty}
        self._fields: list[Parameter] = []
        self._types: _Types | None = None

    def encode_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The payload of a call. Raises InvalidArguments if the arguments do not fit the signature."""
        given = self._bind(args, kwargs)
        try:
            text = self._encode(given)
        except TooLarge as large:
            self._verify(given, large.text)
            raise
        self._verify(given, text)
        return text

    def first_before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The name of the first parameter, if the function accepts a value for it before these arguments; otherwise None."""
        try:
            self._signature.bind(None, *args, **kwargs)
        except TypeError:
            return None
        return self._positional[0]

    def encode_rest(self, first: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Encode all arguments of a call except the first, which is not known yet. Raises InvalidArguments if one does not fit."""
        rest = dict(self._signature.bind(None, *args, **kwargs).arguments)
        del rest[first]
        text = self._encode(rest)
        try:
            fields = [one for one in self._fields if one[0] != first]
            msgspec.json.Decoder(msgspec.defstruct("rest", fields, kw_only=True), dec_hook=decode_other).decode(text)
        except Exception as error:  # noqa: BLE001 - as in _decode
            raise InvalidArguments(self._fault(error)) from None
        return text

    def payload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The payload of arguments that were already checked. Checks only that they can be bound and stored."""
        return self._encode(self._bind(args, kwargs))

    def _encode(self, given: dict[str, Any]) -> str:
        adapted = (self._types or self._resolve()).adapted
        if adapted:
            given = {name: plain(adapted[name], one) if name in adapted else one for name, one in given.items()}
        return encode(given, what=self._arguments)

    def _verify(self, given: dict[str, Any], text: str) -> None:
        """Check that the decoded arguments equal the given arguments."""
        read = self._decode(text)
        for name in (self._types or self._resolve()).adapted:
            if name in given and (why := misread(given[name], getattr(read, name))) is not None:
                raise InvalidArguments(f"{self._name}: {name}: {why}")

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, in the order of the signature."""
        if not kwargs and len(args) <= len(self._positional):
            arguments = dict(zip(self._positional, args, strict=False))  # takes a tenth of the time of `bind`
            if self._required <= arguments.keys():
                return arguments
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise InvalidArguments(f"{self._name}: {error}") from None

    def decode_call(self, payload: str) -> dict[str, Any]:
        """Decode the arguments of a payload, by name. Raises InvalidArguments if it does not fit the signature."""
        arguments = asdict(self._decode(payload))
        return {name: arguments[name] for name in msgspec.json.decode(payload)}

    def _decode(self, payload: str) -> Any:
        types = self._types or self._resolve()
        try:
            return types.arguments.decode(payload)
        except Exception as error:  # noqa: BLE001 - a model's validators may raise anything
            raise InvalidArguments(self._fault(error)) from None

    def _fault(self, error: Exception) -> str:
        said = "the payload is nested too deeply" if isinstance(error, RecursionError) else message_of(error)
        return f"{self._name}: {said}"

    def decode_payload(self, payload: str) -> dict[str, Any]:
        """Decode a stored payload into the function's arguments. Raises InvalidPayload, not InvalidArguments, because the error is not a caller's mistake."""
        types = self._types or self._resolve()
        try:
            arguments = asdict(types.arguments.decode(payload))
        except Exception as error:  # noqa: BLE001 - as in _decode
            raise InvalidPayload(self._fault(error)) from None
        if types.unset and msgspec.UNSET in arguments.values():
            return {name: value for name, value in arguments.items() if value is not msgspec.UNSET}
        return arguments

    def encode_result(self, value: Any) -> str | None:
        """Encode a handler's result. Raises an error if it has no JSON form or does not fit the annotation."""
        types = self._types or self._resolve()
        if value is None and types.none_fits:
            return None
        if type(value) is types.plain_result and (type(value) is not str or len(value) < 1000):
            with contextlib.suppress(Exception):  # a large number or a lone surrogate: reported below
                return _ENCODE(value).decode()
        return types.result.encode(value, what="the result")

    def decode_result(self, text: str | None) -> Any:
        return None if text is None else (self._types or self._resolve()).result.decode(text)

    def argument(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
        """The value of one argument of a call."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments[name]

    def check(self, *, early: bool = False) -> None:
        """Raise an error if an annotation cannot be decoded. `early`: at decoration, when it may use a name that is defined later."""
        if self._types is None:
            self._resolve(early=early)

    @property
    def parameters(self) -> list[str]:
        return list(self._signature.parameters)

    @property
    def fields(self) -> list[Parameter]:
        """Name, type and default of each parameter. The default is UNSET if only the function can provide it."""
        self.check()
        return self._fields

    @property
    def required(self) -> set[str]:
        return self._required

    def _resolve(self, *, early: bool = False) -> Any:
        try:
            hints = get_type_hints(self._function, include_extras=True)
            self._types = self._types_of(hints)
        except Undecodable as error:
            raise InvalidDefinition(f"job {self._name}: {error}") from None
        except Exception as error:  # noqa: BLE001 - an annotation is an expression and may raise anything
            if not early:
                raise InvalidDefinition(
                    f"job {self._name}: its annotations cannot be read: {message_of(error)}"
                ) from None
        return self._types

    def _types_of(self, hints: dict[str, Any]) -> _Types:
        fields: list[Parameter] = []
        adapted: dict[str, Any] = {}
        for name, parameter in self._signature.parameters.items():
            kind = readable(hints.get(name, Any))
            if is_adapted(kind):
                adapted[name] = kind
            if parameter.default is parameter.empty:
                fields.append((name, kind))
            elif type(parameter.default) in _PLAIN:
                fields.append((name, kind, parameter.default))
            else:
                # UNSET means "not given": the function's own default applies, as in a plain call.
                fields.append((name, kind | msgspec.UnsetType, msgspec.UNSET))
        self._fields = fields
        result = _Result(hints.get("return", Any), self._name)
        struct = msgspec.defstruct(f"{self._name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
        return _Types(
            unset=msgspec.UNSET in struct.__struct_defaults__,
            arguments=msgspec.json.Decoder(struct, dec_hook=decode_other),
            adapted=adapted,
            result=result,
            plain_result=result.kind if result.kind in (int, str, bool) else None,
            none_fits=result.fits("null"),
        )


class _Result:
    """Encodes and decodes the result of a function, by its annotation."""

    def __init__(self, returned: Any, name: str) -> None:
        self._name = name
        self.kind, self._decoder = reader_of(Any if returned in (type(None), NoReturn, Never) else returned)
        self._adapted = is_adapted(self.kind)

    def encode(self, value: Any, *, what: str) -> str:
        try:
            text = encode(plain(self.kind, value) if self._adapted else value, what=what)
        except TooLarge as large:
            self._check(value, large.text)
            raise
        self._check(value, text)
        return text

    def _check(self, value: Any, text: str) -> None:
        read = self.decode(text)
        if self._adapted and (why := misread(value, read)) is not None:
            raise InvalidResult(f"{self._name}: the result does not fit the annotation: {why}")

    def decode(self, text: str) -> Any:
        try:
            return self._decoder.decode(text)
        except Exception as error:  # noqa: BLE001 - a model's validators may raise anything
            raise InvalidResult(f"{self._name}: the result does not fit the annotation: {message_of(error)}") from None

    def fits(self, text: str) -> bool:
        try:
            self._decoder.decode(text)
        except Exception:  # noqa: BLE001 - any error means that it does not fit
            return False
        return True


class ResultCodec:
    """Encodes and decodes the result of a step, which is a plain function, by its annotation. Raises an error if the annotation cannot be read or decoded."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        try:
            self._result = _Result(_returned(function), name)
        except Undecodable as error:
            raise InvalidDefinition(f"step {name}: {error}") from None
        except Exception as error:  # noqa: BLE001 - an annotation is an expression and may raise anything
            raise InvalidDefinition(f"step {name}: its return annotation cannot be read: {message_of(error)}") from None

    def encode_result(self, value: Any) -> str | None:
        return None if value is None else self._result.encode(value, what=f"the result of {self._name}")

    def decode_result(self, text: str | None) -> Any:
        return None if text is None else self._result.decode(text)


def _returned(function: Any) -> Any:
    """The return annotation; Any if there is none. Unreadable annotations of parameters do not matter here."""
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = getattr(type(function), "__call__", function)  # noqa: B004 - reads its annotations, does not test whether it is callable
    function = inspect.unwrap(function)
    said = getattr(function, "__annotations__", None) or {}
    returned = said.get("return", Any)
    if returned is Any or returned is None or isinstance(returned, type):
        return type(None) if returned is None else returned
    only = SimpleNamespace(__annotations__={"return": returned})
    names = getattr(getattr(function, "__func__", function), "__globals__", {})
    return get_type_hints(only, globalns=names, include_extras=True)["return"]


def encode(value: Any, *, what: str) -> str:
    """Encode as JSON text that Postgres and all readers accept, or raise an error. TooLarge carries the text, so that it can be stored as an artifact."""
    try:
        text = _ENCODE(value)
    except RecursionError:
        raise NotSerializable(
            f"{what} cannot be stored: the nesting is deeper than {MAX_DEPTH} levels, or the value contains itself"
        ) from None
    except Exception as error:  # noqa: BLE001 - a value's own methods may raise anything
        raise NotSerializable(f"{what} cannot be stored as JSON: {message_of(error)}") from None
    if len(text) <= MAX_DEPTH and b"null" not in text:
        return text.decode()  # too short to fail the checks below
    if len(text) > MOST_BYTES:
        raise NotSerializable(
            f"{what} cannot be stored: the size is {len(text):,} bytes, but the limit is {MOST_BYTES:,}"
        )
    if len(text) > MAX_DEPTH and text.count(b"[") + text.count(b"{") > MAX_DEPTH and _nests_too_deeply(text):
        raise NotSerializable(f"{what} cannot be stored: the nesting is deeper than {MAX_DEPTH} levels")
    if b"null" in text and _has_nan(value):
        raise NotSerializable(f"{what} cannot be stored as JSON: JSON has no NaN or Infinity")
    if len(text) > MAX_BYTES:
        raise TooLarge(
            f"{what} cannot be stored: the size is {len(text):,} bytes, but the limit is {MAX_BYTES:,}", text.decode()
        )
    return text.decode()


def encode_signal(payload: Any) -> tuple[str, TooLarge | None]:
    """The payload of a signal as text. If it is too large for a row, also the TooLarge error, whose text can be stored as an artifact."""
    try:
        return encode(payload, what="the signal's payload"), None
    except TooLarge as large:
        return large.text, large


def _nests_too_deeply(text: bytes) -> bool:
    """Whether brackets nest deeper than MAX_DEPTH: each pass removes the innermost pairs of all branches."""
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
    """Whether the value contains a float that JSON cannot represent: msgspec would silently write null."""
    left = [msgspec.to_builtins(value, enc_hook=encode_other)]
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


_ENCODE = msgspec.json.Encoder(enc_hook=encode_other).encode
