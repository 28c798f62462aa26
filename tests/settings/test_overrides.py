"""An operator's overrides of a definition: they take precedence over the code on every path, survive worker restarts, and can be cleared."""

import json
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from plait import Backoff, Plait, Rate, fan_out, spawn, sub
from plait.model.errors import InvalidSetting, NotFound
from plait.testing import Kit, TestDatabase

from ..harness import Harness

CODE: dict[str, Any] = {"queue": "coded", "priority": 7, "retries": 2}
SET: dict[str, Any] = {"queue": "moved", "priority": 3, "max_attempts": 9}
SAID: dict[str, Any] = {"queue": "said", "priority": 1, "retries": 0}


@pytest.fixture
def plait_app() -> Plait:
    app = Plait()

    @app.job(**CODE)
    async def add(n: int = 0) -> int:
        return n

    return app


@pytest.fixture
def kit(plait: Kit) -> Kit:
    return plait


@pytest.fixture
async def app_harness(kit: Kit, plait_database: TestDatabase) -> Any:
    harness = await Harness.open(plait_database)
    yield harness
    await harness.check()
    await harness.close()


async def _define(kit: Kit, app_harness: Harness) -> None:
    """As each worker does when it starts."""
    await app_harness.store.definitions.define([one.row() for one in kit.app.definitions.values()])


async def _by_sdk(kit: Kit, **options: Any) -> UUID:
    return (await kit.app.jobs["add"].options(**options).enqueue(1)).id


async def _by_sdk_in_bulk(kit: Kit, **options: Any) -> UUID:
    return (await kit.app.jobs["add"].options(**options).enqueue_many([1, 2]))[1].id


async def _by_sdk_with_a_key(kit: Kit, **options: Any) -> UUID:
    return (await kit.app.jobs["add"].options(dedupe_key="k", **options).enqueue(1)).id


async def _on_a_connection(kit: Kit, **options: Any) -> UUID:
    connection = await asyncpg.connect(kit.database.url)
    try:
        async with connection.transaction():
            return (await kit.app.jobs["add"].options(conn=connection, **options).enqueue(1)).id
    finally:
        await connection.close()


async def _by_sql(kit: Kit, **options: Any) -> UUID:
    named = {"max_attempts" if name == "retries" else name: value for name, value in options.items()}
    if "max_attempts" in named:
        named["max_attempts"] += 1
    said = "".join(f", {name} => ${at}" for at, name in enumerate(named, 1))
    connection = await asyncpg.connect(kit.database.url)
    try:
        job = await connection.fetchval(f"select plait.enqueue('add'{said}, tenant => 'default')", *named.values())
        assert isinstance(job, UUID)
        return job
    finally:
        await connection.close()


PATHS = {
    "sdk": _by_sdk,
    "sdk in bulk": _by_sdk_in_bulk,
    "sdk with a key": _by_sdk_with_a_key,
    "conn": _on_a_connection,
    "sql": _by_sql,
}


@pytest.mark.parametrize("path", PATHS)
async def test_what_an_operator_sets_counts_at_enqueue_until_it_is_cleared(
    kit: Kit, app_harness: Harness, path: str
) -> None:
    definitions = app_harness.store.definitions

    async def asked(**said: Any) -> tuple[str, int, int]:
        job = await PATHS[path](kit, **said)
        row = await app_harness.job(job)
        await app_harness.cancel(job)  # so that its key is free
        return row.queue, row.priority, row.max_attempts

    if path != "sql":  # until a worker has registered the definition, the code's values apply
        assert await asked() == ("coded", 7, 3)
    await _define(kit, app_harness)
    assert await asked() == ("coded", 7, 3)
    await definitions.set_definition("add", SET, author="ada")
    for _ in range(2):
        assert await asked() == ("moved", 3, 9)
        await _define(kit, app_harness)  # a worker starts
    assert await asked(**SAID) == ("said", 1, 1)  # options of a call take precedence
    assert await definitions.clear_overrides("add", ["queue"]) == 1
    assert await asked() == ("coded", 3, 9)
    assert await definitions.clear_overrides("add") == 2
    assert await asked() == ("coded", 7, 3)


