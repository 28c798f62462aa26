"""Use of an app from sync code, threads, several event loops and after a fork, and after it was closed."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from plait import Job, Plait, Status
from plait.model.errors import PlaitError
from plait.testing import TestDatabase

from .conftest import Drain


@pytest.fixture
def work(app: Plait) -> Job[[int], int]:
    @app.job
    async def work(x: int) -> int:
        return x

    return work


@pytest.fixture
def in_a_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


async def test_sync_code_has_every_form(app: Plait, work: Job[[int], int], drain: Drain) -> None:
    def use() -> None:
        handle = work.enqueue_sync(1)
        many = work.enqueue_many_sync([2, 3])
        assert handle.status_sync() == handle.info_sync().status == Status.QUEUED
        assert many[0].cancel_sync() == Status.CANCELED
        assert many[0].retry_sync() == Status.QUEUED
        with pytest.raises(TimeoutError):
            handle.result_sync(timeout=0.01)
        asyncio.run_coroutine_threadsafe(drain(app), loop).result(120)
        assert [one.result_sync(timeout="2m") for one in (handle, *many)] == [1, 2, 3]

    loop = asyncio.get_running_loop()
    await asyncio.to_thread(use)


async def test_the_sync_form_works_on_a_thread_that_runs_a_loop(work: Job[[int], int]) -> None:
    assert work.enqueue_sync(1).status_sync() == Status.QUEUED
    assert await (await work.enqueue(2)).status() == Status.QUEUED


async def test_the_sync_form_on_plaits_own_loop_is_refused_and_does_not_hang(app: Plait, work: Job[[int], int]) -> None:
    async def inside() -> None:
        work.enqueue_sync(1)

    with pytest.raises(PlaitError, match="use the async function"):
        app.call_sync(inside())


async def test_many_threads_share_one_app(app: Plait, work: Job[[int], int]) -> None:
    ready = threading.Barrier(16)

    def use(n: int) -> object:
        ready.wait(30)  # all threads at once, including the first use, which starts the app's loop thread
        return work.enqueue_sync(n).id

    with ThreadPoolExecutor(16) as pool:
        ids = await asyncio.gather(*(asyncio.get_running_loop().run_in_executor(pool, use, n) for n in range(16)))
    assert len(set(ids)) == 16
    assert sum(thread.name == "plait-portal" for thread in threading.enumerate()) == 1


def test_one_app_serves_one_loop_after_another(database_url: str) -> None:
    app = Plait(database_url)

    @app.job
    async def work(x: int) -> None: ...

    async def use() -> Status:
        async with app:
            return await (await work.enqueue(1)).status()

    assert [asyncio.run(use()) for _ in range(3)] == [Status.QUEUED] * 3


@pytest.fixture
def database_url(in_a_thread: ThreadPoolExecutor, database: TestDatabase) -> str:
    return database.url


async def test_one_app_serves_two_loops_at_once(work: Job[[int], int], app: Plait) -> None:
    async def use() -> set[Status]:
        handles = await asyncio.gather(*(work.enqueue(n) for n in range(50)))
        statuses = {await handle.status() for handle in handles}
        await app.close()
        return statuses

    here, there = await asyncio.gather(use(), asyncio.to_thread(asyncio.run, use()))
    assert here == there == {Status.QUEUED}


async def test_a_closed_app_opens_again(work: Job[[int], int], app: Plait) -> None:
    for _ in range(3):
        await work.enqueue(1)
        await app.close()
        await app.close()
        await asyncio.to_thread(work.enqueue_sync, 2)
        await asyncio.to_thread(app.close_sync)
        app.close_sync()
    assert (await (await app.store()).statistics.overview()).live[Status.QUEUED] == 6


async def test_closing_waits_for_enqueues_that_are_under_way(work: Job[[int], int], app: Plait) -> None:
    await work.enqueue(1)
    enqueuing = [asyncio.ensure_future(work.enqueue(n)) for n in range(100)]
    await asyncio.sleep(0)
    await app.close()
    await asyncio.gather(*enqueuing)
    assert (await (await app.store()).statistics.overview()).live[Status.QUEUED] == 101


async def test_an_app_that_could_not_connect_closes_and_tries_again() -> None:
    app = Plait("postgresql://x@127.0.0.1:1/x")
    for _ in range(2):
        with pytest.raises(PlaitError):
            await app.store()
        await app.close()


FORKING = """
import os, sys
from plait import Plait

app = Plait(sys.argv[1])

@app.job
async def work(x: int) -> None: ...

work.enqueue_sync(1)
child = os.fork()
work.enqueue_sync(2)
if child:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
app.close_sync()
"""


async def test_a_fork_gets_a_way_in_of_its_own(database: TestDatabase, app: Plait) -> None:
    """Pre-forking servers load the app before they fork."""
    command = (sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, database.url)
    process = await asyncio.create_subprocess_exec(*command)
    assert await asyncio.wait_for(process.wait(), 180) == 0
    assert (await (await app.store()).statistics.overview()).live[Status.QUEUED] == 3
