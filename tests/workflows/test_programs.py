"""Random programs have the same results in plait as in plain asyncio, and each step runs once, even if workers are lost.

Set SEED=n and PROGRAMS=m to run other programs.
"""

import asyncio
import os
import random
from collections import Counter
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import pytest

from plait import Plait, call, continue_as_new, fan_out, sleep, sub, wait_for_signal
from plait.runtime.service import Stop
from plait.sdk.checkpoints import Checkpoints
from plait.sdk.durable_runtime import DurableRuntime
from plait.store.workflows import Checkpoint, Lease, Workflows
from plait.testing import Kit
from plait.worker.worker import Worker

from ..harness import Harness
from .programs import Maker, Program, by_asyncio, payload_of, run_job

SEED = int(os.environ.get("SEED", "1"))
PROGRAMS = int(os.environ.get("PROGRAMS", "150"))

each_seed = pytest.mark.parametrize(
    "seed", [SEED, *(pytest.param(SEED + n, marks=pytest.mark.full) for n in range(1, 34))]
)


class Durably:
    """The operations, in plait."""

    def __init__(self, ran: Counter[str], leaf: Any) -> None:
        self._ran = ran
        self._leaf = leaf

    async def step(self, name: str) -> str:
        return await call(self._step, name, name=name)

    async def fails(self, name: str) -> str:
        return await call(self._fails, name, name=name)

    async def _step(self, name: str) -> str:
        self._ran[name] += 1
        await asyncio.sleep(0)
        return name

    async def _fails(self, name: str) -> str:
        self._ran[name] += 1
        raise LookupError(name)

    async def sleep(self, seconds: float) -> None:
        await sleep(seconds)

    async def signal(self, name: str) -> Any:
        return await wait_for_signal(name)

    async def fan_out(self, values: list[int]) -> list[int]:
        return [result.value or 0 for result in await fan_out([sub(self._leaf, value) for value in values])]


class Programs:
    """Many programs that run at the same time, on one clock."""

    def __init__(self, app: Plait, kit: Kit, app_harness: Harness, seeds: list[int]) -> None:
        self._app, self._kit, self._harness = app, kit, app_harness
        self.makers = {seed: Maker(seed) for seed in seeds}
        self.ran: dict[int, Counter[str]] = {seed: Counter() for seed in seeds}
        self.jobs: dict[int, UUID] = {}
        self._now = 0
        self.starts = 0
        """How often a handler began: for the first time, or for a replay."""

        @app.job(queue="leaves")
        async def leaf(value: int) -> int:
            return value

        @app.job(retries=0)
        async def program(seed: int, code: Program) -> Any:
            self.starts += 1
            return await run_job(code, Durably(self.ran[seed], leaf), partial(continue_as_new, seed))

        self._job = program

    async def start(self) -> None:
        for seed, maker in self.makers.items():
            self.jobs[seed] = (await self._job.enqueue(seed, maker.program)).id

    async def advance(self) -> None:
        """Advance the clock to the next event, and let it happen."""
        self._now += 1
        await self._kit.advance(seconds=1)
        store = await self._app.store()
        for seed, maker in self.makers.items():
            for name, at in maker.signals:
                if at == self._now:
                    status = await store.jobs.get_job(self.jobs[seed])
                    if not status.status.final:
                        await store.jobs.signal(
                            self.jobs[seed], name, msgspec.json.encode(payload_of(name, at)).decode()
                        )

    @property
    def ended(self) -> bool:
        return self._now >= 64

    async def check(self, seed: int, *, most: int) -> str | None:
        """The difference between a program's result and the expected result."""
        maker = self.makers[seed]
        expected, steps = await asyncio.to_thread(by_asyncio, maker.program, maker.signals)
        store = await self._app.store()
        job = await store.jobs.get_job(self.jobs[seed])
        if str(job.status) != "succeeded":
            why = await store.jobs.explain(self.jobs[seed]) if hasattr(store.jobs, "explain") else ""
            return f"it is {job.status}: {job.error} {why}"
        result = msgspec.json.decode(job.result or "null")
        if result != expected:
            return f"it came to {result}, asyncio to {expected}"
        ran = self.ran[seed]
        wrong = {name: n for name, n in ran.items() if n > most or name not in steps} | {
            name: 0 for name in steps if name not in ran
        }
        return f"steps did not run once: {wrong}" if wrong else None

    async def faults(self, *, most: int = 1) -> str:
        said = {seed: wrong for seed in self.makers if (wrong := await self.check(seed, most=most))}
        return "\n".join(
            f"seed {seed}: {wrong}\n    {self.makers[seed].program} {self.makers[seed].signals}"
            for seed, wrong in said.items()
        )


@each_seed
async def test_programs_come_to_what_asyncio_makes_of_them(
    app: Plait, kit: Kit, app_harness: Harness, seed: int
) -> None:
    programs = Programs(app, kit, app_harness, [seed * 100_000 + n for n in range(PROGRAMS)])
    await programs.start()
    await kit.run_until_idle()
    while not programs.ended:
        await programs.advance()
        await kit.run_until_idle()
    assert not (said := await programs.faults()), said


