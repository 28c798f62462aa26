"""Timeouts and cancels: a handler stops, or its slot is freed."""

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from plait import JobCanceled, JobDeadLettered, Plait, Status, current
from tests.waiting import eventually
from tests.worker import isolated
from tests.worker.conftest import Running


async def test_a_timeout_stops_an_async_handler(app: Plait, running: Running) -> None:
    cleaned = asyncio.Event()

    @app.job(timeout=0.2, retries=0)
    async def slow() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            cleaned.set()

    async with running(app):
        handle = await slow.enqueue()
        with pytest.raises(JobDeadLettered, match=r"timed out after 0\.2 s"):
            await handle.result(120)
        assert cleaned.is_set()
        store = await app.store()
        assert [a.status for a in await store.jobs.list_attempts(handle.id)] == ["timeout"]


async def test_a_job_may_have_a_timeout_of_its_own(app: Plait, running: Running) -> None:
    @app.job(retries=0)
    async def slow() -> None:
        await asyncio.sleep(600)

    async with running(app):
        with pytest.raises(JobDeadLettered, match=r"timed out after 0\.1 s"):
            await (await slow.options(timeout=0.1).enqueue()).result(120)


async def test_a_handler_that_ignores_its_timeout_loses_its_slot(app: Plait, running: Running) -> None:
    """T43, T103: neither a loop handler that swallows its cancellation nor a thread can hold a slot forever."""
    let_go = threading.Event()

    @app.job(timeout=0.1, retries=0)
    async def stubborn() -> None:
        while not let_go.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue

    @app.job(timeout=0.1, retries=0)
    def stubborn_thread() -> None:
        let_go.wait(60)

    @app.job
    async def next_one() -> str:
        return "ran"

    async with running(app, concurrency=1):
        for job in (stubborn, stubborn_thread):
            with pytest.raises(JobDeadLettered):
                await (await job.enqueue()).result(120)
            assert await (await next_one.enqueue()).result(120) == "ran"
        let_go.set()


async def test_a_timeout_kills_an_isolated_handler_and_its_children(
    app: Plait, running: Running, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    isolated.app.target = app.target
    async with running(isolated.app):
        handle = await isolated.hang.enqueue(str(pids))
        with pytest.raises(JobDeadLettered, match=r"timed out after 0\.3 s"):
            await handle.result(120)

        async def all_gone() -> bool:
            return not any(_alive(int(pid)) for pid in pids.read_text().split())

        await eventually(all_gone, what="the end of the handler's processes")
    await isolated.app.close()


async def test_the_death_of_an_isolated_handler_is_told_with_its_exit_code(app: Plait, running: Running) -> None:
    isolated.app.target = app.target
    async with running(isolated.app):
        died = await isolated.die.enqueue(7)
        with pytest.raises(JobDeadLettered, match="exited with code 7"):
            await died.result(120)
        crashed = await isolated.segfault.enqueue()
        with pytest.raises(JobDeadLettered, match="SIGSEGV"):
            await crashed.result(120)
        failed = await isolated.fails.enqueue()
        with pytest.raises(JobDeadLettered, match="ValueError: from the child"):
            await failed.result(120)
        store = await isolated.app.store()
        (attempt,) = await store.jobs.list_attempts(died.id)
        assert (attempt.exit_code, attempt.reason) == (7, "process_died")
        assert attempt.pid != os.getpid()
    await isolated.app.close()


async def test_a_running_job_is_canceled(app: Plait, running: Running) -> None:
    started = asyncio.Event()

    @app.job
    async def slow() -> None:
        started.set()
        await asyncio.sleep(600)

    async with running(app):
        handle = await slow.enqueue()
        await started.wait()
        assert await handle.cancel() == Status.RUNNING
        with pytest.raises(JobCanceled):
            await handle.result(120)


async def test_a_running_thread_may_see_that_it_is_canceled(app: Plait, running: Running) -> None:
    started, saw = threading.Event(), threading.Event()

    @app.job
    def slow() -> None:
        started.set()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if current().should_stop():
                saw.set()
                raise RuntimeError("stopped half-way")
            time.sleep(0.01)  # sleep: the test needs a handler that blocks its thread

    async with running(app):
        handle = await slow.enqueue()
        await asyncio.to_thread(started.wait, 30)
        await handle.cancel()
        with pytest.raises(JobCanceled):
            await handle.result(120)
        assert saw.is_set()


async def test_a_success_that_comes_after_the_cancel_still_counts(app: Plait, running: Running) -> None:
    """T51: the job is not queued again either."""
    started = asyncio.Event()

    @app.job
    async def finishes() -> str:
        started.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            return "done all the same"
        return "never"

    async with running(app):
        handle = await finishes.enqueue()
        await started.wait()
        await handle.cancel()
        assert await handle.result(120) == "done all the same"


async def test_a_cancel_reaches_a_job_that_was_claimed_ahead(app: Plait, running: Running) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()
    ran: list[int] = []

    @app.job
    async def work(n: int) -> None:
        ran.append(n)
        started.set()
        await go_on.wait()

    async with running(app, concurrency=1):
        await work.enqueue(1)
        await started.wait()
        second = await work.enqueue(2)
        await second.cancel()
        with pytest.raises(JobCanceled):
            await second.result(120)
        go_on.set()
    assert ran == [1]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
