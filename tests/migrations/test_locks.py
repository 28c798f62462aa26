"""The locks of a migration: read from its text, compared with the real ones, and rejected if all processes would have to wait."""

import asyncio

import asyncpg
import pytest

from plait.model.errors import PlaitError
from plait.store import migrate as migrating
from plait.store.migrate import MigrationBlocks, migrate, migrations
from plait.store.migration_locks import Lock, locks_in, statements_in
from plait.testing import TestDatabase, TestServer

from ..access.logins import as_superuser, connected
from ..cli.cli_runner import call
from .releases import NEXT_VERSION, frozen, next_migration

STRENGTH = ["RowExclusiveLock", "ShareUpdateExclusiveLock", "ShareLock", "ShareRowExclusiveLock", "AccessExclusiveLock"]
LOCKED = """
select c.relname, l.mode from pg_locks l join pg_class c on c.oid = l.relation
where l.pid = pg_backend_pid() and l.locktype = 'relation' and c.relname = any($1) and l.mode = any($2)
"""


async def test_what_is_read_from_a_migration_is_what_it_locks(server: TestServer, outdated: TestDatabase) -> None:
    await _compare_locks(outdated, next_migration())
    for version in range(2, NEXT_VERSION):
        database = await frozen(server, version - 1)
        await _compare_locks(database, migrations()[version].read_text())
        await server.drop_database(database)


async def _compare_locks(database: TestDatabase, text: str) -> None:
    async with connected(database.admin_url) as connection:
        there = await connection.fetchval("""
            select array_agg(relname::text) from pg_class where relnamespace = 'plait'::regnamespace and relkind in ('r', 'v')""")
        indexes = dict(
            map(
                tuple,
                await connection.fetch("select indexrelid::regclass::text, indrelid::regclass::text from pg_index"),
            )
        )
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("set local role plait_owner; set local check_function_bodies = off")
        await connection.execute(text)
        really = _strongest((row["relname"], row["mode"]) for row in await connection.fetch(LOCKED, there, STRENGTH))
        await transaction.rollback()
    read = locks_in(text)
    assert all(lock.mode for lock in read), [lock for lock in read if lock.mode is None]
    tables = [indexes.get(f"plait.{lock.table}", lock.table).removeprefix("plait.") for lock in read]
    assert _strongest((table, str(lock.mode)) for table, lock in zip(tables, read, strict=True)) == really


