"""Procrastinate: its async connector and worker."""

import asyncio
import contextlib
import logging

import procrastinate

from bench.drivers.protocol import SETTINGS, URL, Payload, Tally, drive

tally = Tally(every=100)


async def noop(n: int, at: int, seconds: float = 0) -> dict[str, int]:
    """The handler's result is logged but not stored."""
    result = tally.job({"n": n, "at": at})
    if seconds:
        await asyncio.sleep(seconds)
    return result


class ProcrastinateDriver:
    def __init__(self) -> None:
        logging.getLogger("procrastinate").setLevel(logging.ERROR)
        connector = procrastinate.PsycopgConnector(conninfo=URL, min_size=2, max_size=SETTINGS["pool"])
        self._app = procrastinate.App(connector=connector)
        self._job = self._app.task(name="noop")(noop)

    async def setup(self) -> None:
        async with self._app.open_async():
            await self._app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        await self._app.open_async()

    async def enqueue(self, payload: Payload) -> None:
        await self._job.defer_async(**payload)

    async def enqueue_many(self, payloads: list[Payload]) -> None:
        await self._job.batch_defer_async(*payloads)

    async def close(self) -> None:
        await self._app.close_async()

    async def work(self, stop: asyncio.Event) -> None:
        async with self._app.open_async(), asyncio.TaskGroup() as group:
            running = group.create_task(
                self._app.run_worker_async(
                    concurrency=SETTINGS["concurrency"], install_signal_handlers=False, shutdown_graceful_timeout=1
                )
            )
            await stop.wait()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


if __name__ == "__main__":
    drive(ProcrastinateDriver())
