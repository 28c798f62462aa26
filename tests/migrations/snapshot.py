"""Writes a snapshot: a database of this version, with something in every table and a job in every state.

A job says in its correlation_id which status it has, so that a test needs no list beside the dump.
"""

import asyncio
import re
import subprocess
from pathlib import Path
from uuid import UUID

import uuid_utils.compat

from plait.model.states import Ending, Status
from plait.runtime import postgres_binaries
from plait.store import Store
from plait.store.jobs import NewJob
from plait.store.migrate import schema_version
from plait.store.workers import Claimed, Settlement
from plait.testing import TestDatabase, TestServer

from ..security.logins import connected

SNAPSHOTS = Path(__file__).with_name("snapshots")
DEFAULT = UUID("00000000-0000-7000-8000-000000000000")

HEAD = """\
-- A database of schema version {version}, made by scripts/snapshot. Frozen when that version is released.
-- Every job's correlation_id names its status. The roles of plait/sql/roles.sql are assumed to exist.

create schema plait authorization plait_owner;
set role plait_owner;
set check_function_bodies = off;
"""
SETTLED = {
    Status.SUCCEEDED: (Ending.SUCCEEDED, '{"n": 1}', None),
    Status.FAILED: (Ending.FAILED, None, '{"permanent": true, "error": "no such file", "exit_code": 2}'),
    Status.DEAD_LETTER: (Ending.FAILED, None, '{"error": "again and again", "traceback": "…"}'),
    Status.SKIPPED: (Ending.SKIPPED, None, '{"reason": "nothing_to_do"}'),
}


async def main() -> None:
    server = TestServer()
    database = await server.create_database(fake_clock=False)
    try:
        await fill(database)
        path = SNAPSHOTS / f"{schema_version():04}.sql"
        path.write_text(await asyncio.to_thread(dump, database))
    finally:
        await server.drop_database(database)
        server.close()


async def fill(database: TestDatabase) -> None:
    store = await Store.open(database.url)
    settings = {
        "name": "Ada & Söhne",
        "time_zone": "Europe/Berlin",
        "weight": 3,
        "max_running": 5,
        "max_queued": 100,
    }
    tenant = await store.tenants.set_tenant("ada", settings)
    await store.definitions.define(
        [
            {"name": "work", "max_attempts": 3},
            {
                "name": "limited",
                "max_running": 2,
                "rate_count": 10,
                "rate_period_s": 60,
                "key_max_running": 1,
            },
        ]
    )
    await store.queues.set_queue("slow", {"max_running": 1, "rate_count": 5, "rate_period_s": 1})
    await store.leader.elect("somebody", lease_s=10)
    worker = await store.workers.register(
        host="host",
        pid=1,
        version="0",
        queues=["default", "slow"],
        definitions=["work", "limited"],
        lease_s=30,
        metadata={"zone": "a"},
    )

    async def enqueue(status: Status, definition: str = "work", **options: object) -> UUID:
        job_id: UUID = uuid_utils.compat.uuid7()
        job = NewJob(
            id=job_id,
            definition=definition,
            payload='{"path": "a.png", "width": 200}',
            tenant_id=tenant,
            correlation_id=status,
            **options,  # type: ignore[arg-type]
        )
        await store.jobs.enqueue_many([job])
        return job_id

    async def claim() -> Claimed:
        [claimed] = await store.workers.claim(worker, "default", 1)
        return claimed

    for status, (ending, result, detail) in SETTLED.items():
        await enqueue(status, max_attempts=1, dedupe_key=f"{status} once", idempotency_key=f"{status} key")
        job = await claim()
        assert await store.workers.progress(worker, job.job_id, job.attempt, '{"done": 0.5}')
        assert await store.workers.settle(
            worker, [Settlement(job.job_id, job.attempt, ending, result, detail, 12.5)]
        ) == [True]
    await store.jobs.cancel(await enqueue(Status.CANCELED), tenant_id=tenant, reason="not wanted")

    await enqueue(Status.RUNNING, dedupe_key="running", idempotency_key="running", idempotency_ttl_s=3600.0)
    running = await claim()
    await store.workers.progress(worker, running.job_id, running.attempt, '{"done": 0.1}')
    await enqueue(Status.RUNNING, "limited", limit_key="one")
    await claim()
    waiting = await enqueue(Status.WAITING)
    await claim()

    await enqueue(Status.SCHEDULED, delay_s=3600.0, timeout_s=5.0, priority=7)
    await enqueue(Status.SCHEDULED)  # failed once, and waits for its second try
    job = await claim()
    detail = '{"error": "try again", "delay_s": 3600}'
    await store.workers.settle(worker, [Settlement(job.job_id, job.attempt, Ending.FAILED, None, detail)])

    await enqueue(Status.QUEUED, dedupe_key="queued", idempotency_key="queued")
    await enqueue(Status.QUEUED, "limited", limit_key="one")
    again = await enqueue(Status.QUEUED)
    await store.jobs.cancel(again, tenant_id=tenant)
    await store.jobs.retry(again, tenant_id=tenant)
    await store.close()
    async with connected(database.admin_url) as connection:
        # What no function does yet.
        await connection.execute("update plait.live set state = 'waiting', worker = null where job_id = $1", waiting)
        await connection.execute("insert into plait.logins values ('ada_login', $1)", tenant)


def dump(database: TestDatabase) -> str:
    """Plain SQL that any supported version can load, in one go and without psql."""
    programs = postgres_binaries.find(None).bin_dir
    options = ["--schema=plait", "--column-inserts", "--no-owner", "--dbname", database.admin_url]
    done = subprocess.run([str(programs / "pg_dump"), *options], capture_output=True, text=True, check=True)
    kept = []
    body: str | None = None  # the quote that ends the function's body which we are in: there everything stays
    for line in done.stdout.splitlines():
        if body is None and re.match(r"--|\\|SET |SELECT pg_catalog\.set_config|CREATE SCHEMA ", line):
            continue
        kept.append(line)
        if body is None and (opened := re.search(r"\bAS (\$\w*\$)", line)):
            body = opened[1] if line.count(opened[1]) == 1 else None
        elif body is not None and body in line:
            body = None
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return HEAD.format(version=schema_version()) + "\n" + text + "\n\nreset role;\n"


if __name__ == "__main__":
    asyncio.run(main())
