"""Measure how many no-op tasks a bare event loop runs per second, in batches like a worker's, without a database."""

import asyncio
import sys
import time

import uvloop

BATCH = 500


async def noop(n: int) -> dict[str, int]:
    return {"n": n}


async def main(jobs: int) -> float:
    began = time.monotonic()
    for start in range(0, jobs, BATCH):
        async with asyncio.TaskGroup() as group:
            for n in range(start, min(jobs, start + BATCH)):
                group.create_task(noop(n))
    return jobs / (time.monotonic() - began)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(runner.run(main(int(sys.argv[1]))))
