"""Processes of the previous release continue while this one starts: the functions that they call exist, and return the columns that they read.

`OLDEST` in plait/store/migrate.py is the oldest such release. When you remove something, raise it and add that to the changelog.
"""

from typing import Any

import asyncpg
import pytest

from plait.model.errors import SchemaOutdated
from plait.store import Store, health
from plait.store.dev_login import ensure_dev_login
from plait.store.migrate import OLDEST, migrate, schema_version
from plait.testing import TestDatabase, TestServer

from ..access.logins import connected
from .releases import NEXT_VERSION, frozen

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

GROWN: dict[str, str] = {}
"""Functions whose result has more columns than before, each with the reason why older processes do not mind."""


async def test_older_processes_find_the_functions_and_columns_that_they_use(
    server: TestServer, outdated: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From each release that may run beside this one to this one, and from this one to a next one that only adds."""
    assert await _breaches(outdated) == []
    monkeypatch.undo()
    for version in range(OLDEST, schema_version()):
        database = await frozen(server, version)
        assert await _breaches(database) == []
        await server.drop_database(database)


async def _breaches(database: TestDatabase) -> list[str]:
    async with connected(database.admin_url) as connection:
        functions, columns = await _functions(connection), await _columns(connection)
        await migrate(database.admin_url, allow_blocking=True)
        assert len(functions) > 50
        gone = columns - await _columns(connection)
        return [*_changed(functions, await _functions(connection)), *(f"{column} is gone" for column in sorted(gone))]


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    found = []
    for name, was in before.items():
        now = after.get(name)
        if now is None:
            found.append(f"{name} is gone: keep it until OLDEST has passed it")
            continue
        if now["takes"][: len(was["takes"])] != was["takes"]:
            found.append(f"{name} takes other arguments")
        if now["required"] > was["required"]:
            found.append(f"{name} needs more arguments")
        gives = now["gives"][: len(was["gives"])] if name in GROWN else now["gives"]
        if (
            gives != was["gives"]
            or (name not in GROWN and now["returns"] != was["returns"])
            or now["many"] != was["many"]
        ):
            found.append(f"{name} returns other columns: add a function, or give a reason in GROWN")
        if not set(was["roles"]) <= set(now["roles"]):
            found.append(f"{name} is not granted any more")
    return found


@pytest.mark.parametrize(
    ("change", "breach"),
    [
        ("drop function plait.last_report", "last_report is gone"),
        ("revoke execute on function plait.claim_plan from plait_admin", "claim_plan is not granted any more"),
        (
            "drop function plait.uuidv7; create function plait.uuidv7(p_at timestamptz) returns uuid language sql as 'select null::uuid'",
            "uuidv7 needs more arguments",
        ),
        (
            "drop function plait.claim_plan; create function plait.claim_plan() returns setof json language sql as 'select null::json'",
            "claim_plan returns other columns",
        ),
    ],
)
async def test_a_function_that_older_processes_could_not_call_is_found(
    database: TestDatabase, change: str, breach: str
) -> None:
    async with connected(database.admin_url) as connection:
        before = await _functions(connection)
        assert _changed(before, before) == []
        await connection.execute(change)
        assert any(found.startswith(breach) for found in _changed(before, await _functions(connection)))


async def _functions(connection: asyncpg.Connection) -> dict[str, Any]:
    return {row["name"]: dict(row) for row in await connection.fetch(FUNCTIONS)}


async def _columns(connection: asyncpg.Connection) -> set[str]:
    """Users' own SQL reads tables too."""
    columns = """
        select c.relname::text || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) from pg_attribute a
        join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'plait'::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped"""
    return {row[0] for row in await connection.fetch(columns)}


async def test_code_of_the_release_before_may_start_on_the_new_schema(
    outdated: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await migrate(outdated.admin_url)).target == NEXT_VERSION
    await ensure_dev_login(outdated.admin_url)
    monkeypatch.setattr(health, "schema_version", lambda: NEXT_VERSION - 1)
    store = await Store.open(outdated.url)
    await store.close()
    monkeypatch.setattr(health, "schema_version", lambda: OLDEST - 1)
    with pytest.raises(SchemaOutdated, match="Upgrade plait"):
        await Store.open(outdated.url)


async def test_new_code_does_not_start_before_the_migration(outdated: TestDatabase) -> None:
    await ensure_dev_login(outdated.admin_url)
    with pytest.raises(SchemaOutdated, match="plait migrate"):
        await Store.open(outdated.url)
