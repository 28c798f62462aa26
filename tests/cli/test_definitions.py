"""`plait definitions set | show | clear`: overrides, with the code's values, their author, and entries in the audit log."""

import asyncio
from typing import Any

import pytest

from plait.store import Store
from plait.testing import TestDatabase

from .conftest import RunPlait

CODE: dict[str, Any] = {"name": "sync", "queue": "coded", "max_attempts": 3, "rate_count": 9, "rate_period_s": 60.0}


def _start_worker(database: TestDatabase) -> list[str]:
    """Register the definition, as a worker does when it starts. Returns the actions in the audit log so far."""

    async def define() -> list[str]:
        store = await Store.open(database.url)
        try:
            await store.definitions.define([CODE])
            return [entry.action for entry in await store.audit.list_audit(all_tenants=True)]
        finally:
            await store.close()

    return asyncio.run(define())


def test_overrides_are_set_shown_and_cleared(plait_on: RunPlait, database: TestDatabase) -> None:
    _start_worker(database)
    assert "No setting is overridden" in plait_on("definitions", "show", "sync").err
    given = [
        "--queue",
        "moved",
        "--priority",
        "3",
        "--retries",
        "8",
        "--rate",
        "none",
        "--max-running",
        "4",
        "--key-rate",
        "5/1m",
    ]
    assert plait_on("definitions", "set", "sync", *given).code == 0
    _start_worker(database)
    told = plait_on("definitions", "show", "sync", "--json").json
    assert (told["queue"], told["priority"], told["max_attempts"], told["rate_count"]) == ("moved", 3, 9, None)
    overrides = {one["setting"]: (one["value"], one["code_value"]) for one in told["overrides"]}
    assert overrides == {
        "queue": ("moved", "coded"), "priority": (3, 100), "max_attempts": (9, 3), "rate_count": (None, 9),
        "rate_period_s": (None, 60), "max_running": (4, None), "key_rate_count": (5, None), "key_rate_period_s": (60, None),
    }  # fmt: skip
    assert all(one["author"].startswith("cli") for one in told["overrides"])
    assert "coded" in plait_on("definitions", "show", "sync").out
    assert "1 override cleared" in plait_on("definitions", "clear", "sync", "queue").out
    assert plait_on("definitions", "clear", "sync", "--json").json == {"definition": "sync", "cleared": 7}
    told = plait_on("definitions", "show", "sync", "--json").json
    assert (told["queue"], told["max_attempts"], told["rate_count"], told["overrides"]) == ("coded", 3, 9, [])
    assert _start_worker(database) == ["definition.clear", "definition.clear", "definition.change"]


@pytest.mark.parametrize(
    "option", [("--rate", "5"), ("--rate", "x/1m"), ("--max-running", "-1"), ("--key-max-running", "many")]
)
def test_a_limit_that_is_none_is_refused_with_what_is_accepted(plait_on: RunPlait, option: tuple[str, str]) -> None:
    refused = plait_on("definitions", "set", "sync", *option)
    assert (refused.code, "must be" in refused.err, option[1] in refused.err) == (2, True, True)


def test_what_is_not_there_is_said(plait_on: RunPlait, database: TestDatabase) -> None:
    _start_worker(database)
    for words in (("show", "nothing"), ("clear", "nothing"), ("clear", "sync", "queue")):
        assert plait_on("definitions", *words).code == 1


def test_schemas_are_printed_as_one_document(plait_on: RunPlait, database: TestDatabase) -> None:
    _start_worker(database)
    told = plait_on("definitions", "schema", "sync").json
    assert told == {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"sync": {}}}
    assert "sync" in plait_on("definitions", "schema").json["$defs"]
    missing = plait_on("definitions", "schema", "missing")
    assert (missing.code, "there is no job definition 'missing'" in missing.err) == (1, True)
