"""Durable functions: fan-out and fan-in of many children, checkpointed steps, and resumed waits. Only for systems with durable functions."""

import asyncio
from statistics import median

from bench.job_storage import Servers
from bench.measures.throughput import Plan, row
from bench.rows import Row
from bench.session import Session
from bench.systems import System

CHILDREN = 1000
STEP_JOBS, STEPS = 20, 100
SIGNALS, LONG = 30, 10_000
WAITING = 10_000


async def fan_out(servers: Servers, system: System, plan: Plan) -> list[Row]:  # noqa: ARG001 - 1,000 by definition
    """The time from the client's call until the results of all children are gathered, with one otherwise idle worker process."""
    async with Session.begin(servers, system, system.durable_settings) as session:
        await session.ask("open")
        await session.workers(1)
        await asyncio.sleep(1)
        await session.ask("fan_out", n=20)
        done = await session.ask("fan_out", n=CHILDREN)
        return [row("fan_out_1000_s", session, done["seconds"], "s", children=CHILDREN)]


async def steps(servers: Servers, system: System, plan: Plan) -> list[Row]:  # noqa: ARG001 - as above
    """Checkpointed steps per second, for jobs whose steps run one after another, with one worker process."""
    async with Session.begin(servers, system, system.durable_settings) as session:
        await session.ask("open")
        await session.workers(1)
        await asyncio.sleep(1)
        await session.ask("steps", jobs=2, n=5)
        done = await session.ask("steps", jobs=STEP_JOBS, n=STEPS)
        rate = STEP_JOBS * STEPS / done["seconds"]
        return [row("steps_per_s", session, rate, "steps/s", jobs=STEP_JOBS, steps=STEPS)]


async def resume(servers: Servers, system: System, plan: Plan) -> list[Row]:  # noqa: ARG001 - as above
    """The time from a signal until the waiting handler continues, with 100 recorded steps: the median of 30. For plait also with 1,000 recorded steps, and
    both again with a replay, as after a restart; and a replay of 10,000 recorded steps. All include the commit of the signal and that of the claim."""
    plait = system.name.startswith("plait")
    rows = await _resumed(
        servers, system, {}, {"resume_ms": STEPS} | ({"resume_1000_steps_ms": 10 * STEPS} if plait else {})
    )
    if plait:
        replayed = {"resume_replay_ms": STEPS, "resume_replay_1000_steps_ms": 10 * STEPS, "resume_10000_steps_ms": LONG}
        rows += await _resumed(servers, system, {"cached_handlers": 0}, replayed)
    return rows


async def _resumed(servers: Servers, system: System, extra: dict[str, int], measures: dict[str, int]) -> list[Row]:
    """One row per measure, with its number of recorded steps."""
    rows: list[Row] = []
    async with Session.begin(servers, system, {**(system.durable_settings or {}), **extra}) as session:
        await session.ask("open")
        await session.workers(1)
        await asyncio.sleep(1)
        for name, recorded in measures.items():
            done = await session.ask("resume", steps=recorded, n=3 if recorded == LONG else SIGNALS)
            rows.append(row(name, session, median(done["ms"]), "ms", steps=recorded))
    return rows


async def waiting(servers: Servers, system: System, plan: Plan) -> list[Row]:  # noqa: ARG001 - as above
    """The memory of one worker process while 10,000 jobs wait for a signal; 1,000 of their handlers are in its memory."""
    async with Session.begin(servers, system, system.durable_settings) as session:
        await session.ask("open")
        pool = await session.workers(1)
        await session.ask("wait", n=WAITING)
        await asyncio.sleep(1)
        return [row("memory_10000_waiting_mb", session, pool.rss_mb(), "MB", jobs=WAITING)]
