"""plait's own driver: the public interface, as a user would write it."""

import asyncio
import os
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from bench.drivers.driving import SETTINGS, URL, Payload, Tally, drive
from plait import Plait
from plait.model.ids import DEFAULT_TENANT, new_id
from plait.model.policies import Rate
from plait.runtime.logging import configure
from plait.runtime.service import Stop
from plait.store.jobs import NewJob
from plait.worker.worker import Worker

LIMITS: dict[str, Any] = {
    "max_running": 100_000,
    "rate": Rate(10_000_000, 1),
    "key": "key",
    "key_max_running": 50_000,
}
"""Limits that never bite, so that what they cost is measured and not what they forbid."""

app = Plait(URL)
tally = Tally()


async def noop(n: int, at: int = 0, key: str = "", seconds: float = 0) -> dict[str, int]:  # noqa: ARG001 - limits count by it
    result = tally.job({"n": n, "at": at})
    if seconds:
        await asyncio.sleep(seconds)
    return result


job = app.job(name="noop", **(LIMITS if SETTINGS.get("limits") else {}))(noop)


class PlaitDriver:
    async def setup(self) -> None:
        """The harness migrates, as an administrator would; this login may not."""

    async def open(self) -> None:
        store = await app.store()
        await store.definitions.define([definition.row() for definition in app.definitions.values()])

    async def enqueue(self, payload: Payload) -> None:
        await job.enqueue(payload["n"], payload["at"])

    async def enqueue_many(self, payloads: list[Payload]) -> None:
        tenants: Sequence[str] = SETTINGS.get("tenants", ())
        if tenants or SETTINGS.get("limits"):
            await self._enqueue_for(tenants, payloads)
        else:
            await job.enqueue_many([(payload["n"], payload["at"]) for payload in payloads])

    async def _enqueue_for(self, tenants: Sequence[str], payloads: list[Payload]) -> None:
        """In turn over the tenants, and over 50 keys where limits count by key."""
        ids = [UUID(tenant) for tenant in tenants] or [DEFAULT_TENANT]
        codec = job.definition.codec
        keyed = bool(SETTINGS.get("limits"))
        new = []
        for payload in payloads:
            n, key = payload["n"], f"key-{payload['n'] % 50}" if keyed else ""
            new.append(
                NewJob(
                    id=new_id(),
                    definition="noop",
                    payload=codec.encode_call((n, 0, key), {}),
                    tenant_id=ids[n % len(ids)],
                    limit_key=key or None,
                )
            )
        await (await app.store()).jobs.enqueue_many(new)

    async def close(self) -> None:
        await app.close()

    async def work(self, stop: asyncio.Event) -> None:
        configure(level="warning")
        ending = Stop()
        worker = Worker(app, queues={"default": SETTINGS["concurrency"]}, concurrency=SETTINGS["concurrency"])
        async with asyncio.TaskGroup() as group:
            running = group.create_task(worker.run(ending))
            await stop.wait()
            ending.request()
            await running
        await app.close()


if __name__ == "__main__":
    os.environ.setdefault("PLAIT_GRACE", "1")
    drive(PlaitDriver())
