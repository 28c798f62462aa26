"""Absurd: its async SDK. The worker claims jobs in batches and completes them one by one."""

import asyncio
import contextlib
import time
from typing import Any

import psycopg
from absurd_sdk import AsyncAbsurd
from absurdctl import BUNDLED_SCHEMA_SQL

from bench.drivers.protocol import SETTINGS, URL, Payload, Tally, drive

tally = Tally(every=100)


async def noop(params: Payload, context: Any) -> dict[str, int]:  # noqa: ARG001 - Absurd passes it
    result = tally.job(params)
    if seconds := params.get("seconds"):
        await asyncio.sleep(seconds)
    return result


async def walk(params: Payload, context: Any) -> int:
    async def step() -> int:
        return 1

    return sum([await context.step(f"step {i}", step) for i in range(params["n"])])


async def hear(params: Payload, context: Any) -> list[float]:
    async def step() -> int:
        return 1

    for i in range(params["steps"]):
        await context.step(f"step {i}", step)
    took: list[float] = []
    for i in range(params["n"]):
        sent = await context.await_event(f"{params['event']} {i}", timeout=300)

        async def passed(at: int = sent["at"]) -> float:
            return (time.monotonic_ns() - at) / 1e6

        took.append(await context.step(f"passed {i}", passed))
    return took


class AbsurdDriver:
    async def setup(self) -> None:
        async with await psycopg.AsyncConnection.connect(URL, autocommit=True) as connection:
            await connection.execute(BUNDLED_SCHEMA_SQL)
        app = AsyncAbsurd(URL)
        await app.create_queue("default")
        await app.close()

    async def open(self) -> None:
        """A connection of the SDK handles one call at a time, so callers share a pool of connections."""
        self._apps: asyncio.Queue[Any] = asyncio.Queue()
        for _ in range(SETTINGS["client_connections"]):
            self._apps.put_nowait(self._new_app())

    async def enqueue(self, payload: Payload) -> None:
        app = await self._apps.get()
        try:
            await app.spawn("noop", payload)
        finally:
            self._apps.put_nowait(app)

    async def enqueue_many(self, payloads: list[Payload]) -> None:
        """There is no bulk call: jobs are enqueued one by one, with one commit for all of them."""
        async with await psycopg.AsyncConnection.connect(URL) as connection:
            app = self._new_app(connection)
            for payload in payloads:
                await app.spawn("noop", payload)

    async def fan_out(self, n: int) -> int:
        """The caller itself gathers the results, because a task cannot wait for other tasks in its queue."""
        app = await self._apps.get()
        async with await psycopg.AsyncConnection.connect(URL) as connection:
            inside = self._new_app(connection)
            spawned = [await inside.spawn("noop", {"n": i}) for i in range(n)]
        try:
            return len([await app.await_task_result(one["task_id"], timeout=300) for one in spawned])
        finally:
            self._apps.put_nowait(app)

    async def steps(self, jobs: int, n: int) -> int:
        app = await self._apps.get()
        try:
            spawned = [await app.spawn("walk", {"n": n}) for _ in range(jobs)]
            for one in spawned:
                await app.await_task_result(one["task_id"], timeout=300)
        finally:
            self._apps.put_nowait(app)
        return jobs * n

    async def resume(self, steps: int, n: int) -> list[float]:
        app = await self._apps.get()
        event = f"go {steps} {time.monotonic_ns()}"
        spawned = await app.spawn("hear", {"steps": steps, "n": n, "event": event})
        await asyncio.sleep(0.5 + steps * 0.005)
        for i in range(n):
            await app.emit_event(f"{event} {i}", {"at": time.monotonic_ns()})
            await asyncio.sleep(0.3)
        result = await app.await_task_result(spawned["task_id"], timeout=300)
        self._apps.put_nowait(app)
        return list(getattr(result, "result", result))

    async def close(self) -> None:
        while not self._apps.empty():
            await self._apps.get_nowait().close()

    async def work(self, stop: asyncio.Event) -> None:
        app = self._new_app()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(
                app.start_worker(
                    concurrency=SETTINGS["concurrency"],
                    batch_size=SETTINGS["batch_size"],
                    poll_interval=SETTINGS["poll_interval"],
                )
            )
            await stop.wait()
            app.stop_worker()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
        await app.close()

    def _new_app(self, connection: Any = URL) -> Any:
        app = AsyncAbsurd(connection)
        app.register_task(name="noop")(noop)
        app.register_task(name="walk")(walk)
        app.register_task(name="hear")(hear)
        return app


if __name__ == "__main__":
    drive(AbsurdDriver())
