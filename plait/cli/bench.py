"""`plait bench`: measure this server with the real client and the real worker.

It creates a temporary database and drops it afterwards, so that benchmark jobs do not mix with your jobs.
The benchmark that compares plait with other systems is in `bench/` of the repository.
"""

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli.invocation import Invocation, command
from plait.cli.output import say, show_json, show_table, shown_url

if TYPE_CHECKING:
    from plait.sdk.app import Plait
    from plait.sdk.job import Job

QUEUE = "bench"
BULK = 1000
CALLERS = 32
PAUSE_S = 0.03


def register(app: typer.Typer) -> None:
    app.command("bench", short_help="Benchmark this server.")(command(bench))


async def bench(
    cli: Invocation,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=100, help="Number of jobs to process.")] = 20_000,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", metavar="S", min=0.1, help="Duration of each enqueue measurement: one caller, then 32 callers."
        ),
    ] = 3.0,
    pickups: Annotated[
        int,
        typer.Option("--pickups", metavar="N", min=10, help="Number of pick-ups to measure, one job at a time."),
    ] = 100,
    concurrency: Annotated[
        int,
        typer.Option("--concurrency", "-c", metavar="N", min=1, help="Number of jobs that the worker runs at once."),
    ] = 100,
) -> None:
    """Measure enqueue rate, throughput and pick-up latency of this server, from this machine.

    Creates a temporary database and drops it at the end, so your jobs are not affected. Needs a superuser's URL, or the embedded
    Postgres.
    """
    from plait.runtime.logging import configure
    from plait.sdk.app import Plait
    from plait.store.scratch import scratch_database

    configure(level="error")
    target = cli.target()
    try:
        admin_url = await target.admin_url()
        async with scratch_database(admin_url) as url:
            app = Plait(url)
            try:
                await app.target.prepare_development()
                rows = await _Bench(app, concurrency).run(jobs, seconds, pickups)
            finally:
                await app.close()
    finally:
        await target.close()
    if cli.json:
        show_json({"rows": [dict(zip(("measure", "value", "unit"), row, strict=True)) for row in rows]})
        return
    say(f"{shown_url(admin_url)}, one worker process, {concurrency} jobs at once")
    show_table(
        ("measure", "value", "unit"),
        [(measure, f"{value:,.0f}" if value >= 100 else f"{value:.2f}", unit) for measure, value, unit in rows],
        empty="",
    )


Row = tuple[str, float, str]


class _Bench:
    def __init__(self, app: "Plait", concurrency: int) -> None:
        self._app = app
        self._concurrency = concurrency
        self._began = 0.0
        self._took_ms: list[float] = []
        self._picked_up = asyncio.Event()
        self._job: Job[..., Any] = app.job(name="bench", queue=QUEUE)(self._noop)

    async def _noop(self, n: int, at: float = 0) -> dict[str, int]:
        now = time.monotonic()
        self._began = self._began or now
        if at:
            self._took_ms.append((now - at) * 1000)
            self._picked_up.set()
        return {"n": n}

    async def run(self, jobs: int, seconds: float, pickups: int) -> list[Row]:
        store = await self._app.store()
        await store.definitions.define([definition.row() for definition in self._app.definitions.values()])
        await self._job.enqueue(0)  # warm up connections and query plans
        rows = [
            ("enqueue_one", await self._enqueue(seconds, callers=1), "jobs/s"),
            (f"enqueue_{CALLERS}", await self._enqueue(seconds, callers=CALLERS), "jobs/s"),
        ]
        await self._process()
        rows.append(("enqueue_bulk", await self._fill(jobs), "jobs/s"))
        rows.append(("process_1", jobs / await self._process(), "jobs/s"))
        took = sorted(await self._pick_up(pickups))
        rows += [(f"pickup_p{share}_ms", took[len(took) * share // 100], "ms") for share in (50, 95, 99)]
        return rows

    async def _enqueue(self, seconds: float, *, callers: int) -> float:
        numbers = itertools.count()
        began = time.monotonic()

        async def call() -> int:
            done = 0
            while time.monotonic() < began + seconds:
                await self._job.enqueue(next(numbers))
                done += 1
            return done

        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(call()) for _ in range(callers)]
        return sum(call.result() for call in calls) / (time.monotonic() - began)

    async def _fill(self, jobs: int) -> float:
        began = time.monotonic()
        for start in range(0, jobs, BULK):
            await self._job.enqueue_many(range(start, min(jobs, start + BULK)))
        return jobs / (time.monotonic() - began)

    async def _process(self) -> float:
        """Process all queued jobs. Returns the seconds from the start of the first handler until the last outcome is stored."""
        from plait.runtime.service import Stop
        from plait.worker.worker import Worker

        self._began = 0.0
        await Worker(self._app, queues={QUEUE: self._concurrency}, concurrency=self._concurrency, once=True).run(Stop())
        return time.monotonic() - self._began

    async def _pick_up(self, pickups: int) -> list[float]:
        """Measure the milliseconds from the start of the enqueue call to the start of the handler, one job at a time."""
        from plait.runtime.service import Stop
        from plait.worker.worker import Worker

        stop = Stop()
        async with asyncio.TaskGroup() as group:
            worker = group.create_task(Worker(self._app, queues={QUEUE: 10}, concurrency=10).run(stop))
            await asyncio.sleep(1)
            try:
                for n in range(pickups):
                    self._picked_up.clear()
                    await self._job.enqueue(n, time.monotonic())
                    async with asyncio.timeout(30):
                        await self._picked_up.wait()
                    await asyncio.sleep(PAUSE_S)
            finally:
                stop.request()
                await worker
        return self._took_ms
