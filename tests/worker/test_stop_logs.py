"""The log of a shutdown: the number of running jobs, the grace period, and the number of released jobs."""

import asyncio

import pytest
import structlog

from plait import Plait, Status
from plait.runtime.service import Stop
from plait.worker.worker import Worker
from tests.waiting import eventually


@pytest.mark.parametrize("hard", [False, True])
async def test_a_worker_that_stops_logs_what_it_runs_and_what_it_releases(app: Plait, hard: bool) -> None:
    @app.job
    async def endless() -> None:
        await asyncio.sleep(600)  # sleep: until the job is released

    app.settings = app.settings.model_copy(update={"grace": 600 if hard else 0.1})
    handle = await endless.enqueue()
    stop = Stop()

    async def is_running() -> bool:
        return await handle.status() is Status.RUNNING

    with structlog.testing.capture_logs() as lines:
        working = asyncio.create_task(Worker(app).run(stop))
        await eventually(is_running, what="the job runs")
        stop.request()
        if hard:
            stop.request()
        await working
    told = {line["event"]: line for line in lines}
    assert (told["worker stopping"]["running"], told["worker stopping"]["grace_s"]) == (1, app.settings.grace)
    assert told["releasing running jobs"]["jobs"] == 1
    assert told["releasing running jobs"]["reason"].startswith("a second" if hard else "the grace period")
    assert told["worker stopped"]["released"] == 1
    assert await handle.status() is Status.QUEUED
