"""A job is a plain function that can also be enqueued: options, defaults and errors."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from plait import Backoff, Plait, Rate, Status
from plait.model.errors import (
    IdempotencyConflict,
    InvalidArguments,
    InvalidDefinition,
    InvalidId,
    InvalidJob,
    QuotaExceeded,
    UnknownTenant,
)
from plait.model.ids import new_id
from plait.testing import FakeClock, TestDatabase

from .conftest import Drain


async def test_a_plain_call_runs_here_and_now(app: Plait) -> None:
    @app.job
    async def later(x: int) -> int:
        """Adds one."""
        return x + 1

    @app.job
    def now(x: int) -> int:
        return x + 1

    assert (await later(1), now(1), later.__doc__, repr(now)) == (2, 2, "Adds one.", "<Job now>")


async def test_every_option_reaches_the_job(app: Plait, database: TestDatabase) -> None:
    @app.job(queue="slow", priority=7, retries=2, timeout="10m")
    async def work(x: int) -> None: ...

    acme = await (await app.store()).tenants.set_tenant("acme")
    now = await FakeClock(database.admin_url).now()
    job_id = new_id()
    handle = await work.options(
        tenant="acme", queue="fast", priority=-3, retries=9, timeout=timedelta(seconds=5), delay="2h",
        scheduled_for=now + timedelta(hours=1), dedupe_key="d", idempotency_key="i", idempotency_ttl="1d",
        limit_key="l", correlation_id="c", job_id=job_id,
    ).enqueue(1)  # fmt: skip
    row = await handle.info()
    assert handle.id == row.id == job_id
    assert (row.tenant_id, row.queue, row.priority, row.max_attempts, row.timeout_s) == (acme, "fast", -3, 10, 5)
    assert (row.dedupe_key, row.idempotency_key, row.limit_key, row.correlation_id) == ("d", "i", "l", "c")
    assert (row.status, row.scheduled_for) == (Status.SCHEDULED, now + timedelta(hours=2)), "the later of the two times"


async def test_what_is_not_said_is_as_the_definition_says_and_a_zero_is_a_zero(app: Plait) -> None:
    """T19"""

    @app.job(queue="slow", priority=7, retries=2)
    async def work() -> None: ...

    default = await (await work.enqueue()).info()
    zero = await (await work.options(priority=0, retries=0, delay=0).enqueue()).info()
    assert (default.queue, default.priority, default.max_attempts) == ("slow", 7, 3)
    assert (zero.queue, zero.priority, zero.max_attempts, zero.status) == ("slow", 0, 1, Status.QUEUED)


async def test_options_add_up_and_leave_the_job_as_it_was(app: Plait) -> None:
    @app.job
    async def work() -> None: ...

    fast = work.options(queue="fast").options(priority=1)
    assert ((await (await fast.enqueue()).info()).queue, (await (await work.enqueue()).info()).queue) == (
        "fast",
        "default",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priority": "high"}, "priority must be a whole number"),
        ({"priority": 40_000}, "priority must be a whole number between -32768 and 32767, got 40000"),
        ({"priority": 10**5000}, "got a value of type int"),
        ({"priority": True}, "priority must be a whole number"),
        ({"retries": -1}, "retries must be a whole number between 0 and 9999"),
        ({"delay": -1}, "delay must be between 0 and 100 years, got -1"),
        ({"delay": float("nan")}, "delay must be between"),
        ({"delay": 10**400}, "delay must be between"),
        ({"delay": "soon"}, "delay must be a number of seconds, or text such as '10m' or '1h30m', got 'soon'"),
        ({"delay": None, "timeout": 0}, "timeout must be more than 0"),
        ({"scheduled_for": datetime(2030, 1, 1)}, "scheduled_for must have a time zone"),  # noqa: DTZ001
        ({"scheduled_for": "2030-01-01"}, "scheduled_for must be of type datetime"),
        ({"queue": "a b"}, "queue must be"),
        ({"queue": ""}, "queue must be text"),
        ({"dedupe_key": ""}, "dedupe_key must be text"),
        ({"dedupe_key": "x" * 501}, "dedupe_key must be text"),
        ({"idempotency_key": "a\0b"}, "idempotency_key must be text"),
        ({"correlation_id": "\ud800"}, "correlation_id must be text"),
        ({"correlation_id": 5}, "correlation_id must be text"),
        ({"tenant": ""}, "tenant must be a tenant's slug or id, got ''"),
        ({"tenant": 5}, "tenant must be of type str or UUID"),
        ({"job_id": "5"}, "job_id must be of type UUID"),
    ],
)
def test_an_option_that_is_not_valid_is_refused_where_it_is_given(options: dict[str, Any], message: str) -> None:
    app = Plait("postgresql://nowhere.invalid/")

    @app.job
    async def work() -> None: ...

    with pytest.raises(InvalidJob) as raised:
        work.options(**options)
    assert message in str(raised.value)


async def test_an_unknown_option_is_refused(app: Plait) -> None:
    @app.job
    async def work() -> None: ...

    with pytest.raises(InvalidJob, match="prio"):
        work.options(prio=1)  # type: ignore[call-arg]


async def test_a_tenant_that_is_not_there_is_an_error(app: Plait) -> None:
    @app.job
    async def work() -> None: ...

    with pytest.raises(UnknownTenant, match="nobody"):
        await work.options(tenant="nobody").enqueue()
    with pytest.raises(UnknownTenant):
        await work.options(tenant=uuid4()).enqueue()
    with pytest.raises(InvalidId):
        await work.options(job_id=uuid4()).enqueue()


async def test_an_app_may_act_for_one_tenant(database: TestDatabase, app: Plait, drain: Drain) -> None:
    acme = await (await app.store()).tenants.set_tenant("acme")

    async with Plait(database.url, tenant="acme") as bound:

        @bound.job
        async def whose() -> None: ...

        handle = await whose.enqueue()
        assert (await handle.info()).tenant_id == acme
        assert await bound.handle(handle.id).status() == Status.QUEUED
        assert await app.handle(str(handle.id), tenant="acme").status() == Status.QUEUED


async def test_a_dedupe_key_is_free_again_when_its_job_is_final(app: Plait, drain: Drain) -> None:
    @app.job
    async def work() -> int:
        return 1

    once = work.options(dedupe_key="k")
    first, second = await once.enqueue(), await once.enqueue()
    assert (second.id, second.deduplicated, first.deduplicated) == (first.id, True, False)
    await drain(app)
    assert await second.result(timeout=120) == 1
    third = await once.enqueue()
    assert (third.id != first.id, third.deduplicated) == (True, False)


async def test_an_idempotency_key_stands_for_its_payload_also_when_the_job_is_final(app: Plait, drain: Drain) -> None:
    @app.job
    async def charge(order: int) -> None: ...

    once = charge.options(idempotency_key="order 1")
    first = await once.enqueue(1)
    await drain(app)
    assert (await once.enqueue(1)).id == first.id
    with pytest.raises(IdempotencyConflict):
        await once.enqueue(2)
    with pytest.raises(InvalidJob, match="requires an idempotency_key"):
        await charge.options(idempotency_ttl="1h").enqueue(1)


async def test_a_call_of_many_is_a_tuple_a_mapping_or_one_argument(app: Plait, drain: Drain) -> None:
    @app.job
    async def join(a: str, b: str = "-") -> str:
        return a + b

    handles = await join.enqueue_many([("x", "y"), {"b": "1", "a": "2"}, "z"])
    await drain(app)
    assert [await handle.result(timeout=120) for handle in handles] == ["xy", "21", "z-"]
    assert await join.enqueue_many([]) == []
    for options in ({"dedupe_key": "k"}, {"idempotency_key": "k"}, {"job_id": new_id()}):
        with pytest.raises(InvalidArguments, match="must be unique for each job"):
            await join.options(**options).enqueue_many(["x"])


async def test_many_jobs_are_stored_together_or_not_at_all(app: Plait) -> None:
    @app.job
    async def work(x: int) -> None: ...

    tenants = (await app.store()).tenants
    await tenants.set_tenant("default", {"max_queued": 15_000})
    with pytest.raises(InvalidArguments, match=r"work: Expected `int`"):
        await work.enqueue_many([1, 2, "3"])
    handles = await work.enqueue_many(range(10_000))
    assert len({handle.id for handle in handles}) == 10_000
    with pytest.raises(QuotaExceeded):
        await work.enqueue_many(range(10_000))
    assert (await (await app.store()).statistics.overview()).live[Status.QUEUED] == 10_000


async def test_a_limit_key_is_an_arguments_value_or_what_a_function_makes_of_them(app: Plait) -> None:
    @app.job(key="customer", key_max_running=1)
    async def by_argument(customer: int | None = 5) -> None: ...

    @app.job(key=lambda a, b: f"{a}/{b}", key_rate=Rate(5, "1m"))
    async def by_function(a: str, b: str) -> None: ...

    assert (await (await by_argument.enqueue()).info()).limit_key == "5"
    assert (await (await by_argument.enqueue(None)).info()).limit_key is None
    assert (await (await by_function.enqueue("x", b="y")).info()).limit_key == "x/y"
    assert (await (await by_function.options(limit_key="z").enqueue("x", "y")).info()).limit_key == "z"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"queue": "a b"}, "queue must be"),
        ({"priority": 1.5}, "priority must be a whole number"),
        ({"retries": -1}, "retries must be a whole number"),
        ({"retries": True}, "retries must be a whole number"),
        ({"timeout": 0}, "timeout must be more than 0"),
        ({"timeout": "forever"}, "timeout must be a number of seconds"),
        ({"timeout": None}, "timeout must be a number of seconds"),
        ({"name": " x"}, "a job's name must be"),
        ({"name": "x" * 201}, "a job's name must be"),
        ({"key": "nobody"}, "got 'nobody'"),
        ({"key_max_running": 1}, "require key="),
        ({"max_running": 0}, "at least 1"),
        ({"isolation": "thread"}, "isolation must be 'process'"),
        ({"isolation": "process"}, "at module level"),
    ],
)
def test_a_definition_that_is_not_valid_is_refused_when_it_is_made(given: dict[str, Any], message: str) -> None:
    app = Plait("postgresql://nowhere.invalid/")

    async def work() -> None: ...

    with pytest.raises(InvalidDefinition) as raised:
        app.job(**given)(work)
    assert message in str(raised.value)


def test_what_is_no_function_of_its_own_name_is_no_job() -> None:
    app = Plait("postgresql://nowhere.invalid/")

    async def stream() -> Any:
        yield 1

    for bad in (stream, lambda: None, 5, object):
        with pytest.raises(InvalidDefinition):
            app.job(bad)  # type: ignore[arg-type]

    @app.job
    def twin() -> None: ...

    with pytest.raises(InvalidDefinition, match="two jobs have the name 'twin'"):
        app.job(twin._function)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Backoff(base="soon"),
        lambda: Backoff(factor=0.5),
        lambda: Backoff(jitter=2),
        lambda: Rate(0),
        lambda: Rate(1, 0),
        lambda: Rate(1.5),  # type: ignore[arg-type]
    ],
)
def test_a_policy_that_is_not_valid_is_refused(make: Any) -> None:
    with pytest.raises(InvalidDefinition):
        make()


async def test_ids_of_handles_are_plain_uuids(app: Plait) -> None:
    @app.job
    async def work() -> None: ...

    handle = await work.enqueue()
    assert type(handle.id) is UUID
    assert (await handle.info()).created_at.astimezone(UTC).tzinfo is UTC
