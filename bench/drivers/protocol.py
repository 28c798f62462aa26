"""Common to all Python drivers: a client that enqueues on request, and a worker that counts the jobs it runs.

The harness and a driver exchange lines on the driver's standard input and output.

    client   reads {"do": "setup" | "enqueue_one" | …, …}, and replies {"n": …, "seconds": …} when it is done
    worker   writes `ready` when everything is imported, begins at `go`, writes `begun <ns>` with its first job and `+<n>` after
             every n jobs, and stops when its input is closed

Times are CLOCK_MONOTONIC, which all processes of a machine share, including Node's `process.hrtime`. This module uses only the
standard library, because it runs in the peers' environments.
"""

import asyncio
import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

Payload = dict[str, Any]

URL = os.environ.get("BENCH_URL", "")
SETTINGS: dict[str, Any] = json.loads(os.environ.get("BENCH_SETTINGS", "{}"))
LATENCIES = os.environ.get("BENCH_LATENCIES")
CALLERS = 32


class Driver(Protocol):
    """The interface of a system with an asyncio API. A system with durable functions has three more methods. `fan_out(n)` returns the number of
    children, once a parent has gathered n children. `steps(jobs, n)` returns the number of steps, once each job has done n steps.
    `resume(steps, n)` sends n signals to a handler with this many recorded steps, and returns the milliseconds until the handler gets each."""

    async def setup(self) -> None: ...
    async def open(self) -> None: ...
    async def enqueue(self, payload: Payload) -> None: ...
    async def enqueue_many(self, payloads: list[Payload]) -> None: ...
    async def close(self) -> None: ...
    async def work(self, stop: asyncio.Event) -> None: ...


class SyncDriver(Protocol):
    """The interface of a system whose client and worker block."""

    def setup(self) -> None: ...
    def open(self) -> None: ...
    def enqueue(self, payload: Payload) -> None: ...
    def enqueue_many(self, payloads: list[Payload]) -> None: ...
    def close(self) -> None: ...
    def work(self, stop: threading.Event) -> None: ...


class Tally:
    """Counts jobs, and reports the count to the harness with one write per `every` jobs."""

    def __init__(self, every: int = 500) -> None:
        self._every = every
        self._seen = 0
        self._latencies = os.open(LATENCIES, os.O_WRONLY | os.O_APPEND | os.O_CREAT) if LATENCIES else None

    def job(self, payload: Payload) -> dict[str, int]:
        """Count a job, and return its result. Every handler must call this first."""
        at = payload.get("at")
        if at and self._latencies is not None:
            os.write(self._latencies, b"%d\n" % (time.monotonic_ns() - at))
        self._seen += 1
        if self._seen == 1:
            say(f"begun {time.monotonic_ns()}")
        if self._seen % self._every == 0:
            say(f"+{self._every}")
        return {"n": payload["n"]}


def say(line: str) -> None:
    # Write to the file descriptor: celery replaces sys.stdout, but its child processes inherit the descriptor.
    os.write(1, line.encode() + b"\n")


def drive(driver: Driver) -> None:
    """Run the driver in the role given on the command line."""
    role = sys.argv[1]
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if SETTINGS.get("uvloop"):
        import uvloop

        loop_factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_client(driver) if role == "client" else _worker(driver))


async def _client(driver: Driver) -> None:
    opened = False
    while line := await asyncio.to_thread(sys.stdin.readline):
        order = json.loads(line)
        if order["do"] == "setup":
            await driver.setup()
            say("{}")
            continue
        if not opened:
            await driver.open()
            opened = True
        say(json.dumps(await _obey(driver, order)))
    if opened:
        await driver.close()


async def _obey(driver: Driver, order: dict[str, Any]) -> dict[str, Any]:
    match order["do"]:
        case "open":
            return {}
        case "enqueue_one":
            return await _timed(order, lambda until: _one_by_one(driver.enqueue, order["n"], until))
        case "enqueue_32":
            return await _timed(order, lambda until: _callers(driver.enqueue, order["n"], until))
        case "enqueue_bulk":
            return await _timed(order, lambda until: _bulk(driver.enqueue_many, order, until))
        case "fan_out":
            return await _timed(order, lambda _: driver.fan_out(order["n"]))  # type: ignore[attr-defined]
        case "steps":
            return await _timed(order, lambda _: driver.steps(order["jobs"], order["n"]))  # type: ignore[attr-defined]
        case "resume":
            return {"ms": await driver.resume(order["steps"], order["n"])}  # type: ignore[attr-defined]
        case "wait":
            return {"n": await driver.wait(order["n"])}  # type: ignore[attr-defined]
        case "pickup":
            for n in range(order["n"]):
                await driver.enqueue({"n": n, "at": time.monotonic_ns()})
                await asyncio.sleep(order["pause_s"])
            return {}
        case unknown:
            raise ValueError(unknown)


