"""Measure the cost of retention for running jobs: `python -m bench.retention [--jobs 5000000] [--seconds 20]`.

Uses its own database, full of old final jobs. Two loads run, each with and without a leader that deletes the old jobs. The first load is a
steady 1,000 jobs per second, to measure the time of each claim. The second is as many jobs as one enqueuer and one claim loop can process, to
measure the rate. Goals: no claim takes more than 200 ms, and the rate is at least 0.85 of the rate without retention (F24).
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from bench.server import Postgres
from plait.leader.prune import Prune
from plait.model.ids import DEFAULT_TENANT, new_id
from plait.model.states import AttemptOutcome
from plait.runtime.logging import configure
from plait.store import Store
from plait.store.dev_login import DEV_LOGIN, ensure_dev_login
from plait.store.leader import Retention
from plait.store.migrate import migrate_connection
from plait.store.new_jobs import NewJob
from plait.store.workers import Cursor, CycleConnection, Settlement

PART = 250_000
BATCH = 500
AHEAD = 5_000
RATE, TICK_S = 1_000, 0.05

_JOBS = """
insert into plait.jobs (id, tenant_id, created_at, priority, max_attempts, definition, queue, payload)
select overlay(plait._uuid_floor(at)::text placing lpad(to_hex(n), 12, '0') from 25 for 12)::uuid, $1, at, 100, 5, 'noop', 'default',
       '{"n": 1, "to": "somebody"}'
