"""plait's hot path under conditions that arise in long use: many jobs, many tenants, limits, long runs, an old snapshot."""

import asyncio
import time
from typing import Any

import asyncpg

from bench import tenants
from bench.job_storage import PostgresStorage, Servers
from bench.measures.throughput import Plan, fill, process, rate_row, row
from bench.rows import Row
from bench.session import Failed, Session, WorkerPool
from bench.systems import System

AHEAD = 20_000
"""The maximum number of queued jobs while enqueuing and processing run together."""
EDGE_S = 10.0


async def crowd_finished(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """With a million finished jobs."""
    async with Session.begin(servers, system, {"bare": True}) as before:
        await fill(before, plan.crowd)
        pool = await before.workers(1)
        await pool.wait_until_begun()
        await before.wait_until_done(pool, plan.crowd, limit_s=300)
        await pool.stop()
        del before.settings["bare"]
        await fill(before, plan.jobs)
        return await process(before, plan.jobs, "process_1_1m_finished", finished_before=plan.crowd)


async def crowd_queued(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """With a million queued jobs: the rate at which the first ones are processed."""
    async with Session.begin(servers, system) as session:
        await fill(session, plan.crowd)
        await session.storage.settle_down()
        pool = await session.workers(1)
        await pool.wait_until_begun()
        await _wait_until_counted(pool, plan.jobs)
        ended_at = time.monotonic()
        done = plan.crowd - await session.storage.unfinished(plan.crowd)
        return [rate_row("process_1_1m_queued", session, done, ended_at - pool.begun_at, queued_before=plan.crowd)]


async def _wait_until_counted(pool: WorkerPool, jobs: int) -> None:
    deadline = time.monotonic() + 180
    while pool.counted < jobs:
        pool.check()
        if time.monotonic() > deadline:
            raise Failed(f"{pool.counted} of {jobs} jobs were done after 180 s")
        await asyncio.sleep(0.005)


async def many_tenants(servers: Servers, system: System, plan: Plan) -> list[Row]:
    rows = []
    for count in (1, 100, 10_000):
        rows += await _with_tenants(servers, system, plan, f"process_1_tenants_{count}", {"tenants": count})
    return rows


async def limits_on(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """Limits that are never reached: on the definition, with a hundred tenants in turn, and per key, with fifty keys."""
    fair = {"tenants": 100, "limits": "definition"}
    return [
        *await _with_tenants(servers, system, plan, "process_1_limits", fair),
        *await _with_tenants(servers, system, plan, "process_1_key_limits", {"limits": "key"}),
    ]


async def _with_tenants(
    servers: Servers, system: System, plan: Plan, measure: str, settings: dict[str, Any]
) -> list[Row]:
    async with Session.begin(servers, system, settings) as session:
        assert isinstance(session.storage, PostgresStorage)
        if count := settings.get("tenants"):
            await session.storage.execute(tenants.CREATE.format(last=count - 1))
        await fill(session, plan.jobs)
        return await process(session, plan.jobs, measure)


async def enqueue_8(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """Eight processes that each enqueue jobs one by one."""
    async with Session.begin(servers, system) as session:
        clients = [session.client, *[await session.new_client() for _ in range(7)]]
        await asyncio.gather(*(session.ask("open", client=client) for client in clients))
        await session.storage.settle_down()
        answers = await asyncio.gather(
            *(session.ask("enqueue_one", client=client, n=10_000_000, seconds=plan.one_s) for client in clients)
        )
        done = sum(answer["n"] for answer in answers)
        if (stored := await session.storage.stored()) != done:
            raise Failed(f"{done} jobs were enqueued, the database has {stored}")
        return [rate_row("enqueue_8", session, done, max(answer["seconds"] for answer in answers), enqueuers=8)]


async def sustained(servers: Servers, system: System, plan: Plan) -> list[Row]:
    async with Session.begin(servers, system) as session:
        return await _sustain(session, plan, "sustained")


async def old_snapshot(servers: Servers, system: System, plan: Plan) -> list[Row]:
    """The same measure while an open transaction prevents all vacuuming."""
    async with Session.begin(servers, system) as session:
        assert isinstance(session.storage, PostgresStorage)
        holder = await asyncpg.connect(servers.postgres.url(session.storage.database))
        try:
            await holder.execute("begin isolation level repeatable read")
            await holder.execute("select count(*) from pg_class")
            return await _sustain(session, plan, "old_snapshot")
        finally:
            await holder.close()


async def _sustain(session: Session, plan: Plan, measure: str) -> list[Row]:
    """Enqueue in bulk and process at the same time; the queue stays short, and the rates of the first and last seconds are compared."""
    await session.ask("open")
    await session.storage.settle_down()
    pool = await session.workers(1)
    asked = 0
    seen: list[tuple[float, int]] = []
    began = time.monotonic()
    until = began + plan.sustain_s
    while (now := time.monotonic()) < until:
        pool.check()
        seen.append((now, pool.counted))
        if asked - pool.counted < AHEAD:
            answer = await session.ask("enqueue_bulk", n=2 * session.system.bulk, batch=session.system.bulk)
            asked += answer["n"]
        else:
            await asyncio.sleep(0.005)
    ended_at = time.monotonic()
    done = asked - await session.storage.unfinished(asked)
    edge = min(EDGE_S, plan.sustain_s / 3)
    first = _rate_between(seen, pool.begun_at, pool.begun_at + edge)
    last = _rate_between(seen, until - edge, until)
    return [
        rate_row(measure, session, done, ended_at - pool.begun_at, seconds_each=plan.sustain_s),
        row(f"{measure}_first_10s", session, first, "jobs/s", seconds=edge),
        row(f"{measure}_last_10s", session, last, "jobs/s", seconds=edge),
        row(f"{measure}_last_to_first", session, last / first, "ratio", seconds=edge),
    ]


def _rate_between(seen: list[tuple[float, int]], start: float, end: float) -> float:
    inside = [(at, count) for at, count in seen if start <= at <= end]
    if len(inside) < 2:
        raise Failed("too few samples for a rate")
    (began, first), (ended, last) = inside[0], inside[-1]
    return (last - first) / (ended - began)
