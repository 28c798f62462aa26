"""S7: functions, operators and tables that a caller puts first in its search_path have no effect."""

from uuid import UUID

import asyncpg
import pytest
import uuid_utils.compat

from .logins import TwoTenants, as_superuser

SHADOWS = """
create schema evil;
create function evil.now() returns timestamptz language plpgsql as $$ begin raise 'shadowed now'; end $$;
create function evil.uuidv7() returns uuid language plpgsql as $$ begin raise 'shadowed uuidv7'; end $$;
create function evil._tenant(uuid) returns uuid language plpgsql as $$ begin raise 'shadowed _tenant'; end $$;
create function evil.pg_has_role(name, name, text) returns boolean language sql as 'select true';
create function evil.pg_has_role(name, text, text) returns boolean language sql as 'select true';
create function evil.current_setting(text, boolean) returns text language plpgsql as $$ begin raise 'shadowed'; end $$;
create function evil.cardinality(anyarray) returns int language plpgsql as $$ begin raise 'shadowed cardinality'; end $$;
create function evil.pg_notify(text, text) returns void language plpgsql as $$ begin raise 'shadowed notify'; end $$;
create function evil.same(uuid, uuid) returns boolean language plpgsql as $$ begin raise 'shadowed ='; end $$;
create function evil.same(name, name) returns boolean language plpgsql as $$ begin raise 'shadowed ='; end $$;
create function evil.joined(text, text) returns text language plpgsql as $$ begin raise 'shadowed ||'; end $$;
create operator evil.= (function = evil.same, leftarg = uuid, rightarg = uuid);
create operator evil.<> (function = evil.same, leftarg = uuid, rightarg = uuid);
create operator evil.= (function = evil.same, leftarg = name, rightarg = name);
create operator evil.|| (function = evil.joined, leftarg = text, rightarg = text);
create domain evil.uuid as text;
create view evil.pg_roles as select null::name as rolname;
create table evil.jobs (id pg_catalog.uuid, tenant_id pg_catalog.uuid);
"""
TEMPORARY = """
create temp table logins (login name, tenant_id pg_catalog.uuid);
insert into logins values (session_user, '{b}');
create temp table tenants (id pg_catalog.uuid, slug text);
create temp table jobs (id pg_catalog.uuid, tenant_id pg_catalog.uuid);
create temp table live (job_id pg_catalog.uuid);
create function pg_temp.now() returns timestamptz language plpgsql as $$ begin raise 'shadowed now'; end $$;
"""


async def shadowed(tenants: TwoTenants, kind: str) -> asyncpg.Connection:
    login = tenants.logins[kind]
    await as_superuser(tenants.database, f"grant create on database {tenants.database.name} to {login}")
    connection = await asyncpg.connect(tenants.url(kind))
    await connection.execute(SHADOWS)
    await connection.execute(TEMPORARY.format(b=tenants.b))
    await connection.execute("set search_path = evil, pg_temp, pg_catalog, plait")
    return connection


async def test_shadows_are_there_to_be_found(tenants: TwoTenants) -> None:
    connection = await shadowed(tenants, "client")
    for sql in (
        "select now()",
        "select gen_random_uuid() = gen_random_uuid()",
        "select 'a'::text || 'b'::text",
    ):
        with pytest.raises(asyncpg.RaiseError, match="shadowed"):
            await connection.fetchval(sql)
    await connection.close()


@pytest.mark.parametrize("kind", ["bound", "client"])
async def test_functions_run_as_if_there_were_no_shadows(tenants: TwoTenants, kind: str) -> None:
    connection = await shadowed(tenants, kind)
    a = tenants.a if kind == "client" else None
    job_id: UUID = uuid_utils.compat.uuid7()
    enqueue = "select plait.enqueue('work', id => $1, tenant => $2, dedupe_key => 'k', idempotency_key => 'k')"
    assert await connection.fetchval(enqueue, job_id, str(tenants.a)) == job_id
    found = await connection.fetchrow("select tenant_id, status from plait.get_job($1, $2)", job_id, a)
    assert tuple(found) == (tenants.a, "queued")
    assert await connection.fetch("select * from plait.list_jobs($1)", a)
    assert await connection.fetch("select * from plait.overview($1)", a)
    assert await connection.fetch("select * from plait.explain_job($1, $2)", job_id, a)
    outcomes = "select * from plait.get_outcomes(array[$1::pg_catalog.uuid], array[$2::pg_catalog.uuid])"
    assert await connection.fetch(outcomes, tenants.a_jobs["succeeded"], a)
    assert await connection.fetchval("select plait.cancel($1, $2)", job_id, a) == "canceled"
    assert await connection.fetchval("select plait.retry($1, $2)", job_id, a) == "queued"
    assert await connection.fetchval("select plait.reschedule($1, $2)", job_id, a) == "queued"
    await connection.close()


async def test_a_bound_login_stays_bound(tenants: TwoTenants) -> None:
    connection = await shadowed(tenants, "bound")
    await connection.execute("select set_config('plait.tenant', $1, false)", str(tenants.b))
    assert await connection.fetchval("select plait._visible_tenant()") == tenants.a
    assert {row["tenant_id"] for row in await connection.fetch("select tenant_id from plait.list_jobs()")} == {
        tenants.a
    }
    with pytest.raises(asyncpg.PostgresError) as raised:
        await connection.fetch("select * from plait.list_jobs($1)", tenants.b)
    assert raised.value.sqlstate == "PL004"
    await connection.close()


async def test_an_unbound_login_stays_unbound(tenants: TwoTenants) -> None:
    connection = await shadowed(tenants, "unbound")
    assert await connection.fetchval("select plait._visible_tenant()") is None
    with pytest.raises(asyncpg.PostgresError) as raised:
        await connection.fetch("select * from plait.list_jobs($1)", tenants.b)
    assert raised.value.sqlstate == "PL004"
    await connection.close()
