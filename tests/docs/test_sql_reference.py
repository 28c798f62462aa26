"""Every function that users may call is explained in full, and its examples run."""

import importlib
import re

import asyncpg
import pytest

from plait import PermanentError, Plait
from plait.runtime.service import Stop
from plait.testing import TestDatabase
from plait.worker.worker import Worker

from .conftest import CLIENT

sql_reference = importlib.import_module("sql_reference")

TENANT = "plait_test_docs_tenant"
"""A login for one tenant."""


def test_every_argument_of_a_function_for_users_is_explained() -> None:
    for function in sql_reference.functions():
        for argument in function.arguments if function.examples else ():
            assert argument.is_output or function.meaning(argument.name), f"{function.name}: {argument.name}"


def test_every_function_that_applications_may_execute_has_an_example() -> None:
    without = {
        function.name
        for function in sql_reference.functions()
        if not function.examples and {"client", "tenant"} & set(function.roles)
    }
    assert without == sql_reference.SDK_ONLY


def test_the_page_names_no_private_function() -> None:
    page = sql_reference.page("")
    assert re.findall(r"(?<![\w.])_[a-z]\w+", page) == []


def test_no_example_shows_a_function_of_another_name() -> None:
    for function in sql_reference.functions():
        for example in function.examples:
            assert f"plait.{function.name}(" in example


@pytest.fixture
async def variables(real_clock_database: TestDatabase) -> dict[str, str]:
    """The psql variables that examples use."""
    app = Plait()

    @app.job
    async def send_mail(to: str = "") -> None:
        raise PermanentError(f"no such customer: {to!r}")

    failed = await send_mail.enqueue()
    await Worker(app, once=True).run(Stop())
    await app.close()
    connection = await asyncpg.connect(real_clock_database.admin_url)
    await connection.execute("select pg_advisory_lock(hashtext('plait tests: docs'))")
    if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", TENANT):
        await connection.execute(f"create role {TENANT} login in role plait_tenant")
    await connection.close()
    connection = await asyncpg.connect(real_clock_database.url)
    job = await connection.fetchval("select plait.enqueue('send_mail')")
    made = {
        "job": job,
        "failed_job": failed.id,
        "fingerprint": await connection.fetchval("select fingerprint from plait.failures()"),
        "child": await connection.fetchval("select plait.spawn('refresh_batch', parent => $1)", job),
        "trigger": await connection.fetchval(
            """select plait.set_trigger('daily', '{"definition": "x", "every_s": 60}')"""
        ),
        "endpoint": await connection.fetchval(
            """select plait.set_endpoint('shop', '{"url": "https://shop.example"}')"""
        ),
        "key": await connection.fetchval(
            "select plait.create_key(repeat('a', 64), 'abcd', 'ci', 'viewer', plait.tenant_id('default'), null, 'test')"
        ),
        "login": TENANT,
    }
    await connection.close()
    return {name: str(value) for name, value in made.items()}


async def test_every_example_runs(real_clock_database: TestDatabase, variables: dict[str, str]) -> None:
    """As an application's login where that may call it, else as an operator's."""
    logins = {
        "client": await asyncpg.connect(real_clock_database.url_for(CLIENT)),
        "admin": await asyncpg.connect(real_clock_database.url),
    }
    failed = {}
    for function in sql_reference.functions():
        connection = logins["client" if "client" in function.roles else "admin"]
        for example in function.examples:
            statement = re.sub(r":'(\w+)'", lambda found: f"'{variables[found[1]]}'", example)
            transaction = connection.transaction()
            await transaction.start()
            try:
                await connection.fetch(statement)
            except asyncpg.PostgresError as error:
                failed[example] = str(error)
            finally:
                await transaction.rollback()
    for connection in logins.values():
        await connection.close()
    assert failed == {}
