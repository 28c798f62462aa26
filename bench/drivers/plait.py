"""plait's own driver: the public API, as a user would use it."""

import asyncio
import os
import time
from typing import Any

from bench.drivers.protocol import SETTINGS, URL, Payload, Tally, drive, say
from bench.tenants import tenant_id
from plait import Plait, call, values, wait_for_signal
from plait.model.ids import DEFAULT_TENANT, new_id
from plait.model.policies import Rate
from plait.model.states import AttemptOutcome, Status
from plait.runtime.logging import configure
from plait.runtime.memory import collect_seldom
from plait.runtime.service import Stop
from plait.store.new_jobs import NewJob
from plait.store.workers import Cursor, CycleConnection, Settlement
from plait.worker.worker import Worker

LIMITS: dict[str | None, dict[str, Any]] = {
    None: {},
    "definition": {"max_running": 100_000, "rate": Rate(10_000_000, 1)},
    "key": {"key": "key", "key_max_running": 50_000},
}
"""Limits that are never reached, so that only their cost is measured."""
KEYS = 50
BATCH = 500

app = Plait(URL)
tally = Tally()


async def noop(n: int, at: int = 0, seconds: float = 0, key: str = "") -> dict[str, int]:  # noqa: ARG001 - limits count by it
    result = tally.job({"n": n, "at": at})
    if seconds:
        await asyncio.sleep(seconds)
    return result


job = app.job(name="noop", **LIMITS[SETTINGS.get("limits")])(noop)


@app.job
async def gather(n: int) -> int:
    return len(values(await job.map([(i,) for i in range(n)])))


async def step(n: int) -> int:
    return n


@app.job
async def walk(n: int) -> int:
    for i in range(n):
        await call(step, i)
    return n


async def passed(at: int) -> float:
    return (time.monotonic_ns() - at) / 1e6


@app.job(timeout=3600)
async def hear(steps: int, n: int) -> list[float]:
    for i in range(steps):
        await call(step, i)
    return [await call(passed, await wait_for_signal("go", type=int)) for _ in range(n)]


class PlaitDriver:
    async def setup(self) -> None:
        """Nothing to do: the harness migrates the database as a superuser, which this login is not."""

    async def open(self) -> None:
        store = await app.store()
        await store.definitions.define([definition.row() for definition in app.definitions.values()])

    async def enqueue(self, payload: Payload) -> None:
        await job.enqueue(payload["n"], payload["at"])

    async def enqueue_many(self, payloads: list[Payload]) -> None:
        if SETTINGS.get("tenants") or SETTINGS.get("limits"):
            await self._enqueue_in_turn(payloads)
        else:
            await job.enqueue_many([(payload["n"], payload["at"], payload.get("seconds", 0)) for payload in payloads])

    async def _enqueue_in_turn(self, payloads: list[Payload]) -> None:
        """Distribute jobs over the tenants and, for per-key limits, over the keys."""
        tenants, keyed = SETTINGS.get("tenants", 0), SETTINGS.get("limits") == "key"
        encode = job.definition.codec.encode_call
        new = []
        for payload in payloads:
            n = payload["n"]
            key = f"key-{n % KEYS}" if keyed else ""
            tenant = tenant_id(n % tenants) if tenants else DEFAULT_TENANT
            call = encode((n, 0, 0, key), {})
            new.append(NewJob(id=new_id(), definition="noop", payload=call, tenant_id=tenant, limit_key=key or None))
        await (await app.store()).jobs.enqueue_many(new)

    async def fan_out(self, n: int) -> int:
        return await (await gather.enqueue(n)).result(timeout=300)

    async def steps(self, jobs: int, n: int) -> int:
        handles = await walk.enqueue_many([n] * jobs)
        return sum([await handle.result(timeout=300) for handle in handles])

    async def resume(self, steps: int, n: int) -> list[float]:
        handle = await hear.enqueue(steps, n)
        for i in range(n):
            while str((await handle.info()).status) != "waiting":  # noqa: ASYNC110 - in another process
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.05)
            await handle.signal("go", time.monotonic_ns())
            if i == n - 1:
                break
            await asyncio.sleep(0.1)
        return await handle.result(timeout=300)

    async def wait(self, n: int) -> int:
        await hear.enqueue_many([(1, 1)] * n)
        jobs = (await app.store()).jobs
        while await jobs.list_jobs(statuses=[Status.QUEUED, Status.RUNNING], limit=1):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.2)
        return n

    async def close(self) -> None:
        await app.close()

    async def work(self, stop: asyncio.Event) -> None:
        configure(level="warning")
        if SETTINGS.get("bare"):
            await self._cycle_alone(stop)
            return
        collect_seldom()  # as `plait worker` does
        ending = Stop()
        worker = Worker(app, queues={"default": SETTINGS["concurrency"]}, concurrency=SETTINGS["concurrency"])
        async with asyncio.TaskGroup() as group:
            running = group.create_task(worker.run(ending))
            await stop.wait()
            ending.request()
            await running
        await app.close()

    async def _cycle_alone(self, stop: asyncio.Event) -> None:
        """Run the worker's statement in a bare loop: no handlers, no tasks, no codec."""
        store = await app.store()
        await self.open()
        worker = await store.workers.register(
            host="bench", pid=os.getpid(), version="bench", queues=["default"], definitions=["noop"], lease_s=600
        )
        connection = await CycleConnection.open(store.database)
        cursors: dict[str, Cursor] = {}
        outcomes: list[Settlement] = []
        said = False
        while not stop.is_set():
            cycle = await connection.cycle(worker, {"default": BATCH}, cursors, outcomes, sleep=False)
            if cycle.claimed and not said:
                say(f"begun {time.monotonic_ns()}")
                said = True
            if outcomes:
                say(f"+{len(outcomes)}")
            outcomes = [
                Settlement(claimed.job_id, claimed.attempt, AttemptOutcome.SUCCEEDED, '{"n": 1}', None, 0.01)
                for claimed in cycle.claimed
            ]
            if not cycle.claimed:
                await asyncio.sleep(0.01)
        await connection.close()
        await app.close()


if __name__ == "__main__":
    os.environ.setdefault("PLAIT_GRACE", "1")
    if "cached_handlers" in SETTINGS:
        app.settings = app.settings.model_copy(update={"cached_handlers": SETTINGS["cached_handlers"]})
    drive(PlaitDriver())
