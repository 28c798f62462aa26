"""A worker process that is killed when a job's last child is about to end: `python -m tests.nurseries.worker_main URL DIRECTORY`.

The directory stores what must survive a kill: for which workflows the process was killed, and how often each follow-up ran.
"""

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

from plait import Plait, after, spawn

from ..restarting_workers import SETTINGS, serve

UNCLES = ("analyze", "reports")
app = Plait(settings=SETTINGS)


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


if __name__ == "__main__":
    sys.exit(serve(app))
