"""Handlers: where they run, what they can report, and their context."""

import asyncio
import os
import threading
from contextvars import ContextVar

import pytest

from plait import (
    JobDeadLettered,
    JobFailed,
    JobSkipped,
    PermanentError,
    Plait,
    RetryLater,
    Skip,
    Snooze,
    Status,
    current,
)
from tests.waiting import eventually
from tests.worker import isolated
from tests.worker.conftest import Running


async def test_async_handlers_run_on_the_loop_and_sync_ones_in_threads(app: Plait, running: Running) -> None:
    @app.job
    async def on_loop() -> int:
        return threading.get_ident()

    @app.job
    def in_thread() -> int:
        return threading.get_ident()

    async with running(app):
        assert await (await on_loop.enqueue()).result(120) == threading.get_ident()
        assert await (await in_thread.enqueue()).result(120) != threading.get_ident()


async def test_isolated_handlers_run_in_a_process_that_is_used_again(app: Plait, running: Running) -> None:
    isolated.app.target = app.target
    async with running(isolated.app, processes=1):
        first = await (await isolated.pid_of.enqueue()).result(120)
        second = await (await isolated.pid_of.enqueue()).result(120)
        assert first == second != os.getpid()
        assert await (await isolated.async_pid_of.enqueue()).result(120) == first
    await isolated.app.close()


async def test_a_handler_knows_its_attempt(app: Plait, running: Running) -> None:
    @app.job(retries=3)
    async def who() -> dict[str, object]:
        me = current()
        me.logger.info("here")
        return {"job": str(me.job_id), "attempt": me.attempt, "max": me.max_attempts, "correlation": me.correlation_id}

    async with running(app):
        handle = await who.options(correlation_id="order 7").enqueue()
        assert await handle.result(120) == {
            "job": str(handle.id),
            "attempt": 1,
            "max": 4,
            "correlation": "order 7",
        }


async def test_progress_is_seen_while_it_runs_and_kept_with_the_attempt(app: Plait, running: Running) -> None:
    go_on = asyncio.Event()

    @app.job
    async def work() -> None:
        current().progress(1, 2, "half")
        await go_on.wait()

    async with running(app):
        handle = await work.enqueue()

        async def half() -> bool:
            return (await handle.info()).progress is not None

        await eventually(half)
        assert (await handle.info()).progress == '{"done":1,"total":2,"message":"half"}'
        go_on.set()
        await handle.result(120)
        store = await app.store()
        (attempt,) = await store.jobs.list_attempts(handle.id)
        assert attempt.progress == '{"done":1,"total":2,"message":"half"}'


async def test_a_handler_steers_what_becomes_of_its_job(app: Plait, running: Running) -> None:
    seen: dict[str, int] = {"later": 0, "snooze": 0}

    @app.job
    async def permanent() -> None:
        raise PermanentError("no such account")

    @app.job
    async def skip() -> None:
        raise Skip("already done")

    @app.job(retries=1)
    async def later() -> str:
        seen["later"] += 1
        if seen["later"] == 1:
            raise RetryLater(0.05, "not yet")
        return "done"

    @app.job(retries=0)
    async def snooze() -> int:
        seen["snooze"] += 1
        if seen["snooze"] < 4:
            raise Snooze("50ms")
        return current().attempt

    @app.job(retries=0)
    async def fails() -> None:
        raise ValueError("boom")

    async with running(app):
        with pytest.raises(JobFailed, match="no such account") as permanently:
            await (await permanent.enqueue()).result(120)
        assert permanently.value.reason == "permanent"
        with pytest.raises(JobSkipped, match="already done"):
            await (await skip.enqueue()).result(120)
        assert await (await later.enqueue()).result(120) == "done"
        assert await (await snooze.enqueue()).result(120) == 4  # three snoozes, which use no attempts
        with pytest.raises(JobDeadLettered, match="ValueError: boom") as failed:
            await (await fails.enqueue()).result(120)
        assert failed.value.traceback is not None
        assert "raise ValueError" in failed.value.traceback


async def test_runs_share_a_task_and_nothing_else(app: Plait, running: Running) -> None:
    """Leftovers of one handler in its task (a context variable, a pending cancellation) must not affect the next handler."""
    mark: ContextVar[object] = ContextVar("mark", default="clean")
    tasks: set[asyncio.Task[object]] = set()

    class Incomparable:
        def __eq__(self, other: object) -> bool:
            raise ValueError("which is it?")

        __hash__ = None  # type: ignore[assignment]

    @app.job
    async def tidy(leave: str) -> str:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        found = mark.get()
        await asyncio.sleep(0)
        if leave == "mark":
            mark.set("dirty")
        elif leave == "incomparable":
            mark.set(Incomparable())
        elif leave == "cancel":
            task.cancel()
        return f"{current().attempt} {'clean' if found == 'clean' else 'dirty'}"

    async with running(app, concurrency=1):
        leaves = ["nothing", "mark", "nothing", "cancel", "nothing", "incomparable"] * 5 + ["nothing"] * 30
        jobs = await tidy.enqueue_many([(leave,) for leave in leaves])
        assert {await job.result(120) for job in jobs} == {"1 clean"}
    assert 15 < len(tasks) < len(leaves) - 10  # a new task for every 2nd, later for every 8th job


async def test_a_handler_that_exits_or_interrupts_does_not_end_the_worker(app: Plait, running: Running) -> None:
    @app.job(retries=0)
    async def leave() -> None:
        raise SystemExit(3)

    @app.job(retries=0)
    def leave_thread() -> None:
        raise KeyboardInterrupt

    @app.job(retries=0)
    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    @app.job
    async def fine() -> str:
        return "alive"

    async with running(app):
        for job in (leave, leave_thread, cancels_itself):
            with pytest.raises(JobDeadLettered):
                await (await job.enqueue()).result(120)
        assert await (await fine.enqueue()).result(120) == "alive"


async def test_unknown_kinds_are_not_claimed_and_the_reason_is_told(app: Plait, running: Running) -> None:
    """T40."""

    @app.job
    async def known() -> None: ...

    unknown_app = Plait(settings=app.settings)
    unknown_app.target = app.target

    @unknown_app.job
    async def unknown() -> None: ...

    async with running(app):
        handle = await unknown.enqueue()
        await (await known.enqueue()).result(120)
        assert await handle.status() == Status.QUEUED
        store = await app.store()
        assert "unknown_definition" in [code for code, _ in await store.jobs.explain_job(handle.id)]
        assert "unknown_definition" in [finding.code for finding in await store.health.diagnose()]
    await unknown_app.close()
