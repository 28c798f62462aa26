"""Typed arguments and results: handlers get the values that were passed, and values that do not fit are rejected at the call."""

import dataclasses
import enum
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest

from plait.model.errors import InvalidArguments, InvalidDefinition, InvalidPayload, InvalidResult, NotSerializable
from plait.sdk.codec import MAX_DEPTH, Codec

from .postponed_annotations import Later, postponed, unknown_name


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5
    label: str | None = None


@dataclasses.dataclass(slots=True)
class Tight:
    value: float


class Item(msgspec.Struct):
    sku: str
    price: Decimal


class Amount(msgspec.Struct):
    a: int


class Order(pydantic.BaseModel):
    id: UUID
    placed: datetime
    lines: list[str] = []


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")
    on: date = pydantic.Field(alias="theDate")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def year(self) -> int:
        return self.on.year


class Pair(NamedTuple):
    left: int
    right: str


class Movie(TypedDict, total=False):
    title: str


MOMENT = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
UUID_1 = UUID("018f0000-0000-7000-8000-000000000001")

VALUES: list[tuple[Any, Any]] = [
    (int, -5),
    (int, 2**63),
    (int, 10**4000),
    (float, 1.5),
    (float, 3),
    (bool, False),
    (str, "naïve \u2028 \0 \U0001f600 \\u0000"),
    (bytes, b"\x00\xff"),
    (None, None),
    (datetime, MOMENT),
    (datetime, datetime(2030, 1, 2)),  # noqa: DTZ001 - a naive datetime stays naive
    (date, date(2030, 1, 2)),
    (timedelta, timedelta(minutes=3, microseconds=7)),
    (UUID, UUID_1),
    (Decimal, Decimal("10.10")),
    (Decimal, Decimal("NaN")),
    (Color, Color.RED),
    (Level, Level.HIGH),
    (Literal["a", "b"], "b"),
    (Point, Point(1, 2.0, "x")),
    (Item, Item("a", Decimal("0.30"))),
    (Order, Order(id=UUID_1, placed=MOMENT, lines=["x"])),
    (Strict, Strict(theDate=date(2030, 1, 2))),
    (Pair, Pair(1, "a")),
    (Movie, {"title": "Alien"}),
    (int | None, None),
    (int | str, "7"),
    (Order | None, None),
    (list[int], [1, 2]),
    (tuple[int, str], (1, "a")),
    (set[int], {1, 2}),
    (dict[int, list[Point | None]], {7: [Point(1), None]}),
    (dict[str, Order], {"a": Order(id=UUID_1, placed=MOMENT)}),
    (list[Strict], [Strict(theDate=date(2030, 1, 2))]),
    (Annotated[int, msgspec.Meta(ge=1)], 1),
    (Any, {"a": [1, None, "x", {"b": 2.5}]}),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=[f"{kind}-{index}" for index, (kind, _) in enumerate(VALUES)])
def test_an_argument_and_a_result_come_back_as_they_were(kind: Any, value: Any) -> None:
    def job(value: Any) -> Any: ...

    job.__annotations__ = {"value": kind, "return": kind}
    codec = Codec(job, "job")
    given = codec.decode_payload(codec.encode_call((value,), {}))["value"]
    returned = codec.decode_result(codec.encode_result(value))
    expected = float(value) if kind is float else value
    for seen in (given, returned):
        assert type(seen) is type(expected)
        assert seen == expected or str(seen) == str(expected) == "NaN"


def test_a_default_applies_where_nothing_was_given() -> None:
    def job(a: int, b: Order | None = None, *, c: list[int] | None = None, d: Color = Color.RED, e=5) -> None: ...  # type: ignore[no-untyped-def]

    codec = Codec(job, "job")
    assert codec.encode_call((1,), {}) == '{"a":1}'
    assert codec.decode_payload('{"a":1}') == {
        "a": 1,
        "b": None,
        "c": None,
        "e": 5,
    }  # d is omitted: its default applies in the call
    assert codec.decode_payload(codec.encode_call((1, None), {"c": [2], "e": {"x": 1}})) == {
        "a": 1,
        "b": None,
        "c": [2],
        "e": {"x": 1},
    }


def test_annotations_may_be_postponed_and_name_what_is_defined_later() -> None:
    codec = Codec(postponed, "postponed")
    given = Later(name="x", inner=[Later(name="y", inner=[])])
    assert codec.decode_payload(codec.encode_call((given,), {})) == {"later": given}


def test_annotations_that_cannot_be_read_are_an_error_of_the_definition() -> None:
    with pytest.raises(InvalidDefinition, match=r"job j: its annotations cannot be read: .*Nowhere"):
        Codec(unknown_name, "j").check()

    def two_structs(x: Item | Amount) -> None: ...

    with pytest.raises(
        InvalidDefinition,
        match=r"job two_structs: .*all Struct types must be tagged.*; pydantic cannot decode it either: ",
    ):
        Codec(two_structs, "two_structs").check()