async def test_both_values_are_shown_with_who_set_them_and_when(kit: Kit, app_harness: Harness) -> None:
    await _define(kit, app_harness)
    definitions = app_harness.store.definitions
    await definitions.set_definition("add", {**SET, "timeout_s": 3600, "max_running": None}, author="ada")
    await app_harness.advance(hours=1)
    await definitions.set_definition("add", {"priority": 4, "queue": "moved"}, author="bob")
    rows = {row.setting: row for row in await definitions.list_overrides("add")}
    assert {name: (row.value, row.code_value, row.author) for name, row in rows.items()} == {
        "queue": ('"moved"', '"coded"', "ada"),  # bob set the same value
        "priority": ("4", "7", "bob"),
        "max_attempts": ("9", "3", "ada"),
    }
    assert rows["priority"].set_at > rows["queue"].set_at
    with pytest.raises(InvalidSetting, match="'timeout_s' of 'add' is not overridden"):
        await definitions.clear_overrides("add", ["timeout_s"])
    with pytest.raises(NotFound):
        await definitions.clear_overrides("nothing")
    for bad in ({"max_attempts": 0}, {"colour": 1}, {"queue": None}, {"priority": "high"}):
        with pytest.raises(InvalidSetting):
            await definitions.set_definition("add", bad)
    assert len(await definitions.list_overrides()) == 3


LIMITS: dict[str, Any] = {
    "timeout_s": 5.0, "backoff_base_s": 50.0, "backoff_factor": 3.0, "backoff_max_s": 60.0, "backoff_jitter": 0.0,
    "max_running": 1, "rate_count": 2, "rate_period_s": 30.0, "key_max_running": 1, "key_rate_count": 3,
    "key_rate_period_s": 60.0, "child_mode": "serial", "on_child_failure": "stop", "allow_nested": False,
    "cancel_on_parent_failure": True, "schema": {"type": "object"}, "description": "adds two numbers", "search_keys": ["n"],
}  # fmt: skip


@pytest.mark.parametrize("coded", [False, True], ids=["code says nothing", "code says otherwise"])
async def test_no_workers_start_reverts_what_an_operator_has_set(app_harness: Harness, coded: bool) -> None:
    code = {"name": "limited", **({name: _other(value) for name, value in LIMITS.items()} if coded else {})}
    await app_harness.store.definitions.define([code])
    before = await _row(app_harness)
    await app_harness.store.definitions.set_definition("limited", LIMITS, author="ada")
    for _ in range(2):
        row = await _row(app_harness)
        assert {name: row[name] for name in LIMITS} == LIMITS
        await app_harness.store.definitions.define([code])
    await app_harness.store.definitions.clear_overrides("limited")
    after = await _row(app_harness)
    assert {name: after[name] for name in LIMITS} == {name: before[name] for name in LIMITS}


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value / 2 if value == 0.5 else type(value)(1) if value == 0 else value + 1 if value >= 1 else 0.5
        case str():
            return {"serial": "concurrent", "stop": "continue"}.get(value, "other")
        case dict():
            return {"type": "object", "title": "other"}
        case _:
            return ["m"]


async def _row(app_harness: Harness) -> dict[str, Any]:
    row = json.loads(await app_harness.sql("select to_jsonb(d)::text from plait.definitions d where name = 'limited'"))
    assert isinstance(row, dict)
    return row


async def test_limits_backoff_and_timeout_hold_as_an_operator_has_set_them(kit: Kit, app_harness: Harness) -> None:
    await app_harness.define("add", max_running=5, backoff_base_s=1, backoff_jitter=0, timeout_s=100)
    settings = {"max_running": 1, "backoff_base_s": 50, "timeout_s": 5}
    await app_harness.store.definitions.set_definition("add", settings, author="ada")
    await app_harness.define("add", max_running=5, backoff_base_s=1, backoff_jitter=0, timeout_s=100)
    await app_harness.enqueue_many("add", 3)
    own = await app_harness.enqueue("add", timeout_s=77, priority=200)
    worker = await app_harness.worker()
    [lease] = await worker.claim(3)
    assert lease.timeout_s == 5
    await worker.fail(lease)
    row = await app_harness.job(lease.job_id)
    assert row.run_at is not None
    assert (row.run_at - await app_harness.now()).total_seconds() == 50
    await app_harness.store.definitions.clear_overrides("add")
    leases = {one.job_id: one for one in await worker.claim(5)}
    assert len(leases) == 3
    assert leases[own].timeout_s == 77  # the job's own timeout takes precedence
    assert {one.timeout_s for one in leases.values()} == {77, None}  # None: the worker uses the timeout in its code


