"""An option of the wrong type is rejected at the decorator or the enqueue, with its name and the accepted types."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import uuid4

import pytest

from plait import Backoff, Plait, Rate
from plait.model.errors import InvalidDefinition, InvalidJob, InvalidTrigger
from plait.sdk.definition import JobOptions
from plait.sdk.options import Options, OptionsDict

WRONG: dict[str, Any] = {
    "text": "1s",
    "empty text": "",
    "bytes": b"x",
    "a boolean": True,
    "a fraction": 1.5,
    "a negative number": -1,
    "not a number": float("nan"),
    "infinity": float("inf"),
    "a huge number": 10**400,
    "a list": ["x"],
    "a list of numbers": [1],
    "an object": {"base": 1},
    "a type": Backoff,
    "a duration": timedelta(seconds=1),
    "a moment": datetime(2030, 1, 1),  # noqa: DTZ001 - naive, on purpose
    "an id": uuid4(),
}

JOB_OPTIONS: dict[str, set[str]] = {
    # The valid values for each option.
    "name": {"text", "None"},
    "queue": {"text"},
    "priority": {"a negative number"},
    "retries": {"None"},
    "timeout": {"text", "a fraction", "a duration"},
    "deadline": {"None", "text", "a fraction", "a duration"},
    "backoff": {"None"},
    "max_running": {"None"},
    "rate": {"None"},
    "key": {"None", "a type"},
    "key_max_running": {"None"},
    "key_rate": {"None"},
    "isolation": {"None"},
    "child_mode": set(),
    "on_child_failure": set(),
    "allow_nested": {"a boolean"},
    "cancel_on_parent_failure": {"a boolean"},
    "search_keys": {"None", "a list"},
    "sensitive": {"None", "a list"},
    "cancel_grace": {"None", "text", "a fraction", "a duration"},
    "schema": {"None", "an object"},
}
ENQUEUE_OPTIONS: dict[str, set[str]] = {
    "tenant": {"text", "an id"},
    "queue": {"text"},
    "priority": {"a negative number"},
    "retries": set(),
    "timeout": {"text", "a fraction", "a duration"},
    "deadline": {"text", "a fraction", "a duration"},
    "delay": {"text", "a fraction", "a duration"},
    "scheduled_for": set(),
    "dedupe_key": {"text"},
    "idempotency_key": {"text"},
    "idempotency_ttl": {"text", "a fraction", "a duration"},
    "limit_key": {"text"},
    "correlation_id": {"text"},
    "job_id": {"an id"},
    "after": {"an id"},
    "on_dependency_failure": set(),
}
NODE_OPTIONS: dict[str, set[str]] = {
    "quorum": set(),
    "quorum_timeout": {"text", "a fraction", "a duration"},
    "on_timeout": set(),
    "on_node_failure": set(),
}
SCHEDULE_OPTIONS: dict[str, set[str]] = {
    "every": {"text", "a fraction", "a duration"},
    "timezone": {"None"},
    "catch_up": set(),
    "catch_up_window": {"None"},
    "overlap": set(),
    "jitter": {"text", "a fraction", "a duration"},
    "payload": {"None"},
    "label": {"text", "None"},
    "dedupe_window": {"text", "a fraction", "a duration"},
}


def _cases(options: dict[str, set[str]], *, none: bool) -> list[Any]:
    values = {**WRONG, "None": None} if none else WRONG
    return [
        pytest.param(name, value, label in right, id=f"{name} {label}")
        for name, right in options.items()
        for label, value in values.items()
    ]


def _refuses(make: Callable[[], object], right: bool, name: str, *kinds: type[Exception]) -> None:
    if right:
        make()
        return
    with pytest.raises(kinds) as refused:
        make()
    assert name.replace("timezone", "time zone") in str(refused.value), "the message names the option"


@pytest.mark.parametrize(("name", "value", "right"), _cases(JOB_OPTIONS, none=True))
def test_an_option_of_a_job_is_of_its_type(name: str, value: Any, right: bool) -> None:
    async def handler(x: int = 1) -> None: ...

    def make() -> object:
        more = {"key": "x"} if name.startswith("key_") else {}
        return Plait().job(**{name: value, **more})(handler)

    _refuses(make, right, name, InvalidDefinition)


def test_the_tables_name_every_option() -> None:
    assert set(JobOptions.__annotations__) == set(JOB_OPTIONS)
    assert set(OptionsDict.__annotations__) - {"conn"} == set(ENQUEUE_OPTIONS)


@pytest.mark.parametrize(("name", "value", "right"), _cases(ENQUEUE_OPTIONS, none=False))
def test_an_option_of_an_enqueue_is_of_its_type(name: str, value: Any, right: bool) -> None:
    _refuses(lambda: Options(**{name: value}), right, name, InvalidJob)


@pytest.mark.parametrize(("name", "value", "right"), _cases(NODE_OPTIONS, none=True))
def test_an_option_of_a_node_job_is_of_its_type(name: str, value: Any, right: bool) -> None:
    async def handler() -> None: ...

    _refuses(lambda: Plait().node_job(**{name: value})(handler), right, name, InvalidDefinition)


@pytest.mark.parametrize(("name", "value", "right"), _cases(SCHEDULE_OPTIONS, none=True))
def test_an_option_of_a_schedule_is_of_its_type(name: str, value: Any, right: bool) -> None:
    async def handler() -> None: ...

    given = {"every": "1h", name: value}
    _refuses(lambda: Plait().schedule(**given)(handler), right, name, InvalidTrigger, InvalidJob)


@pytest.mark.parametrize("value", [b"x", 1, ["x"], None, True])
def test_a_cron_expression_and_the_name_of_an_event_are_text(value: Any) -> None:
    async def handler() -> None: ...

    with pytest.raises(InvalidTrigger):
        Plait().schedule(value)(handler)
    with pytest.raises(InvalidTrigger):
        Plait().on(value)(handler)


@pytest.mark.parametrize("field", ["base", "factor", "max", "jitter"])
@pytest.mark.parametrize(
    "label", ["bytes", "a boolean", "a negative number", "not a number", "a list", "an object", "a huge number"]
)
def test_a_backoff_is_made_of_numbers(field: str, label: str) -> None:
    with pytest.raises(InvalidDefinition, match=field):
        Backoff(**{field: WRONG[label]})


@pytest.mark.parametrize("label", ["text", "bytes", "a boolean", "a fraction", "a negative number", "a list"])
def test_a_rate_counts_whole_starts(label: str) -> None:
    with pytest.raises(InvalidDefinition, match="rate"):
        Rate(WRONG[label])


def _decorate(**options: Any) -> None:
    async def handler() -> None: ...

    Plait().job(**options)(handler)


def test_a_duration_for_a_backoff_is_answered_with_how_to_write_it() -> None:
    with pytest.raises(InvalidDefinition, match=r"backoff must be a Backoff, such as Backoff\(base='1s'\), got '1s'"):
        _decorate(backoff="1s")


async def test_a_wrong_option_never_reaches_the_database(app: Plait) -> None:
    @app.job
    async def handler() -> None: ...

    for name in ENQUEUE_OPTIONS:
        with pytest.raises(InvalidJob):
            await handler.options(**cast("Any", {name: object()})).enqueue()
