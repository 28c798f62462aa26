"""Upper bounds of the machine: the same SQL called by pgbench (in C), the worker's statement in a bare loop, and an event loop without a database.

These rows have the names of the measures that they bound, with `limit_…` instead of the system.
"""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any, Final

from bench import environments
from bench.job_storage import PostgresStorage, Servers
from bench.measures.throughput import Plan, fill, process
from bench.rows import Row
from bench.session import ROOT, Failed, Session
from bench.systems import System
from plait.embedded import postgres_binaries

BATCH: Final = 500
BULK: Final = 1000
CYCLE: Final = """
select o_jobs::text as jobs, array_fill(o_attempts[1], array[cardinality(o_jobs)])::text as attempts, coalesce(o_cursors[1]::text, 'none') as cursor
from plait.cycle(p_worker => :worker, p_queues => '{default}', p_limits => '{500}', p_cursors => array[nullif(:cursor, 'none')::uuid],
  p_lane_cursors => array[null::text], p_jobs => cast(:jobs as uuid[]), p_attempts => cast(:attempts as int[]),
  p_outcomes => array_fill('succeeded'::text, array[cardinality(cast(:jobs as uuid[]))]),
  p_results => array_fill('{"n": 1}'::text, array[cardinality(cast(:jobs as uuid[]))]), p_details => null,
  p_ran_ms => array_fill(0.01::float8, array[cardinality(cast(:jobs as uuid[]))]), p_sleep => false, p_bounds => null) \\gset
"""
ENQUEUE: Final = """
select plait.enqueue_many(array_agg(plait.uuidv7()), array['noop'], array_agg('{{"n": 1, "at": 0}}'::text))
from generate_series(1, {count});
"""
REGISTER: Final = (
    "select plait.register_worker(p_host => 'bench', p_pid => 1, p_version => 'bench', p_queues => '{default}', "
    "p_definitions => '{noop}', p_lease_s => 600, p_metadata => '{}')"
)
TPS: Final = re.compile(r"tps = ([0-9.]+) \(without initial connection time\)")


async def limits(servers: Servers, system: System, plan: Plan) -> list[Row]:
    rows = []
    async with Session.begin(servers, system) as session:
        await session.ask("open")
        seconds = str(max(1, round(plan.one_s)))
        rate = await _pgbench(session, ENQUEUE.format(count=1), "-T", seconds)
        rows.append(_row("enqueue_one", "limit_pgbench", rate, calls="plait.enqueue_many of one"))
        rate = BULK * await _pgbench(session, ENQUEUE.format(count=BULK), "-T", seconds)
        rows.append(_row("enqueue_bulk", "limit_pgbench", rate, calls="plait.enqueue_many", batch=BULK))
    async with Session.begin(servers, system) as session:
        rows.append(await _cycle_by_pgbench(session, plan))
    async with Session.begin(servers, system, {"bare": True}) as session:
        await fill(session, plan.jobs)
        [row, *_] = await process(session, plan.jobs, "cycle")
        assert row.value is not None
        rows.append(_row("cycle", "limit_bare_loop", row.value, batch=BATCH))
    rows.append(
        _row(
            "process_1",
            "limit_asyncio",
            await _asyncio_alone(system, plan.jobs * 4),
            what="tasks on uvloop, no database",
        )
    )
    return rows


async def _cycle_by_pgbench(session: Session, plan: Plan) -> Row:
    storage = session.storage
    assert isinstance(storage, PostgresStorage)
    await fill(session, plan.jobs)
    await storage.settle_down()
    worker = await storage.fetchval(REGISTER)
    turns = -(-plan.jobs // BATCH) + 1  # the last one only settles
    variables = [f"worker={worker}", "jobs={}", "attempts={}", "cursor=none"]
    defined = [part for variable in variables for part in ("-D", variable)]
    tps = await _pgbench(session, CYCLE, "-t", str(turns), *defined)
    if left := await storage.stored():
        raise Failed(f"pgbench left {left} jobs")
    return _row("cycle", "limit_pgbench", plan.jobs * tps / turns, calls="plait.cycle", batch=BATCH)


async def _pgbench(session: Session, script: str, *options: str) -> float:
    """Transactions per second of one client."""
    binary = postgres_binaries.find(None).bin_dir / "pgbench"
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        file = Path(place) / "script.sql"
        file.write_text(script)
        said = await _run(
            str(binary), "-n", "-M", "prepared", "-c", "1", "-f", str(file), *options, session.storage.url
        )
    if not (found := TPS.search(said)):
        raise Failed(f"pgbench: {said[-400:]}")
    return float(found[1])


async def _asyncio_alone(system: System, jobs: int) -> float:
    return float(await _run(str(environments.python(system)), "-m", "bench.drivers.asyncio_alone", str(jobs)))


async def _run(*argv: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(300):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return said.decode(errors="replace")


def _row(measure: str, system: str, value: float, **settings: Any) -> Row:
    return Row(measure=measure, system=system, value=value, unit="jobs/s", settings=settings)