from (select n, plait.now() - interval '60 days' + make_interval(secs => n * 0.01) as at from generate_series($2::int, $3::int) n) s
"""
_ATTEMPTS = """
insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, result)
select id, tenant_id, created_at, created_at, created_at, 1, 1, 'succeeded', 'succeeded', '{"n": 1}' from plait.jobs order by id
"""


class Load:
    """One enqueuer and one claim loop, like a worker whose handlers take no time."""

    def __init__(self, store: Store, worker: int, cycles: CycleConnection) -> None:
        self._store = store
        self._worker = worker
        self._cycles = cycles
        self._cursors: dict[str, Cursor] = {}
        self._outcomes: list[Settlement] = []
        self.asked = self.done = 0
        self.waits: list[float] = []

    async def enqueue(self, n: int) -> None:
        new = [NewJob(id=new_id(), definition="noop", payload='{"n": 1}', tenant_id=DEFAULT_TENANT) for _ in range(n)]
        await self._store.jobs.enqueue_many(new)
        self.asked += n

    async def claim(self) -> int:
        began = time.perf_counter()
        cycle = await self._cycles.cycle(self._worker, {"default": BATCH}, self._cursors, self._outcomes, sleep=False)
        self.waits.append(time.perf_counter() - began)
        self.done += len(self._outcomes)
        self._outcomes = [
            Settlement(claimed.job_id, claimed.attempt, AttemptOutcome.SUCCEEDED, '{"n": 1}', None, 0.01)
            for claimed in cycle.claimed
        ]
        return len(cycle.claimed)

    async def steady(self, seconds: float) -> None:
        """Enqueue RATE jobs per second, and claim them as they arrive."""
        until = time.monotonic() + seconds

        async def enqueue() -> None:
            at = time.monotonic()
            while at < until:
                await self.enqueue(int(RATE * TICK_S))
                at += TICK_S
                await asyncio.sleep(max(0.0, at - time.monotonic()))

        async with asyncio.TaskGroup() as group:
            group.create_task(enqueue())
            while time.monotonic() < until:
                if not await self.claim():
                    await asyncio.sleep(0.005)

    async def at_best(self, seconds: float) -> float:
        """Process as many jobs as possible. Returns jobs per second."""
        until = time.monotonic() + seconds

        async def enqueue() -> None:
            while time.monotonic() < until:
                if self.asked - self.done < AHEAD:
                    await self.enqueue(1000)
                else:
                    await asyncio.sleep(0.002)

        before, began = self.done, time.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(enqueue())
            while time.monotonic() < until:
                await self.claim()
        return (self.done - before) / (time.monotonic() - began)

    async def drain(self) -> None:
        while await self.claim() or self._outcomes:
            pass


async def fill(url: str, jobs: int) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("set synchronous_commit = off")
        for first in range(1, jobs + 1, PART):
            last = min(first + PART - 1, jobs)
            async with connection.transaction():
                await connection.execute(_JOBS, DEFAULT_TENANT, first, last)
        await connection.execute(_ATTEMPTS)
        await connection.execute("vacuum analyze plait.jobs")
        await connection.execute("vacuum analyze plait.attempts")
        await connection.execute("checkpoint")
    finally:
        await connection.close()


@asynccontextmanager
async def forgetting(url: str, wanted: bool) -> AsyncIterator[None]:
    """Run a load with retention in a separate leader process, or without it."""
    if not wanted:
        yield
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.retention", "--forget", url, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()  # wait until it has deleted its first batch
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def forget(url: str) -> None:
    configure(level="warning")
    store = await Store.open(url)
    duty, said = Prune(Retention()), False
    while True:
        pause = await duty.run(store)
        if not said:
            print("forgetting", flush=True)
            said = True
        await asyncio.sleep(pause)


async def measure(jobs: int, seconds: float) -> bool:
    async with Postgres.running() as postgres, postgres.fresh_database() as name:
        connection = await asyncpg.connect(postgres.url(name))
        await migrate_connection(connection)
        await connection.close()
        await ensure_dev_login(postgres.url(name))
        url = postgres.url(name, user=DEV_LOGIN)
        began = time.monotonic()
        await fill(postgres.url(name), jobs)
        print(f"{jobs:,} final jobs created in {time.monotonic() - began:.0f} s", flush=True)

        store = await Store.open(url)
        await store.definitions.define([{"name": "noop"}])
        worker = await store.workers.register(
            host="bench", pid=os.getpid(), version="bench", queues=["default"], definitions=["noop"], lease_s=3600
        )
        load = Load(store, worker, await CycleConnection.open(store.database))
        await load.at_best(min(5.0, seconds))  # warm up plans and caches
        await load.drain()
        worst: dict[bool, float] = {}
        rates: dict[bool, list[float]] = {False: [], True: []}
        for forgets in (False, True):
            load.waits.clear()
            was = await _left(postgres, name)
            async with forgetting(url, forgets):
                await load.steady(seconds)
            waits = sorted(load.waits)
            worst[forgets] = waits[-1]
            print(
                f"{RATE} jobs/s, {_word(forgets)}: {len(waits)} claims, p50 {waits[len(waits) // 2] * 1e3:.1f} ms, "
                f"p99 {waits[int(len(waits) * 0.99)] * 1e3:.1f} ms, longest {waits[-1] * 1e3:.0f} ms; "
                f"{(was - await _left(postgres, name)) / seconds:,.0f} deleted/s",
                flush=True,
            )
            await load.drain()
        for forgets in (False, True, True, False):
            was = await _left(postgres, name)
            async with forgetting(url, forgets):
                rates[forgets].append(await load.at_best(seconds))
            gone = (was - await _left(postgres, name)) / seconds
            print(f"at best, {_word(forgets)}: {rates[forgets][-1]:,.0f} jobs/s; {gone:,.0f} deleted/s", flush=True)
            await load.drain()
        ratio = sum(rates[True]) / sum(rates[False])
        print(f"longest claim {worst[True] * 1e3:.0f} ms (at most 200), rate {ratio:.2f} (at least 0.85)")
        await store.close()
        return worst[True] <= 0.2 and ratio >= 0.85


async def _left(postgres: Postgres, name: str) -> int:
    """The number of remaining old jobs."""
    sql = "select count(*) from plait.jobs where id < plait._uuid_floor(plait.now() - interval '1 day')"
    return int(await postgres.fetchval(sql, database=name))


def _word(forgets: bool) -> str:
    return "with retention" if forgets else "without retention"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5_000_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--forget", metavar="URL", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.forget:
        asyncio.run(forget(given.forget))
    return 0 if asyncio.run(measure(given.jobs, given.seconds)) else 1


if __name__ == "__main__":
    sys.exit(main())
