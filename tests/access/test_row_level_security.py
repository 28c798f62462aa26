"""S1: row-level security. Which rows a login sees in every table and view, with every setting of plait.tenant.

Tested twice: with the real grants, and with SELECT on everything, so that row-level security is sufficient even
if a grant is too wide.
"""

from uuid import UUID

import asyncpg
import pytest

from plait.testing import TestDatabase

from .logins import TwoTenants, as_superuser, connected

WITHOUT_TENANT = {
    "announced": "until when outcomes are announced",
    "buckets": "starts of rate limits; nobody reads it",
    "definitions": "definitions belong to the installation",
    "failures_counted": "until when failures are counted",
    "installed": "the schema's version",
    "leader": "the current leader",
    "locks": "rows that plait's own functions lock; nobody reads it",
    "nodes": "machines serve every tenant",
    "overrides": "an operator's settings of definitions",
    "rolled": "until when minutes are counted",
    "queues": "queues belong to the installation",
    "sessions": "sessions of browsers; nobody reads it, and a key has the tenant",
    "workers": "workers serve every tenant",
    "worker": "a view of workers",
}
"""Tables that hold nothing of one tenant. A new table is either here, with a reason, or has a tenant_id."""

RELATIONS = """
select c.relname as name, c.relkind::text as kind, c.relrowsecurity and c.relforcerowsecurity as forced,
       coalesce(c.reloptions @> '{security_invoker=true}', false) as invoker,
       case when c.relname = 'tenants' then 'id' else (
         select a.attname from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id') end as tenant_column,
       (select array_agg(format('%s %s to %s: %s', p.polname, p.polcmd,
                                (select string_agg(r::regrole::text, ', ' order by r::regrole::text) from unnest(p.polroles) r),
                                pg_get_expr(p.polqual, p.polrelid)) order by p.polname)
        from pg_policy p where p.polrelid = c.oid) as policies
from pg_class c where c.relnamespace = 'plait'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') order by 1
"""
POLICIES = [
    "owner * to plait_owner: true",
    "tenant r to plait_admin, plait_client, plait_tenant, plait_worker:"
    " ({column} = ( SELECT plait._visible_tenant() AS _visible_tenant))",
]


async def faults(connection: asyncpg.Connection) -> list[str]:
    """Relations of the schema without sufficient row-level security."""
    found = []
    for row in await connection.fetch(RELATIONS):
        name, column = row["name"], row["tenant_column"]
        if column is None:
            if name not in WITHOUT_TENANT:
                found.append(f"{name} has no tenant_id, and WITHOUT_TENANT does not say why")
        elif row["kind"] == "v":
            if not row["invoker"]:
                found.append(f"{name} is not security_invoker")
        elif row["kind"] != "r" or not row["forced"]:
            found.append(f"{name} has no forced row-level security")
        elif row["policies"] != [policy.format(column=column) for policy in POLICIES]:
            found.append(f"{name} has other policies: {row['policies']}")
    return found


async def test_every_table_with_a_tenant_forces_row_level_security(database: TestDatabase) -> None:
    async with connected(database.admin_url) as connection:
        assert await faults(connection) == []


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        ("create table plait.extra (id int)", "extra has no tenant_id, and WITHOUT_TENANT does not say why"),
        ("create table plait.extra (tenant_id uuid)", "extra has no forced row-level security"),
        ("alter table plait.live no force row level security", "live has no forced row-level security"),
        ("alter table plait.live disable row level security", "live has no forced row-level security"),
        ("create view plait.extra as select * from plait.jobs", "extra is not security_invoker"),
        ("create materialized view plait.extra as select * from plait.jobs", "extra has no forced row-level"),
        ("create policy all_of_it on plait.jobs using (true)", "jobs has other policies"),
        ("drop policy tenant on plait.jobs", "jobs has other policies"),
    ],
)
async def test_a_table_that_was_forgotten_is_found(database: TestDatabase, made: str, fault: str) -> None:
    async with connected(database.admin_url) as connection:
        await connection.execute(made)
        found = await faults(connection)
        assert len(found) == 1
        assert found[0].startswith(fault)


SETTINGS = {
    "unset": None,
    "empty": "",
    "garbage": "x",
    "sql": "' or true --",
    "half an id": "00000000-0000-7000",
    "braces": "{{{a}}}",
    "a": "{a}",
    "A in capitals": "{A}",
    "b": "{b}",
    "nobody's": "00000000-0000-7000-8000-00000000ffff",
}
BELIEVED = {"a": "a", "A in capitals": "a", "b": "b"}
"""The settings that a trusted role may make, and whose rows it then sees. All others show nothing."""


@pytest.fixture
async def everything_granted(tenants: TwoTenants) -> TwoTenants:
    names = ", ".join(tenants.logins.values())
    await as_superuser(tenants.database, f"grant select on all tables in schema plait to {names}")
    return tenants


READABLE = {
    "artifacts", "attempts", "connectors", "deadlines", "dedupe", "dependencies", "endpoints", "events", "fan_out_order", "fan_outs", "fires", "follow_ups", "idempotency", "job", "jobs",
    "search_values", "streams", "stream_items", "log_lines", "job_states", "event_waits", "update_replies",
    "live", "running_state", "signals", "steps", "tenants", "triggers",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["client", "worker", "admin", "bound", "unbound"])
