"""`migrate`: on an empty database, with the same result from both sources, repeated, concurrent, and rejected."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from plait.model.errors import DatabaseUnreachable, PlaitError, SchemaOutdated
from plait.store import Store
from plait.store import migrate as migrating
from plait.store.dev_login import ensure_dev_login
from plait.store.migrate import Plan, migrate, migrate_connection, schema_version
from plait.testing import TestDatabase, TestServer

from ..access.logins import as_superuser, connected
from .catalogue import SECTIONS, catalogue

NOTHING = Plan(installed=schema_version(), target=schema_version(), migrations=(), functions=False)


async def test_an_empty_database_is_installed(empty: TestDatabase) -> None:
    plan = await migrate(empty.admin_url)
    assert (plan.installed, plan.target, plan.functions) == (None, schema_version(), True)
    assert plan.migrations[0] == "0001_first.sql"
    await ensure_dev_login(empty.admin_url)
    store = await Store.open(empty.url)
    assert [tenant.slug for tenant in await store.tenants.list_tenants()] == ["default"]
    await store.close()


async def test_schema_and_migrations_lead_to_the_same_place(server: TestServer, empty: TestDatabase) -> None:
    other = await server.create_empty_database()
    async with connected(empty.admin_url) as one, connected(other.admin_url) as two:
        await migrate_connection(one)
        await migrate_connection(two, from_migrations=True)
        installed, migrated = await catalogue(one), await catalogue(two)
    for section in SECTIONS:
        assert installed[section] == migrated[section], section
        assert installed[section] or section in ("comments",), f"{section}: nothing to compare"
    await server.drop_database(other)


async def test_eight_at_once_install_it_once(empty: TestDatabase) -> None:
    """T106. Each has a connection of its own, as eight processes have."""
    plans = await asyncio.gather(*(migrate(empty.admin_url) for _ in range(8)))
    assert [plan for plan in plans if not plan.empty] == [plan for plan in plans if plan.installed is None]
    assert sum(plan.installed is None for plan in plans) == 1
    assert plans.count(NOTHING) == 7


async def test_a_plan_changes_nothing(empty: TestDatabase) -> None:
    plan = await migrate(empty.admin_url, plan_only=True)
    assert (plan.installed, plan.functions, plan.empty) == (None, True, False)
    async with connected(empty.admin_url) as connection:
        assert await connection.fetchval("select to_regnamespace('plait')") is None
        await migrate_connection(connection)
        before = await state(connection)
        assert await migrate(empty.admin_url, plan_only=True) == NOTHING
        await connection.execute("update plait.installed set functions_hash = 'older'")
        plan = await migrate(empty.admin_url, plan_only=True)
        assert (plan.installed, plan.migrations, plan.functions) == (schema_version(), (), True)
        await connection.execute("update plait.installed set functions_hash = $1", before[1])
        assert (await state(connection))[2] == before[2]


async def test_a_second_migrate_touches_nothing(empty: TestDatabase) -> None:
    await migrate(empty.admin_url)
    async with connected(empty.admin_url) as connection:
        before = await state(connection)
        assert await migrate(empty.admin_url) == NOTHING
        assert await state(connection) == before


async def state(connection: asyncpg.Connection) -> tuple[object, object, object]:
    """The installed version, and the version of every row that describes it."""
    row = await connection.fetchrow("select updated_at, functions_hash from plait.installed")
    functions = await connection.fetch(
        "select oid, xmin::text, ctid from pg_proc where pronamespace = 'plait'::regnamespace"
    )
    return row["updated_at"], row["functions_hash"], sorted(map(tuple, functions))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of plait/sql that a test may change."""
    for path in migrating.SQL.rglob("*.sql"):
        copy = tmp_path / path.relative_to(migrating.SQL)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    monkeypatch.setattr(migrating, "SQL", tmp_path)
    return tmp_path


async def test_a_changed_function_is_replaced_in_place(empty: TestDatabase, tree: Path) -> None:
    await migrate(empty.admin_url)
    async with connected(empty.admin_url) as connection:
        oid = await connection.fetchval("select 'plait.uuidv7()'::regprocedure::oid")
        prune = tree / "functions" / "retention" / "prune.sql"
        prune.write_text(prune.read_text().replace("a retention time must not be negative", "an age is never negative"))
        plan = await migrate(empty.admin_url)
        assert (plan.installed, plan.migrations, plan.functions) == (schema_version(), (), True)
        with pytest.raises(asyncpg.PostgresError, match="an age is never negative"):
            await connection.execute("select plait.prune('-1 s')")
        # In place: prepared statements of workers, and users' own views, continue to work.
        assert await connection.fetchval("select 'plait.uuidv7()'::regprocedure::oid") == oid


