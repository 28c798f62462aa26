"""A finished handler on the loop or in a thread: its leftovers write nothing for its job, and do not affect others."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

from plait import JobDeadLettered, NotDurable, Plait, call, current, signal, sleep, spawn, spawn_sync
from plait.sdk.context import NoCurrentJob
from plait.testing import TestDatabase
from tests.waiting import eventually
from tests.worker import worker_main
from tests.worker.conftest import Running
from tests.worker.worker_process import worker_process


async def _step() -> int:
    return 1


async def test_a_task_left_behind_on_the_loop_is_refused_what_it_wants_to_write(app: Plait, running: Running) -> None:
    go_on, refused = asyncio.Event(), asyncio.Event()
    seen: list[tuple[type[BaseException], str]] = []

    @app.job
    async def child() -> None: ...

    @app.job
    async def leaves_a_task() -> None:
        mine = current()

        async def later() -> None:
            await go_on.wait()
            wants: list[Callable[[], Any]] = [
                lambda: mine.progress(1, 2),
                lambda: current().info(rows=1),
                lambda: call(_step),
                lambda: sleep(1),
                lambda: signal(mine.job_id, "s"),
                lambda: spawn(child),
            ]
            for want in wants:
                try:
                    done = want()
                    if asyncio.iscoroutine(done):
                        await done
                except Exception as error:
                    seen.append((type(error), str(error)))
            refused.set()

        left.append(asyncio.create_task(later()))

    left: list[asyncio.Task[None]] = []
    async with running(app):
        handle = await leaves_a_task.enqueue()
        await handle.result(120)
        go_on.set()
        await asyncio.wait_for(refused.wait(), 30)
        assert [kind for kind, _ in seen] == [NoCurrentJob, NoCurrentJob, *[NotDurable] * 4]
        assert {said for _, said in seen} == {
            f"attempt 1 of job {handle.id} has ended: code that outlives its handler cannot write to the job"
        }
        (attempt,) = await (await app.store()).jobs.list_attempts(handle.id)
        assert attempt.progress is None


async def test_a_thread_left_behind_is_refused_what_it_wants_to_write(app: Plait, running: Running) -> None:
    go_on, refused = threading.Event(), threading.Event()
    seen: list[type[BaseException]] = []

    @app.job
    async def child() -> None: ...

    @app.job(timeout=0.2, retries=0)
    def outlives_its_timeout() -> None:
        go_on.wait(60)
        for want in (lambda: current().progress(1, 2), lambda: spawn_sync(child)):
            try:
                want()
            except Exception as error:
                seen.append(type(error))
        refused.set()

    @app.job
    def leaves_a_thread() -> None:
        threading.Thread(target=contextvars.copy_context().run, args=(outlives_its_timeout,), daemon=True).start()

    async with running(app):
        with pytest.raises(JobDeadLettered, match="timed out after"):
            await (await outlives_its_timeout.enqueue()).result(120)
        await (await leaves_a_thread.enqueue()).result(120)
        go_on.set()
        await asyncio.to_thread(refused.wait, 30)

        async def all_refused() -> bool:
            return len(seen) == 4

        await eventually(all_refused, what="the refusals")
        assert sorted(kind.__name__ for kind in seen) == ["NoCurrentJob"] * 2 + ["NotDurable"] * 2


async def test_a_step_left_behind_does_not_cancel_the_job_that_runs_now(app: Plait, running: Running) -> None:
    """Runs share a task. A finished run must not cancel the task when its leftover step finds that the lease is gone."""
    go_on, saved = asyncio.Event(), asyncio.Event()
    left: list[asyncio.Task[None]] = []

    async def slow() -> int:
        await go_on.wait()
        return 1

    @app.job
    async def leaves_a_step() -> None:
        async def later() -> None:
            try:
                await call(slow)
            finally:
                saved.set()

        left.append(asyncio.create_task(later()))
        await asyncio.sleep(0)

    @app.job(retries=0)
    async def next_one() -> str:
        go_on.set()
        await saved.wait()
        await asyncio.sleep(0)
        return "not canceled"

    async with running(app, concurrency=1):
        first, second = await leaves_a_step.enqueue(), await next_one.enqueue()
        assert await second.result(120) == "not canceled"
        await first.result(120)


@pytest.mark.parametrize(
    ("how", "code"),
    [("returns", 0), ("raises", 1), ("exits", 3), ("awaits", 0), ("asks", 4), ("spawns", 5), ("is ended", -15)],
)
@pytest.mark.parametrize("isolation", ["loop", "thread"])
async def test_a_forked_copy_of_the_worker_ends_with_its_handler(
    real_clock_database: TestDatabase, isolation: str, how: str, code: int
) -> None:
    """The copy inherits the worker's connections, and must not write to them. A signal that the copy receives affects only the copy."""
    worker_main.app.target = Plait(real_clock_database.url).target
    async with worker_process(real_clock_database.url) as worker:
        forks = worker_main.fork_on_loop if isolation == "loop" else worker_main.fork_in_thread
        assert await (await forks.enqueue(how)).result(60) == [code, worker.pid]
        assert await (await worker_main.work.enqueue(0.0)).result(60) == worker.pid
    await worker_main.app.close()
