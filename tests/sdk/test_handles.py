"""Handles: status, result, cancel and retry of a job."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from plait import (
    Handle,
    JobCanceled,
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
from plait.model.errors import DatabaseUnreachable, IllegalMove, NotFound, PlaitError
from plait.model.ids import new_id
from plait.sdk import waiter
from plait.sdk.context import NoCurrentJob
from plait.testing import FakeClock, TestDatabase

from .conftest import Drain


def boom() -> None:
    raise ValueError("no such thing")


def give_up() -> None:
    raise PermanentError("never again")


def skip() -> None:
    raise Skip("nothing to do")


def later() -> None:
    raise RetryLater("10s", "busy")


@pytest.mark.parametrize(
    ("function", "retries", "kind", "reason", "message", "has_traceback"),
    [
        (boom, 0, JobDeadLettered, "attempts_exhausted", "exhausted its attempts: ValueError: no such thing", True),
        (later, 0, JobDeadLettered, "attempts_exhausted", "exhausted its attempts: busy", False),
        (give_up, 5, JobFailed, "permanent", "failed: never again", True),
        (skip, 5, JobSkipped, None, "was skipped: nothing to do", False),
    ],
)
async def test_the_end_of_a_job_is_told_by_the_exception_of_its_result(
    app: Plait, drain: Drain, function: Callable[[], None], retries: int, kind: type[JobFailed],
    reason: str | None, message: str, has_traceback: bool,
) -> None:  # fmt: skip
    handle = await app.job(retries=retries)(function).enqueue()
    await drain(app)
    with pytest.raises(JobFailed) as raised:
        await handle.result(timeout=120)
    error = raised.value
    assert (type(error), error.job_id, error.reason) == (kind, handle.id, reason)
    assert str(error) == f"job {handle.id} {message}"
    assert bool(error.traceback and "test_handles.py" in error.traceback) == has_traceback


async def test_a_snooze_burns_no_try_and_a_retry_later_does(app: Plait, drain: Drain, database: TestDatabase) -> None:
    seen: list[tuple[int, int]] = []

    @app.job(retries=1)
    async def patient() -> str:
        me = current()
        seen.append((me.attempt, me.failed_attempts))
        if me.attempt == 1:
            raise Snooze(timedelta(minutes=1))
        if me.attempt == 2:
            raise RetryLater("1m")
        return "done"

    handle = await patient.enqueue()
    clock = FakeClock(database.admin_url)
    for _ in range(3):
        await drain(app)
        await clock.advance(minutes=2)
        await (await app.store()).leader.promote()
    assert await handle.result(timeout=120) == "done"
    assert [attempt for attempt, _ in seen] == [1, 2, 3]


async def test_a_result_is_awaited_while_the_job_runs(app: Plait, drain: Drain) -> None:
    @app.job
    async def work(x: int) -> dict[str, int]:
        return {"x": x}

    handles = [await work.enqueue(n) for n in range(20)]
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(handle.result(timeout="2m")) for handle in (*handles, *handles)]
        group.create_task(drain(app))
    assert [task.result() for task in waiting] == [{"x": n} for n in range(20)] * 2


async def test_a_result_that_does_not_come_times_out_and_is_no_longer_asked_for(app: Plait) -> None:
    @app.job
    async def work() -> None: ...

    handle = await work.enqueue()
    with pytest.raises(TimeoutError, match=rf"job {handle.id} did not finish within 0.05 s"):
        await handle.result(timeout=0.05)
    the_waiter = await app.waiter()
    assert not the_waiter._waiting
    async with asyncio.TaskGroup() as group:
        task = group.create_task(handle.result())
        await asyncio.sleep(0.01)
        task.cancel()
    assert not the_waiter._waiting


async def test_a_job_that_is_not_there_is_not_found(app: Plait) -> None:
    handle = app.handle(new_id())
    with pytest.raises(NotFound):
        await handle.result(timeout=120)
    for call in (handle.status, handle.info, handle.cancel, handle.retry):
        with pytest.raises(NotFound):
            await call()


async def test_a_canceled_job_does_not_run_and_can_be_retried(app: Plait, drain: Drain) -> None:
    @app.job
    async def work() -> int:
        return 5

    handle = await work.enqueue()
    assert await handle.cancel("a mistake") == Status.CANCELED
    with pytest.raises(JobCanceled, match="was canceled"):
        await handle.result(timeout=120)
    await drain(app)
    assert await handle.status() == Status.CANCELED
    assert await handle.retry() == Status.QUEUED
    await drain(app)
    assert await handle.result(timeout=120) == 5
    with pytest.raises(IllegalMove):
        await handle.retry()


async def test_a_running_job_stops_when_it_is_canceled(app: Plait, drain: Drain) -> None:
    started = asyncio.Event()

    @app.job
    async def endless() -> None:
        started.set()
        await asyncio.Event().wait()

    handle = await endless.enqueue()
    async with asyncio.TaskGroup() as group:
        group.create_task(drain(app))
        await started.wait()
        assert await handle.cancel() == Status.RUNNING
        with pytest.raises(JobCanceled):
            await handle.result(timeout=120)


async def test_a_handle_by_id_decodes_by_type_where_the_definition_is_named(app: Plait, drain: Drain) -> None:
    @app.job
    async def when() -> timedelta:
        return timedelta(minutes=1)

    first: Handle[Any] = await when.enqueue()
    await drain(app)
    assert await app.handle(first.id, definition="when").result(timeout=120) == timedelta(minutes=1)
    assert await app.handle(first.id).result(timeout=120) == "PT60S"


async def test_waiting_goes_on_when_the_connection_breaks(app: Plait, drain: Drain, database: TestDatabase) -> None:
    @app.job
    async def work() -> int:
        return 3

    handle = await work.enqueue()
    admin = await asyncpg.connect(database.admin_url)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(handle.result(timeout=120))
        for _ in range(5):
            await asyncio.sleep(0.01)
            await admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
            )
        await drain(app)
    assert waiting.result() == 3
    await admin.close()


async def test_waiting_ends_when_the_database_stays_away(app: Plait, monkeypatch: pytest.MonkeyPatch) -> None:
    @app.job
    async def work() -> None: ...

    handle = await work.enqueue()
    monkeypatch.setattr(waiter, "PATIENCE_S", 0.05)

    async def unreachable(_: object) -> None:
        raise DatabaseUnreachable

    monkeypatch.setattr((await app.store()).jobs, "get_outcomes", unreachable)
    with pytest.raises(DatabaseUnreachable):
        await handle.result(timeout=120)


async def test_closing_the_app_ends_a_wait_with_a_reason(app: Plait) -> None:
    @app.job
    async def work() -> None: ...

    handle = await work.enqueue()
    waiting = asyncio.ensure_future(handle.result())
    while not (await app.waiter())._waiting:
        await asyncio.sleep(0)
    await app.close()
    with pytest.raises(PlaitError, match="the app was closed"):
        await waiting


async def test_progress_is_kept_and_bad_progress_is_refused(app: Plait, drain: Drain) -> None:
    @app.job
    async def work() -> list[str]:
        refused = []
        for bad in (float("nan"), float("inf")):
            try:
                current().progress(bad)
            except PlaitError as error:
                refused.append(str(error))
        current().progress(1, 3, "a\0b\ud800" + "x" * 5000)
        while current().report.__self__.progress is not None:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        return refused

    handle = await work.enqueue()
    await drain(app)
    assert len(await handle.result(timeout=120)) == 2
    progress = (await handle.info()).progress
    assert progress is not None
    assert progress.startswith('{"done":1,"total":3,"message":"a␀b?xxx')
    assert len(progress) < 1200


def test_outside_a_handler_there_is_no_current_job() -> None:
    with pytest.raises(NoCurrentJob, match="inside a handler"):
        current()
