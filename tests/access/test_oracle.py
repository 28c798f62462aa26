"""S8, T128: no request by a tenant reveals whether another tenant has a job, a key or a name."""

from uuid import UUID, uuid4

import pytest
import uuid_utils.compat

from plait.model.errors import ForeignTenant, IdempotencyConflict, InvalidId, NotFound, UnknownTenant
from plait.store import Store
from plait.store.new_jobs import NewJob
from plait.store.streams import Following
from plait.testing import TestDatabase

from .logins import TwoTenants, connected, new_job, outcome


def an_id() -> UUID:
    return uuid_utils.compat.uuid7()


@pytest.fixture
async def store_a(tenants: TwoTenants) -> Store:
    """Tenant a's own login."""
    return await Store.open(tenants.url("bound"))


async def test_the_same_keys_work_in_two_tenants(tenants: TwoTenants, store_a: Store) -> None:
    trusted = await Store.open(tenants.database.url)
    theirs, ours = an_id(), an_id()
    assert await trusted.jobs.enqueue_many([new_job(theirs, tenants.b, key="same", payload='{"x": 1}')]) == {}
    assert await store_a.jobs.enqueue_many([new_job(ours, tenants.a, key="same", payload='{"x": 2}')]) == {}
    assert (await store_a.jobs.get_job(ours)).payload == '{"x": 2}'
    # Within its tenant a key holds.
    again = an_id()
    found = await store_a.jobs.enqueue_many([new_job(again, tenants.a, key="same", payload='{"x": 2}')])
    assert found == {again: ours}
    with pytest.raises(IdempotencyConflict):
        await store_a.jobs.enqueue_many([new_job(an_id(), tenants.a, key="same", payload='{"x": 1}')])
    await trusted.close()
    await store_a.close()


async def test_one_batch_of_a_trusted_client_holds_the_same_key_for_two_tenants(tenants: TwoTenants) -> None:
    trusted = await Store.open(tenants.database.url)
    batch = [new_job(an_id(), tenant, key="batch") for tenant in (tenants.a, tenants.b)]
    assert await trusted.jobs.enqueue_many(batch) == {}
    await trusted.close()


async def test_a_foreign_id_looks_like_any_bad_id(tenants: TwoTenants, store_a: Store) -> None:
    before = await store_a.jobs.list_jobs(limit=100)
    for key in (None, "new"):
        errors = set()
        for job_id in (*tenants.b_jobs.values(), uuid4(), UUID(int=0)):
            with pytest.raises(InvalidId) as raised:
                await store_a.jobs.enqueue_many([new_job(job_id, tenants.a, key=key, payload='{"n": 1}')])
            errors.add(str(raised.value))
        assert len(errors) == 1
    assert await store_a.jobs.list_jobs(limit=100) == before
    await store_a.close()


async def test_a_foreign_id_takes_the_whole_batch_down_like_any_bad_id(tenants: TwoTenants, store_a: Store) -> None:
    good = an_id()
    with pytest.raises(InvalidId):
        await store_a.jobs.enqueue_many([new_job(good, tenants.a), new_job(tenants.b_jobs["queued"], tenants.a)])
    with pytest.raises(NotFound):
        await store_a.jobs.get_job(good)
    await store_a.close()


MORE = {"signal": "p_name => 'go', ", "open_stream": "p_hash => 'h', p_ttl => interval '1 h', "}
"""Arguments that have no default."""


async def test_a_foreign_job_looks_like_one_that_does_not_exist(tenants: TwoTenants) -> None:
    """Every function that takes a job's id, from the catalogue, for each of b's jobs."""
    nobodys = an_id()
    async with connected(tenants.database.admin_url) as admin:
        names = await admin.fetchval("""
            select array_agg(proname::text order by proname) from pg_proc
            where pronamespace = 'plait'::regnamespace and proargnames[1] = 'p_job'
              and has_function_privilege('plait_tenant', oid, 'execute') and proname !~ 'artifact$'
        """)
    assert names == [
        "cancel", "cancel_tree", "earlier_runs", "explain_job", "fan_out_load", "fan_out_times", "fork", "get_job", "job_history", "job_info", "job_nodes", "job_times", "job_tree",
        "list_attempts", "list_children", "list_fan_outs", "list_logs", "list_steps", "open_stream", "reschedule", "retry", "retry_tree", "signal", "unread_signals",
    ]  # fmt: skip
    async with connected(tenants.url("bound")) as bound, connected(tenants.url("client")) as client:
        for name in names:
            for foreign in tenants.b_jobs.values():
                for connection, tenant in ((bound, None), (bound, tenants.a), (client, tenants.a)):
                    sql = f"select plait.{name}($1, {MORE.get(name, '')}p_tenant => $2)"
                    ends = {await outcome(connection, sql, job, tenant) for job in (foreign, nobodys)}
                    expected = {f"PL008 there is no job {job}" for job in (foreign, nobodys)}
                    assert ends == expected, name


