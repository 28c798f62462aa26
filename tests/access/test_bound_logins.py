"""A login that is bound to a tenant can't name another tenant, in any function that takes one."""

from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest
import uuid_utils.compat

from .logins import TwoTenants, connected, outcome

SAMPLES = {
    "bigint": "5",
    "uuid": "'{job}'",
    "uuid[]": "'{{{job}}}'",
    "text": "'x'",
    "text[]": "'{{x}}'",
    "json": "'{{}}'",
    "integer": "1",
    "integer[]": "'{{1}}'",
    "interval": "'1 h'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    name: str
    arguments: dict[str, str]
    """The types of its parameters, by name."""
    required: tuple[str, ...]

    def call(self, job: Any, **arguments: str) -> str:
        """A call with these arguments, and a sample for each other one that has no default."""
        given = {
            name: SAMPLES[self.arguments[name]].format(job=job) for name in self.required if name not in arguments
        } | arguments
        return f"select plait.{self.name}({', '.join(f'{name} => {value}' for name, value in given.items())})"


async def functions_of(admin: asyncpg.Connection, role: str, argument: str) -> list[Function]:
    rows = await admin.fetch(
        """
        select p.proname, p.proargnames[1:p.pronargs] as names, p.pronargs - p.pronargdefaults as required,
               array(select format_type(t, null) from unnest(p.proargtypes) with ordinality x(t, n)
                     order by n) as types
        from pg_proc p where p.pronamespace = 'plait'::regnamespace
          and has_function_privilege($1, p.oid, 'execute')
          and p.proargnames[1:p.pronargs] @> array[$2] order by 1
        """,
        role,
        argument,
    )
    return [
        Function(
            name=row["proname"],
            arguments=dict(zip(row["names"], row["types"], strict=True)),
            required=tuple(row["names"][: row["required"]]),
        )
        for row in rows
    ]


NO_SAMPLE = {
    "delete_trigger": "PL008 ",
    "set_trigger": "PL012 ",
    "delete_endpoint": "PL008 ",
    "rotate_endpoint": "PL008 ",
    "set_endpoint": "PL012 ",
    "set_connector": "PL012 ",
    "register_artifact": "PL001 ",
    "signal_or_start": "PL001 ",
}
"""Errors of these about the sample: it is no trigger's id, no trigger's settings, and so on."""


async def test_naming_another_tenant_is_refused_everywhere(tenants: TwoTenants) -> None:
    async with connected(tenants.database.admin_url) as admin:
        by_id = [f for f in await functions_of(admin, "plait_tenant", "p_tenant") if f.name != "tenant_id"]
        by_ids = await functions_of(admin, "plait_tenant", "p_tenants")
        # Other parameters that name tenants would have to be tested here too.
        said = await admin.fetchval("""
            select array_agg(proname::text) from pg_proc where pronamespace = 'plait'::regnamespace
              and has_function_privilege('plait_tenant', oid, 'execute')
              and array_to_string(proargnames[1:pronargs], ' ') ~ 'tenant'
        """)
    assert {f.name for f in by_id + by_ids} == set(said) - {
        "tenant_id",
        "enqueue",
        "emit",
        "spawn",
        "after",
        "has_pending_children",
        "has_failed_siblings",
    }
    assert len(by_id) >= 8
    async with connected(tenants.url("bound")) as bound, connected(tenants.url("unbound")) as unbound:
        for function in by_id:
            job = tenants.a_jobs["queued" if function.name == "signal" else "failed"]
            own = await outcome(bound, function.call(job, p_tenant=f"'{tenants.a}'"))
            assert own.startswith(NO_SAMPLE.get(function.name, "ok")), (function.name, own)
            for tenant in (tenants.b, "00000000-0000-7000-8000-000000000000", tenants.b_jobs["queued"]):
                foreign = await outcome(bound, function.call(job, p_tenant=f"'{tenant}'"))
                assert foreign == "PL004 this login may only act for its own tenant", function.name
            for named in (f"'{tenants.a}'", f"'{tenants.b}'", "null"):
                end = await outcome(unbound, function.call(job, p_tenant=named))
                assert end == "PL004 this login is not bound to a tenant", function.name
        for function in by_ids:
            # Whether the job exists, and whose it is, must not decide whether the call is refused.
            for job in (tenants.a_jobs["failed"], tenants.b_jobs["failed"], uuid_utils.compat.uuid7()):
                for named in (f"{tenants.b}", f"{tenants.a},{tenants.b}", f"null,{tenants.b}"):
                    call = function.call(job, p_tenants=f"'{{{named}}}'")
                    assert await outcome(bound, call) == "PL004 this login may only act for its own tenant", call
                    assert await outcome(unbound, call) == "PL004 this login is not bound to a tenant", call


async def test_no_verb_of_a_nursery_reaches_another_tenant(tenants: TwoTenants) -> None:
    """T24: a foreign job looks like one that does not exist, and another tenant can't be named."""
    verbs = {
        "spawn('work', parent => $1, tenant => $2)": "PL008",
        "spawn('work', sibling_of => $1, tenant => $2)": "PL008",
        "after($1, 'work', tenant => $2)": "PL008",
        "has_pending_children($1, $2)": "ok",
        "has_failed_siblings($1, $2)": "ok",
        "enqueue('work', after => array[$1::uuid], tenant => $2)": "PL008",
    }
    async with connected(tenants.url("bound")) as bound, connected(tenants.url("unbound")) as unbound:
        for verb, expected in verbs.items():
            sql = f"select plait.{verb}"
            for job in (tenants.b_jobs["queued"], uuid_utils.compat.uuid7()):
                assert (await outcome(bound, sql, job, str(tenants.a))).partition(" ")[0] == expected, verb
                assert (await outcome(bound, sql, job, None)).partition(" ")[0] == expected, verb
                assert (await outcome(bound, sql, job, str(tenants.b))).startswith("PL003"), verb
                assert (await outcome(unbound, sql, job, None)).startswith("PL004"), verb


@pytest.mark.parametrize("kind", ["client", "bound", "unbound"])
async def test_only_an_admin_reads_across_tenants(tenants: TwoTenants, kind: str) -> None:
    async with connected(tenants.database.admin_url) as admin:
        functions = await functions_of(admin, "plait_tenant", "p_all")
    assert {f.name for f in functions} == {
        "earlier_runs", "explain_job", "failure_group", "failure_history", "failure_workers", "failures", "fan_out_load", "fan_out_times", "find_artifact", "get_job", "history", "job_history", "job_info", "job_nodes", "job_times", "job_tree", "latency",
        "list_attempts", "list_children", "list_connectors", "list_endpoints", "list_events", "list_fan_outs", "list_fires", "list_jobs",
        "list_logs", "list_steps", "list_triggers", "overview", "search_jobs", "unread_signals",
    }  # fmt: skip
    async with connected(tenants.url(kind)) as connection, connected(tenants.url("admin")) as admin:
        for function in functions:
            call = function.call(tenants.b_jobs["failed"], p_all="true")
            assert await outcome(connection, call) == "PL004 only the role plait_admin may read the data of all tenants"
            assert await outcome(admin, call) == "ok"


async def test_a_setting_does_not_change_a_bound_logins_tenant(tenants: TwoTenants) -> None:
    async with connected(tenants.url("bound")) as connection:
        for setting in (str(tenants.b), "", "x"):
            await connection.execute("select set_config('plait.tenant', $1, false)", setting)
            rows = await connection.fetch("select tenant_id from plait.list_jobs()")
            assert {row["tenant_id"] for row in rows} == {tenants.a}
            job = await connection.fetchval("select plait.enqueue('work')")
            assert await connection.fetchval("select tenant_id from plait.get_job($1)", job) == tenants.a
            event = await connection.fetchval("select plait.emit('x')")
            assert (
                await connection.fetchval("select tenant_id from plait.list_events() where id = $1", event) == tenants.a
            )
            end = await outcome(connection, f"select plait.emit('x', tenant => '{tenants.b}')")
            assert end == f"PL003 there is no tenant '{tenants.b}'"


async def test_a_trusted_role_acts_for_the_tenant_it_has_set(tenants: TwoTenants) -> None:
    async with connected(tenants.url("client")) as connection:
        for tenant in (tenants.a, tenants.b):
            await connection.execute("select set_config('plait.tenant', $1, false)", str(tenant))
            job = await connection.fetchval("select plait.enqueue('work')")
            assert await connection.fetchval("select tenant_id from plait.get_job($1)", job) == tenant
        for setting in ("x", "00000000-0000-7000", f"{tenants.a} "):
            await connection.execute("select set_config('plait.tenant', $1, false)", setting)
            end = await outcome(connection, "select plait.enqueue('work')")
            assert end == "PL003 the setting plait.tenant must be the id of a tenant"


async def test_a_login_that_is_unbound_loses_what_it_saw(tenants: TwoTenants) -> None:
    async with connected(tenants.url("bound")) as bound, connected(tenants.url("admin")) as admin:
        assert await bound.fetchval("select count(*) from plait.list_jobs()") > 0
        await admin.execute("select plait.bind_login($1, null)", tenants.bound)
        assert await outcome(bound, "select plait.list_jobs()") == "PL004 this login is not bound to a tenant"
        await admin.execute("select plait.bind_login($1, $2)", tenants.bound, tenants.b)
        rows = await bound.fetch("select tenant_id from plait.list_jobs()")
        assert {row["tenant_id"] for row in rows} == {tenants.b}


async def test_a_bound_login_that_is_given_another_role_stays_bound(tenants: TwoTenants) -> None:
    async with connected(tenants.database.admin_url) as admin:
        await admin.execute(f"grant plait_client, plait_admin to {tenants.bound}")
    async with connected(tenants.url("bound")) as connection:
        assert await outcome(connection, "select plait.list_jobs(p_all => true)") != "ok"
        assert await outcome(connection, f"select plait.list_jobs('{tenants.b}')") != "ok"
        await connection.execute(f"set plait.tenant = '{tenants.b}'")
        rows = await connection.fetch("select tenant_id from plait.jobs")
        assert {row["tenant_id"] for row in rows} == {tenants.a}