async def test_a_native_worker_stops_a_handler_after_the_operators_timeout(app_with_a_slow_job: Kit) -> None:
    kit = app_with_a_slow_job
    store = await kit.app.store()
    await store.definitions.define([one.row() for one in kit.app.definitions.values()])
    await store.definitions.set_definition("slow", {"timeout_s": 0.05, "max_attempts": 1}, author="ada")
    handle = await kit.app.jobs["slow"].enqueue()
    await kit.run_until_idle()
    [attempt] = await store.jobs.list_attempts(handle.id)
    assert attempt.status == "timeout"


async def test_a_worker_that_serves_all_its_queues_serves_the_one_to_which_an_operator_moved_a_job(
    kit: Kit, app_harness: Harness
) -> None:
    await _define(kit, app_harness)
    await app_harness.store.definitions.set_definition("add", {"queue": "moved"}, author="ada")
    handle = await kit.app.jobs["add"].enqueue(7)
    await kit.run_until_idle()
    assert await handle.result(60) == 7


@pytest.fixture
def app_with_a_slow_job(kit: Kit) -> Kit:
    import asyncio

    @kit.app.job(timeout="1h")
    async def slow() -> None:
        await asyncio.Event().wait()

    return kit


@pytest.mark.parametrize("way", ["fan_out", "spawn"])
async def test_sub_jobs_take_what_an_operator_set_else_what_their_code_says_else_their_parents_retries(
    kit: Kit, app_harness: Harness, way: str
) -> None:
    app = kit.app

    @app.job
    async def silent() -> None: ...

    @app.job(retries=1)
    async def parent() -> None:
        if way == "fan_out":
            await fan_out([sub(silent), sub(app.jobs["add"], 1), sub(silent, retries=4)])
        else:
            await spawn(silent)
            await spawn(app.jobs["add"], 1)

    async def children(job: UUID) -> list[tuple[str, int]]:
        rows = await app_harness.rows(
            "select definition, max_attempts from plait.jobs where parent_id = $1 order by fan_out_index", job
        )
        return [(row["definition"], row["max_attempts"]) for row in rows][:2]

    await _define(kit, app_harness)
    first = await parent.enqueue()
    await kit.run_until_idle()
    assert await children(first.id) == [("silent", 2), ("add", 3)]
    await app_harness.store.definitions.set_definition("silent", {"max_attempts": 7}, author="ada")
    await app_harness.store.definitions.set_definition("add", {"max_attempts": 8}, author="ada")
    second = await parent.enqueue()
    await kit.run_until_idle()
    assert await children(second.id) == [("silent", 7), ("add", 8)]


async def test_a_definition_that_a_person_made_is_not_reverted_by_code_that_comes_later(app_harness: Harness) -> None:
    made = {"name": "late", "queue": "mine", "max_attempts": 2}
    await app_harness.store.definitions.define([made], new=True, author="ada")
    await app_harness.store.definitions.define([{"name": "late", "queue": "theirs", "priority": 5}])
    [row] = [one for one in await app_harness.store.definitions.list_definitions() if one.name == "late"]
    assert (row.queue, row.max_attempts, row.priority) == ("mine", 2, 5)
    overrides = await app_harness.store.definitions.list_overrides("late")
    assert [(one.setting, one.code_value, one.author) for one in overrides] == [
        ("max_attempts", "5", "ada"), ("queue", '"theirs"', "ada"),
    ]  # fmt: skip


def test_policies_of_code_are_what_an_operator_may_set() -> None:
    """Otherwise a policy could not be shown with both values."""
    app = Plait()

    @app.job(backoff=Backoff(base=1), rate=Rate(1, 1), retries=3)
    async def job() -> None: ...

    given = {name for name, value in job.definition.row().items() if value is not None} - {"name", "kind"}
    assert given <= {*LIMITS, "queue", "priority", "max_attempts"}
