"""Enqueue: stored values, repeated calls, and errors."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from plait.model.errors import InactiveDefinition, InvalidId, InvalidJob, UnknownTenant
from plait.model.ids import DEFAULT_TENANT, new_id
from plait.store.new_jobs import NewJob

from ..harness import Harness

ID = "array[plait.uuidv7()]"


async def test_a_job_of_an_unknown_definition_has_the_defaults(harness: Harness) -> None:
    job = await harness.job(await harness.enqueue("add"))
    assert (job.queue, job.priority, job.max_attempts, job.source) == ("default", 100, 5, "manual")
    assert (job.status, job.attempt, job.failed_attempts, job.lane) == ("queued", 0, 0, "")
    assert job.run_at == job.created_at == await harness.now()
    assert job.scheduled_for is None


async def test_a_definition_gives_the_defaults(harness: Harness) -> None:
    await harness.define("add", queue="mail", priority=7, max_attempts=2)
    job = await harness.job(await harness.enqueue("add"))
    assert (job.queue, job.priority, job.max_attempts) == ("mail", 7, 2)


async def test_what_the_caller_says_comes_first(harness: Harness) -> None:
    await harness.define("add", queue="mail", priority=7, max_attempts=2)
    job = await harness.job(
        await harness.enqueue("add", queue="post", priority=0, max_attempts=1, timeout_s=5, correlation_id="c")
    )
    assert (job.queue, job.priority, job.max_attempts) == ("post", 0, 1)
    assert (job.timeout_s, job.correlation_id) == (5, "c")


async def test_priority_zero_is_a_priority(harness: Harness) -> None:
    """T19"""
    await harness.define("add", priority=50)
    assert (await harness.job(await harness.enqueue("add", priority=0))).priority == 0
    await harness.define("add", priority=0)
    assert (await harness.job(await harness.enqueue("add"))).priority == 0


async def test_a_delayed_job_is_scheduled(harness: Harness) -> None:
    job = await harness.job(await harness.enqueue("add", delay_s=60))
    assert job.status == "scheduled"
    assert job.run_at == job.scheduled_for == await harness.now() + timedelta(seconds=60)


async def test_a_delay_of_nothing_and_a_time_that_has_passed_are_now(harness: Harness) -> None:
    past = await harness.now() - timedelta(days=1)
    jobs = [await harness.enqueue("add", delay_s=0), await harness.enqueue("add", scheduled_for=past)]
    assert await harness.statuses(jobs) == ["queued", "queued"]
    assert [(await harness.job(job)).run_at for job in jobs] == [await harness.now()] * 2


async def test_the_later_of_a_time_and_a_delay_counts(harness: Harness) -> None:
    soon = await harness.now() + timedelta(seconds=10)
    job = await harness.job(await harness.enqueue("add", scheduled_for=soon, delay_s=60))
    assert job.run_at == await harness.now() + timedelta(seconds=60)


async def test_a_batch_may_leave_any_element_to_its_default(harness: Harness) -> None:
    await harness.define("add", priority=7)
    jobs = [
        await harness.new_job("add", queue="mail", dedupe_key="k"),
        await harness.new_job("other", priority=3, delay_s=5),
        await harness.new_job("add", tenant="acme", idempotency_key="i", limit_key="l", max_attempts=1),
    ]
    assert await harness.store.jobs.enqueue_many(jobs) == {}
    rows = [await harness.job(job.id) for job in jobs]
    assert [row.queue for row in rows] == ["mail", "default", "default"]
    assert [row.priority for row in rows] == [7, 3, 7]
    assert [row.max_attempts for row in rows] == [5, 5, 1]
    assert [row.status for row in rows] == ["queued", "scheduled", "queued"]
    assert [row.tenant_id for row in rows] == [job.tenant_id for job in jobs]
    assert rows[2].limit_key == "l"


async def test_ten_thousand_at_once(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 10_000, payload={"a": 1})
    assert len(set(jobs)) == 10_000
    assert await harness.counts() == {"queued": 10_000}


# Sent again


async def test_the_same_id_sent_again_makes_no_second_job(harness: Harness) -> None:
    job = await harness.enqueue("add", payload={"a": 1})
    assert await harness.enqueue("add", id=job, payload={"a": 1}) == job
    assert await harness.counts() == {"queued": 1}


@pytest.mark.parametrize("keys", [{}, {"dedupe_key": "k"}, {"idempotency_key": "k"}], ids=str)
async def test_sent_again_after_the_job_has_ended_it_does_not_run_again(harness: Harness, keys: dict[str, str]) -> None:
    job = await harness.enqueue("add", **keys)
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    assert await harness.enqueue("add", id=job, **keys) == job
    assert await harness.counts() == {"succeeded": 1}
    assert await worker.claim(10) == []


async def test_a_batch_of_old_and_new_makes_the_new(harness: Harness) -> None:
    old = await harness.new_job("add")
    await harness.store.jobs.enqueue_many([old])
    new = await harness.new_job("add")
    assert await harness.store.jobs.enqueue_many([old, new]) == {}
    assert await harness.counts() == {"queued": 2}


async def test_sent_again_when_the_definition_is_inactive_by_now(harness: Harness) -> None:
    """The job was stored, the reply was lost, and an operator deactivated the definition in the meantime."""
    await harness.define("add")
    job = await harness.enqueue("add")
    await harness.store.definitions.set_definition("add", {"active": False})
    assert await harness.enqueue("add", id=job) == job


async def test_a_job_of_another_definition_is_not_sent_again(harness: Harness) -> None:
    job = await harness.enqueue("add")
    with pytest.raises(InvalidId):
        await harness.enqueue("other", id=job)


async def test_another_tenants_id_looks_like_any_bad_id(harness: Harness) -> None:
    """T128: the error reveals nothing about other tenants."""
    job = await harness.enqueue("add", tenant="acme")
    with pytest.raises(InvalidId) as clash:
        await harness.enqueue("add", tenant="rival", id=job)
    with pytest.raises(InvalidId) as bad:
        await harness.enqueue("add", tenant="rival", id=uuid4())
    assert str(clash.value) == str(bad.value)


# Refused


def _v7_of(at: datetime) -> UUID:
    return UUID(int=int(at.timestamp() * 1000) << 80 | 0x7 << 76 | 0x2 << 62 | 4711)


async def test_an_id_is_a_uuid_v7_of_about_now(harness: Harness) -> None:
    real = datetime.now(UTC)
    for bad in (uuid4(), _v7_of(real - timedelta(days=2)), _v7_of(real + timedelta(days=2)), UUID(int=0)):
        with pytest.raises(InvalidId):
            await harness.enqueue("add", id=bad)
    for good in (_v7_of(real - timedelta(hours=23)), _v7_of(real + timedelta(hours=23))):
        assert await harness.enqueue("add", id=good) == good


async def test_an_id_comes_once_in_a_batch(harness: Harness) -> None:
    job = await harness.new_job("add")
    with pytest.raises(InvalidId):
        await harness.store.jobs.enqueue_many([job, job])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"definition": ""}, "1 to 200 printable characters, got ''"),
        ({"definition": "a\nb"}, "printable"),
        ({"definition": " a"}, "printable"),
        ({"definition": "a" * 201}, "printable"),
        ({"queue": ""}, "1 to 100 letters"),
        ({"queue": "a b"}, "got 'a b'"),
        ({"queue": "a" * 101}, "1 to 100 letters"),
        ({"priority": 40_000}, "between -32768 and 32767, got 40000"),
        ({"max_attempts": 0}, "between 1 and 10000, got 0"),
        ({"max_attempts": 10_001}, "between 1 and 10000"),
        ({"delay_s": -1.0}, "a delay must be between 0 and 100 years, got -1 s"),
        ({"delay_s": float("nan")}, "got NaN s"),
        ({"delay_s": float("inf")}, "got Infinity s"),
        ({"timeout_s": 0.0}, "more than 0, got 0 s"),
        ({"timeout_s": float("nan")}, "more than 0, got NaN s"),
        ({"scheduled_for": datetime.max.replace(tzinfo=UTC)}, "within 100 years"),
        ({"scheduled_for": datetime(9000, 1, 1, tzinfo=UTC)}, "within 100 years"),
        ({"scheduled_for": datetime(1, 1, 1, tzinfo=UTC)}, "within 100 years"),
        ({"dedupe_key": ""}, "1 to 500 characters"),
        ({"idempotency_key": "a" * 501}, "1 to 500 characters"),
        ({"limit_key": ""}, "1 to 500 characters"),
        ({"correlation_id": "a" * 501}, "1 to 500 characters"),
        ({"idempotency_key": "k", "idempotency_ttl_s": -1.0}, "ttl"),
        ({"idempotency_key": "k", "idempotency_ttl_s": float("nan")}, "ttl"),
        ({"payload": "[1]"}, "JSON object"),
        ({"payload": "1"}, "JSON object"),
        ({"payload": '{"a": }'}, "JSON"),
        ({"payload": "{'a': 1}"}, "JSON"),
        ({"payload": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"}, "JSON"),
        ({"payload": json.dumps({"a": "x" * 1_048_576})}, "at most 1 MiB"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_bad_argument_is_named(harness: Harness, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        await harness.enqueue(options.pop("definition", "add"), **options)
    assert words in str(caught.value)
    assert await harness.counts() == {}


async def test_one_bad_job_refuses_the_batch(harness: Harness) -> None:
    jobs = [await harness.new_job("add"), await harness.new_job("add", priority=99_999)]
    with pytest.raises(InvalidJob):
        await harness.store.jobs.enqueue_many(jobs)
    assert await harness.counts() == {}


async def test_a_payload_may_hold_what_jsonb_refuses(harness: Harness) -> None:
    """T100: NUL, a lone surrogate and a huge number are valid JSON. Also with an idempotency key."""
    payload = '{"nul": "\\u0000", "lone": "\\ud800", "big": 1e999999}'
    for keys in ({}, {"idempotency_key": "k"}):
        job = await harness.enqueue("add", payload=payload, **keys)
        assert (await harness.job(job)).payload == payload


async def test_the_largest_payload(harness: Harness) -> None:
    payload = '{"a": "' + "x" * (1_048_576 - 9) + '"}'
    assert len((await harness.job(await harness.enqueue("add", payload=payload))).payload) == 1_048_576


@pytest.mark.parametrize(
    "arrays",
    [
        "array[]::uuid[], array[]::text[], array[]::text[]",
        "null, null, null",
        f"{ID}, array['add', 'add'], array['{{}}']",
        f"{ID}, array['add'], array['{{}}', '{{}}']",
        f"{ID}, array['add'], array['{{}}'], p_priorities => array[1, 2]",
        f"{ID} || {ID}, array['add', 'add'], array['{{}}', '{{}}'], p_queues => array['a', 'b', 'c']",
        f"{ID} || {ID}, array['add', 'add'], array['{{}}', '{{}}'], p_correlation_ids => array['a']",
        f"{ID}, array['add'], array['{{}}'], p_correlation_ids => array['a', 'b']",
        f"{ID}, array['add'], array['{{}}'], p_scheduled_for => array[plait.now(), plait.now()]",
        f"{ID}, array['add'], array['{{}}'], p_source => 'gossip'",
    ],
)
async def test_arrays_that_do_not_fit_are_refused(harness: Harness, arrays: str) -> None:
    async with harness.connection() as connection:
        with pytest.raises(asyncpg.PostgresError) as caught:
            await connection.fetch(f"select plait.enqueue_many({arrays})")
    assert caught.value.sqlstate == "PL001"


@pytest.mark.parametrize("more", ["", ", p_correlation_ids => array['a', 'b']"], ids=["plain", "general"])
async def test_one_value_stands_for_all(harness: Harness, more: str) -> None:
    tenant = await harness.tenant()
    ids = [new_id(), new_id()]
    sql = (
        "select plait.enqueue_many(p_ids => $1, p_definitions => array['add'], p_payloads => array['{}', '{}'], "
        f"p_tenants => array[$2::uuid], p_queues => array['q'], p_priorities => array[7], p_max_attempts => array[3]{more})"
    )
    async with harness.connection() as connection:
        await connection.fetch(sql, ids, tenant)
    for job in ids:
        row = await harness.job(job)
        seen = (row.definition, row.tenant_id, row.queue, row.priority, row.max_attempts, row.status)
        assert seen == ("add", tenant, "q", 7, 3, "queued")


@pytest.mark.parametrize("correlation_id", [None, "c"], ids=["plain", "general"])
async def test_jobs_of_which_some_are_there_already(harness: Harness, correlation_id: str | None) -> None:
    jobs = [
        NewJob(id=new_id(), definition="add", payload="{}", tenant_id=DEFAULT_TENANT, correlation_id=correlation_id)
        for _ in range(4)
    ]
    for some in (jobs[1:3], jobs, jobs):
        assert await harness.store.jobs.enqueue_many(some) == {}
    assert [(await harness.job(job.id)).status for job in jobs] == ["queued"] * 4
    with pytest.raises(InvalidId):
        await harness.store.jobs.enqueue_many(
            [NewJob(id=new_id(), definition="add", payload="{}", tenant_id=DEFAULT_TENANT)] * 2
        )


async def test_more_tenants_than_jobs_are_refused(harness: Harness) -> None:
    tenant = await harness.tenant()
    sql = "select plait.enqueue_many(array[plait.uuidv7()], array['add'], array['{}'], $1::uuid[])"
    async with harness.connection() as connection:
        with pytest.raises(asyncpg.PostgresError) as caught:
            await connection.fetch(sql, [tenant, tenant])
    assert caught.value.sqlstate == "PL001"


async def test_an_unknown_tenant_is_refused(harness: Harness) -> None:
    job = await harness.new_job("add")
    for tenant in (new_id(), None):
        with pytest.raises(UnknownTenant):
            await harness.store.jobs.enqueue_many([type(job)(**{**_fields(job), "tenant_id": tenant})])


def _fields(job: Any) -> dict[str, Any]:
    return {name: getattr(job, name) for name in type(job).__slots__}


async def test_an_inactive_definition_takes_no_new_jobs_and_runs_the_old(harness: Harness) -> None:
    await harness.define("add")
    job = await harness.enqueue("add")
    await harness.store.definitions.set_definition("add", {"active": False})
    with pytest.raises(InactiveDefinition):
        await harness.enqueue("add")
    await harness.define("add")  # a worker that starts does not reactivate it: only an operator can
    with pytest.raises(InactiveDefinition):
        await harness.enqueue("add")
    worker = await harness.worker()
    assert (await worker.claim_one()).job_id == job


@pytest.mark.parametrize("priorities", ["'[0:1]={1,2}'::int[]", "'{{1},{2}}'::int[]"], ids=["from 0", "two dimensions"])
async def test_an_array_that_cannot_be_read_by_position_is_refused(harness: Harness, priorities: str) -> None:
    sql = f"select plait.enqueue_many($1, array['add'], array['{{}}', '{{}}'], p_priorities => {priorities})"
    async with harness.connection() as connection:
        with pytest.raises(asyncpg.PostgresError, match="one-dimensional with lower bound 1"):
            await connection.fetch(sql, [new_id(), new_id()])
