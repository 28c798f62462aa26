"""The number of rows that a list returns: at most `p_limit`, never more than its maximum, none for 0; negative numbers
are rejected.

The cases are generated from the catalog: every function with `p_limit` that a client, a tenant's login or an operator may call.
"""

from typing import Any, Final

import asyncpg
import pytest

from ..access.logins import fan_out
from ..harness import Harness

_LISTS: Final = """
select p.proname as name, proargnames[1] = 'p_job' as of_job, 'p_all' = any(p.proargnames) as of_tenants from pg_proc p
where p.pronamespace = 'plait'::regnamespace and p.proname !~ '^_' and p.proretset and 'p_limit' = any(p.proargnames)
  and (has_function_privilege('plait_client', p.oid, 'execute') or has_function_privilege('plait_admin', p.oid, 'execute'))
order by 1
"""
_BOUND: Final = {"job_tree": 10_000}
_NOT_LISTS: Final = {"changes"}
"""The change feed: its limit is a number of changes, not of rows."""


async def _rows(harness: Harness, name: str, job: Any, limit: int | None, *, of_tenants: bool = True) -> int:
    given = (f"p_job => '{job}', " if job else "") + ("p_all => true, " if of_tenants else "")
    return len(await harness.rows(f"select * from plait.{name}({given}p_limit => $1)", limit))


async def test_each_list_returns_no_more_than_its_limit_and_refuses_a_negative_one(harness: Harness) -> None:
    for tenant in ("default", "acme"):
        await fan_out(harness.store, await harness.tenant(tenant))
    parent = await harness.sql("select parent_id from plait.fan_outs limit 1")
    await harness.enqueue_many("add", 3)
    functions = [row for row in await harness.rows(_LISTS) if row["name"] not in _NOT_LISTS]
    assert {row["name"] for row in functions} >= {"list_jobs", "search_jobs", "list_audit", "list_children", "job_tree"}
    for row in functions:
        name, job, of_tenants = row["name"], parent if row["of_job"] else None, row["of_tenants"]
        everything = await _rows(harness, name, job, 2**31 - 1, of_tenants=of_tenants)
        assert await _rows(harness, name, job, None, of_tenants=of_tenants) == everything, name
        assert await _rows(harness, name, job, 0, of_tenants=of_tenants) == 0, name
        assert await _rows(harness, name, job, 1, of_tenants=of_tenants) == min(everything, 1), name
        for limit in (-1, -(2**31)):
            with pytest.raises(asyncpg.PostgresError) as refused:
                await _rows(harness, name, job, limit, of_tenants=of_tenants)
            assert refused.value.sqlstate == "PL001", name
            assert f"must be between 0 and {_BOUND.get(name, 1000)}, got {limit}" in str(refused.value)


async def test_no_list_returns_more_than_its_bound(harness: Harness) -> None:
    await harness.enqueue_many("add", 1010)
    for limit in (None, 1001, 2**31 - 1):
        assert await _rows(harness, "list_jobs", None, limit) == 1000
