"""A worker that runs one command, to be killed: `python -m tests.commands.process URL PROGRAM DIRECTORY`."""

import asyncio
import sys

from plait import Plait
from plait.runtime.service import Stop
from plait.worker.worker import Worker


async def main(url: str, program: str, directory: str) -> None:
    app = Plait(url)
    job = app.command("long", sys.executable, [program, directory, "600"], retries=0)
    await job.enqueue()
    await Worker(app).run(Stop())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
