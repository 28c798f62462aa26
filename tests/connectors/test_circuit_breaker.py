"""The circuit breaker: requests to a failing server are paused by all workers together, separately for each tenant."""

from collections.abc import Callable

from ..harness import Harness
from .conftest import ConnectorRunner
from .servers import Reply, serving

NewRunner = Callable[..., ConnectorRunner]
ORIGIN = "https://a.example:443"


async def test_five_failures_in_a_row_open_it_and_one_may_try_later(harness: Harness) -> None:
    circuits, tenant = harness.store.connectors, await harness.tenant("a")
    for _ in range(4):
        await circuits.report_request(tenant, ORIGIN, ok=False)
    assert (await circuits.admit_request(tenant, ORIGIN)).admitted
    await circuits.report_request(tenant, ORIGIN, ok=False)
    closed = await circuits.admit_request(tenant, ORIGIN)
    assert (closed.admitted, closed.wait_s) == (False, 30)
    assert (await circuits.admit_request(await harness.tenant("b"), ORIGIN)).well
    await harness.advance(seconds=30)
    tries = [(await circuits.admit_request(tenant, ORIGIN)).admitted for _ in range(3)]
    assert tries == [True, False, False]
    await circuits.report_request(tenant, ORIGIN, ok=False)
    assert (await circuits.admit_request(tenant, ORIGIN)).wait_s == 60
    await harness.advance(seconds=60)
    assert (await circuits.admit_request(tenant, ORIGIN)).admitted
    await circuits.report_request(tenant, ORIGIN, ok=True)
    assert (await circuits.admit_request(tenant, ORIGIN)).well
    assert await harness.sql("select count(*) from plait.circuits") == 0


async def test_a_try_that_nobody_told_the_end_of_does_not_close_it_for_ever(harness: Harness) -> None:
    circuits, tenant = harness.store.connectors, await harness.tenant("a")
    for _ in range(5):
        await circuits.report_request(tenant, ORIGIN, ok=False)
    await harness.advance(seconds=30)
    assert (await circuits.admit_request(tenant, ORIGIN)).admitted  # and its worker dies
    await harness.advance(seconds=30)
    assert (await circuits.admit_request(tenant, ORIGIN)).admitted


async def test_many_are_asked_and_told_at_once(harness: Harness) -> None:
    a, b = await harness.tenant("a"), await harness.tenant("b")
    await harness.rows("select plait.report_requests($1, $2, $3)", [a] * 5 + [b], ["x"] * 6, [False] * 6)
    sql = "select o, admitted from plait.admit_requests($1, $2) order by o"
    assert [tuple(row) for row in await harness.rows(sql, [a, b, a], ["x", "x", "y"])] == [(1, False), (2, True)]


async def test_what_failed_long_ago_is_forgotten(harness: Harness) -> None:
    circuits, tenant = harness.store.connectors, await harness.tenant("a")
    await circuits.report_request(tenant, ORIGIN, ok=False)
    await harness.advance(days=2)
    await circuits.report_request(tenant, "https://b.example:443", ok=False)
    assert await harness.sql("select array_agg(origin::text) from plait.circuits") == ["https://b.example:443"]


async def test_jobs_wait_for_a_server_that_fails_without_losing_tries(new_runner: NewRunner, harness: Harness) -> None:
    async with serving(lambda _: Reply(500 if len(server.seen) <= 5 else 200)) as server:
        runner = new_runner(server.port)
        jobs = [
            await harness.enqueue("connector.http.request", payload={"url": f"http://127.0.0.1:{server.port}/{n}"})
            for n in range(12)
        ]
        await runner.kit.run_until_idle(concurrency=1)
        assert len(server.seen) == 5
        assert {await harness.status(job) for job in jobs} == {"scheduled"}
        assert sorted(row.failed_attempts or 0 for row in [await harness.job(job) for job in jobs]) == [0] * 7 + [1] * 5
        for _ in range(8):
            await runner.kit.advance(seconds=60)
            await runner.kit.run_until_idle(concurrency=1)
        assert {await harness.status(job) for job in jobs} == {"succeeded"}


async def test_after_a_day_each_wait_is_a_try(new_runner: NewRunner, harness: Harness) -> None:
    async with serving(Reply(500)) as server:
        runner = new_runner(server.port)
        origin, tenant = f"http://127.0.0.1:{server.port}", await harness.tenant()
        for _ in range(5):
            await harness.store.connectors.report_request(tenant, origin, ok=False)
        await harness.rows(
            "update plait.circuits set opened_at = opened_at - interval '2 days', open_until = open_until + interval '1 h'"
        )
        job = await runner.request(f"{origin}/")
        assert (job.status, job.failed_attempts, len(server.seen)) == ("scheduled", 1, 0)


async def test_a_4xx_is_an_answer_and_breaks_nothing(new_runner: NewRunner, harness: Harness) -> None:
    async with serving(Reply(404)) as server:
        runner = new_runner(server.port)
        for _ in range(7):
            await runner.request(f"http://127.0.0.1:{server.port}/")
        assert len(server.seen) == 7
        assert await harness.sql("select count(*) from plait.circuits") == 0
