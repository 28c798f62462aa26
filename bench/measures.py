"""What is measured. A measure takes one system on a fresh database and gives rows; round after round, systems in turn.

The clock of a backlog starts with the first handler of any worker process, so that nobody is charged for imports, connections
or the compilation of his code, and stops when the database shows no unfinished job.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bench.contest import Contest, Failed
from bench.ledgers import Servers
from bench.rows import Row
from bench.systems import System

PAYLOAD: Final = '{"n": <int>, "at": 0}, result {"n": <int>}'
LONGEST_S: Final = 180.0
PICKUP_PAUSE_S: Final = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much of everything."""

    jobs: int = 50_000
    one_s: float = 4.0
    pickups: int = 300
    idle_s: float = 15.0
    sustain_s: float = 60.0
    crowd: int = 1_000_000
    """How many finished or queued jobs stand in the way."""


Measuring = Callable[[Servers, System, Plan], Awaitable[list[Row]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    name: str
    run: Measuring
    rows: str
    """The measures of its rows, in words."""
    quick: bool = False
    rounds: int | None = None
    """Fewer than asked for, where one takes minutes."""
    applies: Callable[[System], bool] = field(default=lambda _: True)


async def enqueue(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """One by one, each committed before the next; then 32 callers in one process, each waiting for its own commit."""
    rows = []
    async with Contest.begin(servers, system) as contest:
        await contest.ask("open")
        await contest.ask("enqueue_one", n=20)
        for measure in ("enqueue_one", "enqueue_32"):
            await contest.ledger.settle_down()
            done = await contest.ask(measure, n=10_000_000, seconds=plan.one_s)
            rows.append(_rate(measure, contest, done["n"], done["seconds"]))
        stored = await contest.ledger.stored()
        asked = 20 + sum(row.settings["jobs"] for row in rows)
        if stored != asked:
            raise Failed(f"{asked} jobs were enqueued, the database has {stored}")
    return rows


async def process_1(servers: Servers, system: System, plan: Plan) -> list[Row]:
    async with Contest.begin(servers, system) as contest:
        bulk = await _backlog(contest, plan)
        return [bulk, *await _process(contest, plan.jobs, "process_1", costs=True)]


async def process_2(servers: Servers, system: System, plan: Plan) -> list[Row]:
    async with Contest.begin(servers, system) as contest:
        await _backlog(contest, plan)
        return await _process(contest, plan.jobs, "process_2", workers=2)


async def _backlog(contest: Contest, plan: Plan) -> Row:
    await contest.ask("open")
    batch = contest.system.bulk
    done = await contest.ask("enqueue_bulk", n=plan.jobs, batch=batch)
    stored = await contest.ledger.stored()
    if stored != plan.jobs:
        raise Failed(f"{plan.jobs} jobs were enqueued, the database has {stored}")
    return _rate("enqueue_bulk", contest, done["n"], done["seconds"], batch=batch)


async def _process(contest: Contest, jobs: int, measure: str, *, workers: int = 1, costs: bool = False) -> list[Row]:
    """All that is in the queue, by so many worker processes."""
    await contest.ledger.settle_down()
    crew = await contest.workers(workers, go=False)
    used, served, written = crew.cpu_s(), contest.ledger.cpu_s(), await contest.ledger.written()
    crew.go()
    await crew.wait_until_begun()
    ended_at = await contest.wait_until_done(crew, jobs, limit_s=LONGEST_S)
    rows = [_rate(measure, contest, jobs, ended_at - crew.begun_at, processes=workers)]
    if costs:
        rows += [
            _row("cpu_client_us", contest, (crew.cpu_s() - used) / jobs * 1e6, "µs/job", processes=workers),
            _row("cpu_server_us", contest, (contest.ledger.cpu_s() - served) / jobs * 1e6, "µs/job", processes=workers),
            _row(
                "wal_bytes", contest, (await contest.ledger.written() - written) / jobs, "bytes/job", processes=workers
            ),
        ]
    await crew.stop()
    finished = await contest.ledger.finished()
    if finished is not None and finished != jobs:
        raise Failed(f"{jobs} jobs were done, the database shows {finished} as finished")
    return rows


async def pickup(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """From the start of the enqueue call to the start of the handler, with nothing else to do."""
    async with Contest.begin(servers, system, system.pickup_settings) as contest:
        await contest.ask("open")
        crew = await contest.workers(1)
        await asyncio.sleep(1)
        await contest.ask("pickup", n=10, pause_s=PICKUP_PAUSE_S)
        await crew.wait_until_begun()
        await _wait_for_latencies(contest, 10)
        contest.latencies.write_text("")
        await contest.ask("pickup", n=plan.pickups, pause_s=PICKUP_PAUSE_S)
        took = sorted(await _wait_for_latencies(contest, plan.pickups))
        return [
            _row(
                f"pickup_p{share}_ms",
                contest,
                took[min(len(took) - 1, len(took) * share // 100)] / 1e6,
                "ms",
                jobs=plan.pickups,
            )
            for share in (50, 95, 99)
        ]


async def _wait_for_latencies(contest: Contest, count: int) -> list[int]:
    deadline = time.monotonic() + 30
    lines: list[str] = []
    while time.monotonic() < deadline:
        lines = contest.latencies.read_text().split() if contest.latencies.exists() else []
        if len(lines) >= count:
            return [int(line) for line in lines]
        await asyncio.sleep(0.05)
    raise Failed(f"{len(lines)} of {count} jobs were picked up within 30 s")


def _rate(measure: str, contest: Contest, jobs: int, seconds: float, **settings: Any) -> Row:
    return _row(measure, contest, jobs / seconds, "jobs/s", jobs=jobs, seconds=round(seconds, 3), **settings)


def _row(measure: str, contest: Contest, value: float, unit: str, **settings: Any) -> Row:
    return Row(
        measure=measure,
        system=contest.system.name,
        value=value,
        unit=unit,
        settings={**_shown(contest.settings), **settings},
    )


def _shown(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: len(value) if name == "tenants" else value for name, value in settings.items()}


MEASURES: Final[Sequence[Measure]] = (
    Measure(name="enqueue", run=enqueue, rows="enqueue_one, enqueue_32", quick=True),
    Measure(
        name="process_1",
        run=process_1,
        rows="enqueue_bulk, process_1, cpu_client_us, cpu_server_us, wal_bytes",
        quick=True,
    ),
    Measure(name="process_2", run=process_2, rows="process_2", quick=True),
    Measure(name="pickup", run=pickup, rows="pickup_p50_ms, pickup_p95_ms, pickup_p99_ms", quick=True),
)
