"""Values and exceptions that have broken job systems: NUL, surrogates, NaN, depth, digits, size, and objects whose methods fail."""

import asyncio
import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from plait import PermanentError, RetryLater, Skip, Snooze

Make = Callable[[], BaseException]


def nested(depth: int, innermost: Any = None) -> Any:
    value = innermost
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def circle() -> Any:
    ring: dict[str, Any] = {}
    ring["ring"] = [ring]
    return ring


class Opaque:
    def __repr__(self) -> str:
        raise RuntimeError("not to be shown")


class Hostile:
    """An object that looks like a model, but whose `model_dump` fails."""

    def model_dump(self, **_: Any) -> Any:
        raise BaseError("no dump")


class BaseError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


FIXED: list[Any] = [
    "\0", "a\0b", "\\u0000", "\ud800", "x\udfff", {"\ud800": 1}, {"\0": "\0"}, math.nan, math.inf, [-math.inf], -0.0, 1e308,
    10**4299, 10**5000, -(10**5000), [10**5000], 2**64, nested(150), nested(199), nested(201), nested(950), nested(5000), circle(),
    "x" * 10_000_000, ["y" * 1000] * 1100, b"\xff\0", Opaque(), Hostile(), object, lambda: None, 1j, {1: 2}, {(1, 2): 3}, {1, 2},
    datetime(2030, 1, 1, tzinfo=UTC), Decimal("NaN"), UUID(int=0), "\u2028\u2029", "\U0010ffff", "'; drop table jobs; --",
    {"k" * 100_000: 1}, nested(150, math.nan), "", [], {}, None, True,
]  # fmt: skip

texts = st.text(st.characters(exclude_categories=()), max_size=50)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True, allow_infinity=True), texts, st.binary(max_size=50),
    st.integers(0, 6000).map(lambda digits: 10**digits), st.decimals(), st.datetimes(), st.integers(0, len(FIXED) - 1).map(lambda index: FIXED[index]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(texts, inner, max_size=5),
        st.tuples(st.integers(0, 6000), inner).map(lambda pair: nested(pair[0], pair[1])),
    ),
    max_leaves=10,
)


class SilentError(Exception):
    def __str__(self) -> str:
        raise SilentError

    __repr__ = __str__


class WrongError(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307


class EvilText(str):
    def __len__(self) -> int:
        raise RuntimeError

    def __format__(self, _: str) -> str:
        raise RuntimeError

    def replace(self, *_: Any) -> Any:
        return object()


class EvilError(Exception):
    def __str__(self) -> str:
        return EvilText("evil")


class LazySnooze(Snooze):
    def __init__(self) -> None: ...

    @property
    def delay(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no delay")


class Meddling(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def in_a_cycle() -> BaseException:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    first.__context__, second.__context__ = second, first
    return first


def in_a_long_chain() -> BaseException:
    error: BaseException = ValueError(0)
    for number in range(5000):
        outer = ValueError(number)
        outer.__cause__ = error
        error = outer
    return error


def in_groups(depth: int) -> BaseException:
    error: Exception = SilentError()
    for _ in range(depth):
        error = ExceptionGroup("group\0", [error, WrongError()])
    return error


def with_bad_notes() -> BaseException:
    error = ValueError("x")
    error.__notes__ = [Opaque(), "\0\ud800"]  # type: ignore[list-item]
    return error


def bad_syntax() -> BaseException:
    return SyntaxError("x", (5, "line", 7, Opaque(), 3, 4))  # type: ignore[arg-type]


def misspelt() -> BaseException:
    return AttributeError("x", name="y", obj=Meddling())


ERRORS: list[Make] = [
    SilentError, WrongError, EvilError, Meddling, LazySnooze, in_a_cycle, in_a_long_chain, with_bad_notes, bad_syntax, misspelt,
    lambda: in_groups(3), lambda: in_groups(200), lambda: ValueError("\0\ud800"), lambda: ValueError("x" * 10_000_000),
    lambda: ValueError(Opaque()), lambda: type("A\0\ud800", (Exception,), {})("x"), lambda: SystemExit(3), KeyboardInterrupt,
    GeneratorExit, asyncio.CancelledError, StopIteration, StopAsyncIteration, MemoryError, RecursionError, TimeoutError,
    lambda: OSError(2, "\ud800", "\0"), lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "\0"),
    lambda: Snooze(None), lambda: Snooze(math.nan), lambda: Snooze(1e300), lambda: Snooze(10**400), lambda: Snooze("\0"),  # type: ignore[arg-type]
    lambda: Snooze(Opaque()), lambda: Snooze("1h", "\0"), lambda: RetryLater(-1), lambda: RetryLater("1h", "\ud800"),  # type: ignore[arg-type]
    lambda: PermanentError("\0"), lambda: PermanentError(Opaque()), lambda: Skip("\ud800" * 10_000), Skip,
]  # fmt: skip

errors = st.one_of(
    st.sampled_from(ERRORS),
    texts.map(lambda text: lambda: ValueError(text)),
    values.map(lambda value: lambda: KeyError(value)),
    values.map(lambda value: lambda: PermanentError(value)),
    values.map(lambda value: lambda: RetryLater(value)),
    st.one_of(st.floats(min_value=1), texts, st.none()).map(lambda delay: lambda: Snooze(delay)),  # type: ignore[arg-type]
)

PAYLOADS: list[str] = [
    '{"value": ' + "[" * 5000 + "]" * 5000 + "}",
    '{"value": ' + '{"a":' * 3000 + "1" + "}" * 3001,
    '{"value": ' + "1" * 5000 + "}",
    '{"value": -' + "1" * 5000 + ".5}",
    '{"value": 1e999}',
    '{"value": "\\u0000"}',
    '{"value": "\\ud800"}',
    '{"value": "\\udc00\\ud800"}',
    '{"value": "' + "x" * 1_000_000 + '"}',
    '{"value": 1, "value": 2}',
    '{"other": 1}',
    '{"value": 1, "other": 2}',
    "{}",
    '{"": {}}',
    '{"\\u0000": 1}',
    ' \n{"value": [1, 2.50, null, true]}',
]