async def test_a_login_sees_the_rows_of_its_tenant_and_no_others(tenants: TwoTenants, kind: str) -> None:
    seen = await look(tenants, kind)
    expected = await expect(tenants, kind)
    readable = READABLE if kind == "admin" else set()  # others read through functions: test_planner_oracle
    for setting, relations in seen.items():
        assert relations == dict.fromkeys(readable, expected[setting]), setting


@pytest.mark.parametrize("kind", ["client", "worker", "admin", "bound", "unbound"])
async def test_rows_are_hidden_even_where_every_table_may_be_read(everything_granted: TwoTenants, kind: str) -> None:
    tenants = everything_granted
    async with connected(tenants.database.admin_url) as connection:
        with_tenant = {row["name"] for row in await connection.fetch(RELATIONS) if row["tenant_column"]}
    expected = await expect(tenants, kind)
    for setting, relations in (await look(tenants, kind)).items():
        assert relations == dict.fromkeys(with_tenant, expected[setting]), setting


async def test_the_sample_has_rows_of_both_tenants_in_every_relation(tenants: TwoTenants) -> None:
    async with connected(tenants.database.admin_url) as connection:
        for row in await connection.fetch(RELATIONS):
            if row["tenant_column"]:
                found = await connection.fetchval(
                    f"select array_agg(distinct {row['tenant_column']}) from plait.{row['name']}"
                )
                assert {tenants.a, tenants.b} <= set(found or ()), row["name"]


async def test_a_login_without_a_role_of_plait_sees_nothing(tenants: TwoTenants, database: TestDatabase) -> None:
    async with connected(tenants.url("admin")) as connection:
        await connection.execute("select set_config('plait.tenant', $1, false)", str(tenants.a))
        assert await connection.fetchval("select count(*) from plait.jobs") > 0
    await as_superuser(
        database,
        f"revoke plait_admin from {tenants.admin}",
        f"grant usage on schema plait to {tenants.admin}",
        f"grant select on plait.jobs to {tenants.admin}",
    )
    async with connected(tenants.url("admin")) as connection:
        await connection.execute("select set_config('plait.tenant', $1, false)", str(tenants.a))
        assert await connection.fetchval("select count(*) from plait.jobs") == 0


async def test_switching_row_level_security_off_is_an_error(tenants: TwoTenants) -> None:
    async with connected(tenants.url("admin")) as connection:
        await connection.execute("set row_security = off")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("select * from plait.jobs")


async def test_a_function_in_the_query_is_shown_no_foreign_row(everything_granted: TwoTenants) -> None:
    tenants = everything_granted
    async with connected(tenants.url("bound")) as connection:
        await connection.execute("""
            create temp table shown (tenant_id uuid);
            create function pg_temp.look(t uuid) returns boolean language plpgsql cost 0.0000001 as
            $$ begin insert into shown values (t); return true; end $$;
        """)
        await connection.fetch("select * from plait.jobs where pg_temp.look(tenant_id)")
        assert {row["tenant_id"] for row in await connection.fetch("select * from shown")} == {tenants.a}


async def look(tenants: TwoTenants, kind: str) -> dict[str, dict[str, set[UUID]]]:
    """By setting and relation, the tenants whose rows the login sees; what it may not read is left out."""
    seen: dict[str, dict[str, set[UUID]]] = {}
    async with connected(tenants.database.admin_url) as admin:
        relations = [row for row in await admin.fetch(RELATIONS) if row["tenant_column"]]
    for name, setting in SETTINGS.items():
        async with connected(tenants.url(kind)) as fresh:
            if setting is not None:
                value = setting.format(a=tenants.a, A=str(tenants.a).upper(), b=tenants.b)
                await fresh.execute("select set_config('plait.tenant', $1, false)", value)
            seen[name] = await visible(fresh, relations)
    async with connected(tenants.url(kind)) as reused:
        # T110: after a SET LOCAL, the setting of a pooled connection is '' and not NULL.
        async with reused.transaction():
            await reused.execute("select set_config('plait.tenant', $1, true)", str(tenants.b))
        assert await reused.fetchval("select current_setting('plait.tenant', true)") == ""
        seen["after another's transaction"] = await visible(reused, relations)
    return seen


async def visible(connection: asyncpg.Connection, relations: list[asyncpg.Record]) -> dict[str, set[UUID]]:
    found = {}
    for row in relations:
        try:
            rows = await connection.fetch(f"select {row['tenant_column']} as tenant from plait.{row['name']}")
        except asyncpg.InsufficientPrivilegeError:
            continue
        found[row["name"]] = {row["tenant"] for row in rows}
    return found


async def expect(tenants: TwoTenants, kind: str) -> dict[str, set[UUID]]:
    settings = [*SETTINGS, "after another's transaction"]
    match kind:
        case "bound":
            return {setting: {tenants.a} for setting in settings}
        case "unbound":
            return {setting: set() for setting in settings}
        case _:
            ids = {"a": tenants.a, "b": tenants.b}
            return {s: {ids[BELIEVED[s]]} if s in BELIEVED else set() for s in settings}
