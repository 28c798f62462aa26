"""Unions, discriminated unions and generic types are decoded to the same types. Types that can't be decoded are rejected at the definition."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
import pydantic
import pytest
from typing_extensions import TypedDict  # pydantic requires it before Python 3.12

from plait import Plait
from plait.model.errors import InvalidArguments, InvalidDefinition, InvalidResult
from plait.sdk.codec import Codec, ResultCodec

from .postponed_annotations import Later

T = TypeVar("T")
E = TypeVar("E")


@dataclass
class Paid:
    cents: int
    receipt: bytes = b""


@dataclass
class Refused:
    why: str


@dataclass
class Refunded:
    cents: int
    receipt: bytes = b""


@dataclass
class Ok(Generic[T]):
    value: T


@dataclass
class Err(Generic[E]):
    error: E


@dataclass
class Order:
    outcome: Paid | Refused
    raw: bytes = b""


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    born: datetime


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"
    name: str = pydantic.Field(alias="theName")


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


class X(TypedDict):
    x: int


class Y(TypedDict):
    y: int


class Opaque:
    """A type that can't be decoded from JSON."""


class Zoo(msgspec.Struct):
    pets: list[Cat | Dog]


BORN = datetime(2030, 1, 2, tzinfo=UTC)
CAT, DOG = Cat(born=BORN), Dog(theName="rex")
Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]

VALUES: list[tuple[Any, Any]] = [
    (Paid | Refused, Paid(5, b"\xff\x00")),
    (Paid | Refused, Refused("no money")),
    (Paid | Refused | None, None),
    (Paid | Refused | None, Refused("x")),
    (list[Paid | Refused], [Refused("x"), Paid(1)]),
    (dict[str, Paid | Refused], {"a": Paid(1), "b": Refused("x")}),
    (Paid | str, "text"),
    (Paid | dict[str, int], Paid(7)),
    (Order, Order(Refused("x"), b"\xff")),
    (Ok[int], Ok(1)),
    (Ok[int] | Err[str], Err("x")),
    (Ok[Paid] | Err[Refused], Err(Refused("x"))),
    (Cat | Dog, DOG),
    (Cat | Dog | int, 7),
    (Pet, CAT),
    (list[Pet], [DOG, CAT]),
    (Cat | Paid, CAT),
    (Page[int], Page[int](items=[1])),
    (Page[Paid | Refused], Page[Paid | Refused](items=[Refused("x")])),
    (Page[Cat] | Err[str], Page[Cat](items=[CAT])),
    (X | Y, {"y": 1}),
    (Path | None, Path("a/b")),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(VALUES)])
def test_arguments_results_and_steps_come_back_as_they_were(kind: Any, value: Any) -> None:
    def job(value: Any, other: Any = value) -> Any: ...

    job.__annotations__ = {"value": kind, "other": kind, "return": kind}
    codec = Codec(job, "job")
    text = codec.encode_call((value,), {})
    step = ResultCodec(job, "job")
    for seen in (
        codec.decode_payload(text)["value"],
        codec.decode_payload(codec.payload((value, value), {}))["other"],
        codec.decode_result(codec.encode_result(value)),
        step.decode_result(step.encode_result(value)),
    ):
        assert type(seen) is type(value)
        assert seen == value


def test_a_union_whose_members_look_alike_is_refused_where_it_would_be_misread() -> None:
    def job(outcome: Paid | Refunded) -> Paid | Refunded: ...  # type: ignore[empty-body]

    def step() -> list[Paid | Refunded]: ...  # type: ignore[empty-body]

    codec = Codec(job, "job")
    assert codec.decode_payload(codec.encode_call((Paid(1),), {})) == {"outcome": Paid(1)}
    with pytest.raises(InvalidArguments, match="job: outcome: a Refunded would be decoded as a Paid: add a field"):
        codec.encode_call((Refunded(1),), {})
    with pytest.raises(InvalidResult, match="a Refunded would be decoded as a Paid"):
        codec.encode_result(Refunded(1))
    with pytest.raises(InvalidResult, match="a Refunded would be decoded as a Paid"):
        ResultCodec(step, "step").encode_result([Paid(1), Refunded(1)])

    def either() -> str | datetime: ...  # type: ignore[empty-body]

    with pytest.raises(InvalidResult, match="a datetime would be decoded as a str"):
        Codec(either, "either").encode_result(BORN)


def test_what_does_not_fit_a_union_is_refused_where_it_is_given() -> None:
    def job(outcome: Paid | Refused) -> Paid | Refused: ...  # type: ignore[empty-body]

    codec = Codec(job, "job")
    with pytest.raises(InvalidArguments, match=r"job: .*validation error"):
        codec.encode_call((Ok(1),), {})
    with pytest.raises(InvalidResult, match="the result does not fit the annotation"):
        codec.encode_result(7)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Opaque, "Opaque cannot be decoded from JSON: values of type Opaque have no JSON form"),
        (list[Opaque] | None, "values of type Opaque have no JSON form"),
        (Paid | Opaque, "cannot be decoded from JSON"),
        (Callable[[], int], "cannot be decoded from JSON"),
        (Zoo, "Zoo cannot be decoded from JSON: Type unions may not contain more than one custom type"),
    ],
)
def test_an_annotation_that_nobody_can_decode_is_refused_when_it_is_defined(kind: Any, message: str) -> None:
    app = Plait()

    def argument(value: Any) -> None: ...

    def result() -> Any: ...

    argument.__annotations__["value"] = kind
    result.__annotations__["return"] = kind
    for function in (argument, result):
        with pytest.raises(InvalidDefinition, match=f"job {function.__name__}: .*{message}"):
            app.job(function)
    with pytest.raises(InvalidDefinition, match=f"step result: .*{message}"):
        ResultCodec(result, "result")


def test_an_annotation_that_names_what_comes_later_is_read_when_it_is_needed() -> None:
    app = Plait()

    def job(value: "NotYet") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    defined = app.job(job)
    with pytest.raises(InvalidDefinition, match="job job: its annotations cannot be read: name 'NotYet'"):
        defined.definition.codec.check()
    job.__globals__["NotYet"] = Later
    try:
        defined.definition.codec.check()
    finally:
        del job.__globals__["NotYet"]


def test_a_step_whose_return_annotation_cannot_be_read_is_refused() -> None:
    def step(unreadable: "Nowhere") -> "Paid | Refused": ...  # type: ignore[name-defined,empty-body]  # noqa: F821

    def lost() -> "Nowhere": ...  # type: ignore[name-defined]  # noqa: F821

    for function in (step, functools.partial(step, 1)):
        codec = ResultCodec(function, "step")
        assert codec.decode_result(codec.encode_result(Refused("x"))) == Refused("x")
    with pytest.raises(InvalidDefinition, match="step lost: its return annotation cannot be read: name 'Nowhere'"):
        ResultCodec(lost, "lost")


def test_callables_of_every_kind_have_their_annotation_read() -> None:
    class Client:
        def __call__(self) -> Paid | Refused: ...  # type: ignore[empty-body]
        def method(self) -> Paid | Refused: ...  # type: ignore[empty-body]

    @functools.wraps(Client.method)
    def wrapped(*args: Any) -> Any: ...

    for function in (Client(), Client().method, wrapped, functools.partial(Client.method, Client())):
        codec = ResultCodec(function, "step")
        assert codec.decode_result(codec.encode_result(Paid(1))) == Paid(1)
    for plain in (len, print, functools.partial(len)):
        codec = ResultCodec(plain, "step")
        assert codec.decode_result(codec.encode_result({"a": 1})) == {"a": 1}
