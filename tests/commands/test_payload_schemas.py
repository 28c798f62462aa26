"""A definition's JSON Schema applies to every job: validated before the enqueue in Python, before the start for SQL (T126)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from plait import Plait
from plait.model.errors import InvalidArguments
from plait.runtime.settings import Settings
from plait.testing import Kit, TestDatabase
from plait.worker.schemas import Schemas

from ..cli.cli_runner import call

WHOLE = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "additionalProperties": False}


@pytest.fixture
def app(database: TestDatabase) -> Plait:
    return Plait(database.url, settings=Settings(poll=0.05))


@pytest.fixture
async def kit(app: Plait, database: TestDatabase) -> AsyncIterator[Kit]:
    kit = Kit(app, database)
    kit.enter()
    yield kit
    await kit.exit()


async def by_sql(app: Plait, kit: Kit, payload: str) -> Any:
    """Enqueue with plain SQL, and run; returns the outcome."""
    store = await app.store()
    job_id = await store.database.fetchval("select plait.enqueue('c', $1::json)", payload)
    await kit.run_until_idle()
    return await store.jobs.get_job(job_id)


async def by_name(kit: Kit, *arguments: str) -> Any:
    return await asyncio.to_thread(call, "--url", kit.database.url, "enqueue", "c", *arguments)


async def test_a_commands_payload_is_checked_before_the_enqueue_and_again_before_the_start(
    app: Plait, kit: Kit
) -> None:
    job = app.command("c", "/bin/true", schema=WHOLE)
    for wrong in ({"n": "x"}, {"m": 1}, {"n": 10}):
        with pytest.raises(InvalidArguments):
            await job.enqueue(**wrong)
    with pytest.raises(InvalidArguments):
        await job.enqueue(1)
    with pytest.raises(InvalidArguments):
        await app.command("plain", "/bin/true").enqueue(x=1)
    row = await by_sql(app, kit, '{"n": "x"}')
    assert (row.status, row.reason) == ("failed", "bad_payload")
    assert (await by_sql(app, kit, '{"n": 1}')).status == "succeeded"
    refused = await by_name(kit, "n=10")
    assert (refused.code, refused.out) == (2, "")
    assert "n: 10 is greater than the maximum of 9" in refused.err
    assert (await by_name(kit, "n=9")).code == 0


async def test_an_operators_schema_for_a_function_holds_too(app: Plait, kit: Kit) -> None:
    ran = []

    @app.job
    async def c(n: int) -> None:
        ran.append(n)

    await kit.run_until_idle()
    store = await app.store()
    assert (await by_sql(app, kit, '{"n": 10}')).status == "succeeded"
    await store.definitions.set_definition("c", {"schema": WHOLE})
    row = await by_sql(app, kit, '{"n": 11}')
    assert (row.status, row.reason) == ("failed", "bad_payload")
    assert row.error == "the payload does not fit the schema: n: 11 is greater than the maximum of 9"
    assert (await by_sql(app, kit, '{"n": 9}')).status == "succeeded"
    assert (await by_name(kit, "n=11")).code == 2
    assert ran == [10, 9]
    await store.definitions.set_definition("c", {"schema": {"$ref": "file:///etc/passwd"}})
    row = await by_sql(app, kit, '{"n": 9}')
    assert (row.status, row.reason) == ("failed", "bad_payload")
    assert "must refer only to its own parts" in row.error


async def test_a_worker_does_not_check_payloads_against_derived_schemas(app: Plait, kit: Kit) -> None:
    """The codec does. The registered schema may also belong to a newer version of the code."""

    @app.job
    def c(n: int = 0) -> int:
        return n

    schemas = Schemas(app.definitions)
    store = await app.store()
    await store.definitions.define([c.definition.row()])
    await store.definitions.define([{**c.definition.row(), "schema": {"properties": {"n": {"type": "string"}}}}])
    await schemas.learn(store)
    assert not schemas
    assert (await by_sql(app, kit, '{"n": 1}')).status == "succeeded"
    assert (await by_sql(app, kit, '{"n": "x"}')).reason == "bad_payload"


async def test_a_schema_in_code_applies_to_jobs_that_sql_enqueued(app: Plait, kit: Kit) -> None:
    @app.job(schema=WHOLE)
    def c(n: int = 0) -> int:
        return n

    assert (await by_sql(app, kit, '{"n": 10}')).reason == "bad_payload"
    assert (await by_sql(app, kit, '{"n": 9}')).status == "succeeded"
    store = await app.store()
    await store.definitions.set_definition("c", {"schema": None})
    assert await store.definitions.list_schemas(["c"], overridden=True) == {"c": "{}"}


async def test_the_command_line_checks_a_typed_functions_payload_without_its_code(app: Plait, kit: Kit) -> None:
    @app.job
    def c(n: int) -> None: ...

    await (await app.store()).definitions.define([c.definition.row()])
    refused = await by_name(kit, "n=many")
    assert (refused.code, 'n: "many" is not of type "integer"' in refused.err) == (2, True)
    assert (await by_name(kit, "n=3")).code == 0
