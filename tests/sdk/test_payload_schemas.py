"""The JSON Schema of a payload, derived from annotations: it describes the fields, and never rejects what the handler accepts."""

import enum
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pydantic
import pytest
from msgspec import Meta
from typing_extensions import TypedDict  # pydantic wants it before Python 3.12

from plait import Plait
from plait.model.errors import InvalidArguments, InvalidDefinition, InvalidTrigger
from plait.model.schemas import DERIVED, ORDER, faults, list_faults
from plait.sdk.codec import Codec
from plait.sdk.payload_schemas import MOST_BYTES, payload_schema


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Guess(enum.Enum):
    YES = "yes"

    @classmethod
    def _missing_(cls, value: object) -> "Guess":
        return cls.YES


class Tagged(msgspec.Struct, tag="tagged"):
    n: int


class Other(msgspec.Struct, tag="other"):
    n: int
    more: str = "x"


class Renamed(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    order_id: int


class Row(msgspec.Struct, array_like=True):
    a: int
    b: str


class Tree(msgspec.Struct):
    name: str
    below: "list[Tree]" = []


class Pair(NamedTuple):
    a: int
    b: str = "b"


class Keys(TypedDict):
    a: int


@dataclass
class Point:
    x: int
    y: float = 0.5
    tags: list[str] = field(default_factory=list)


class Order(pydantic.BaseModel):
    number: int = pydantic.Field(ge=1, description="Order number")
    paid: bool = False
    price: float | None = None
    at: datetime | None = None
    level: Literal[1, 2] = 1
    items: set[str] = set()
    next: "Order | None" = None


class Aliased(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True, extra="forbid")
    number: int = pydantic.Field(alias="no")


class Split(pydantic.BaseModel):
    tags: list[str]

    @pydantic.field_validator("tags", mode="before")
    @classmethod
    def split(cls, value: Any) -> Any:
        return value.split(",") if isinstance(value, str) else value


class Stripped(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(str_strip_whitespace=True)
    code: str = pydantic.Field(max_length=2)


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"
    lives: int = 1


Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]

KINDS: list[Any] = [
    Any, object, int, float, str, bool, bytes, date, time, datetime, timedelta, Decimal, uuid.UUID, Path, int | None, int | str,
    float | None, list[int], set[int], frozenset[str], tuple[int, str], tuple[int, ...], dict[str, int], dict[int, str], list[dict[str, Any]],
    Literal["a", 1], Color, Level, Guess, Tagged, Tagged | None, Tagged | Other, Renamed, Row, Tree, Pair, Keys, Point, list[Point], Point | Keys,
    Annotated[int, Meta(ge=1, le=5)], Annotated[str, Meta(min_length=1, pattern="^[a-z]+$")], Annotated[str, Meta(pattern=r"^\d+$")],
    Annotated[list[int], Meta(max_length=2)], Annotated[set[int], Meta(max_length=2)],
    Order, Order | None, list[Order], Aliased, Split, Stripped, Cat | Dog, Pet, Annotated[int, pydantic.Field(gt=3)] | Path,
]  # fmt: skip

VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 7, -3, 2**70, 1.0, 1.5, 1e300, "", "a", "b", "7", " 7 ", "1_000", "1.0", "٣", "-1.5e3", "yes", "off", "True", "a,b", "red",
    "  ab  ", "NaN", "inf", "YQ==", "2026-12-16", "2026-12-16T10:30:00", "2026-12-16 10:30:00Z", "2026-12-16t10:30:00.5+01:00", "10:30:00", "10:30:00Z",
    "P1D", "-P1DT0.5S", "PT1M", "12345678123456781234567812345678", "12345678-1234-5678-1234-567812345678", "urn:uuid:12345678-1234-5678-1234-567812345678",
    [], [1], [1, 1, 1], [1, "x"], ["a", "a"], [[1, "b"]], {}, {"a": 1}, {"1": "x"}, {"n": 1}, {"n": 1, "type": "tagged"}, {"n": 1, "type": "other"},
    {"orderId": 1}, {"orderId": 1, "x": 2}, {"order_id": 1}, {"name": "a"}, {"name": "a", "below": [{"name": "b", "below": [{"name": "c"}]}]},
    {"x": 1}, {"x": 1, "y": 2, "tags": ["a"]}, [{"x": 1}], {"number": 1}, {"number": "5"}, {"number": "5", "paid": "yes", "price": "1.5", "at": 1700000000},
    {"number": 5.0, "paid": 1, "level": 2, "items": ["a", "a"], "next": {"number": "1", "next": {"number": 2}}}, {"number": 0}, {"no": 1}, {"no": "3"},
    {"tags": "a,b"}, {"tags": ["a"]}, {"code": " ab "}, {"kind": "cat"}, {"kind": "dog", "lives": "3"}, {"lives": 2}, {"number": True}, {"number": "x"},
]  # fmt: skip


def schema_of(function: Callable[..., Any], *sensitive: tuple[str, ...]) -> Any:
    codec = Codec(function, "f")
    return payload_schema(codec.fields, codec.required, sensitive)


