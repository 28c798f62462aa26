"""The lease: a worker that has lost it stops, and writes nothing."""

import asyncio

import asyncpg
import pytest

from plait import Plait, Status
from plait.runtime.settings import Settings
from plait.testing import FakeClock, TestDatabase
from tests.waiting import eventually
from tests.worker.conftest import Running, run_worker


@pytest.fixture
def frozen_app(database: TestDatabase) -> Plait:
    """An app on the fake clock: a lease expires when the test advances the clock."""
    return Plait(database.url, settings=Settings(lease=30, heartbeat=2, poll=0.05, grace=1))


async def test_a_lost_lease_cancels_the_handler_and_its_word_does_not_count(
    frozen_app: Plait, database: TestDatabase
) -> None:
    app = frozen_app
    started, stopped, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
    attempts: list[int] = []

    @app.job
    async def work() -> str:
        from plait import current

        attempts.append(current().attempt)
        if current().attempt == 1:
            started.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                stopped.set()
                return "from the first attempt"
        await go_on.wait()
        return "from the second attempt"

    async with run_worker(app) as worker:
        handle = await work.enqueue()
        await started.wait()
        first = worker.id
        clock = FakeClock(database.admin_url)
        await clock.advance(minutes=5)  # the leader declares the worker lost, and the next heartbeat reports it
        await asyncio.wait_for(stopped.wait(), 180)

        async def taken_back() -> bool:
            return await handle.status() != Status.RUNNING

        await eventually(taken_back)
        await clock.advance(seconds=2)  # the job is rescheduled within a second

        async def again() -> bool:
            return attempts == [1, 2]

        await eventually(again)
        assert worker.id != first
        go_on.set()
        assert await handle.result(120) == "from the second attempt"
        store = await app.store()
        assert [a.status for a in await store.jobs.list_attempts(handle.id)] == ["lost", "succeeded"]
    await app.close()


async def test_connections_that_break_lose_no_outcome(app: Plait, running: Running) -> None:
    """T45, T111: if a reply is lost, the outcome is sent again. If the reply to a claim is lost, its jobs are released."""
    done: list[int] = []

    @app.job(retries=3)
    async def work(n: int) -> int:
        await asyncio.sleep(0.001)
        done.append(n)
        return n

    async with running(app, concurrency=20):
        handles = await work.enqueue_many(range(2000))
        for _ in range(20):
            await asyncio.sleep(0.05)
            await _break_all(app)
        assert [await handle.result(120) for handle in handles] == list(range(2000))
    assert set(done) == set(range(2000))


async def _break_all(app: Plait) -> None:
    """Close all connections to this database except the caller's."""
    store = await app.store()
    admin = await asyncpg.connect(store.database.url.replace("plait_dev@", "postgres@"))
    try:
        await admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            " and query ilike '%plait.cycle%'"
        )
    finally:
        await admin.close()


async def test_without_notifications_polling_finds_the_work(
    app: Plait, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.settings = app.settings.model_copy(update={"listen": False})

    @app.job
    async def work() -> str:
        return "found"

    async with running(app):
        assert await (await work.enqueue()).result(120) == "found"


async def test_queues_have_their_own_concurrency(app: Plait, running: Running) -> None:
    now: dict[str, int] = {"a": 0, "b": 0}
    most: dict[str, int] = {"a": 0, "b": 0}

    @app.job
    async def work(queue: str) -> None:
        now[queue] += 1
        most[queue] = max(most[queue], now[queue])
        await asyncio.sleep(0.01)
        now[queue] -= 1

    handles = await work.options(queue="a").enqueue_many(["a"] * 30)
    handles += await work.options(queue="b").enqueue_many(["b"] * 30)
    async with running(app, queues={"a": 2, "b": 5}):
        for handle in handles:
            await handle.result(120)
    assert most["a"] <= 2
    assert most["b"] <= 5
    assert most["b"] > 2


async def test_a_slow_job_does_not_keep_others_behind_it(app: Plait, running: Running) -> None:
    """T39: prefetched jobs that a worker can't start are released, and another worker runs them."""
    hold = asyncio.Event()
    slow_started = asyncio.Event()

    @app.job
    async def fast() -> None: ...

    @app.job
    async def slow() -> None:
        slow_started.set()
        await hold.wait()

    async with running(app, concurrency=1) as first:
        for handle in await fast.enqueue_many([()] * 2000):  # so that the worker expects fast jobs
            await handle.result(120)
        blocker = await slow.enqueue()
        await slow_started.wait()
        behind = await fast.enqueue_many([()] * 50)
        async with run_worker(app, concurrency=5) as second:
            for handle in behind:
                await handle.result(120)
            assert first.id != second.id
        hold.set()
        await blocker.result(120)
        assert await blocker.status() == Status.SUCCEEDED


async def test_a_locked_job_does_not_hold_up_the_outcomes_of_others(
    app: Plait, running: Running, real_clock_database: TestDatabase
) -> None:
    """A user's open transaction has requested the cancellation of a running job. The job's row is locked, and the other jobs still finish."""
    started, go_on = asyncio.Event(), asyncio.Event()

    @app.job
    async def work(n: int) -> int:
        if n == 0:
            started.set()
        await go_on.wait()
        return n

    async with running(app):
        handles = await work.enqueue_many(range(5))
        await started.wait()
        connection = await asyncpg.connect(real_clock_database.url)
        async with connection.transaction():
            await connection.fetchval("select plait.cancel($1)", handles[0].id)
            go_on.set()
            assert [await handle.result(120) for handle in handles[1:]] == [1, 2, 3, 4]
            assert await handles[0].status() == Status.RUNNING
        assert await handles[0].result(120) == 0  # it succeeded before the cancel was committed
        await connection.close()