async def test_an_artifact_of_a_foreign_job_is_none(tenants: TwoTenants, store_a: Store) -> None:
    """Neither by its own job's id nor by one of ours; and keeping one for a foreign job says nothing of that job, and changes nothing."""
    theirs, ours, nobodys = tenants.b_jobs["queued"], tenants.a_jobs["failed"], an_id()
    for job in (theirs, ours, nobodys):
        assert await store_a.artifacts.find_artifact(job, "0" * 64) is None
        kept = await store_a.artifacts.register_artifact(job, "payload", sha256="1" * 64, size=5, tenant_id=tenants.a)
        found = await store_a.artifacts.find_artifact(job, "1" * 64)
        assert (found.id if found else None) == (kept if job == ours else None)
    trusted = await Store.open(tenants.database.url)
    assert await trusted.artifacts.find_artifact(theirs, "1" * 64, tenant_id=tenants.b) is None
    await trusted.close()
    await store_a.close()


async def test_outcomes_of_foreign_jobs_are_those_of_jobs_that_do_not_exist(
    tenants: TwoTenants, store_a: Store
) -> None:
    asked = [*tenants.b_jobs.values(), an_id()]
    found = await store_a.jobs.get_outcomes([(job, tenants.a) for job in asked])
    assert {row.job_id: row.status for row in found} == dict.fromkeys(asked)
    await store_a.close()


async def test_following_a_foreign_job_is_following_one_that_does_not_exist(
    tenants: TwoTenants, store_a: Store
) -> None:
    for subject in ("stream s", "state", f"reply {an_id()}"):
        asked = [Following(job, tenants.a, subject, 0) for job in (*tenants.b_jobs.values(), an_id())]
        found = await store_a.streams.follow(asked)
        assert [(found[n].status, found[n].items) for n in range(len(asked))] == [(None, [])] * len(asked)
    await store_a.close()


async def test_a_cursor_of_another_tenant_is_only_a_moment(tenants: TwoTenants, store_a: Store) -> None:
    for job_id in (*tenants.b_jobs.values(), an_id()):
        assert {job.tenant_id for job in await store_a.jobs.list_jobs(before=job_id)} <= {tenants.a}
    await store_a.close()


async def test_a_tenants_name_is_told_to_nobody_else(tenants: TwoTenants) -> None:
    async with connected(tenants.url("bound")) as bound, connected(tenants.url("unbound")) as unbound:
        assert await bound.fetchval("select plait.tenant_id('a')") == tenants.a
        assert await bound.fetchval("select plait.tenant_id($1)", str(tenants.a)) == tenants.a
        for named in ("b", "nobody", "default", str(tenants.b), str(an_id()), ""):
            told = f"PL003 there is no tenant '{named}'"
            assert await outcome(bound, "select plait.tenant_id($1)", named) == told
            assert await outcome(bound, "select plait.enqueue('work', tenant => $1)", named) == told
        for named in ("a", "b", "nobody", str(tenants.b)):
            told = "PL004 this login is not bound to a tenant"
            assert await outcome(unbound, "select plait.tenant_id($1)", named) == told
            assert await outcome(unbound, "select plait.enqueue('work', tenant => $1)", named) == told


async def test_a_trusted_client_is_told_which_tenant_does_not_exist(database: TestDatabase) -> None:
    store = await Store.open(database.url)
    nobody = an_id()
    with pytest.raises(UnknownTenant, match=str(nobody)):
        await store.jobs.enqueue_many([NewJob(id=an_id(), definition="work", payload="{}", tenant_id=nobody)])
    await store.close()


async def test_a_foreign_tenant_in_a_batch_is_refused_whole(tenants: TwoTenants, store_a: Store) -> None:
    ours = an_id()
    with pytest.raises(ForeignTenant):
        await store_a.jobs.enqueue_many([new_job(ours, tenants.a), new_job(an_id(), tenants.b)])
    with pytest.raises(NotFound):
        await store_a.jobs.get_job(ours)
    await store_a.close()
