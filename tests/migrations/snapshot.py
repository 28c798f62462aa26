"""Write a snapshot: a database of this version, with rows in every table and a job in every state.

The correlation_id of a job is its status, so that a test needs no list besides the dump.
"""

import asyncio
import re
import subprocess
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import uuid_utils.compat

from plait.embedded import postgres_binaries
from plait.model.roles import Role
from plait.model.states import AttemptOutcome, Status
from plait.store import Store
from plait.store.audit import Entry
from plait.store.migrate import schema_version
from plait.store.new_jobs import NewJob
from plait.store.workers import Claimed, Settlement
from plait.store.workflows import Checkpoint, Lease, NewFanOut, StepKey
from plait.testing import TestDatabase, TestServer

from ..access.logins import connected, show

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
    Status.SUCCEEDED: (AttemptOutcome.SUCCEEDED, '{"n": 1}', None),
    Status.FAILED: (AttemptOutcome.FAILED, None, '{"permanent": true, "error": "no such file", "exit_code": 2}'),
    Status.DEAD_LETTER: (AttemptOutcome.FAILED, None, '{"error": "again and again", "traceback": "…"}'),
    Status.SKIPPED: (AttemptOutcome.SKIPPED, None, '{"reason": "nothing_to_do"}'),
}

# To a job that runs: a child, one that follows it, one that depends on it, and a signal that it has not asked for yet.
FOLLOWED = """
do $$ begin
  perform plait.spawn('work', parent => '{job}', tenant => 'ada');
  perform plait.after('{job}', 'work', tenant => 'ada');
  perform plait.enqueue('work', tenant => 'ada', after => array['{job}'::uuid]);
  perform plait.signal('{job}', 'approved', '{"by": "ada"}', plait.tenant_id('ada'));
end $$
"""


async def main() -> None:
    SNAPSHOTS.mkdir(exist_ok=True)
    (SNAPSHOTS / f"{schema_version():04}.sql").write_text(await snapshot())


