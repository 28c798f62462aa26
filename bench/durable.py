"""Durable functions: fan-out and gather of many children, and checkpointed steps. For who has them."""

import asyncio

from bench.contest import Contest
from bench.ledgers import Servers
from bench.measures import Plan, row
from bench.rows import Row
from bench.systems import System

CHILDREN = 1000
STEP_JOBS, STEPS = 20, 100


async def fan_out(servers: Servers, system: System, plan: Plan) -> list[Row]:  # noqa: ARG001 - 1,000 it is, by definition
    """From the client's call to the gathered results of all children, one worker process, nothing else to do."""
    async with Contest.begin(servers, system, system.durable_settings) as contest:
        await contest.ask("open")
        await contest.workers(1)
        await asyncio.sleep(1)
        await contest.ask("fan_out", n=20)
        done = await contest.ask("fan_out", n=CHILDREN)
        return [row("fan_out_1000_s", contest, done["seconds"], "s", children=CHILDREN)]


async def steps(servers: Servers, system: System, plan: Plan) -> list[Row]:  # noqa: ARG001 - as above
    """Jobs that each do one step after the other: how many steps a second are checkpointed, one worker process."""
    async with Contest.begin(servers, system, system.durable_settings) as contest:
        await contest.ask("open")
        await contest.workers(1)
        await asyncio.sleep(1)
        await contest.ask("steps", jobs=2, n=5)
        done = await contest.ask("steps", jobs=STEP_JOBS, n=STEPS)
        rate = STEP_JOBS * STEPS / done["seconds"]
        return [row("steps_per_s", contest, rate, "steps/s", jobs=STEP_JOBS, steps=STEPS)]