def resize(path: str, width: int, *, mode: Literal["fit", "fill"] = "fit") -> str: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.encode_call(("a",), {}), "resize: missing a required argument: 'width'"),
        (lambda c: c.encode_call(("a", 1, "fit"), {}), "resize: too many positional arguments"),
        (lambda c: c.encode_call(("a", 1), {"depth": 2}), "resize: got an unexpected keyword argument 'depth'"),
        (lambda c: c.encode_call(("a", "1"), {}), "resize: Expected `int`, got `str` - at `$.width`"),
        (lambda c: c.encode_call(("a", 1), {"mode": "x"}), "resize: Invalid enum value 'x' - at `$.mode`"),
        (lambda c: c.encode_call(("a", None), {}), "resize: Expected `int`, got `null` - at `$.width`"),
    ],
)
def test_arguments_that_do_not_fit_are_named(call: Callable[[Codec], Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as raised:
        call(Codec(resize, "resize"))
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ('{"path": "a"}', "missing required field `width`"),
        ('{"path": "a", "width": 1, "depth": 2}', "unknown field `depth`"),
        ("[]", "Expected `object`"),
        ("{", "truncated"),
        ('{"path": "\\ud800", "width": 1}', "surrogate"),
        ('{"path": "a", "width": ' + "1" * 5000 + "}", "out of range"),
        ('{"path": ' + "[" * 5000 + "]" * 5000 + ', "width": 1}', "Expected `str`, got `array`"),
    ],
)
def test_a_stored_payload_that_does_not_fit_is_the_payloads_fault(payload: str, message: str) -> None:
    with pytest.raises(InvalidPayload, match=message):
        Codec(resize, "resize").decode_payload(payload)


def test_a_payload_that_nests_too_deeply_is_refused_on_reading_too() -> None:
    def job(x: Any) -> None: ...

    with pytest.raises(InvalidPayload, match="nested too deeply"):
        Codec(job, "job").decode_payload('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}")


def test_a_validator_that_raises_anything_makes_the_arguments_invalid() -> None:
    class Odd(pydantic.BaseModel):
        n: int

        @pydantic.model_validator(mode="after")
        def check(self) -> "Odd":
            if self.n == 2:
                raise KeyError("no even ones")
            return self

    def job(odd: Odd) -> None: ...

    job.__annotations__ = {"odd": Odd}
    with pytest.raises(InvalidArguments, match="no even ones"):
        Codec(job, "job").encode_call((Odd.model_construct(n=2),), {})


@dataclasses.dataclass
class Bad:
    value: Any


class Unfriendly:
    @property
    def model_dump(self) -> Any:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")


def nested(depth: int, innermost: Any = None) -> Any:
    value = innermost
    for level in range(depth):
        value = [value] if level % 2 else {"a]}\\": value}
    return value


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "NaN or Infinity"),
        ([{"a": (None, float("-inf"))}], "NaN or Infinity"),
        (Bad(Tight(float("nan"))), "NaN or Infinity"),
        (nested(150, float("nan")), "NaN or Infinity"),
        ("\ud800", "surrogates not allowed"),
        ({"\udfff": 1}, "surrogates not allowed"),
        (10**5000, "Exceeds the limit"),
        (nested(MAX_DEPTH + 1), "the nesting is deeper than 200 levels"),
        (nested(5000), "the nesting is deeper than 200 levels"),
        (CIRCLE, "contains itself"),
        ("x" * 10_000_000, r"10,000,0\d\d bytes, but the limit is 1,048,576"),
        (object(), "have no JSON form"),
        (1j, "complex"),
        ({(1, 2): 3}, "tuple"),
        (lambda: 1, "function"),
        (ValueError, "type"),
        (Unfriendly(), "no"),
    ],
    ids=lambda value: "",
)
def test_a_value_without_a_json_form_is_refused_with_a_reason(value: Any, message: str) -> None:
    def job(value: Any) -> Any: ...

    codec = Codec(job, "job")
    with pytest.raises(NotSerializable, match=message):
        codec.encode_call((value,), {})
    with pytest.raises(NotSerializable, match=message):
        codec.encode_result(value)


def test_what_nests_just_deep_enough_is_taken() -> None:
    def job(value: Any) -> Any: ...

    codec = Codec(job, "job")
    assert codec.decode_result(codec.encode_result(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    wide = [{"a": "[[[{{{" * 10, "b": [[]]} for _ in range(5000)]
    assert codec.decode_result(codec.encode_result(wide)) == wide


def test_a_result_must_fit_its_annotation() -> None:
    def number() -> int: ...  # type: ignore[empty-body]

    codec = Codec(number, "number")
    with pytest.raises(
        InvalidResult, match="number: the result does not fit the annotation: Expected `int`, got `str`"
    ):
        codec.encode_result("7")
    with pytest.raises(InvalidResult, match="got `null`"):
        codec.encode_result(None)


def test_every_argument_needs_a_name() -> None:
    def stars(*paths: str) -> None: ...

    def positional(path: str, /) -> None: ...

    for function in (stars, positional):
        with pytest.raises(InvalidDefinition, match="must accept a keyword argument"):
            Codec(function, "job")
