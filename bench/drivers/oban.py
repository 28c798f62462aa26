"""Oban for Python, the free edition: acknowledgements are sent with the next fetch."""

import asyncio
from typing import Any

from oban import Oban, Record, worker
from oban.schema import install

from bench.drivers.protocol import SETTINGS, URL, Payload, Tally, drive

tally = Tally()


class Noop:
    async def process(self, job: Any) -> Any:
        result = tally.job(job.args)
        if seconds := job.args.get("seconds"):
            await asyncio.sleep(seconds)
        return Record(result)


Job: Any = worker(queue="default")(Noop)


class ObanDriver:
    async def setup(self) -> None:
        pool = await Oban.create_pool(URL, min_size=1, max_size=2)
        await install(pool)
        await pool.close()

    async def open(self) -> None:
        self._pool = await Oban.create_pool(URL, min_size=1, max_size=SETTINGS["client_pool"])
        self._oban = Oban(pool=self._pool)

    async def enqueue(self, payload: Payload) -> None:
        await self._oban.enqueue(Job.new(payload))

    async def enqueue_many(self, payloads: list[Payload]) -> None:
        await self._oban.enqueue_many([Job.new(payload) for payload in payloads])

    async def close(self) -> None:
        await self._pool.close()

    async def work(self, stop: asyncio.Event) -> None:
        pool = await Oban.create_pool(URL, min_size=2, max_size=SETTINGS["worker_pool"])
        async with Oban(pool=pool, queues={"default": SETTINGS["limit"]}, shutdown_grace_period=1):
            await stop.wait()
        await pool.close()


if __name__ == "__main__":
    drive(ObanDriver())
