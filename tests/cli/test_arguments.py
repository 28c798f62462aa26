"""Values parsed from the command line."""

import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from plait import Plait
from plait.cli import arguments
from plait.cli.enqueue import split
from plait.cli.errors import BadUsage
from plait.model.errors import InvalidArguments

app = Plait()


@app.job
async def order(item: str, count: int = 1, price: Decimal | None = None, at: datetime | None = None) -> None: ...


@app.job
async def free(what: "list[int] | str") -> None: ...


def test_a_value_is_json_where_it_is_json() -> None:
    given = ["a=1", "b=true", "c=null", "d=[1, 2]", 'e={"f": 2}', "g=hello", "h=", "i=a=b", "j=1e999x"]
    assert arguments.payload(given, None) == {
        "a": 1,
        "b": True,
        "c": None,
        "d": [1, 2],
        "e": {"f": 2},
        "g": "hello",
        "h": "",
        "i": "a=b",
        "j": "1e999x",
    }


def test_nan_is_text_since_json_has_none() -> None:
    assert arguments.payload(["a=NaN"], None) == {"a": "NaN"}


def test_a_job_that_wants_text_gets_text() -> None:
    typed = arguments.typed_payload(order.definition, ["item=123", "count=2", "price=9.90"], None)
    assert typed == {"item": "123", "count": 2, "price": Decimal("9.90")}
    assert arguments.typed_payload(order.definition, ["item=true", "price=null"], None) == {
        "item": "true",
        "price": None,
    }
    assert arguments.typed_payload(free.definition, ["what=[1]"], None) == {"what": [1]}
    assert arguments.typed_payload(free.definition, ["what=1"], None) == {"what": "1"}
    assert arguments.typed_payload(order.definition, ["item=x", "at=2030-01-01T00:00:00Z"], None)["at"] == datetime(
        2030, 1, 1, tzinfo=UTC
    )


def test_a_payload_and_pairs_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arguments.payload(["b=2"], '{"a": 1, "b": 1}') == {"a": 1, "b": 2}
    monkeypatch.setattr("sys.stdin", io.StringIO('{"from": "stdin"}'))
    assert arguments.payload([], "-") == {"from": "stdin"}


@pytest.mark.parametrize("pairs", [["a"], ["=1"], ["a=1", "a=2"]])
def test_a_bad_pair_is_refused(pairs: list[str]) -> None:
    with pytest.raises(BadUsage):
        arguments.payload(pairs, None)


@pytest.mark.parametrize("given", ["[1]", "{", "1", '{"a": NaN}'])
def test_a_payload_is_a_json_object(given: str) -> None:
    with pytest.raises(BadUsage, match="--payload must be a JSON object"):
        arguments.payload([], given)


def test_arguments_are_checked_against_the_signature() -> None:
    with pytest.raises(BadUsage, match="order has no argument 'colour'; it has item, count"):
        arguments.typed_payload(order.definition, ["item=x", "colour=red"], None)
    with pytest.raises(InvalidArguments, match="count"):
        arguments.typed_payload(order.definition, ["item=x", "count=many"], None)
    with pytest.raises(InvalidArguments, match="item"):
        arguments.typed_payload(order.definition, [], None)


def test_an_app_stands_before_the_job() -> None:
    assert split(["resize"]) == (None, "resize", [])
    assert split(["resize", "a=1"]) == (None, "resize", ["a=1"])
    assert split(["app.py", "resize"]) == ("app.py", "resize", [])
    assert split(["app.py:app", "resize", "a=1", "b=c"]) == ("app.py:app", "resize", ["a=1", "b=c"])


def test_queues_with_and_without_a_number() -> None:
    assert arguments.queue_limits("analytics:4,default:50", default=100) == {"analytics": 4, "default": 50}
    assert arguments.queue_limits("mail, a:b:2", default=100) == {"mail": 100, "a:b": 2}
    assert arguments.queue_limits(None, default=100) is None
    for bad in ("", "a:0", "a,,b"):
        with pytest.raises(BadUsage):
            arguments.queue_limits(bad, default=100)


def test_rates_limits_times() -> None:
    assert arguments.rate("10/1s") == arguments.rate("10/s") == (10, 1.0)
    assert arguments.rate("100/5m") == (100, 300.0)
    assert arguments.rate("none") is None
    assert arguments.limit("5", what="n") == 5
    assert arguments.limit("none", what="n") is None
    assert arguments.duration("90", what="t") == 90
    assert arguments.duration("1h30m", what="t") == 5400
    assert arguments.moment("2030-01-31T12:00+01:00", what="t") == datetime(2030, 1, 31, 11, tzinfo=UTC)
    local = arguments.moment("2030-01-31T12:00", what="t")
    assert local is not None
    assert (local.hour, local.utcoffset() is None) == (12, False)


@pytest.mark.parametrize("bad", ["10", "ten/1s", "10/", "10/week"])
def test_a_bad_rate_is_refused(bad: str) -> None:
    with pytest.raises(BadUsage):
        arguments.rate(bad)


@pytest.mark.parametrize(
    "bad", ["", "1", "0190a1b2", "0190a1b23c4d7e5f8a9b0c1d2e3f4a5b", "{0190a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b}"]
)
def test_a_job_is_named_by_its_whole_id(bad: str) -> None:
    with pytest.raises(BadUsage, match="a job's id must be a UUID such as"):
        arguments.job_id(bad)
