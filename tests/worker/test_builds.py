"""A worker's build, with real workers and the leader's duty."""

from typing import Any

import pytest

from plait import Plait, Status, call, sleep
from plait.leader.resume import ReleaseBuilds
from plait.runtime.service import Stop
from plait.testing import Kit
from plait.worker.worker import Worker


@pytest.fixture
def plait_app() -> Plait:
    return Plait()


async def _run(plait: Kit, build: str | None) -> None:
    """Run a worker of this build until no job can be claimed."""
    await Worker(plait.app, build=build, once=True).run(Stop())


async def test_a_durable_job_resumes_on_its_build_until_no_worker_of_it_is_left(plait: Kit) -> None:
    ran: list[Any] = []
    code = ["old"]

    async def step() -> str:
        return code[0]

    @plait.app.job
    async def order() -> str:
        ran.append(code[0])
        first = await call(step)
        await sleep("1h")
        return first

    handle = await order.enqueue()
    await _run(plait, "old")
    await plait.advance(hours=1)
    code[0] = "new"
    await _run(plait, "new")
    await _run(plait, None)
    assert (ran, await handle.status()) == (["old"], Status.QUEUED)
    store = await plait.app.store()
    reasons = await store.jobs.explain_job(handle.id)
    assert [reason for reason, _ in reasons if reason == "build_away"]
    pause = await ReleaseBuilds(10_000.0).run(store)  # a worker of the old build was seen an hour ago
    await _run(plait, "new")
    assert (pause, ran) == (30.0, ["old"])
    await ReleaseBuilds(300.0).run(store)
    await _run(plait, "new")
    assert ran == ["old", "new"]
    assert await handle.result(timeout=120) == "old"


async def test_the_build_is_a_setting_too_and_shown_with_the_worker(plait: Kit) -> None:
    plait.app.settings = plait.app.settings.model_copy(update={"build": "v7"})
    await _run(plait, None)
    store = await plait.app.store()
    [row] = await store.workers.list_workers()
    assert '"build":"v7"' in str(row.metadata).replace(" ", "").replace("'", '"')