def _strongest(locks: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for table, mode in locks:  # type: ignore[attr-defined]
        found[table] = max(found.get(table, mode), mode, key=STRENGTH.index)
    return found


@pytest.mark.parametrize(
    ("statement", "mode", "work"),
    [
        ("alter table plait.jobs add column a text", "AccessExclusiveLock", "none"),
        ("ALTER TABLE plait.jobs ADD COLUMN a int NOT NULL DEFAULT 0", "AccessExclusiveLock", "none"),
        ("alter table plait.jobs add column a timestamptz default plait.now()", "AccessExclusiveLock", "writes it all"),
        ("alter table plait.jobs alter column queue type varchar", "AccessExclusiveLock", "writes it all"),
        ("alter table plait.jobs alter column node set not null", "AccessExclusiveLock", "reads it all"),
        ("alter table plait.jobs add constraint c check (priority > 0)", "AccessExclusiveLock", "reads it all"),
        ("alter table plait.jobs add constraint c check (priority > 0) not valid", "AccessExclusiveLock", "none"),
        ("alter table plait.jobs add column a int check (a > 0)", "AccessExclusiveLock", "reads it all"),
        (
            "alter table plait.jobs add constraint c check (a in (1, 2)) not valid, alter column b set not null",
            "AccessExclusiveLock",
            "reads it all",
        ),
        ("alter table plait.jobs add column a numeric(10, 2), drop column b", "AccessExclusiveLock", "none"),
        (
            "alter table plait.live set (fillfactor = 45, autovacuum_vacuum_cost_delay = 0)",
            "ShareUpdateExclusiveLock",
            "none",
        ),
        ("alter table plait.live set (fillfactor = 45), drop column b", "AccessExclusiveLock", "none"),
        (
            "create or replace trigger t before update on plait.live execute function f()",
            "ShareRowExclusiveLock",
            "none",
        ),
        ("create unique index i on plait.jobs (node)", "ShareLock", "reads it all"),
        ("update plait.jobs set queue = 'a;b'", "RowExclusiveLock", "writes it all"),
        ("do $$ begin drop table plait.jobs; end $$", None, "unknown"),
        ("lock table plait.jobs", None, "unknown"),
    ],
)
def test_a_statement_that_goes_through_a_table_is_known(statement: str, mode: str | None, work: str) -> None:
    [lock] = locks_in(f"-- a comment; with a semicolon\n{statement};")
    assert (lock.mode, lock.work) == (mode, work)
    big = Lock(table=lock.table, mode=lock.mode, work=lock.work, statement=lock.statement, rows=5_000_000)
    assert big.blocks == (work != "none")


def test_statements_are_told_apart_whatever_is_quoted_in_them() -> None:
    text = """select 'a;b' /* ; */; create function f() as $x$ begin; -- no
      end $x$; -- ; last
      select "A;b" """
    assert len(list(statements_in(text))) == 3


async def test_a_plan_tells_the_locks_and_touches_nothing(outdated: TestDatabase) -> None:
    async with connected(outdated.admin_url) as other:
        await other.execute(
            "begin; lock table plait.tenants in share mode"
        )  # a statement that waited for it would wait forever
        plan = await migrate(outdated.admin_url, plan_only=True)
        await other.execute("rollback")
    [column] = [lock for lock in plan.locks if lock.statement.startswith("alter table plait.tenants")]
    assert (column.table, column.mode) == ("tenants", "AccessExclusiveLock")
    assert not any(lock.blocks for lock in plan.locks)
    told = await asyncio.to_thread(call, "migrate", "--url", outdated.admin_url, "--plan")
    assert "  locks tenants" in told.out
    assert "alter table plait.tenants add column" in told.out
    shown = await asyncio.to_thread(call, "migrate", "--url", outdated.admin_url, "--plan", "--json")
    assert {"table", "mode", "work", "rows", "statement", "blocks"} == shown.json["locks"][0].keys()


async def test_what_would_keep_all_waiting_is_refused_unless_it_is_allowed(outdated: TestDatabase) -> None:
    await as_superuser(outdated, "update pg_class set reltuples = 5e6 where oid = 'plait.tenants'::regclass")
    with pytest.raises(MigrationBlocks, match=r"tenants, 5,000,000 rows.*--allow-blocking"):
        await migrate(outdated.admin_url)
    async with connected(outdated.admin_url) as connection:
        assert await connection.fetchval("select version from plait.installed") == NEXT_VERSION - 1
    assert (await migrate(outdated.admin_url, allow_blocking=True)).installed == NEXT_VERSION - 1


async def test_a_table_that_is_in_use_is_waited_for_a_moment_at_a_time(
    outdated: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits behind a migration that waits itself for longer than that."""
    monkeypatch.setattr(migrating, "LOCK_MS", 50)
    monkeypatch.setattr(migrating, "PAUSES_S", (0.0,) * 1000)
    async with connected(outdated.admin_url) as user, connected(outdated.admin_url) as worker:
        await user.execute("begin; select count(*) from plait.tenants")
        migration = asyncio.create_task(migrate(outdated.admin_url))
        for _ in range(20):  # others come through while it tries
            await worker.fetchval("select count(*) from plait.tenants")
        assert not migration.done()
        await user.execute("commit")
        assert (await migration).installed == NEXT_VERSION - 1


async def test_who_never_gets_a_table_says_so_and_has_changed_nothing(
    outdated: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "LOCK_MS", 20)
    monkeypatch.setattr(migrating, "PAUSES_S", (0.0, 0.0))
    async with connected(outdated.admin_url) as user:
        await user.execute("begin; select count(*) from plait.tenants")
        with pytest.raises(PlaitError, match="long-running transactions"):
            await migrate(outdated.admin_url)
        await user.execute("commit")
        assert await user.fetchval("select version from plait.installed") == NEXT_VERSION - 1
        with pytest.raises(asyncpg.UndefinedColumnError):
            await user.fetchval("select next_rank from plait.tenants")
