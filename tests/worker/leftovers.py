"""Handlers in processes that leave something behind, or corrupt the channel to their worker. They are at module level, so that a
process can import them.

They wait for files: a leftover of one job acts while another job runs.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from pathlib import Path

from plait import Plait, current
from plait.runtime.settings import Settings
from plait.sdk.context import NoCurrentJob

app = Plait(settings=Settings(lease=2, heartbeat=0.3, poll=0.2, grace=5, loop_timeout=60))

_seen: ContextVar[str] = ContextVar("seen", default="nothing")


def until(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)  # sleep: waits for another process


@app.job(isolation="process", retries=0)
def beta(directory: str = "", wait_for: str = "") -> int:
    """The next job, of another tenant. It creates a file when it runs, and waits until the leftover has acted."""
    if directory:
        Path(directory, "beta").touch()
        until(Path(directory, wait_for))
    return os.getpid()


@app.job(isolation="process", retries=0)
def leaves_a_thread(directory: str) -> int:
    mine, place = current(), Path(directory)

    def later() -> None:
        until(place / "beta")
        try:
            mine.progress(message="acme's secret")
            said = "it was sent"
        except NoCurrentJob as error:
            said = str(error)
        (place / "said.new").write_text(said)
        (place / "said.new").rename(place / "said")

    threading.Thread(target=later, daemon=True).start()
    return os.getpid()


@app.job(isolation="process", retries=0)
def leaves_a_thread_that_called_plait() -> int:
    called, mine = threading.Event(), current()

    def reports() -> None:
        mine.progress(message="from a thread")
        called.set()
        time.sleep(600)  # sleep: it outlives its job

    threading.Thread(target=reports, daemon=True).start()
    called.wait(30)
    return os.getpid()


@app.job(isolation="process", retries=0)
def leaves_a_thread_of_a_library() -> int:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()  # sleep: it outlives its job
    return os.getpid()


@app.job(isolation="process", retries=0)
def forks(directory: str, how: str) -> int:
    """Fork. The copy runs until the next job starts, and then returns, raises or exits."""
    place = Path(directory)
    if os.fork() != 0:
        return os.getpid()
    until(place / "beta")
    (place / "acted").touch()
    if how == "raises":
        raise ValueError("acme's error")
    if how == "exits":
        sys.exit(3)
    return -1


@app.job(isolation="process", retries=0)
def forks_and_waits(how: str) -> int:
    """Fork, and return the exit code of the copy."""
    child = os.fork()
    if child == 0:
        if how == "raises":
            raise ValueError("of the copy")
        if how == "exits":
            sys.exit(3)
        if how == "reports":
            with contextlib.suppress(NoCurrentJob):
                current().progress(message="from the copy")
                sys.exit(9)
            sys.exit(4)
        return -1
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@app.job(isolation="process", retries=0)
def leaves_a_process(pids: str, daemon: bool) -> int:
    sleeper = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); os.rename(sys.argv[1], sys.argv[2]); time.sleep(600)"
    command = [sys.executable, "-c", sleeper, f"{pids}.new", pids]
    if daemon:  # in a separate session, and orphaned
        command = [
            sys.executable,
            "-c",
            "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True)",
            *command,
        ]
        subprocess.run(command, check=True)
    else:
        subprocess.Popen(command)
    until(Path(pids))
    return os.getpid()


@app.job(isolation="process", retries=0)
def starts_a_process_that_ends() -> int:
    subprocess.run([sys.executable, "-c", ""], check=True)
    return os.getpid()


@app.job(isolation="process", retries=0)
def closes_descriptors(then_opens: bool) -> None:
    os.closerange(3, 256)
    if then_opens:
        kept = [os.open(os.devnull, os.O_RDWR) for _ in range(20)]
        with contextlib.suppress(Exception):
            current().progress(1, 1)
        assert kept


@app.job(isolation="process", retries=0)
def writes_garbage(garbage: str) -> int:
    for fd in range(3, 64):
        with contextlib.suppress(OSError):
            if os.path.realpath(f"/proc/self/fd/{fd}").partition(":")[0].endswith("socket"):
                os.write(fd, garbage.encode())
    return os.getpid()


@app.job(isolation="process", retries=0)
def spoils_the_channel_later(directory: str) -> int:
    """Corrupt the channel after the job has ended, while no job runs."""
    place, mine = Path(directory), os.getpid()

    def later() -> None:
        until(place / "go")
        for fd in range(3, 64):
            with contextlib.suppress(OSError):
                if os.path.realpath(f"/proc/self/fd/{fd}").partition(":")[0].endswith("socket"):
                    os.write(fd, b"not a message")
        (place / "done").touch()

    threading.Thread(target=later, daemon=True).start()
    return mine


@app.job(isolation="process", retries=0)
def dies_later(directory: str) -> int:
    def later() -> None:
        until(Path(directory, "go"))
        os._exit(5)

    threading.Thread(target=later, daemon=True).start()
    return os.getpid()


@app.job(isolation="process", retries=0)
def returns_text(size: int) -> str:
    return "x" * size


@app.job(isolation="process", retries=0)
def sets_a_variable() -> str:
    found = _seen.get()
    _seen.set("set by another job")
    return found
