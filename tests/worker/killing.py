"""Worker processes that a test starts, and ends by their own pid."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def worker_process(url: str, *options: str, grace: float = 10) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.worker.process",
        url,
        *options,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "GRACE": str(grace)},
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.communicate()
