"""S7, T129: privileges equal a golden list, and no function can be made to run a caller's code."""

import asyncpg
import pytest

from plait.testing import TestDatabase

from .grants import GOLDEN, describe
from .logins import Logins, connected

FUNCTIONS = """
select p.oid::regprocedure::text as function, p.proname as name, p.prosecdef as definer,
       pg_get_userbyid(p.proowner) as owner, p.prosqlbody is not null as parsed, p.proacl is null as by_default,
       (select split_part(c, '=', 2) from unnest(p.proconfig) c where c like 'search_path=%') as path,
       has_function_privilege('public', p.oid, 'execute') as is_public,
       has_function_privilege('plait_client', p.oid, 'execute') or has_function_privilege('plait_tenant', p.oid, 'execute')
       or has_function_privilege('plait_worker', p.oid, 'execute')
       or has_function_privilege('plait_admin', p.oid, 'execute') as callable
from pg_proc p where p.pronamespace = 'plait'::regnamespace order by 1
"""


async def test_grants_equal_the_golden_list(database: TestDatabase) -> None:
    async with connected(database.admin_url) as connection:
        found = await describe(connection)
    # After a change that was meant: `.venv/bin/python -m tests.access.grants`, and read the difference.
    assert found == GOLDEN.read_text()


@pytest.mark.parametrize(
    "granted",
    [
        "grant select on plait.workers to plait_client",
        "grant select (weight) on plait.tenants to plait_tenant",
        "grant execute on function plait._make_final to plait_worker",
        "grant execute on function plait.cycle to public",
        "grant usage on sequence plait.workers_id_seq to plait_worker",
        "grant create on schema plait to plait_admin",
        "create function plait.extra() returns int language sql as 'select 1'",
    ],
)
async def test_a_grant_that_is_not_on_the_list_is_found(database: TestDatabase, granted: str) -> None:
    async with connected(database.admin_url) as connection:
        await connection.execute(granted)
        assert await describe(connection) != GOLDEN.read_text()


async def functions(connection: asyncpg.Connection) -> list[asyncpg.Record]:
    found = list(await connection.fetch(FUNCTIONS))
    assert len(found) > 50
    return found


async def test_every_function_belongs_to_the_owner_and_none_is_public(database: TestDatabase) -> None:
    async with connected(database.admin_url) as connection:
        for row in await functions(connection):
            assert row["owner"] == "plait_owner", row["function"]
            assert not row["is_public"], row["function"]
            assert not row["by_default"], row["function"]


async def test_a_function_of_the_owners_is_not_public_by_default(database: TestDatabase) -> None:
    async with connected(database.admin_url) as connection:
        await connection.execute("set role plait_owner")
        await connection.execute("create function plait.extra() returns int language sql as 'select 1'")
        extra = "select has_function_privilege('public', 'plait.extra()', 'execute')"
        assert not await connection.fetchval(extra)


async def test_every_function_that_runs_as_the_owner_has_a_fixed_search_path(database: TestDatabase) -> None:
    async with connected(database.admin_url) as connection:
        for row in await functions(connection):
            if row["definer"]:
                *schemas, last = [name.strip() for name in row["path"].split(",")]
                assert last == "pg_temp", row["function"]
                assert schemas in (["plait"], ["pg_catalog"]), row["function"]


async def test_what_may_be_called_runs_as_the_owner_or_is_parsed_once_and_for_all(
    database: TestDatabase,
) -> None:
    # A body that is parsed when it is called, by its caller, would find what the caller's search_path finds.
    async with connected(database.admin_url) as connection:
        for row in await functions(connection):
            if row["callable"]:
                assert row["definer"] or row["parsed"], row["function"]


async def test_nobody_but_the_owner_can_create_in_the_schema(database: TestDatabase, logins: Logins) -> None:
    everything = await logins.create("plait_client", "plait_worker", "plait_admin")
    async with connected(database.url_for(everything)) as connection:
        for sql in (
            "create table plait.mine (id int)",
            "create function plait.mine() returns int language sql as 'select 1'",
            "create operator plait.+ (function = int4pl, leftarg = int, rightarg = int)",
            "create type plait.mine as enum ('a')",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(sql)
