"""Worker processes that are restarted when they exit, for the tests with kill -9.

Each process is a module with an app that calls `serve`: `python -m tests.workflows.worker_main URL DIRECTORY`. Processes write data that must
survive a kill to the directory.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from plait import Plait
from plait.leader.leader import Leader
from plait.leader.promote import Promote
from plait.leader.rescue import Rescue
from plait.leader.resume import Resume
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.runtime.settings import Settings
from plait.worker.worker import Worker

SETTINGS = Settings(lease=3, heartbeat=0.2, poll=0.1, grace=5, loop_timeout=60)


def serve(app: Plait) -> int:
    """Run a worker and a leader until a signal. Returns the exit code."""
    return asyncio.run(_serve(app))


async def _serve(app: Plait) -> int:
    configure(form="json")
    app.target = Plait(sys.argv[1]).target
    stop = Stop()
    leader = Leader(app, lease_s=0.5, duties=[Promote(), Resume(), Rescue(every_s=0.1)])
    with Signals(stop) as signals:
        await run_services([Worker(app, concurrency=20), leader], stop)
    await app.close()
    return signals.exit_code


@asynccontextmanager
async def restarting_workers(module: str, url: str, directory: Path) -> AsyncIterator[None]:
    """Run two worker processes. A process that exits is restarted."""
    stop = asyncio.Event()

    async def keep_one_up() -> None:
        while not stop.is_set():
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, url, str(directory), stdout=asyncio.subprocess.DEVNULL
            )
            ends = [asyncio.ensure_future(worker.wait()), asyncio.ensure_future(stop.wait())]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if worker.returncode is None:
                worker.terminate()
            await ends[0]
            ends[1].cancel()

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(keep_one_up())
        try:
            yield
        finally:
            stop.set()
