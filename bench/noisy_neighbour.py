"""Measure the effect of a tenant's backlog on another tenant: `python -m bench.noisy_neighbour [--jobs 100000] [--seconds 20]`.

One worker with 100 slots. A quiet tenant enqueues 10 jobs a second: first alone, then while another tenant has 100,000 jobs of 20 ms queued on the same
worker. Pick-up is the time from the start of the enqueue call to the start of the handler. Goal: p99 at most 25 ms above p99 alone (F37).
"""

import argparse
import asyncio
import sys
import time
from uuid import UUID

import asyncpg

from bench.server import Postgres
from plait import Plait
from plait.leader.leader import Leader
from plait.model.ids import new_id
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.store import Store
from plait.store.dev_login import DEV_LOGIN, ensure_dev_login
from plait.store.migrate import migrate_connection
from plait.store.new_jobs import NewJob
from plait.worker.worker import Worker

BUSY_S = 0.02
PER_S = 10
GOAL_MS = 25.0
PART = 5_000
_PICKED_UP = """
select (a.result #>> '{}')::bigint from plait.attempts a join plait.jobs j on j.id = a.job_id
where j.definition = 'quiet' and a.status = 'succeeded' order by a.job_id
"""

app = Plait()


@app.job
async def quiet(enqueued_ns: int) -> int:
    return time.time_ns() - enqueued_ns  # clock: on one machine


@app.job
async def busy() -> None:
    await asyncio.sleep(BUSY_S)


async def work(url: str) -> None:
    configure(level="warning")
    app.target = Plait(url).target
    stop = Stop()
    with Signals(stop):
        await run_services([Worker(app, concurrency=100), Leader(app)], stop)
    await app.close()


async def trickle(store: Store, tenant: UUID, seconds: float) -> None:
    """Enqueue PER_S jobs per second, one by one."""
    at = time.monotonic()
    until = at + seconds
    while at < until:
        payload = f'{{"enqueued_ns": {time.time_ns()}}}'  # clock: on one machine
        await store.jobs.enqueue_many([NewJob(id=new_id(), definition="quiet", payload=payload, tenant_id=tenant)])
        at += 1 / PER_S
        await asyncio.sleep(max(0.0, at - time.monotonic()))


async def pick_ups(postgres: Postgres, name: str, count: int) -> list[float]:
    """Wait until `count` jobs have been picked up. Returns the sorted pick-up times in milliseconds, and deletes the attempts."""
    connection = await asyncpg.connect(postgres.url(name))
    try:
        deadline = time.monotonic() + 60
        while True:
            rows = await connection.fetch(_PICKED_UP)
            if len(rows) >= count or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.1)
        await connection.execute("delete from plait.attempts where status = 'succeeded' and result is not null")
        return sorted(row[0] / 1e6 for row in rows)
    finally:
        await connection.close()


async def measure(jobs: int, seconds: float) -> bool:
    async with Postgres.running() as postgres, postgres.fresh_database() as name:
        connection = await asyncpg.connect(postgres.url(name))
        await migrate_connection(connection)
        await connection.close()
        await ensure_dev_login(postgres.url(name))
        url = postgres.url(name, user=DEV_LOGIN)
        store = await Store.open(url)
        quiet_one, busy_one = [await store.tenants.set_tenant(slug, {}) for slug in ("quiet", "busy")]
        worker = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.noisy_neighbour", "--work", url)
        try:
            await trickle(store, quiet_one, 2)  # warm up the worker and query plans
            await pick_ups(postgres, name, 2 * PER_S)
            count = int(seconds * PER_S)
            await trickle(store, quiet_one, seconds)
            alone = await pick_ups(postgres, name, count)
            for _ in range(jobs // PART):
                await store.jobs.enqueue_many(
                    [NewJob(id=new_id(), definition="busy", payload="{}", tenant_id=busy_one) for _ in range(PART)]
                )
            await trickle(store, quiet_one, seconds)
            beside = await pick_ups(postgres, name, count)
            left = await postgres.fetchval("select count(*) from plait.live where state = 'queued'", database=name)
            most = await postgres.fetchval("select count(*) from plait.live where state = 'running'", database=name)
        finally:
            worker.terminate()
            await worker.wait()
        await store.close()
    print(f"alone:  {_figures(alone)}")
    print(f"beside: {_figures(beside)}; of {jobs:,} jobs {left:,} were still queued, {most} claimed")
    above = _percentile(beside, 99) - _percentile(alone, 99)
    print(f"p99 is {above:.1f} ms above p99 alone (at most {GOAL_MS:.0f})")
    return above <= GOAL_MS and left > 0


def _figures(took: list[float]) -> str:
    shares = ", ".join(f"p{share} {_percentile(took, share):.1f}" for share in (50, 95, 99))
    return f"{len(took)} jobs, {shares}, longest {took[-1]:.1f} ms"


def _percentile(took: list[float], share: int) -> float:
    return took[min(len(took) - 1, len(took) * share // 100)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--work", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        asyncio.run(work(options.work))
        return 0
    return 0 if asyncio.run(measure(options.jobs, options.seconds)) else 1


if __name__ == "__main__":
    sys.exit(main())
