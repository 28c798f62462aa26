"""An agent with two parallel tools, one of which waits a day for a person. Its worker is killed in the meantime, and each tool runs once."""

import asyncio
import sys
from pathlib import Path

from plait.testing import Kit

from ..harness import Harness
from ..waiting import eventually
from .agent_worker import agent_app


async def test_an_agent_that_waits_a_day_for_a_person_runs_each_tool_once_though_its_worker_is_killed(
    kit: Kit, app_harness: Harness, tmp_path: Path
) -> None:
    sender = agent_app(kit.database.url, tmp_path)
    handle = await sender.jobs["agent"].enqueue("which file")

    async def has(status: str) -> bool:
        return str(await handle.status()) == status

    first = await _start(kit.database.url, tmp_path)
    try:
        await eventually(lambda: has("waiting"), what="the wait for a person")
    finally:
        first.kill()
        await first.wait()
    ran = (tmp_path / "tools").read_text().split()
    assert sorted(ran) == ["ask", "look_up"], "both tools have run, and the agent waits for the person"
    await kit.advance(days=1)
    await app_harness.sql("update plait.workers set expires_at = plait.now() where pid = $1", first.pid)
    await app_harness.rescue()
    assert await has("waiting"), "a waiting job holds no worker, so it was not lost"
    second = await _start(kit.database.url, tmp_path)
    try:
        await handle.signal("answer", "yes")
        await eventually(lambda: has("succeeded"), what="the end")
    finally:
        second.kill()
        await second.wait()
    assert await handle.result() == ["which file: found", "asked: which file, acted on yes"]
    ran = (tmp_path / "tools").read_text().split()
    assert sorted(ran) == ["act", "ask", "look_up"]
    await sender.close()


async def _start(url: str, directory: Path) -> asyncio.subprocess.Process:
    module = [sys.executable, "-m", "tests.workflows.agent_worker", url, str(directory)]
    return await asyncio.create_subprocess_exec(*module, stdout=asyncio.subprocess.DEVNULL)