async def snapshot() -> str:
    """A filled database of this version, as SQL."""
    server = TestServer()
    database = await server.create_database(fake_clock=False)
    try:
        await fill(database)
        return await asyncio.to_thread(dump, database)
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
            {"name": "work", "max_attempts": 3, "search_keys": ["path"]},
            {
                "name": "limited",
                "max_running": 2,
                "rate_count": 10,
                "rate_period_s": 60,
                "key_max_running": 1,
            },
        ]
    )
    await store.definitions.set_definition("limited", {"priority": 90}, author="cli")
    await store.endpoints.set_endpoint(
        "crm", {"url": "https://crm.example/hook", "statuses": ["succeeded"]}, tenant_id=tenant
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
        node="n1",
        holder="somebody",
        labels={"disk": "ssd"},
        url="http://n1.example",
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
        if status is Status.FAILED:  # the dead letter is not counted yet
            await store.leader.count_failures()
    await store.jobs.cancel(await enqueue(Status.CANCELED), tenant_id=tenant, reason="not wanted")

    await enqueue(Status.RUNNING, dedupe_key="running", idempotency_key="running", idempotency_ttl_s=3600.0)
    running = await claim()
    await store.workers.progress(worker, running.job_id, running.attempt, '{"done": 0.1}')
    await show(store, tenant, Lease(worker, running.job_id, running.attempt))
    await enqueue(Status.RUNNING, "limited", limit_key="one")
    await claim()
    await enqueue(Status.WAITING)
    await fan_out(store, worker, await claim(), claim)

    await enqueue(Status.SCHEDULED, delay_s=3600.0, timeout_s=5.0, priority=7, deadline_s=86_400)
    await enqueue(Status.SCHEDULED)  # failed once, and waits for its second try
    job = await claim()
    detail = '{"error": "try again", "delay_s": 3600}'
    await store.workers.settle(worker, [Settlement(job.job_id, job.attempt, AttemptOutcome.FAILED, None, detail)])

    await enqueue(Status.QUEUED, dedupe_key="queued", idempotency_key="queued")
    await enqueue(Status.QUEUED, "limited", limit_key="one")
    large = await enqueue(Status.QUEUED)
    await store.artifacts.register_artifact(large, "payload", sha256="0" * 64, size=2_000_000, tenant_id=tenant)
    again = await enqueue(Status.QUEUED)
    await store.jobs.cancel(again, tenant_id=tenant)
    await store.jobs.retry(again, tenant_id=tenant)
    await store.jobs.fork(running.job_id, tenant_id=tenant)
    async with connected(database.admin_url) as connection:
        await connection.execute(FOLLOWED.replace("{job}", str(running.job_id)))
        await connection.execute("insert into plait.logins values ('ada_login', $1)", tenant)
        await trigger(store, connection, tenant)
        await access(store, tenant)
        await connectors(store, tenant)
        # Children and triggers' jobs inherit another's, or have none.
        await connection.execute(
            "update plait.jobs j set correlation_id = s.status from plait.job s "
            "where s.id = j.id and j.correlation_id is distinct from s.status::text"
        )
    await store.leader.count_live()
    while (await store.leader.roll_up())[0]:
        pass
    await store.close()


async def fan_out(store: Store, worker: int, parent: Claimed, claim: Callable[[], Awaitable[Claimed]]) -> None:
    """A step, and a fan-out of two children, one of which has ended. The parent waits for the other."""
    lease = Lease(worker, parent.job_id, parent.attempt)
    step = Checkpoint(lease, StepKey("", "fetch", 1, 1), "call", 1, "hash", '"page"', None)
    assert await store.workflows.save_steps(worker, [step]) == []
    fan_out = NewFanOut(
        id=uuid_utils.compat.uuid7(),
        key=StepKey("", "fan_out", 1, 2),
        hash="hash",
        strategy="collect_all",
        needed=0,
        early=False,
        timeout_s=None,
        cancel_remaining=True,
        cancel_on_parent_failure=True,
        nested=True,
        streamed=True,
    )
    children = [NewJob(id=uuid_utils.compat.uuid7(), definition="work", payload="{}") for _ in range(2)]
    await store.workflows.open_fan_out(lease, fan_out, children)
    child = await claim()
    await store.workers.settle(worker, [Settlement(child.job_id, child.attempt, AttemptOutcome.SUCCEEDED, "1")])


async def trigger(store: Store, connection: asyncpg.Connection, tenant: UUID) -> None:
    """A schedule, and a trigger whose event has made a job."""
    await store.triggers.set_trigger("nightly", {"definition": "work", "cron": "0 2 * * *"}, tenant_id=tenant)
    settings = {"definition": "work", "event_name": "folder.updated", "payload": {"path": "{{event.path}}"}}
    await store.triggers.set_trigger("resync", settings, tenant_id=tenant)
    await connection.execute("select plait.emit('folder.updated', '{\"path\": \"a\"}', tenant => 'ada')")
    [event] = await store.events.pending_events()
    fires = [{"trigger": match.id, "revision": match.revision, "payload": {"path": "a"}} for match in event.triggers]
    assert await store.events.dispatch([{"event": event.id, "fires": fires}]) == 1


async def access(store: Store, tenant: UUID) -> None:
    """A key with a session, a change that it made, and an answer that is kept."""
    key = await store.keys.create_key(
        hash="hash of a key",
        hint="plait_ad",
        name="ada's",
        role=Role.ADMIN,
        tenant_id=tenant,
        expires_at=None,
        created_by="cli",
    )
    await store.keys.open_session(key, hash="hash of a session", csrf="csrf", ttl=timedelta(hours=1))
    entry = Entry(tenant_id=tenant, actor=f"key {key}", action="queue.pause", object="slow", request_id="1")
    await store.auditing(entry).queues.set_queue("slow", {"paused": True})
    await store.http_replies.reserve(tenant, key, "once", "hash of a request")
    await store.http_replies.keep(tenant, key, "once", 201, "{}")


async def connectors(store: Store, tenant: UUID) -> None:
    """A tenant's settings of a connector, a server that failed, and a delivery of an outcome."""
    await store.connectors.set_connector("http", '{"timeout_s": 5}', tenant_id=tenant, by="cli")
    await store.connectors.report_request(tenant, "https://crm.example", ok=False)
    assert (await store.leader.announce())[0] > 0


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
