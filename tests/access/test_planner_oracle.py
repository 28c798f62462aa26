"""The planner's estimates use every tenant's statistics, so a tenant's own login must not see any.

Row-level security hides rows, not estimates: with SELECT on a table, `explain … where correlation_id = 'guess'` reveals whether another
tenant has such a job. The logins here try that on everything that they can reach.
"""

import json
from typing import Any

import asyncpg
import pytest
import uuid_utils.compat

from plait.store import Store
from plait.store.new_jobs import NewJob

from .logins import DENIED, TwoTenants, connected, outcome
from .test_row_level_security import RELATIONS

SECRET = "order-4711-of-b"
NOT_TENANTS = {"installed"}
"""Relations that every login reads: the schema's version, of no tenant."""


@pytest.fixture
async def leaky(tenants: TwoTenants) -> TwoTenants:
    """Statistics that know b's secret: its correlation id is on hundreds of jobs, and the tables are analyzed."""
    store = await Store.open(tenants.database.url)
    ids = [uuid_utils.compat.uuid7() for _ in range(400)]
    await store.jobs.enqueue_many(
        [
            NewJob(id=job, definition="work", payload="{}", tenant_id=tenants.b, queue="q", correlation_id=SECRET)
            for job in ids
        ]
    )
    await store.close()
    async with connected(tenants.database.admin_url) as admin:
        await admin.execute("analyze")
        # The oracle is there: an admin's own estimates, which row-level security restricts likewise, tell a hit from a miss.
        assert await estimate(admin, guess(SECRET)) > 10 * await estimate(admin, guess("order-0000-of-b"))
    return tenants


def guess(correlation_id: str) -> str:
    return f"select from plait.jobs where correlation_id = '{correlation_id}'"


async def estimate(connection: asyncpg.Connection, sql: str) -> float:
    return float((await plan(connection, sql))["Plan Rows"])


async def plan(connection: asyncpg.Connection, sql: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await connection.fetchval(f"explain (format json, verbose) {sql}"))[0]["Plan"]
    return found


@pytest.mark.parametrize("kind", ["bound", "unbound", "client"])
async def test_no_relation_can_be_explained_by_a_login_that_is_not_plaits_own(leaky: TwoTenants, kind: str) -> None:
    async with connected(leaky.database.admin_url) as admin:
        names = [row["name"] for row in await admin.fetch(RELATIONS)]
    assert {"jobs", "attempts", "job", "search_values", "tenants", "keys"} <= set(names)
    async with connected(leaky.url(kind)) as connection:
        for setting in ("", str(leaky.a)):
            await connection.execute("select set_config('plait.tenant', $1, false)", setting)
            for name in set(names) - NOT_TENANTS:
                for sql in (
                    f"explain select from plait.{name}",
                    f"explain select count(*) from plait.{name} t where t is null",
                ):
                    end = await outcome(connection, sql)
                    assert end.startswith(DENIED), (sql, end)
            assert (await outcome(connection, f"explain {guess(SECRET)}")).startswith(DENIED)


async def test_explaining_a_function_shows_nothing_of_its_inside(leaky: TwoTenants) -> None:
    """From the catalogue: each function that a tenant may call is one node, with an estimate that is a constant of its definition."""
    async with connected(leaky.database.admin_url) as admin:
        functions = await admin.fetch("""
            select p.proname as name, p.prorows as rows, p.proretset as many, p.prosupport::text as support,
                   format('select * from plait.%I(%s)', p.proname, (
                     select string_agg(format('null::%s', replace(format_type(t, null), 'anyarray', 'text[]')), ', ' order by n)
                     from unnest(p.proargtypes) with ordinality x(t, n))) as call
            from pg_proc p where p.pronamespace = 'plait'::regnamespace and has_function_privilege('plait_tenant', p.oid, 'execute')
        """)
    assert len(functions) > 40
    async with connected(leaky.url("bound")) as bound:
        for row in functions:
            shown = await plan(bound, row["call"])
            assert "Plans" not in shown, (row["name"], shown)
            assert shown["Node Type"] in ("Function Scan", "Result"), (row["name"], shown)
            assert shown["Plan Rows"] == (row["rows"] if row["many"] else 1), (row["name"], shown)
            assert row["support"] == "-", row["name"]


async def test_a_right_guess_and_a_wrong_one_look_the_same(leaky: TwoTenants) -> None:
    shown = set()
    async with connected(leaky.url("bound")) as bound:
        for guessed in (SECRET, "order-0000-of-b"):
            for call in (
                f"plait.list_jobs(p_correlation_id => '{guessed}')",
                f"plait.search_jobs(p_correlation_id => '{guessed}')",
                f"plait.list_jobs() where correlation_id = '{guessed}'",
            ):
                found = json.dumps(await plan(bound, f"select * from {call}"), sort_keys=True)
                shown.add(found.replace(guessed, "…"))
    assert len(shown) == 3


async def test_statistics_and_sessions_of_others_are_hidden(leaky: TwoTenants) -> None:
    async with connected(leaky.url("bound")) as bound, connected(leaky.url("client")) as other:
        await other.fetch("select 'something of b'")
        for sql in (
            "select 1 from pg_stats where schemaname = 'plait' and tablename <> 'installed'",
            "select 1 from pg_stats_ext where schemaname = 'plait'",
            "select 1 from pg_stat_activity where query like '%something of b%' and pid <> pg_backend_pid()",
        ):
            assert await bound.fetch(sql) == [], sql
        for sql in ("select starelid from pg_statistic", "select last_value from plait.workers_id_seq"):
            assert (await outcome(bound, sql)).startswith(DENIED), sql
        visible = await bound.fetch("select relname from pg_class where relnamespace = 'plait'::regnamespace and relkind = 'r'"
                                    " and has_any_column_privilege(oid, 'select')")  # fmt: skip
        assert {row["relname"] for row in visible} == NOT_TENANTS
