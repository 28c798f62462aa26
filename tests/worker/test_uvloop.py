"""Durable functions on uvloop, which `plait worker` uses and which has its own timers and tasks."""

import asyncio
from typing import Any

import uvloop

from plait import Plait, call, sleep, wait_for_signal
from plait.leader.leader import Leader
from plait.leader.resume import Resume
from plait.runtime.service import Stop, run_services
from plait.runtime.settings import Settings
from plait.testing import TestDatabase
from plait.worker.worker import Worker


async def test_deadlines_and_branches_are_durable(real_clock_database: TestDatabase) -> None:
    result, kinds = await asyncio.to_thread(_on_uvloop, real_clock_database.url)
    assert result == [0, 1, "timed out", ["a", "b"]]
    assert kinds.count("timer") == 3


def _on_uvloop(url: str) -> tuple[Any, list[str]]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(url))


async def echo(value: str) -> str:
    return value


async def _run(url: str) -> tuple[Any, list[str]]:
    app = Plait(url, settings=Settings(poll=0.1, cached_handlers=0))

    @app.job(retries=0)
    async def several() -> list[Any]:
        waiting = asyncio.create_task(wait_for_signal("never"))
        done, left = await asyncio.wait({waiting}, timeout=0.2)
        seen: list[Any] = [len(done), len(left)]
        try:
            for one in asyncio.as_completed([sleep("1d")], timeout=0.2):
                await one
        except TimeoutError:
            seen.append("timed out")
        async with asyncio.timeout(3600):
            seen.append(list(await asyncio.gather(call(echo, "a"), call(echo, "b"), sleep(0.1)))[:2])
        return seen

    stop = Stop()
    services = asyncio.create_task(run_services([Worker(app), Leader(app, duties=[Resume()])], stop))
    handle = await several.enqueue()
    result = await handle.result(120)
    kinds = [step.kind for step in await (await app.store()).jobs.list_steps(handle.id)]
    stop.request()
    await services
    await app.close()
    return result, kinds
