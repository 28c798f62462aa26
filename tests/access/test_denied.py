"""S4: SQL as a runtime role. The role may use only the functions and rows that are granted to it."""

import pytest

from plait.testing import TestDatabase

from .grants import GOLDEN
from .logins import TwoTenants, connected, not_denied, outcome

KINDS = {"client": "client", "worker": "worker", "admin": "admin", "bound": "tenant", "unbound": "tenant"}
"""Each kind of login, and its column of the golden list."""


@pytest.fixture
def tenants(unchanged_tenants: TwoTenants) -> TwoTenants:
    """All that is tried here is denied, or rolled back."""
    return unchanged_tenants


each_kind = pytest.mark.parametrize("kind", list(KINDS))


WRITES = (
    "insert into plait.{name} default values",
    "update plait.{name} set {column} = default",
    "delete from plait.{name}",
    "truncate plait.{name}",
    "select {column} from plait.{name} for update",
    "lock table plait.{name} in row exclusive mode",
    "alter table plait.{name} disable row level security",
    "drop table plait.{name} cascade",
    "create policy mine on plait.{name} using (true)",
    "create trigger mine before insert on plait.{name} execute function suppress_redundant_updates_trigger()",
)


@each_kind
async def test_no_runtime_role_writes_to_a_table(tenants: TwoTenants, kind: str) -> None:
    tables = await relations(tenants.database, "r")
    assert len(tables) > 10
    statements = [write.format(name=name, column=column) for name, column in tables.items() for write in WRITES]
    async with connected(tenants.url(kind)) as connection:
        assert await not_denied(connection, statements) == []


@each_kind
async def test_no_runtime_role_writes_through_a_view(tenants: TwoTenants, kind: str) -> None:
    views = await relations(tenants.database, "v")
    assert views
    async with connected(tenants.url(kind)) as connection:
        for name, column in views.items():
            for write in WRITES[:3]:
                assert await outcome(connection, write.format(name=name, column=column)) != "ok"


@each_kind
async def test_no_runtime_role_becomes_another(tenants: TwoTenants, kind: str) -> None:
    others = [name for name in tenants.logins.values() if name != tenants.logins[kind]]
    statements = [
        "set role plait_owner",
        "set role postgres",
        "set session authorization postgres",
        "set session authorization plait_owner",
        *(f"set session authorization {name}" for name in others),
        f"grant plait_owner to {tenants.logins[kind]}",
        f"grant plait_admin to {others[0]}",
        f"alter role {tenants.logins[kind]} superuser",
        f"alter role {tenants.logins[kind]} bypassrls",
        "alter role plait_owner login",
        "create role plait_test_mine",
        "grant select on plait.logins to public",
        "alter function plait.now() owner to current_user",
        "alter default privileges for role plait_owner grant all on tables to public",
    ]
    async with connected(tenants.url(kind)) as connection:
        assert await not_denied(connection, statements) == []
        assert await outcome(connection, f"set role {tenants.logins[kind]}") == "ok"


@each_kind
async def test_no_runtime_role_reaches_the_server_itself(tenants: TwoTenants, kind: str) -> None:
    statements = [
        "copy (select 1) to program 'true'",
        "select pg_read_file('postgresql.conf')",
        "select pg_ls_dir('.')",
        "select lo_import('/etc/hostname')",
        "select * from pg_authid",
    ]
    async with connected(tenants.url(kind)) as connection:
        assert await not_denied(connection, statements) == []


@each_kind
async def test_a_login_reads_what_the_golden_list_says_and_no_more(tenants: TwoTenants, kind: str) -> None:
    columns = await relations(tenants.database)
    readable = golden("table, view, sequence", KINDS[kind])
    hidden = [f"select {column} from plait.{name}" for name, column in columns.items() if name not in readable]
    assert len(hidden) >= 2
    async with connected(tenants.url(kind)) as connection:
        assert await not_denied(connection, hidden) == []
        for name in readable:
            assert await outcome(connection, f"select {columns[name]} from plait.{name}") == "ok"
        for sql in ("select weight from plait.tenants", "select * from plait.tenants"):
            assert await not_denied(connection, [sql]) == []


@each_kind
async def test_a_login_calls_what_the_golden_list_says_and_no_more(tenants: TwoTenants, kind: str) -> None:
    callable_ = golden("function", KINDS[kind])
    async with connected(tenants.database.admin_url) as admin:
        functions = await admin.fetch("""
            select p.proname as name, format('select count(*) from plait.%I(%s)', p.proname, (
              select string_agg(format('null::%s', replace(format_type(t, null), 'anyarray', 'text[]')), ', ' order by n)
              from unnest(p.proargtypes) with ordinality x(t, n))) as call
            from pg_proc p where p.pronamespace = 'plait'::regnamespace and p.prorettype <> 'trigger'::regtype
            order by 1  -- what returns a job comes before what returns it within something: asyncpg learns the type there
        """)
    assert callable_ <= {row["name"] for row in functions}
    async with connected(tenants.url(kind)) as connection:
        for row in functions:
            end = await outcome(connection, row["call"])
            denied = end == f"42501 permission denied for function {row['name']}"
            assert denied == (row["name"] not in callable_), (row["call"], end)


async def test_the_helpers_are_nobodys(tenants: TwoTenants) -> None:
    for column in set(KINDS.values()):
        helpers = {name for name in golden("function", column) if name.startswith("_")}
        assert helpers == {"_visible_tenant"}


async def relations(database: TestDatabase, *kinds: str) -> dict[str, str]:
    """Each table and view, with its first column."""
    async with connected(database.admin_url) as connection:
        rows = await connection.fetch(
            "select c.relname as name, a.attname as first from pg_class c"
            " join pg_attribute a on a.attrelid = c.oid and a.attnum = 1"
            " where c.relnamespace = 'plait'::regnamespace and c.relkind = any($1::text[]::\"char\"[])",
            kinds or ("r", "p", "v", "m", "f"),
        )
    return {row["name"]: row["first"] for row in rows}


def golden(title: str, column: str) -> set[str]:
    """The names that a role's column of `grants.txt` grants something on."""
    lines = iter(GOLDEN.read_text().splitlines())
    head = next(line for line in lines if line.startswith(title + " "))
    at = head.index(column, len(title))
    found = set()
    for line in lines:
        if not line:
            break
        if not line[at:].startswith("-"):
            found.add(line.split()[0])
    assert found
    return found
