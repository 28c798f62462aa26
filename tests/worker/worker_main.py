"""A worker process, to be killed: `python -m tests.worker.worker_main URL [--no-leader]`. Prints "ready" when it runs."""

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path

from plait import NotDurable, Plait, current, spawn_sync
from plait.leader.leader import Leader
from plait.leader.promote import Promote
from plait.leader.rescue import Rescue
from plait.runtime.logging import configure
from plait.runtime.service import LAST_S, Service, Signals, Stop, run_services, run_to_end
from plait.runtime.settings import Settings
from plait.sdk.context import NoCurrentJob
from plait.worker.worker import Worker

app = Plait(
    settings=Settings(
        lease=3,
        heartbeat=0.3,
        poll=0.2,
        grace=float(os.environ.get("GRACE", "10")),
        loop_timeout=float(os.environ.get("LOOP_TIMEOUT", "60")),
    )
)


@app.job(retries=2)
async def work(seconds: float) -> int:
    await asyncio.sleep(seconds)
    return os.getpid()


@app.job(retries=2)
async def work_again() -> int:
    """The first attempt runs until its worker is lost. The second returns immediately."""
    await asyncio.sleep(600 if current().attempt == 1 else 0)
    return os.getpid()


@app.job(retries=2)
async def block(seconds: float) -> int:
    time.sleep(seconds)  # sleep: the test needs a handler that blocks its loop
    return os.getpid()


@app.job(retries=2)
async def block_once(seconds: float) -> int:
    if current().attempt == 1:
        time.sleep(seconds)  # sleep: the test needs a handler that blocks its loop
    return current().attempt


@app.job(retries=2)
async def block_until(path: str) -> int:
    deadline = time.monotonic() + 300
    while not Path(path).exists() and time.monotonic() < deadline:
        time.sleep(0.02)  # sleep: the test needs a handler that blocks its loop
    return current().attempt


@app.job(retries=2)
async def stop_loop_once(how: str) -> int:
    if current().attempt == 1:
        loop = asyncio.get_running_loop()
        match how:
            case "stop":
                loop.stop()
            case "soon":
                loop.call_soon(loop.stop)
            case "thread":
                await asyncio.to_thread(loop.call_soon_threadsafe, loop.stop)
            case _:
                type(loop).stop(loop)
        await asyncio.sleep(600)
    return current().attempt


@app.job(retries=2)
async def leave_a_thread() -> int:
    """Leave a thread that delays the exit of the interpreter."""
    threading.Thread(target=time.sleep, args=(600,)).start()  # sleep: it outlives its job
    return os.getpid()


@app.job(retries=20)
async def poison() -> None:
    os._exit(9)


@app.job(retries=0)
async def fork_on_loop(how: str) -> list[int]:
    """Fork. Returns the exit code of the copy, and the pid of this process."""
    forever = asyncio.get_running_loop().create_future()
    if child := os.fork():
        return [await asyncio.to_thread(_exit_code, child), os.getpid()]
    if how == "awaits":
        await forever
    return _in_copy(how)


@app.job(retries=0)
def fork_in_thread(how: str) -> list[int]:
    if child := os.fork():
        return [_exit_code(child), os.getpid()]
    return _in_copy(how)


def _exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _in_copy(how: str) -> list[int]:
    match how:
        case "raises":
            raise ValueError("of the copy")
        case "exits":
            sys.exit(3)
        case "is ended":
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)  # sleep: until the signal
        case "asks":
            try:
                current()
            except NoCurrentJob:
                sys.exit(4)
        case "spawns":
            try:
                spawn_sync("work", seconds=0.0)
            except NotDurable:
                sys.exit(5)
        case _:
            pass
    return [-1, -1]


async def main() -> int:
    configure(form="json")
    url, *options = sys.argv[1:]
    app.target = Plait(url).target
    stop = Stop()
    services: list[Service] = [Worker(app, concurrency=200)]
    if "--no-leader" not in options:
        services.append(Leader(app, lease_s=1, duties=[Promote(), Rescue(every_s=0.2)]))
    with Signals(stop, grace_s=app.settings.grace, last_s=float(os.environ.get("LAST", LAST_S))) as signals:
        print("ready", flush=True)
        await run_services(services, stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(run_to_end(main(), loop_factory=asyncio.new_event_loop))
