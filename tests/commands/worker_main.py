"""A worker that runs long commands, to be killed: `python -m tests.commands.worker_main URL PROGRAM DIRECTORY...`."""

import asyncio
import sys

from plait import Plait
from plait.runtime.service import Stop
from plait.worker.worker import Worker


async def main(url: str, program: str, *directories: str) -> None:
    app = Plait(url)
    for directory in directories:
        job = app.command(f"long {directory}", sys.executable, [program, directory, "600"], retries=0)
        await job.enqueue()
    await Worker(app).run(Stop())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
