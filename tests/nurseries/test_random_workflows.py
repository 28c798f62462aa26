"""Random workflows: depth up to 4, serial and concurrent nurseries, failures, retries, spawned siblings, deduplicated spawns, scheduled
children, serial and parallel queues, lost workers. The invariants hold in any order."""

import asyncio
import contextlib
import json
import random
from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from plait import Plait, Status, spawn
from plait.model.errors import IllegalMove
from plait.runtime.service import Stop
from plait.store.workers import CycleConnection
from plait.testing import Kit
from plait.worker.worker import Worker

from ..fake_worker import FakeWorker, Lease
from ..harness import Harness

KINDS = {
    f"{mode} {policy}": {"child_mode": mode, "on_child_failure": policy, "max_attempts": 2, "backoff_base_s": 5}
    for mode in ("serial", "concurrent")
    for policy in ("continue", "stop")
}
QUEUES = ("parallel", "serial")
EARLY = """
with recursive below(top, id) as (
  select j.id, j.id from plait.jobs j
  cross join lateral (select a.final, a.reason from plait.attempts a where a.job_id = j.id order by a.attempt desc limit 1) a
  where not exists (select from plait.live l where l.job_id = j.id)
  union all
  select b.top, c.id from below b join plait.jobs c on c.parent_id = b.id)
select b.top from below b join plait.live l on l.job_id = b.id"""
BESIDE = """
select distinct coalesce(l.root_id, l.job_id) from plait.live l
where l.queue = 'serial' and coalesce(l.root_id, l.job_id) <> $1 and (l.attempt > 0 or l.root_id is not null)"""
SPAWN = """select plait.spawn($1, $2::json, parent => $3, sibling_of => $4, attempt => $5, queue => $6, priority => $7,
                              delay => make_interval(secs => $8), dedupe_key => $9)"""


