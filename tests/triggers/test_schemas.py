"""Schemas from outside are bounded before they are used (T126, S13)."""

import time
from typing import Any

import pytest

from plait.model.errors import InvalidSchema
from plait.model.schemas import check_schema, faults

DOUBLING = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(28)} | {"a28": {}}
DEEP: dict[str, Any] = {}
for _ in range(40):
    DEEP = {"items": DEEP}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#"},
        {"$id": "http://x/", "type": "object"},
        {"$dynamicRef": "#x"},
        {"$defs": DOUBLING, "$ref": "#/$defs/a0"},
        {"anyOf": [{"anyOf": [{"type": "string"}] * 100}] * 100},
        {"pattern": "a{1000}{1000}{1000}"},
        {"pattern": "(?=look)ahead"},
        {"pattern": r"(a)\1"},
        {"pattern": "x" * 2000},
        {"properties": {f"p{n}": {"type": "string", "description": "x" * 50} for n in range(2000)}},
        {"type": "nothing"},
        {"$schema": "http://127.0.0.1:9/draft", "type": "object"},
        DEEP,
        [],
        "string",
    ],
)
def test_a_bomb_is_refused_when_it_is_defined_and_at_once(schema: Any) -> None:
    began = time.process_time()  # of this process alone: other load on the machine does not count
    with pytest.raises(InvalidSchema):
        check_schema(schema)
    assert time.process_time() - began < 5  # milliseconds; without a bound, hours


def test_a_pattern_that_would_run_for_ever_runs_in_linear_time() -> None:
    began = time.process_time()  # of this process alone: other load on the machine does not count
    assert faults({"type": "string", "pattern": "^(a+)+$"}, "a" * 50_000 + "b") is not None
    assert time.process_time() - began < 5  # milliseconds; with backtracking, for ever


def test_a_schema_of_the_seed_works() -> None:
    schema = {
        "type": "object",
        "properties": {"provider_id": {"type": "string", "format": "uuid"}, "path_prefix": {"$ref": "#/$defs/path"}},
        "required": ["provider_id"],
        "additionalProperties": False,
        "$defs": {"path": {"type": "string", "pattern": "^/"}},
    }
    check_schema(schema)
    good = {"provider_id": "6f46a1d8-6e2b-4ecf-8b46-9ec2e6a37f09", "path_prefix": "/x"}
    assert faults(schema, good) is None
    assert faults(schema, {**good, "path_prefix": "x"}) == 'path_prefix: "x" does not match "^/"'
    assert "provider_id" in (faults(schema, {}) or "")
    assert faults(schema, {**good, "provider_id": "no"}) is not None
    assert faults(schema, {**good, "more": 1}) is not None