async def _timed(order: dict[str, Any], work: Callable[[float], Awaitable[int]]) -> dict[str, Any]:
    began, cpu = time.monotonic(), time.process_time()
    count = await work(began + order.get("seconds", 3600))
    return {"n": count, "seconds": time.monotonic() - began, "cpu_s": time.process_time() - cpu}


async def _one_by_one(enqueue: Callable[[Payload], Awaitable[None]], limit: int, until: float) -> int:
    for n in range(limit):
        if time.monotonic() >= until:
            return n
        await enqueue({"n": n, "at": 0})
    return limit


async def _callers(enqueue: Callable[[Payload], Awaitable[None]], limit: int, until: float) -> int:
    numbers = itertools.count()
    done = 0

    async def call() -> None:
        nonlocal done
        while (n := next(numbers)) < limit and time.monotonic() < until:
            await enqueue({"n": n, "at": 0})
            done += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(CALLERS):
            group.create_task(call())
    return done


async def _bulk(enqueue_many: Callable[[list[Payload]], Awaitable[None]], order: dict[str, Any], until: float) -> int:
    done = 0
    for batch in batches(order):
        if time.monotonic() >= until:
            break
        await enqueue_many(batch)
        done += len(batch)
    return done


def batches(order: dict[str, Any]) -> Iterable[list[Payload]]:
    """Yield batches of payloads. The field `sleep` of a request is the duration of each job."""
    count, size = order["n"], order["batch"]
    more = {"seconds": order["sleep"]} if "sleep" in order else {}
    for start in range(0, count, size):
        yield [{"n": n, "at": 0} | more for n in range(start, min(count, start + size))]


async def _worker(driver: Driver) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    say("ready")
    if not await asyncio.to_thread(sys.stdin.readline):
        return

    def end() -> None:
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=_wait_for_the_end, args=(end,), daemon=True).start()
    await driver.work(stop)


def drive_sync(driver: SyncDriver) -> None:
    """Like `drive`, for a driver that blocks: 32 callers are 32 threads."""
    if sys.argv[1] == "worker":
        _work_sync(driver)
        return
    opened = False
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "setup":
            driver.setup()
            say("{}")
            continue
        if not opened:
            driver.open()
            opened = True
        say(json.dumps(_obey_sync(driver, order)))
    if opened:
        driver.close()


def _obey_sync(driver: SyncDriver, order: dict[str, Any]) -> dict[str, Any]:
    began, cpu = time.monotonic(), time.process_time()
    until = began + order.get("seconds", 3600)
    count = 0
    match order["do"]:
        case "open":
            pass
        case "enqueue_one":
            count = _call_sync(driver, itertools.count(), order["n"], until)
        case "enqueue_32":
            numbers = itertools.count()
            with ThreadPoolExecutor(CALLERS) as threads:
                calls = [threads.submit(_call_sync, driver, numbers, order["n"], until) for _ in range(CALLERS)]
                count = sum(call.result() for call in calls)
        case "enqueue_bulk":
            for batch in batches(order):
                if time.monotonic() >= until:
                    break
                driver.enqueue_many(batch)
                count += len(batch)
        case "fan_out":
            count = driver.fan_out(order["n"])  # type: ignore[attr-defined]
        case "steps":
            count = driver.steps(order["jobs"], order["n"])  # type: ignore[attr-defined]
        case "resume":
            return {"ms": driver.resume(order["steps"], order["n"])}  # type: ignore[attr-defined]
        case "pickup":
            for n in range(order["n"]):
                driver.enqueue({"n": n, "at": time.monotonic_ns()})
                time.sleep(order["pause_s"])
        case unknown:
            raise ValueError(unknown)
    return {"n": count, "seconds": time.monotonic() - began, "cpu_s": time.process_time() - cpu}


def _call_sync(driver: SyncDriver, numbers: "itertools.count[int]", limit: int, until: float) -> int:
    done = 0
    while (n := next(numbers)) < limit and time.monotonic() < until:
        driver.enqueue({"n": n, "at": 0})
        done += 1
    return done


def _work_sync(driver: SyncDriver) -> None:
    stop = threading.Event()
    say("ready")
    if not sys.stdin.readline():
        return

    threading.Thread(target=_wait_for_the_end, args=(stop.set,), daemon=True).start()
    driver.work(stop)


def _wait_for_the_end(then: Callable[[], object]) -> None:
    # Read the file descriptor: this thread would hold the lock of sys.stdin while celery forks, and the child processes would wait for it forever.
    while os.read(0, 1):
        pass
    then()
