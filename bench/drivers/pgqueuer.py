"""PgQueuer: asyncpg, with batched fetches and completions."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries

from bench.drivers.protocol import SETTINGS, URL, Payload, Tally, drive

tally = Tally()


async def noop(job: Any) -> None:
    """PgQueuer stores no result, so the handler only reads the payload."""
    payload = json.loads(job.payload)
    tally.job(payload)
    if seconds := payload.get("seconds"):
        await asyncio.sleep(seconds)


class PgQueuerDriver:
    async def setup(self) -> None:
        connection = await asyncpg.connect(URL)
        await Queries.from_asyncpg_connection(connection).install()
        await connection.close()

    async def open(self) -> None:
        self._pool = await asyncpg.create_pool(URL, min_size=1, max_size=SETTINGS["client_pool"])
        self._queries = Queries(AsyncpgPoolDriver(self._pool))

    async def enqueue(self, payload: Payload) -> None:
        await self._queries.enqueue("noop", json.dumps(payload).encode())

    async def enqueue_many(self, payloads: list[Payload]) -> None:
        bodies = [json.dumps(payload).encode() for payload in payloads]
        await self._queries.enqueue(["noop"] * len(bodies), bodies, [0] * len(bodies))

    async def close(self) -> None:
        await self._pool.close()

    async def work(self, stop: asyncio.Event) -> None:
        async with asyncpg.create_pool(URL, min_size=2, max_size=SETTINGS["worker_pool"]) as pool:
            queuer = PgQueuer(AsyncpgPoolDriver(pool))
            queuer.entrypoint("noop")(noop)
            async with asyncio.TaskGroup() as group:
                running = group.create_task(
                    queuer.run(
                        batch_size=SETTINGS["batch_size"],
                        dequeue_timeout=timedelta(seconds=SETTINGS["dequeue_timeout_s"]),
                    )
                )
                await stop.wait()
                queuer.shutdown.set()
                await running


if __name__ == "__main__":
    drive(PgQueuerDriver())
