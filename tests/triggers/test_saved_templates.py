"""A trigger whose jobs can't match its definition's schema is rejected when it is saved, with the name of the field."""

import json
from typing import Any

import pytest

from plait import Plait
from plait.model.errors import InvalidSetting, InvalidTrigger
from plait.model.rendering import check_template

from ..harness import Harness

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "provider": {"type": "string"},
        "depth": {"type": "integer"},
        "mode": {"enum": ["full", "delta"]},
        "version": {"const": 2},
        "where": {"type": "object", "required": ["path"], "properties": {"path": {"type": ["string", "null"]}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "never": False,
    },
    "required": ["provider"],
    "additionalProperties": False,
}
HOPELESS: dict[str, tuple[dict[str, Any], str]] = {
    "a field is missing": ({"depth": 1}, "provider"),
    "a field is unknown": ({"provider": "x", "colour": 1}, "colour"),
    "a number is text": ({"provider": 7}, "provider"),
    "text is a number": ({"provider": "x", "depth": "1"}, "depth"),
    "a fraction": ({"provider": "x", "depth": 1.5}, "depth"),
    "text with a token stays text": ({"provider": "x", "depth": "a {{trigger.id}}"}, "depth"),
    "none of the values": ({"provider": "x", "mode": "half"}, "mode"),
    "not the value": ({"provider": "x", "version": 3}, "version"),
    "below a field": ({"provider": "x", "where": {"depth": "{{trigger.id}}"}}, "path"),
    "in a list": ({"provider": "x", "tags": ["a", 1]}, "tags"),
    "a field that is not allowed": ({"provider": "x", "never": 1}, "never"),
}
POSSIBLE: list[dict[str, Any]] = [
    {"provider": "x"},
    {"provider": "{{trigger.id}}", "depth": "{{trigger.id}}", "mode": "{{trigger.id}}", "version": "{{trigger.id}}"},
    {"provider": "a {{trigger.id}}", "depth": 1.0, "where": {"path": None, "more": 1}, "tags": ["a", "{{trigger.id}}"]},
    {"provider": "x", "mode": "{{ trigger.id }}", "where": "{{trigger.label}}"},
]


async def _by_sql(harness: Harness, payload: dict[str, Any], kind: dict[str, Any]) -> None:
    await harness.store.triggers.set_trigger("t", {"definition": "sync", "payload": payload, **kind})


async def _changed_by_sql(harness: Harness, payload: dict[str, Any], kind: dict[str, Any]) -> None:
    await harness.store.triggers.set_trigger("t", {"definition": "sync", "payload": {"provider": "x"}, **kind})
    await harness.store.triggers.set_trigger("t", {"payload": payload})


async def _by_code(harness: Harness, payload: dict[str, Any], kind: dict[str, Any]) -> None:
    settings = {"definition": "sync", "payload": payload, **kind}
    await harness.store.triggers.declare_triggers([{"tenant": None, "label": "t", "settings": settings}], ["sync"])


async def _in_python(harness: Harness, payload: dict[str, Any], kind: dict[str, Any]) -> None:
    """Check a template as the API, the CLI and a command's schedule in code do."""
    check_template("sync", json.dumps(SCHEMA), payload)


WAYS = {"sql": _by_sql, "a change": _changed_by_sql, "code": _by_code, "python": _in_python}


@pytest.mark.parametrize("kind", [{"every_s": 60}, {"event_name": "e"}], ids=["schedule", "event"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_template_that_can_never_match_is_refused_with_the_field(
    harness: Harness, way: str, kind: dict[str, Any]
) -> None:
    await harness.define("sync", schema=SCHEMA)
    for payload, field in HOPELESS.values():
        with pytest.raises((InvalidSetting, InvalidTrigger), match=rf"match the schema of '?sync'?: payload.*{field}"):
            await WAYS[way](harness, payload, kind)


@pytest.mark.parametrize("way", WAYS)
async def test_a_template_that_may_match_is_saved(harness: Harness, way: str) -> None:
    await harness.define("sync", schema=SCHEMA)
    for payload in POSSIBLE:
        await WAYS[way](harness, payload, {"every_s": 60})


async def test_a_trigger_that_is_there_stays_when_a_schema_comes_later(harness: Harness) -> None:
    """A worker declares its triggers at each start, which must not fail."""
    await harness.define("sync")
    await _by_code(harness, {"depth": 1}, {"every_s": 60})
    await harness.define("sync", schema=SCHEMA)
    await _by_code(harness, {"depth": 1}, {"every_s": 60})
    await harness.store.triggers.set_trigger("t", {"enabled": False})


def test_a_schedule_of_a_command_is_checked_where_it_is_written() -> None:
    app = Plait()
    job = app.command("sync", "/bin/true", ["{{payload.depth}}"], schema={
        "type": "object", "properties": {"depth": {"type": "integer", "minimum": 1}},
    })  # fmt: skip
    with pytest.raises(InvalidTrigger, match="depth"):
        app.schedule(every="1h", payload={"depth": 0})(job)
    app.schedule(every="1h", payload={"depth": 1})(job)
