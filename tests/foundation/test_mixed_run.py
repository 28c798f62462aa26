"""A thousand jobs and all verbs concurrently: at every commit each job is in exactly one place."""

import asyncio
import random
from contextlib import suppress

import asyncpg
import pytest

from plait.model.errors import DatabaseError, WorkerLost
from plait.model.ids import new_id
from plait.store.new_jobs import NewJob

from ..fake_worker import FakeWorker, Lease, outcome
from ..harness import Harness
from ..invariants import violations

ENDINGS = ("succeeded",) * 4 + ("failed", "failed", "timeout", "skipped", "snoozed", "released", "canceled")
LONG = 80_000.0
LIVE = "select count(*) from plait.live"


@pytest.mark.parametrize("jobs", [1_000, pytest.param(20_000, marks=pytest.mark.full)], ids=["1,000", "20,000"])
@pytest.mark.timeout(1200)
async def test_all_jobs_are_always_somewhere_and_end_once(harness: Harness, jobs: int) -> None:
    dice = random.Random(3)
    await harness.define("add", backoff_base_s=1, key_max_running=3)
    tenants = [await harness.tenant(f"t{n}", weight=n + 1) for n in range(3)]
    asked = [
        NewJob(
            id=new_id(), definition="add", payload="{}", tenant_id=dice.choice(tenants),
            max_attempts=dice.randint(1, 4), priority=dice.choice([0, 100]),
            dedupe_key=f"d{n}" if n % 10 == 0 else None, limit_key=f"l{n % 5}" if n % 7 == 0 else None,
        )
        for n in range(jobs)
    ]  # fmt: skip
    await harness.store.jobs.enqueue_many(asked)
    watcher = await asyncpg.connect(harness.database.admin_url)
    crashed: list[int] = []
    calm = done = False

    async def work(worker: FakeWorker) -> None:
        nonlocal done
        leases: list[Lease] = []
        while not done:
            if dice.random() < 0.02:
                if dice.random() < 0.5:
                    await worker.leave()
                else:
                    crashed.append(worker.id)
                await worker.disconnect()
                worker, leases = await harness.worker(lease_s=LONG), []
            if leases and dice.random() < 0.05:
                with suppress(WorkerLost):
                    await worker.heartbeat(holding=leases[1:])  # one of them was never heard of
            settlements = [outcome(lease, dice.choice(ENDINGS), delay_s=1) for lease in leases]
            leases = (await worker.cycle(dice.randint(1, 20), *settlements)).claimed
            for lease in leases[:1]:
                await worker.progress(lease, 1)
        await worker.disconnect()

    async def lead() -> None:
        nonlocal calm, done
        while not done:
            await harness.advance(seconds=1)
            await harness.sql(
                "update plait.workers set expires_at = plait.now() - interval '1 s' where id = any($1)",
                crashed,
            )
            await harness.promote()
            await harness.rescue(cancel_grace_s=2)
            left = await harness.sql(LIVE)
            calm = left < jobs / 20
            done = left == 0 and operating.done()

    async def operate() -> None:
        while not calm:
            job = dice.choice(asked)
            with suppress(DatabaseError):
                if dice.random() < 0.7:
                    await harness.store.jobs.cancel(job.id, tenant_id=job.tenant_id)
                elif dice.random() < 0.3:
                    await harness.store.jobs.retry(job.id, tenant_id=job.tenant_id)
                else:
                    await harness.store.jobs.reschedule(job.id, tenant_id=job.tenant_id, max_attempts=9)

    async def watch() -> int:
        looked = 0
        while not done:
            async with watcher.transaction(isolation="repeatable_read", readonly=True):
                counts = dict(await watcher.fetch("select status::text, count(*) from plait.job group by 1"))
                assert sum(counts.values()) == jobs, counts
                assert None not in counts
                assert await violations(watcher) == []
            looked += 1
        return looked

    workers = [await harness.worker(lease_s=LONG) for _ in range(4)]
    watching, operating = asyncio.create_task(watch()), asyncio.create_task(operate())
    await asyncio.gather(*map(work, workers), lead(), operating)
    assert await watching >= 1
    await watcher.close()
    assert sum((await harness.counts()).values()) == jobs
    assert all(status.final for status in await harness.counts())