class Forest:
    """Workers that run plans: a job's payload says what it spawns and how it ends."""

    def __init__(self, harness: Harness, seed: int) -> None:
        self.harness = harness
        self.random = random.Random(seed)
        self.workers: list[FakeWorker] = []
        self.running: list[tuple[FakeWorker, Lease]] = []
        self.started: Counter[UUID] = Counter()

    async def plant(self, roots: int) -> None:
        for kind, settings in KINDS.items():
            await self.harness.define(kind, **settings)
        await self.harness.queue("serial", serial=True)
        for _ in range(3):
            await self.hire()
        for _ in range(roots):
            queue, priority = self.random.choice(QUEUES), self.random.randint(0, 3)
            await self.harness.enqueue(self.kind(), queue=queue, payload=self.plan(0), priority=priority)

    async def hire(self) -> None:
        self.workers.append(await self.harness.worker(queues=QUEUES, definitions=list(KINDS), lease_s=86_000))

    def kind(self) -> str:
        return self.random.choice(list(KINDS))

    def plan(self, depth: int) -> dict[str, Any]:
        children = self.random.choice([0, 0, 1, 3]) if 0 < depth < 4 else 3 if depth == 0 else 0
        return {
            "children": [self.plan(depth + 1) for _ in range(children)],
            "sibling": depth > 0 and self.random.random() < 0.15,
            "delay": self.random.choice([0, 0, 0, 60]),
            "key": f"k{self.random.randint(0, 2)}" if self.random.random() < 0.1 else None,
            "fails": self.random.choice([0, 0, 0, 0, 0, 0, 1, 2]),
        }

    async def grow(self) -> None:
        """Until nothing is live any more."""
        idle = 0
        while idle < 50:
            what = self.random.random()
            if what < 0.45:
                await self.claim()
            elif what < 0.9 and self.running:
                await self.settle()
            elif what < 0.92 and len(self.workers) > 1:
                await self.lose()
            else:
                await self.harness.advance(seconds=self.random.choice([1, 30]))
                await self.harness.promote()
                await self.harness.store.leader.resume()
                await self.harness.rescue()
                assert await self.harness.rows(EARLY) == []
                live = await self.harness.sql("select count(*) from plait.live")
                if not live:
                    return
                idle = 0 if self.running else idle + 1
        left = await self.harness.rows("select job_id, state::text, wait_on, queue, attempt from plait.live")
        raise AssertionError(f"stuck: {[tuple(row) for row in left]}")

    async def claim(self) -> None:
        worker = self.random.choice(self.workers)
        for lease in await worker.claim(self.random.randint(1, 3)):
            job = await self.harness.job(lease.job_id)
            if job.queue == "serial":
                assert await self.harness.rows(BESIDE, job.root_id or job.id) == [], "two trees in a serial queue"
            if job.fan_out_id is not None and await self.harness.sql(
                "select serial from plait.fan_outs where id = $1", job.fan_out_id
            ):
                beside = [
                    one for _, one in self.running if (await self.harness.job(one.job_id)).fan_out_id == job.fan_out_id
                ]
                assert not beside, "serial children overlap"
            self.running.append((worker, lease))
            self.started[lease.job_id] += 1

    async def settle(self) -> None:
        worker, lease = self.running.pop(self.random.randrange(len(self.running)))
        plan = json.loads(lease.payload)
        if self.started[lease.job_id] == 1:
            for child in plan["children"]:
                await self.spawn(lease, child, parent=True)
            if plan["sibling"]:
                with contextlib.suppress(IllegalMove):  # its parent may have failed by itself meanwhile
                    await self.spawn(lease, {**self.plan(4), "sibling": False}, parent=False)
        if plan["fails"] >= self.started[lease.job_id]:
            await worker.fail(lease, permanent=self.random.random() < 0.2)
        else:
            await worker.succeed(lease, "kept")

    async def spawn(self, lease: Lease, plan: dict[str, Any], *, parent: bool) -> None:
        queue = (await self.harness.job(lease.job_id)).queue
        asked = (lease.job_id, None) if parent else (None, lease.job_id)
        await self.harness.store.database.fetchval(
            SPAWN, self.kind(), json.dumps(plan), *asked, lease.attempt, queue, self.random.randint(0, 3),
            float(plan["delay"]), plan["key"],
        )  # fmt: skip

    async def lose(self) -> None:
        lost = self.workers.pop(self.random.randrange(len(self.workers)))
        self.running = [(worker, lease) for worker, lease in self.running if worker is not lost]
        await self.harness.lose(lost)
        await lost.disconnect()
        await self.hire()


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(n, marks=pytest.mark.full) for n in range(12, 200))])
async def test_random_trees_end_as_they_should(harness: Harness, seed: int) -> None:
    """T1, T4, T10, T23, T25, T26."""
    forest = Forest(harness, seed)
    await forest.plant(4)
    await forest.grow()
    finals = await harness.rows(
        "select job_id from plait.attempts where final is not null group by 1 having count(*) <> 1"
    )
    assert finals == [], "final more than once"
    wrong = await harness.rows("""
        select f.parent_id, f.failed, f.canceled, j.status::text from plait.fan_outs f join plait.job j on j.id = f.parent_id
        where f.strategy = 'nursery' and j.status = 'succeeded' and f.failed + f.canceled > 0""")
    assert wrong == [], "a parent succeeded although a child did not"


async def test_nothing_spins_while_all_children_are_in_the_future(
    app: Plait, kit: Kit, app_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T23."""
    calls = 0
    cycle = CycleConnection.cycle

    async def counted(self: CycleConnection, *args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        return await cycle(self, *args, **options)

    monkeypatch.setattr(CycleConnection, "cycle", counted)
    await app_harness.queue("default", serial=True)

    @app.job
    async def child() -> None: ...

    @app.job
    async def root() -> None:
        for _ in range(5):
            await spawn(child, delay="1h")

    first, second = await root.enqueue(), await root.enqueue()
    await kit.run_until_idle()
    assert await app_harness.statuses([first.id, second.id]) == [Status.WAITING, Status.QUEUED]
    stop, calls = Stop(), 0
    running = asyncio.create_task(Worker(app).run(stop))
    await asyncio.sleep(2)  # sleep: how often a worker asks while it has nothing to do can only be seen in time
    asked = calls
    stop.request()
    await running
    assert asked <= 20
    assert await app_harness.statuses([first.id, second.id]) == [Status.WAITING, Status.QUEUED]
