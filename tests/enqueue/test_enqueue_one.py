"""The fast path for one job without special options. It stores the same rows as the general path, which handles all other cases."""

from typing import Any

import msgspec
import pytest

from plait.model.ids import DEFAULT_TENANT, new_id
from plait.store.new_jobs import NewJob

from ..harness import Harness

ROWS = """
  select to_jsonb(j) - 'id' || jsonb_build_object('payload', j.payload::text) as job, to_jsonb(l) - 'job_id' as live
  from plait.jobs j join plait.live l on l.job_id = j.id where j.id = $1
"""


def new(**fields: Any) -> NewJob:
    job = NewJob(id=new_id(), definition="add", payload='{"x": 1}', tenant_id=DEFAULT_TENANT)
    return msgspec.structs.replace(job, **fields)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"queue": "post"},
        {"priority": 0},
        {"max_attempts": 1},
        {"queue": "a", "priority": -5, "max_attempts": 10_000},
    ],
    ids=str,
)
async def test_both_ways_leave_the_same(harness: Harness, asked: dict[str, Any]) -> None:
    await harness.define("add", queue="mail", priority=7, max_attempts=2)
    short, long = new(**asked), new(**asked)
    assert await harness.store.jobs.enqueue_one(short)
    await harness.store.jobs.enqueue_many([long])
    [one], [other] = await harness.rows(ROWS, short.id), await harness.rows(ROWS, long.id)
    assert one == other


@pytest.mark.parametrize(
    "definition",
    [None, {"active": False}, {"max_running": 1}, {"rate_count": 1, "rate_period_s": 1}],
    ids=["unknown", "inactive", "limited", "limited in rate"],
)
async def test_a_special_definition_goes_the_long_way(harness: Harness, definition: dict[str, Any] | None) -> None:
    if definition is not None:
        await harness.define("add", **{key: value for key, value in definition.items() if key != "active"})
    if definition == {"active": False}:
        await harness.sql("update plait.definitions set active = false")
    await aside(harness, new())


async def test_a_tenant_with_a_quota_goes_the_long_way(harness: Harness) -> None:
    await harness.define("add")
    tenant = await harness.store.tenants.set_tenant("acme", {"max_queued": 0})
    await aside(harness, new(tenant_id=tenant))


@pytest.mark.parametrize(
    "asked",
    [
        {"payload": "[]"},
        {"payload": "{"},
        {"payload": '{"x": "' + "x" * 1_048_576 + '"}'},
        {"queue": "no queue"},
        {"priority": 40_000},
        {"max_attempts": 0},
        {"id": DEFAULT_TENANT},
        {"tenant_id": new_id()},
    ],
    ids=["array", "no JSON", "large", "queue", "priority", "attempts", "old id", "no tenant"],
)
async def test_what_is_wrong_is_left_for_the_long_way_to_say(harness: Harness, asked: dict[str, Any]) -> None:
    await harness.define("add")
    await aside(harness, new(**asked))


async def test_a_job_that_is_there_already_is_left_alone(harness: Harness) -> None:
    await harness.define("add")
    job = new()
    assert await harness.store.jobs.enqueue_one(job)
    assert not await harness.store.jobs.enqueue_one(job)
    assert await harness.sql("select count(*) from plait.jobs") == 1


@pytest.mark.parametrize(
    "special",
    [
        {"delay_s": 1.0},
        {"timeout_s": 1.0},
        {"dedupe_key": "k"},
        {"idempotency_key": "k"},
        {"limit_key": "k"},
        {"correlation_id": "c"},
        {"after": "{}"},
        {"tenant_id": None},
    ],
    ids=str,
)
def test_only_a_job_without_more_is_plain(special: dict[str, Any]) -> None:
    assert new().is_plain()
    assert not new(**special).is_plain()


async def aside(harness: Harness, job: NewJob) -> None:
    assert not await harness.store.jobs.enqueue_one(job)
    assert await harness.sql("select count(*) from plait.jobs") == 0