async def test_a_function_that_the_tree_no_longer_has_goes(empty: TestDatabase, tree: Path) -> None:
    old = tree / "functions" / "operate" / "older.sql"
    old.write_text("create or replace function plait.older() returns int language sql as 'select 1';")
    await migrate(empty.admin_url)
    async with connected(empty.admin_url) as connection:
        assert await connection.fetchval("select plait.older()") == 1
        old.unlink()
        await migrate(empty.admin_url)
        assert await connection.fetchval("select to_regproc('plait.older')") is None


async def test_a_function_with_another_signature_takes_the_place_of_the_old_one(
    empty: TestDatabase, tree: Path
) -> None:
    older = tree / "functions" / "operate" / "older.sql"
    forms = [
        ("plait.older(p_a int) returns int", "select 1"),
        ("plait.older(p_a int) returns text", "select 'another result'::text"),
        ("plait.older(p_b int) returns text", "select 'another name'::text"),
        ("plait.older(p_b int, p_c int default 0) returns text", "select 'one more parameter'::text"),
    ]
    for head, body in forms:
        older.write_text(f"create or replace function {head} language sql as $$ {body} $$;")
        await migrate(empty.admin_url)
        async with connected(empty.admin_url) as connection:
            count = "select count(*) from pg_proc where proname = 'older'"
            assert await connection.fetchval(count) == 1
            assert str(await connection.fetchval("select plait.older(1)")) in body


async def test_what_a_user_built_on_a_function_that_goes_is_named(empty: TestDatabase, tree: Path) -> None:
    older = tree / "functions" / "operate" / "older.sql"
    older.write_text("create or replace function plait.older() returns int language sql as 'select 1';")
    await migrate(empty.admin_url)
    await as_superuser(empty, "create view public.mine as select plait.older() as n")
    older.unlink()
    with pytest.raises(PlaitError, match=r"view mine depends on function plait\.older"):
        await migrate(empty.admin_url)
    async with connected(empty.admin_url) as connection:
        assert await connection.fetchval("select n from public.mine") == 1


async def test_a_function_that_this_server_cannot_parse_fails_the_migration(empty: TestDatabase, tree: Path) -> None:
    (tree / "functions" / "operate" / "wrong.sql").write_text(
        "create or replace function plait.wrong() returns int language plpgsql as $$ begin selekt 1; end $$;"
    )
    with pytest.raises(asyncpg.PostgresSyntaxError):
        await migrate(empty.admin_url)
    async with connected(empty.admin_url) as connection:
        assert await connection.fetchval("select to_regnamespace('plait')") is None


async def test_a_migration_is_applied_once(empty: TestDatabase, tree: Path) -> None:
    await migrate(empty.admin_url)
    version = schema_version() + 1
    added = tree / "migrations" / f"{version:04}_more.sql"
    added.write_text("create table plait.more (id int); insert into plait.more values (1);")
    with pytest.raises(SchemaOutdated, match="Run `plait migrate`"):
        await Store.open(empty.url)
    plans = await asyncio.gather(*(migrate(empty.admin_url) for _ in range(4)))
    assert sorted(plan.migrations for plan in plans) == [(), (), (), (added.name,)]
    async with connected(empty.admin_url) as connection:
        assert await connection.fetchval("select count(*) from plait.more") == 1
        owner = "select pg_get_userbyid(relowner) from pg_class where oid = 'plait.more'::regclass"
        assert await connection.fetchval(owner) == "plait_owner"
    await (await Store.open(empty.url)).close()


async def test_a_migration_that_fails_leaves_everything_as_it_was(empty: TestDatabase, tree: Path) -> None:
    await migrate(empty.admin_url)
    async with connected(empty.admin_url) as connection:
        before = await catalogue(connection)
        added = tree / "migrations" / f"{schema_version() + 1:04}_wrong.sql"
        added.write_text("create table plait.more (id int); select 1 / 0;")
        with pytest.raises(asyncpg.DivisionByZeroError):
            await migrate(empty.admin_url)
        assert await catalogue(connection) == before


async def test_a_database_that_is_newer_than_the_code_is_refused(empty: TestDatabase) -> None:
    await migrate(empty.admin_url)
    await as_superuser(empty, "update plait.installed set version = version + 1, oldest = version + 1")
    for plan_only in (True, False):
        with pytest.raises(SchemaOutdated, match=r"only supports schemas up to .* Upgrade plait"):
            await migrate(empty.admin_url, plan_only=plan_only)
    with pytest.raises(SchemaOutdated, match="Upgrade plait"):
        await Store.open(empty.url)


async def test_a_schema_of_somebody_elses_is_left_alone(empty: TestDatabase) -> None:
    await as_superuser(empty, "create schema plait", "create table plait.mine (id int)")
    with pytest.raises(PlaitError, match="a schema plait that belongs to 'postgres'"):
        await migrate(empty.admin_url)


async def test_a_database_that_is_not_there_is_told(empty: TestDatabase) -> None:
    with pytest.raises(DatabaseUnreachable):
        await migrate(empty.admin_url.replace(empty.name, "plait_test_nowhere"))
