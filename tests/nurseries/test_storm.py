"""Concurrent changes: children of two nurseries of a job end, siblings are spawned, jobs are named in an `after`, parents return, fail and are
canceled, while the leader sweeps. Nothing deadlocks, no job is stuck, and the invariants hold."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable
from typing import Any

import pytest

from plait.model.errors import IllegalMove
from plait.model.ids import new_id
from plait.store.new_jobs import NewJob
from plait.store.nurseries import SpawnStep
from plait.store.workflows import Lease as Fence
from plait.store.workflows import StepKey
from plait.testing import TestDatabase

from ..fake_worker import FakeWorker, Lease
from ..harness import Harness


class Storm:
    def __init__(self, harness: Harness, workers: list[FakeWorker], seed: int) -> None:
        self.harness = harness
        self.workers = workers
        self.random = random.Random(seed)

    async def round(self) -> None:
        roots = await self.harness.enqueue_many("add", 2)
        parents = await self.claim(1)
        for worker, lease in parents:
            await self.spawn_in_two_nurseries(worker, lease)
        children = await self.claim(3)
        work: list[Awaitable[Any]] = [self.settle(worker, lease) for worker, lease in parents + children]
        work += [self.spawn_sibling(lease) for _, lease in children[:3]]
        for root in roots:
            if self.random.random() < 0.2:
                work.append(self.harness.cancel(root))
            if self.random.random() < 0.5:
                work.append(self.harness.enqueue("other", after="{" + str(root) + "}"))
        self.random.shuffle(work)
        await asyncio.gather(*work)
        for _ in range(100):
            await asyncio.gather(*(self.settle(worker, lease) for worker, lease in await self.claim(5)), self.sweep())
            if not await self.harness.sql("select count(*) from plait.live"):
                return
        left = await self.harness.rows("select job_id, state::text, wait_on, attempt from plait.live")
        raise AssertionError(f"stuck: {[tuple(row) for row in left]}")

    async def claim(self, n: int) -> list[tuple[FakeWorker, Lease]]:
        return [(worker, lease) for worker in self.workers for lease in await worker.claim(n)]

    async def settle(self, worker: FakeWorker, lease: Lease) -> None:
        if self.random.random() < 0.75:
            await worker.succeed(lease)
        else:
            await worker.fail(lease, permanent=True)

    async def sweep(self) -> None:
        await self.harness.store.leader.resume()
        await self.harness.rescue()

    async def spawn_sibling(self, lease: Lease) -> None:
        with contextlib.suppress(IllegalMove):  # its parent may have ended meanwhile
            await self.harness.store.database.fetchval("select plait.spawn('other', sibling_of => $1)", lease.job_id)

    async def spawn_in_two_nurseries(self, worker: FakeWorker, lease: Lease) -> None:
        fence, block, nurseries = Fence(worker.id, lease.job_id, lease.attempt), new_id(), self.harness.store.nurseries
        await nurseries.open_nursery(
            fence, StepKey("", "nursery", 1, 1), block, finished=1, serial=self.random.random() < 0.3,
            stop=self.random.random() < 0.3, nested=True, cancel_on_parent_failure=self.random.random() < 0.5,
        )  # fmt: skip
        for seq, nursery in enumerate((block, None), 2):
            step = SpawnStep(key=StepKey("", "spawn", seq, seq), hash="", finished=seq)
            new = [NewJob(id=new_id(), definition="other", payload="{}") for _ in range(4)]
            await nurseries.spawn_many(fence, step, new, nursery=nursery, sibling=False)


@pytest.mark.parametrize(
    ("seed", "rounds"), [(1, 8), *(pytest.param(n, 60, marks=pytest.mark.full) for n in range(2, 6))]
)
async def test_nothing_deadlocks_and_nothing_is_stuck(shared_database: TestDatabase, seed: int, rounds: int) -> None:
    """T1, T16, T48."""
    harness = await Harness.open(shared_database, max_connections=16)
    await harness.empty()
    storm = Storm(harness, [await harness.worker() for _ in range(6)], seed)
    for _ in range(rounds):
        await storm.round()
    await harness.check()
    await harness.close()
