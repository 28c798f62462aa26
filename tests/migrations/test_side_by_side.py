"""Processes of the release before go on while those of this one start: what they call is still there, and answers what they read.

`OLDEST` in plait/store/migrate.py says how far back that holds. Whoever takes something away raises it, and says so in the changelog.
"""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from plait.model.errors import SchemaOutdated
from plait.store import Store, health
from plait.store.migrate import OLDEST, migrate, schema_version
from plait.testing import TestDatabase, TestServer

from ..security.logins import connected
from .test_locks import at

FUNCTIONS = """
select p.proname::text as name, pronargs - pronargdefaults as required,
       array(select format('%s %s', coalesce(p.proargnames[n], ''), format_type(t, null))
             from unnest(p.proargtypes) with ordinality x(t, n) order by n) as takes,
       array(select format('%s %s', p.proargnames[n], format_type(t, null))
             from unnest(coalesce(p.proallargtypes, '{}')) with ordinality x(t, n) where p.proargmodes[n] in ('o', 't', 'b') order by n) as gives,
       p.proretset as many, format_type(p.prorettype, null) as returns,
       array(select r::text from unnest(array['plait_client', 'plait_tenant', 'plait_worker', 'plait_admin']) r
             where has_function_privilege(r, p.oid, 'execute')) as roles
from pg_proc p where p.pronamespace = 'plait'::regnamespace and p.proname !~ '^_' and p.prorettype <> 'trigger'::regtype
"""

GROWN = {
    "get_outcomes": "its caller names the columns that it reads",
    "gather": "workers read its first nine columns, by position",
    "prune": "its caller reads o_pruned and o_cursor by name, and no others",
    "cycle": "workers read its columns by name; o_busy is null unless they ask for p_careful, which those of before do not",
}
"""Functions whose result has more columns than before, and why who does not know them does not mind."""


@pytest.fixture
async def old(server: TestServer) -> AsyncIterator[TestDatabase]:
    database = await at(server, OLDEST)
    yield database
    await server.drop_database(database)


async def test_what_older_processes_call_takes_what_they_send_and_answers_what_they_read(old: TestDatabase) -> None:
    async with connected(old.admin_url) as connection:
        before = await _functions(connection)
        await migrate(old.admin_url, allow_blocking=True)
        after = await _functions(connection)
    assert len(before) > 50
    for name, was in before.items():
        now = after.get(name)
        assert now is not None, f"{name} is gone: keep it until OLDEST has passed it"
        assert now["takes"][: len(was["takes"])] == was["takes"], f"{name} takes other arguments"
        assert now["required"] <= was["required"], f"{name} needs more arguments"
        if name in GROWN:
            assert now["gives"][: len(was["gives"])] == was["gives"], name
        else:
            assert now["gives"] == was["gives"], (
                f"{name} answers other columns: add a function, or say in GROWN why nobody minds"
            )
            assert now["returns"] == was["returns"], name
        assert now["many"] == was["many"], name
        assert set(was["roles"]) <= set(now["roles"]), f"{name} is not granted any more"


async def _functions(connection: asyncpg.Connection) -> dict[str, Any]:
    return {row["name"]: dict(row) for row in await connection.fetch(FUNCTIONS)}


async def test_columns_that_older_processes_read_are_still_there(old: TestDatabase) -> None:
    """Users' own SQL reads tables too."""
    columns = """
        select c.relname::text || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) from pg_attribute a
        join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'plait'::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped"""
    async with connected(old.admin_url) as connection:
        before = {row[0] for row in await connection.fetch(columns)}
        await migrate(old.admin_url, allow_blocking=True)
        assert before <= {row[0] for row in await connection.fetch(columns)}


async def test_code_of_the_release_before_may_start_on_the_new_schema(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "schema_version", lambda: OLDEST)
    store = await Store.open(database.url)
    await store.close()
    monkeypatch.setattr(health, "schema_version", lambda: OLDEST - 1)
    with pytest.raises(SchemaOutdated, match="Upgrade plait"):
        await Store.open(database.url)


async def test_new_code_does_not_start_before_the_migration(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "schema_version", lambda: schema_version() + 1)
    with pytest.raises(SchemaOutdated, match="plait migrate"):
        await Store.open(database.url)