@each_seed
async def test_handlers_that_stay_in_memory_come_to_the_same(
    app: Plait, kit: Kit, app_harness: Harness, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Some handlers continue from memory. Others are evicted from the cache by newer ones and replayed."""
    monkeypatch.setattr("plait.worker.worker.DurableRuntime", _Stopped)
    app.settings = app.settings.model_copy(update={"cached_handlers": PROGRAMS // 2, "lease": 3600})
    programs = Programs(app, kit, app_harness, [seed * 100_000 + 20_000 + n for n in range(PROGRAMS)])
    await programs.start()
    stop = Stop()
    running = asyncio.create_task(Worker(app, concurrency=1000).run(stop))
    while not programs.ended:
        await _until_idle(app_harness, running)
        await programs.advance()
    await _until_idle(app_harness, running)
    stop.request()
    await running
    assert not (said := await programs.faults()), said
    waits = await app_harness.sql("select count(*) from plait.attempts where status = 'suspended'")
    replays = programs.starts - PROGRAMS
    print(f"seed {seed}: {PROGRAMS} programs waited {waits} times, {replays} of them were replayed")
    assert 0 < replays < waits


class _Stopped(DurableRuntime):
    """The clock stands still between two moments."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "real_time": False})


async def _until_idle(app_harness: Harness, running: "asyncio.Task[None]") -> None:
    """Wait until no job can run. The leader resumes jobs whose wake-up a lock prevented."""
    busy = "select exists (select from plait.live where state in ('queued', 'running'))"
    while (await app_harness.rescue()).lost or await app_harness.sql(busy):
        assert not running.done()
        await asyncio.sleep(0.01)


class Losses:
    """Leases are lost when jobs reach a boundary: just before one of their writes, or after the write and before its reply."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self._random = random.Random(seed)
        self._counts: Counter[UUID] = Counter()
        self._at: dict[UUID, tuple[int, bool]] = {}
        self._hanging: list[asyncio.Future[bool]] = []
        self._suffered: Counter[UUID] = Counter()
        self.frozen: set[UUID] = set()
        losses = self

        def around(name: str) -> None:
            real = getattr(Workflows, name)

            async def write(workflows: Workflows, lease: Lease, *args: Any, **options: Any) -> Any:
                boundary = losses._reached(lease.job_id)
                if boundary == "before":
                    await losses._hang(lease.job_id)
                result = await real(workflows, lease, *args, **options)
                if boundary == "after":
                    await losses._hang(lease.job_id)
                return result

            monkeypatch.setattr(Workflows, name, write)

        for name in ("await_steps", "open_fan_out", "resume_steps", "continue_as_new"):
            around(name)
        real_save = Checkpoints.save

        def save(checkpoints: Checkpoints, checkpoint: Checkpoint) -> "asyncio.Future[bool]":
            boundary = losses._reached(checkpoint.lease.job_id)
            future = real_save(checkpoints, checkpoint) if boundary != "before" else None
            return future if future is not None and boundary is None else losses._hang(checkpoint.lease.job_id)

        monkeypatch.setattr(Checkpoints, "save", save)

    def plan(self, jobs: list[UUID]) -> None:
        """Choose at which of its next writes each job loses its lease."""
        self._counts.clear()
        self._at = {
            job: (self._random.randint(1, 6), self._random.random() < 0.5) for job in jobs if self._suffered[job] < 2
        }

    def end(self) -> int:
        """The leases are lost. No more jobs are interrupted, and the writes that were held back fail as stale."""
        struck = len(self.frozen)
        self._suffered.update(self.frozen)
        self.frozen.clear()
        self._at.clear()
        for future in self._hanging:
            if not future.done():
                future.set_result(False)
        self._hanging.clear()
        return struck

    def _reached(self, job: UUID) -> str | None:
        if job in self.frozen:
            return "before"
        self._counts[job] += 1
        at, before = self._at.get(job, (0, False))
        return None if self._counts[job] != at else "before" if before else "after"

    def _hang(self, job: UUID) -> "asyncio.Future[bool]":
        self.frozen.add(job)
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._hanging.append(future)
        return future


@each_seed
async def test_leases_that_are_lost_at_any_boundary_change_nothing(
    app: Plait, kit: Kit, app_harness: Harness, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    programs = Programs(app, kit, app_harness, [seed * 100_000 + 50_000 + n for n in range(PROGRAMS)])
    losses = Losses(monkeypatch, seed)
    await programs.start()
    lost = 0
    while True:
        losses.plan(list(programs.jobs.values()))
        lost += await _run_and_lose(app, app_harness, losses)
        losses.plan([])
        await kit.run_until_idle()
        while (await app_harness.rescue()).resumed:  # a parent whose row was held when its fan-out was decided
            await kit.run_until_idle()
        if programs.ended:
            break
        await programs.advance()
    assert not (said := await programs.faults(most=3)), said
    print(f"seed {seed}: {PROGRAMS} programs, {lost} attempts lost at a boundary")
    assert lost > PROGRAMS / 2


async def _run_and_lose(app: Plait, app_harness: Harness, losses: Losses) -> int:
    """Run a worker until every job has ended, waits, or hangs at a boundary. Then the hanging jobs lose their leases."""
    worker = Worker(app, once=True, concurrency=1000)
    running = asyncio.create_task(worker.run(Stop()))
    busy = "select count(*) from plait.live where state = 'queued' or state = 'running' and job_id <> all($1)"
    lost = 0
    while not running.done():
        await asyncio.wait({running}, timeout=0.02)
        if losses.frozen and await app_harness.sql(busy, list(losses.frozen)) == 0:
            this = worker.id
            while (
                await app_harness.sql("select state from plait.workers where id = $1", this) == "alive"
            ):  # it may renew its lease
                await app_harness.sql(
                    "update plait.workers set expires_at = plait.now() - interval '1 s' where id = $1", this
                )
                await app_harness.rescue()
            lost += losses.end()
    await running
    return lost
