"""Start a worker process, and kill it at the end of the block."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from plait.runtime.service import LAST_S


@asynccontextmanager
async def worker_process(
    url: str,
    *options: str,
    grace: float = 10,
    last: float = LAST_S,
    loop_timeout: float = 60,
    log: Path | None = None,
) -> AsyncIterator[asyncio.subprocess.Process]:
    with (log or Path(os.devnull)).open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.worker.worker_main",
            url,
            *options,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if log is None else stderr,
            env={**os.environ, "GRACE": str(grace), "LAST": str(last), "LOOP_TIMEOUT": str(loop_timeout)},
        )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.communicate()
