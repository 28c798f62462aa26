"""kill -9 of workers that run random programs, at random moments: results are those of plain asyncio, and only steps in progress run again.

Set SEED=n to run other programs. Time is virtual, so a program's result does not depend on how long it takes to replace a worker.
"""

import asyncio
import os
import random
import sys
from collections import Counter
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from plait import Plait
from plait.testing import Kit

from ..harness import Harness
from .program_worker import programs_app
from .programs import Maker, by_asyncio, payload_of

SEED = int(os.environ.get("SEED", "1"))


class KilledWorkers:
    """Worker processes. From time to time one is killed and replaced."""

    def __init__(self, url: str, directory: Path, app_harness: Harness) -> None:
        self._url, self._directory, self._harness = url, directory, app_harness
        self._processes: list[asyncio.subprocess.Process] = []
        self.kills = 0

    async def start(self, count: int) -> None:
        for _ in range(count):
            module = [sys.executable, "-m", "tests.workflows.program_worker", self._url, str(self._directory)]
            self._processes.append(await asyncio.create_subprocess_exec(*module, stdout=asyncio.subprocess.DEVNULL))

    async def kill_one(self, chance: random.Random) -> None:
        alive = await self._harness.sql("select array_agg(pid) from plait.workers where state = 'alive'") or []
        running = [process for process in self._processes if process.pid in alive]
        if not running:
            return
        victim = chance.choice(running)
        victim.kill()
        await victim.wait()
        self.kills += 1
        self._processes.remove(victim)
        await self._harness.sql(
            "update plait.workers set expires_at = plait.now() - interval '1 s' where pid = $1 and state = 'alive'",
            victim.pid,
        )
        while (await self._harness.rescue()).lost:
            pass  # declared lost; its jobs are moved by the next call
        await self.start(1)

    async def end(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            await process.wait()


@pytest.mark.parametrize(
    ("count", "kills"), [(20, 6), pytest.param(150, 200, marks=[pytest.mark.full, pytest.mark.timeout(3600)])]
)
async def test_workers_that_are_killed_change_nothing(
    app: Plait, kit: Kit, app_harness: Harness, tmp_path: Path, count: int, kills: int
) -> None:
    chance = random.Random(SEED)
    makers = {SEED * 100_000 + 80_000 + n: Maker(SEED * 100_000 + 80_000 + n) for n in range(count)}
    sender = programs_app(kit.database.url, tmp_path)
    program = sender.jobs["program"]
    handles = await program.enqueue_many([(seed, maker.program) for seed, maker in makers.items()])
    jobs = dict(zip(makers, [handle.id for handle in handles], strict=True))
    workers = KilledWorkers(kit.database.url, tmp_path, app_harness)
    await workers.start(3)
    try:
        for now in range(1, 65):
            while workers.kills < kills * now / 64:
                await asyncio.sleep(chance.random() * 0.05)
                await workers.kill_one(chance)
            await _until_idle(app_harness)
            await kit.advance(seconds=1)
            await _send(app_harness, makers, jobs, now)
        await _until_idle(app_harness)
    finally:
        await workers.end()
    extra = await _check(sender, makers, jobs, tmp_path)
    await sender.close()
    print(f"seed {SEED}: {count} programs, {workers.kills} kills, {extra} steps ran again")
    assert workers.kills >= kills


async def _until_idle(app_harness: Harness) -> None:
    busy = "select exists (select from plait.live where state in ('queued', 'running', 'scheduled'))"
    while await app_harness.sql(busy):
        await app_harness.rescue()
        await app_harness.store.leader.promote()
        if await app_harness.sql("select not exists (select from plait.live where state in ('queued', 'running'))"):
            # After a first loss, a job is scheduled within a second: advance past it.
            await app_harness.sql("update plait.live set run_at = plait.now() where state = 'scheduled'")
        await asyncio.sleep(0.01)


async def _send(app_harness: Harness, makers: dict[int, Maker], jobs: dict[int, UUID], now: int) -> None:
    for seed, maker in makers.items():
        for name, at in maker.signals:
            if at == now and not (await app_harness.store.jobs.get_job(jobs[seed])).status.final:
                await app_harness.store.jobs.signal(
                    jobs[seed], name, msgspec.json.encode(payload_of(name, at)).decode()
                )


async def _check(app: Plait, makers: dict[int, Maker], jobs: dict[int, UUID], directory: Path) -> int:
    store, extra, wrong = await app.store(), 0, []
    for seed, maker in makers.items():
        expected, steps = await asyncio.to_thread(by_asyncio, maker.program, maker.signals)
        job = await store.jobs.get_job(jobs[seed])
        effects = directory / f"effects {seed}"
        ran = Counter(effects.read_text().split()) if effects.exists() else Counter()
        lost = sum(one.status == "lost" for one in await store.jobs.list_attempts(jobs[seed]))
        if str(job.status) != "succeeded" or msgspec.json.decode(job.result or "null") != expected:
            wrong.append(f"seed {seed}: {job.status} {job.error} {job.result}, not {expected}\n    {maker.program}")
        elif set(ran) != set(steps) or max(ran.values(), default=1) > 1 + lost:
            wrong.append(f"seed {seed}: steps ran {ran}, with {lost} losses\n    {maker.program}")
        extra += sum(ran.values()) - len(ran)
    assert not wrong, "\n".join(wrong)
    return extra
