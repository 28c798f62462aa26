"""Limits on JSON Schemas from users, checked before they are used (T126, S13)."""

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
def test_a_bomb_is_refused_when_it_is_defined(schema: Any) -> None:
    with pytest.raises(InvalidSchema):
        check_schema(schema)


@pytest.mark.parametrize("name", ["definitions", "$defs", "enum", "const", "pattern", "$ref", "$id", "items"])
def test_a_property_may_be_called_like_a_keyword_and_is_bounded_all_the_same(name: str) -> None:
    assert faults({"properties": {name: {"type": "string"}}}, {name: "x"}) is None
    assert faults({"properties": {name: {"type": "string"}}}, {name: 1}) is not None
    with pytest.raises(InvalidSchema, match="at most 5,000 parts"):
        check_schema({"properties": {name: {"anyOf": [{"anyOf": [{}] * 55}] * 100}}})
    with pytest.raises(InvalidSchema, match="30 levels"):
        check_schema({"properties": {name: DEEP}})


@pytest.mark.parametrize("keyword", ["$defs", "definitions"])
def test_definitions_are_bounded_though_nothing_refers_to_them(keyword: str) -> None:
    with pytest.raises(InvalidSchema, match="at most 5,000 parts"):
        check_schema({keyword: {"unused": {"anyOf": [{"anyOf": [{}] * 55}] * 100}}})


def test_the_number_of_patterns_is_bounded() -> None:
    with pytest.raises(InvalidSchema, match="at most 5,000 parts"):
        check_schema({"patternProperties": {f"^a{n}": {} for n in range(500)}})


def test_a_payload_with_too_many_values_for_its_schema_is_refused_before_it_is_checked() -> None:
    """A validator visits each part of the schema for each value."""
    schema = {"items": {"allOf": [{"minimum": -n} for n in range(1000)]}}
    assert faults(schema, list(range(1000))) is None
    assert "values to be checked against a schema" in str(faults(schema, list(range(10_000))))
    assert "at most 200,000 values" in str(faults({"type": "array"}, [0] * 300_000))


def test_only_the_first_fault_is_looked_for() -> None:
    """A list of all errors would have 1.5 million entries and take half a minute."""
    schema = {"items": {"anyOf": [{"minimum": 5000 + n} for n in range(1500)]}}
    assert str(faults(schema, list(range(1000)))).startswith("0: 0 is not valid under any of the schemas")


def test_a_pattern_that_would_run_for_ever_runs_in_linear_time() -> None:
    """With backtracking it would take 2 ** 50,000 steps."""
    assert faults({"type": "string", "pattern": "^(a+)+$"}, "a" * 50_000 + "b") is not None


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