def taking(kind: Any) -> Callable[..., Any]:
    def f(value: Any) -> None: ...

    f.__annotations__["value"] = kind
    return f


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_derived_schema_accepts_every_payload_that_the_handler_accepts(kind: Any) -> None:
    codec, schema = Codec(taking(kind), "f"), schema_of(taking(kind))
    accepted = 0
    for value in VALUES:
        payload = {"value": value}
        try:
            codec.decode_call(msgspec.json.encode(payload).decode())
        except InvalidArguments:
            continue
        accepted += 1
        assert faults(schema, payload) is None, value
    assert accepted > 0


def test_a_schema_names_the_fields_their_types_defaults_and_order() -> None:
    def f(  # type: ignore[no-untyped-def]
        url: str,
        width: Annotated[int, Meta(ge=1, description="In pixels")] = 200,
        *,
        color: Color = Color.RED,
        anything=None,
        day: date | None = None,
    ) -> None: ...

    assert schema_of(f) == {
        "type": "object",
        "properties": {
            "url": {"type": "string"},
            "width": {"type": "integer", "minimum": 1, "description": "In pixels", "default": 200},
            "color": {"enum": ["red", "blue"]},
            "anything": {"default": None},
            "day": {"type": ["string", "null"], "format": "date", "default": None},
        },
        "required": ["url"],
        "additionalProperties": False,
        ORDER: ["url", "width", "color", "anything", "day"],
        DERIVED: True,
    }


@pytest.mark.parametrize(
    ("kind", "value", "pointer"),
    [
        (int, "x", "/payload/value"),
        (datetime, "tomorrow", "/payload/value"),
        (uuid.UUID, "7", "/payload/value"),
        (Point, {"y": 1}, "/payload/value/x"),
        (list[Point], [{"x": 1}, {"x": "a"}], "/payload/value/1/x"),
        (Renamed, {"orderId": 1, "a/b": 2}, "/payload/value/a~1b"),
        (Order, {"number": "x"}, "/payload/value/number"),
        (Order, {}, "/payload/value/number"),
        (Tree, {"below": []}, "/payload/value/name"),
        (Tree | None, {"below": []}, "/payload/value/name"),
        (Order, {"number": 1, "price": "x"}, "/payload/value/price"),
    ],
    ids=str,
)
def test_a_wrong_payload_is_rejected_at_its_field(kind: Any, value: Any, pointer: str) -> None:
    [fault] = list_faults(schema_of(taking(kind)), {"value": value})
    assert fault.pointer("payload") == pointer


def test_the_error_of_a_derived_pattern_names_the_type_or_an_example() -> None:
    def f(at: datetime | None, order: Order) -> None: ...

    said = [one.message for one in list_faults(schema_of(f), {"at": "tomorrow", "order": {"number": "x"}})]
    assert said == ["'tomorrow' is not valid; an example is 2026-12-16T10:30:00Z", "'x' is not of type integer"]


def test_defaults_that_may_be_secret_are_not_published() -> None:
    class Login(msgspec.Struct):
        user: str = "me"
        password: str = "p"

    def f(api_key: str = "k", ssn: str = "1", url: str = "https://u:secret@h/", login: Login | None = None) -> None: ...

    text = msgspec.json.encode(schema_of(f, ("ssn",))).decode()
    assert [word for word in ('"k"', '"1"', "secret@", '"p"', '"me"') if word in text] == ['"me"']


def test_an_annotation_whose_schema_is_too_large_has_none_and_the_others_keep_theirs() -> None:
    huge = Literal[tuple(f"{'x' * 50}{n}" for n in range(2000))]  # type: ignore[valid-type]

    def f(big: huge, n: int) -> None: ...  # type: ignore[valid-type]

    schema = schema_of(f)
    assert schema["properties"] == {"big": {}, "n": {"type": "integer"}}
    assert len(msgspec.json.encode(schema)) < MOST_BYTES


def test_a_payload_that_is_too_large_to_check_is_left_to_the_handler() -> None:
    def f(numbers: list[int]) -> None: ...

    assert faults(schema_of(f), {"numbers": [1] * 300_000}) is None


def test_a_given_schema_takes_precedence_over_the_annotations() -> None:
    app = Plait("postgresql://")
    given = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}

    @app.job(schema=given)
    def f(n: int) -> None: ...

    assert f.definition.row()["schema"] == given
    for wrong in ("x", {"$ref": "http://127.0.0.1/s"}, {"type": 7}):
        with pytest.raises(InvalidDefinition, match="job g: "):
            app.job(name="g", schema=wrong)(lambda: None)  # type: ignore[arg-type]


def test_a_trigger_in_code_whose_payload_can_never_fit_the_annotations_is_refused() -> None:
    app = Plait("postgresql://")

    @app.job
    def f(n: int, name: str = "") -> None: ...

    with pytest.raises(InvalidTrigger, match=r'no job of this trigger can match the schema of f: payload\.n: "x"'):
        app.schedule("0 0 * * *", payload={"n": "x"})(f)
    app.on("e", payload={"n": "{{event.n}}", "name": "to {{event.name}}"})(f)


def test_a_connector_and_a_command_have_schemas() -> None:
    from plait.connectors.registry import install

    app = Plait("postgresql://")
    for job in install(app, "http", "webhook", "report"):
        schema = job.definition.row()["schema"]
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) == job.definition.codec.required
    ls = app.command("ls", "/bin/ls", ["{{payload.path}}"], schema={"properties": {"path": {"type": "string"}}})
    assert ls.definition.row()["schema"] == {"properties": {"path": {"type": "string"}}}
