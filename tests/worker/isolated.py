"""Jobs at module level, so that another process can import them."""

import asyncio
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

from plait import Plait, current
from plait.runtime.settings import Settings

app = Plait(settings=Settings(lease=10, heartbeat=0.3, poll=0.2, grace=5, loop_timeout=60))


@app.job(isolation="process")
def pid_of() -> int:
    current().progress(1, 1)
    return os.getpid()


@app.job(isolation="process")
async def async_pid_of() -> int:
    await asyncio.sleep(0)
    return os.getpid()


@app.job(isolation="process", timeout=0.3, retries=0)
def hang(pids: str) -> None:
    """Ignore SIGTERM, start a child process and hang."""
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(pids).write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)  # sleep: the test needs a handler that blocks


@app.job(isolation="process", retries=0)
def die(code: int) -> None:
    os._exit(code)


@app.job(isolation="process", retries=0)
def segfault() -> None:
    import ctypes

    ctypes.string_at(0)


@app.job(isolation="process", retries=0)
def fails() -> None:
    raise ValueError("from the child")


@app.job(isolation="process")
def talk(lines: int) -> None:
    for n in range(lines):
        print(f"line {n}")
    logging.getLogger("library").warning("logged")
    print("end", end="")
