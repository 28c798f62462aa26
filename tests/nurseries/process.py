"""A worker in a process of its own that is killed when a job's last child is about to end: `python -m tests.nurseries.process URL DIRECTORY`.

The directory keeps what a killed process must not forget: for which trees it has died, and how often each uncle ran.
"""

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

from plait import Plait, after, spawn
from plait.leader.leader import Leader
from plait.leader.promote import Promote
from plait.leader.rescue import Rescue
from plait.leader.resume import Resume
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.runtime.settings import Settings
from plait.worker.worker import Worker

UNCLES = ("analyze", "reports")
app = Plait(settings=Settings(lease=1, heartbeat=0.2, poll=0.1, grace=5))


def _note(directory: str, what: str) -> None:
    with (Path(directory) / what).open("a") as file:
        file.write("x")


@app.job(retries=20)
async def batch(directory: str, case: str, last: bool) -> None:
    mark = Path(directory) / f"died {case}"
    if last and not mark.exists():
        mark.touch()
        # Within the moment in which its success is sent, stored and answered, and its parent ends by it.
        asyncio.get_running_loop().call_later(random.uniform(0, 0.008), os.kill, os.getpid(), signal.SIGKILL)


@app.job(retries=20)
async def uncle(directory: str, case: str, name: str) -> None:
    _note(directory, f"{name} {case}")


@app.job(retries=20, child_mode="serial")
async def derive(directory: str, case: str) -> str:
    for last in (False, True):
        await spawn(batch, directory, case, last)
    for name in UNCLES:
        await after(uncle, directory, case, name, dedupe_key=f"{name} {case}")
    return case


async def main() -> int:
    configure(form="json")
    app.target = Plait(sys.argv[1]).target
    stop = Stop()
    leader = Leader(app, lease_s=0.5, duties=[Promote(), Resume(), Rescue(every_s=0.1)])
    with Signals(stop) as signals:
        await run_services([Worker(app, concurrency=20), leader], stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
