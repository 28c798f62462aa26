"""Enqueue, process, pick-up latency, memory and idle cost. A measure runs one system on a fresh database and returns rows; systems alternate, round after round.

The time for a backlog starts with the first handler of any worker process, so that imports, connections and compilation do not count, and
stops when the database has no unfinished job.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final

from bench.job_storage import PostgresStorage, Servers
from bench.rows import Row
from bench.session import Failed, Session
from bench.systems import System

PAYLOAD: Final = '{"n": <int>, "at": 0}, result {"n": <int>}'
LONGEST_S: Final = 300.0
PICKUP_PAUSE_S: Final = 0.03
HANDLERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The sizes and durations of all measures."""

    jobs: int = 50_000
    one_s: float = 4.0
    pickups: int = 300
    idle_s: float = 15.0
    sustain_s: float = 60.0
    crowd: int = 1_000_000
    """How many finished or queued jobs are in the database."""

    def backlog(self, system: System) -> int:
        return self.jobs // 5 if system.slow else self.jobs


async def enqueue(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """Enqueue jobs one by one, each committed before the next, then with 32 callers in one process, each waiting for its own commit."""
    rows = []
    async with Session.begin(servers, system) as session:
        await session.ask("open")
        await session.ask("enqueue_one", n=20)
        for measure in ("enqueue_one", "enqueue_32"):
            await session.storage.settle_down()
            done = await session.ask(measure, n=10_000_000, seconds=plan.one_s)
            rows.append(rate_row(measure, session, done["n"], done["seconds"]))
        stored = await session.storage.stored()
        asked = 20 + sum(row.settings["jobs"] for row in rows)
        if stored != asked:
            raise Failed(f"{asked} jobs were enqueued, the database has {stored}")
    return rows


async def process_1(servers: Servers, system: System, plan: Plan) -> list[Row]:
    async with Session.begin(servers, system) as session:
        bulk = await fill(session, plan.backlog(system))
        return [bulk, *await process(session, plan.backlog(system), "process_1", costs=True)]


async def process_2(servers: Servers, system: System, plan: Plan) -> list[Row]:
    async with Session.begin(servers, system) as session:
        await fill(session, plan.backlog(system))
        return await process(session, plan.backlog(system), "process_2", workers=2)


async def fill(session: Session, jobs: int) -> Row:
    """Enqueue a backlog in bulk."""
    await session.ask("open")
    batch = session.system.bulk
    done = await session.ask("enqueue_bulk", n=jobs, batch=batch)
    stored = await session.storage.stored()
    if stored != jobs:
        raise Failed(f"{jobs} jobs were enqueued, the database has {stored}")
    return rate_row("enqueue_bulk", session, done["n"], done["seconds"], batch=batch)


async def process(
    session: Session, jobs: int, measure: str, *, workers: int = 1, costs: bool = False, finished_before: int = 0
) -> list[Row]:
    """Process all queued jobs with this many worker processes."""
    await session.storage.settle_down()
    pool = await session.workers(workers, go=False)
    used, served, written = pool.cpu_s(), session.storage.cpu_s(), await session.storage.written()
    pool.go()
    await pool.wait_until_begun()
    ended_at = await session.wait_until_done(pool, jobs, limit_s=LONGEST_S)
    rows = [rate_row(measure, session, jobs, ended_at - pool.begun_at, processes=workers)]
    if costs:
        rows += [
            row("cpu_client_us", session, (pool.cpu_s() - used) / jobs * 1e6, "µs/job", processes=workers),
            row("cpu_server_us", session, (session.storage.cpu_s() - served) / jobs * 1e6, "µs/job", processes=workers),
        ]
        logged = await session.storage.written() - written
        if logged >= 0:  # Redis may have rewritten its log meanwhile
            rows.append(row("wal_bytes", session, logged / jobs, "bytes/job", processes=workers))
    await pool.stop()
    finished = await session.storage.finished()
    if finished is not None and finished != jobs + finished_before:
        raise Failed(f"{jobs} jobs were done, the database shows {finished} as finished")
    return rows


async def pickup(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """The time from the start of the enqueue call to the start of the handler, on an idle system."""
    async with Session.begin(servers, system, system.pickup_settings) as session:
        await session.ask("open")
        pool = await session.workers(1)
        await asyncio.sleep(1)
        await session.ask("pickup", n=10, pause_s=PICKUP_PAUSE_S)
        await pool.wait_until_begun()
        await _wait_for_latencies(session, 10)
        session.latencies.write_text("")
        await session.ask("pickup", n=plan.pickups, pause_s=PICKUP_PAUSE_S)
        took = sorted(await _wait_for_latencies(session, plan.pickups))
        return [
            row(
                f"pickup_p{share}_ms",
                session,
                took[min(len(took) - 1, len(took) * share // 100)] / 1e6,
                "ms",
                jobs=plan.pickups,
            )
            for share in (50, 95, 99)
        ]


async def _wait_for_latencies(session: Session, count: int) -> list[int]:
    deadline = time.monotonic() + 30
    lines: list[str] = []
    while time.monotonic() < deadline:
        lines = session.latencies.read_text().split() if session.latencies.exists() else []
        if len(lines) >= count:
            return [int(line) for line in lines]
        await asyncio.sleep(0.05)
    raise Failed(f"{len(lines)} of {count} jobs were picked up within 30 s")


def rate_row(measure: str, session: Session, jobs: int, seconds: float, **settings: Any) -> Row:
    return row(measure, session, jobs / seconds, "jobs/s", jobs=jobs, seconds=round(seconds, 3), **settings)


def row(measure: str, session: Session, value: float, unit: str, **settings: Any) -> Row:
    return Row(
        measure=measure,
        system=session.system.name,
        value=value,
        unit=unit,
        settings={**session.settings, **settings},
    )


async def idle(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """An idle worker: its CPU time and its number of queries."""
    async with Session.begin(servers, system) as session:
        pool = await session.workers(1)
        await asyncio.sleep(3)
        used, began = pool.cpu_s(), time.monotonic()
        before = await _transactions(session)
        await asyncio.sleep(plan.idle_s)
        after = await _transactions(session)
        cpu = (pool.cpu_s() - used) / (time.monotonic() - began)
        rows = [row("idle_cpu_percent", session, cpu * 100, "%", seconds=plan.idle_s)]
        if before and after:
            (asked, asked_at), (now, now_at) = before, after
            # One of them is the harness's own query.
            rate = (now - asked - 1) / (now_at - asked_at)
            rows.append(row("idle_queries_per_s", session, rate, "/s", seconds=plan.idle_s))
        return rows


async def _transactions(session: Session) -> tuple[int, float] | None:
    """Every query of an idle worker is roughly one transaction; backends report them within a second."""
    if not isinstance(session.storage, PostgresStorage):
        return None
    sql = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
    return int(await session.storage.fetchval(sql)), time.monotonic()


async def memory(servers: Servers, system: System, plan: Plan) -> list[Row]:  # noqa: ARG001 - 500 by definition
    """The memory of one worker process while 500 handlers run."""
    async with Session.begin(servers, system, system.memory_settings) as session:
        await session.ask("open")
        await session.ask("enqueue_bulk", n=HANDLERS, batch=HANDLERS, sleep=5)
        pool = await session.workers(1)
        await pool.wait_until_begun()
        deadline = time.monotonic() + 4
        while pool.counted < HANDLERS:
            if time.monotonic() > deadline:
                raise Failed(f"{pool.counted} of {HANDLERS} handlers ran at once")
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        return [row("memory_500_mb", session, pool.rss_mb(), "MB", handlers=HANDLERS)]
