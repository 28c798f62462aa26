"""Logins of every kind, and two tenants with rows in each table that has a tenant."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import uuid_utils.compat

from plait.leader.fire import Fire
from plait.model.roles import Role
from plait.model.states import AttemptOutcome
from plait.store import Store
from plait.store.audit import Entry
from plait.store.logs import LogEntry, LogLine
from plait.store.new_jobs import NewJob
from plait.store.streams import StreamItem
from plait.store.workers import Settlement
from plait.store.workflows import Lease, NewFanOut, StepKey
from plait.testing import FakeClock, TestDatabase

RUNTIME_ROLES = ("plait_client", "plait_tenant", "plait_worker", "plait_admin")


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def as_superuser(database: TestDatabase, *statements: str) -> None:
    async with connected(database.admin_url) as connection:
        for statement in statements:
            await connection.execute(statement)


class Logins:
    """Makes logins with names of their own, and drops them: roles belong to the whole server."""

    def __init__(self, database: TestDatabase) -> None:
        self._database = database
        self._made: list[str] = []

    async def create(self, *roles: str, options: str = "login") -> str:
        name = f"plait_test_{uuid4().hex[:12]}"
        members = f" in role {', '.join(roles)}" if roles else ""
        await as_superuser(self._database, f"create role {name} {options}{members}")
        self._made.append(name)
        return name

    async def bound_to(self, tenant: UUID) -> str:
        name = await self.create("plait_tenant")
        async with connected(self._database.url) as connection:
            await connection.execute("select plait.bind_login($1, $2)", name, tenant)
        return name

    async def drop(self) -> None:
        for name in self._made:
            await as_superuser(self._database, f"drop owned by {name}", f"drop role {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoTenants:
    """Tenants a and b. Each has jobs in every state, keys, progress and a bound login."""

    database: TestDatabase
    a: UUID
    b: UUID
    a_jobs: dict[str, UUID]
    b_jobs: dict[str, UUID]
    client: str
    worker: str
    admin: str
    bound: str
    unbound: str

    @property
    def logins(self) -> dict[str, str]:
        """One login of each kind; `bound` is bound to a."""
        return {kind: getattr(self, kind) for kind in ("client", "worker", "admin", "bound", "unbound")}

    def url(self, kind: str) -> str:
        return self.database.url_for(self.logins[kind])


async def make_two_tenants(database: TestDatabase, logins: Logins) -> TwoTenants:
    store = await Store.open(database.url)
    a, b = await store.tenants.set_tenant("a"), await store.tenants.set_tenant("b")
    await store.definitions.define([{"name": "work", "search_keys": ["n"]}])
    jobs = {tenant: await fill(store, tenant) for tenant in (a, b)}
    clock = FakeClock(database.admin_url)
    await clock.advance(minutes=1)
    await Fire().run(store)  # each schedule once
    await store.leader.count_live()
    await store.leader.count_failures()
    # One that is still to be counted: a job may be named too often.
    await as_superuser(
        database,
        "insert into plait.failure_changes (tenant_id, job_id) select tenant_id, job_id from plait.failure_log",
    )
    await store.leader.roll_up()
    await store.leader.announce()
    await clock.advance(minutes=-1)
    await store.close()
    await logins.bound_to(b)
    return TwoTenants(
        database=database,
        a=a,
        b=b,
        a_jobs=jobs[a],
        b_jobs=jobs[b],
        client=await logins.create("plait_client"),
        worker=await logins.create("plait_worker"),
        admin=await logins.create("plait_admin"),
        bound=await logins.bound_to(a),
        unbound=await logins.create("plait_tenant"),
    )


async def fill(store: Store, tenant: UUID) -> dict[str, UUID]:
    """Jobs of one tenant, by their status."""
    worker = await store.workers.register(
        host="host", pid=1, version="0", queues=[tenant.hex], definitions=["work"], lease_s=30
    )
    states = ("succeeded", "failed", "running", "queued")
    ids = {state: uuid_utils.compat.uuid7() for state in states}
    for state in states[:3]:
        await store.jobs.enqueue_many([new_job(ids[state], tenant, key=state)])
    claimed = {job.job_id: job for job in await store.workers.claim(worker, tenant.hex, 10)}
    permanent = '{"permanent": true, "error": "no"}'
    outcomes = [
        Settlement(ids["succeeded"], claimed[ids["succeeded"]].attempt, AttemptOutcome.SUCCEEDED, result="1"),
        Settlement(ids["failed"], claimed[ids["failed"]].attempt, AttemptOutcome.FAILED, detail=permanent),
    ]
    assert await store.workers.settle(worker, outcomes) == [True, True]
    assert await store.workers.progress(worker, ids["running"], claimed[ids["running"]].attempt, '{"at": 1}')
    await show(store, tenant, Lease(worker, ids["running"], claimed[ids["running"]].attempt))
    await store.jobs.enqueue_many([new_job(ids["queued"], tenant, key="queued")])
    await fan_out(store, tenant)
    settings = {"definition": "work", "every_s": 60, "queue": tenant.hex}
    await store.triggers.set_trigger("t", settings, tenant_id=tenant)
    await store.events.emit("e", "{}", tenant=str(tenant), correlation_id=None, event_id=uuid_utils.compat.uuid7())
    await store.endpoints.set_endpoint(
        "e", {"url": "https://hooks.example.com/", "statuses": ["succeeded"]}, tenant_id=tenant
    )
    await store.connectors.set_connector("http", "{}", tenant_id=tenant)
    await store.connectors.report_request(tenant, "https://hooks.example.com:443", ok=False)
    await hang_on(store, tenant, ids["running"])
    await call_the_api(store, tenant)
    await store.artifacts.register_artifact(ids["queued"], "payload", sha256="0" * 64, size=5, tenant_id=tenant)
    return ids


async def show(store: Store, tenant: UUID, lease: Lease) -> None:
    """The visible data of a running job: an item, a log line, a state, a token, a reply; and an event that it waits for."""
    assert await store.streams.write([StreamItem(lease, "s", "", 1, "1")]) == [1]
    assert await store.logs.write([LogLine(lease, 1, LogEntry(0, "info", "log", None, "m", None))], now=0) == [1]
    assert await store.workers.progress(lease.worker, lease.job_id, lease.attempt, None, '"s"')
    await store.streams.open_stream(lease.job_id, hash=tenant.hex, ttl=timedelta(hours=1), tenant_id=tenant)
    assert await store.events.await_event(lease, "", "event e", "nothing", "{}")
    fence = lease.worker, lease.job_id, lease.attempt
    assert await store.signals.reply_update(*fence, uuid_utils.compat.uuid7(), value="1", error=None)


async def call_the_api(store: Store, tenant: UUID) -> None:
    """A key, a session of it, an entry in the audit, a reply."""
    entry = Entry(tenant_id=tenant, actor="test", action="key.create")
    key = await store.auditing(entry).keys.create_key(
        hash=tenant.hex, hint="k", name="k", role=Role.VIEWER, tenant_id=tenant, expires_at=None, created_by="test"
    )
    await store.keys.open_session(key, hash=tenant.hex, csrf="c", ttl=timedelta(hours=1))
    await store.http_replies.reserve(tenant, key, "k", "h")


async def fan_out(store: Store, tenant: UUID) -> None:
    """A parent with a streamed fan-out of one child that has ended, a step and a signal."""
    queue = f"{tenant.hex}-tree"
    parent, child = uuid_utils.compat.uuid7(), uuid_utils.compat.uuid7()
    await store.jobs.enqueue_many([NewJob(id=parent, definition="work", payload="{}", tenant_id=tenant, queue=queue)])
    await store.jobs.signal(parent, "go", "1", tenant_id=tenant)
    worker = await store.workers.register(
        host="host", pid=1, version="0", queues=[queue], definitions=["work"], lease_s=30
    )
    [claimed] = await store.workers.claim(worker, queue)
    opened = await store.workflows.open_fan_out(
        Lease(worker, parent, claimed.attempt),
        NewFanOut(
            id=uuid_utils.compat.uuid7(),
            key=StepKey("", "fan_out_stream", 1, 1),
            hash="0",
            strategy="collect_all",
            needed=0,
            early=False,
            timeout_s=None,
            cancel_remaining=True,
            cancel_on_parent_failure=False,
            nested=True,
            streamed=True,
        ),
        [NewJob(id=child, definition="work", payload='{"n": 1}', queue=queue)],
    )
    assert opened == "suspended"
    [claimed] = await store.workers.claim(worker, queue)
    assert await store.workers.settle(worker, [Settlement(child, claimed.attempt, AttemptOutcome.SUCCEEDED)]) == [True]


async def hang_on(store: Store, tenant: UUID, job: UUID) -> None:
    """A follow-up of a job, a job that waits for it, and a fork of it."""
    await store.database.fetchval("select plait.after($1, 'work', tenant => $2)", job, str(tenant))
    waits = NewJob(
        id=uuid_utils.compat.uuid7(),
        definition="work",
        payload="{}",
        tenant_id=tenant,
        after=f"{{{job}}}",
        deadline_s=3600,
    )
    await store.jobs.enqueue_many([waits])
    await store.jobs.fork(job, tenant_id=tenant)


def new_job(job_id: UUID, tenant: UUID, *, key: str | None = None, payload: str = "{}") -> NewJob:
    return NewJob(
        id=job_id,
        definition="work",
        payload=payload,
        tenant_id=tenant,
        queue=tenant.hex,
        dedupe_key=key,
        idempotency_key=key,
    )


async def outcome(connection: asyncpg.Connection, sql: str, *args: Any) -> str:
    """How a statement ends, in words: `ok`, or the SQLSTATE and the message. It leaves nothing behind."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.fetch(sql, *args)
    except asyncpg.PostgresError as error:
        return f"{error.sqlstate} {error}"
    else:
        return "ok"
    finally:
        await transaction.rollback()


DENIED = "42501"  # insufficient_privilege


async def not_denied(connection: asyncpg.Connection, statements: Sequence[str]) -> list[str]:
    """Those of the statements that end otherwise than by a denial."""
    ends = [(statement, await outcome(connection, statement)) for statement in statements]
    return [f"{statement}: {end}" for statement, end in ends if not end.startswith(DENIED)]
