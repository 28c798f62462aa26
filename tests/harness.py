"""The test harness: small methods over a real database with a frozen clock.

    first, second = await harness.enqueue_many("add", 2, tenant="acme")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await worker.fail(lease)
    await harness.advance(seconds=2)
    await harness.promote()
    assert await harness.status(first) == "queued"

It has no logic: most methods are one call of the store. After each test, `check` verifies the invariants, for
example that no job is both live and final (invariants.py).
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

import asyncpg

from plait.leader.dispatch import Dispatch
from plait.leader.fire import Fire
from plait.model.ids import DEFAULT_TENANT, new_id
from plait.model.states import Status
from plait.runtime.settings import Settings
from plait.store import Store
from plait.store.events import EventRow
from plait.store.job_rows import AttemptRow, JobRow
from plait.store.leader import Rescued
from plait.store.new_jobs import NewJob
from plait.store.triggers import FireRow, TriggerRow
from plait.testing import TestDatabase
from plait.testing.clock import START

from .fake_worker import FakeWorker
from .invariants import INVARIANTS, LIVENESS, violations

_TABLES = (
    "jobs",
    "live",
    "attempts",
    "running_state",
    "dedupe",
    "idempotency",
    "search_values",
    "fan_outs",
    "fan_out_order",
    "steps",
    "signals",
    "dependencies",
    "follow_ups",
    "forks",
    "streams",
    "stream_items",
    "log_lines",
    "job_states",
    "event_waits",
    "update_replies",
    "job_tokens",
    "artifacts",
    "workers",
    "nodes",
    "leader",
    "buckets",
    "triggers",
    "fires",
    "events",
    "sessions",
    "keys",
    "audit",
    "replies",
    "depths",
    "minutes",
    "rolled",
    "failure_changes",
    "failure_log",
    "failure_groups",
    "failure_hours",
    "failures_counted",
    "endpoints",
    "announcements",
    "announced",
    "connectors",
    "circuits",
)
_TRUNCATE = f"truncate {', '.join(f'plait.{name}' for name in _TABLES)}"
_FORGET_SETTINGS = f"""
delete from plait.queues; delete from plait.definitions; delete from plait.overrides; delete from plait.logins;
delete from plait.tenants where slug <> 'default';
update plait.tenants set name = 'Default', time_zone = 'UTC', paused = false, weight = 1,
  max_running = null, max_queued = null, max_triggers = 1000, retention = '{{}}', quota_left = null, created_at = '{START.isoformat()}'
"""
LEASE_S = 30.0
DEFINITIONS = ("add", "other")


class Harness:
    def __init__(self, database: TestDatabase, store: Store, admin: asyncpg.Connection) -> None:
        self.database = database
        self.store = store
        self.admin = admin
        self._tenants: dict[str, UUID] = {"default": DEFAULT_TENANT}
        self._workers: list[FakeWorker] = []

    @classmethod
    async def open(cls, database: TestDatabase, *, max_connections: int = 10) -> Self:
        pooler = Settings().pooler  # if the tests connect through PgBouncer
        store = await Store.open(database.url, max_connections=max_connections, pooler=pooler)
        return cls(database, store, await asyncpg.connect(database.admin_url))

    async def empty(self) -> None:
        """Reset the database: only the default tenant is left, and the clock is at its start."""
        big = await self.sql("select pg_total_relation_size('plait.jobs') > 4000000")
        await self.admin.execute(_TRUNCATE if big else "".join(f"delete from plait.{name};" for name in _TABLES))
        await self.admin.execute(_FORGET_SETTINGS)
        await self.sql("update plait_test.clock set at = $1", START)

    async def close(self) -> None:
        for worker in self._workers:
            await worker.disconnect()
        await self.store.close()
        await self.admin.close()

    # Time

    async def now(self) -> datetime:
        return await self._time("select at from plait_test.clock")

    async def advance(self, **step: float) -> datetime:
        return await self._time(
            "update plait_test.clock set at = at + $1 returning at",
            timedelta(**step),
        )

    async def _time(self, sql: str, *args: object) -> datetime:
        at = await self.sql(sql, *args)
        assert isinstance(at, datetime)
        return at

    # Settings

    async def tenant(self, slug: str = "default", **settings: Any) -> UUID:
        """The tenant with this slug. It is created on first use, and changed if settings are given."""
        if settings or slug not in self._tenants:
            self._tenants[slug] = await self.store.tenants.set_tenant(slug, settings)
        return self._tenants[slug]

    async def queue(self, name: str = "default", **settings: Any) -> None:
        await self.store.queues.set_queue(name, settings)

    async def define(self, name: str, **settings: Any) -> None:
        await self.store.definitions.define([{"name": name, **settings}])

    # Clients and operators

    async def new_job(
        self, definition: str = "add", *, tenant: str = "default", payload: Any = None, **options: Any
    ) -> NewJob:
        return NewJob(
            id=options.pop("id", None) or new_id(),
            definition=definition,
            payload=payload if isinstance(payload, str) else json.dumps(payload or {}),
            tenant_id=await self.tenant(tenant),
            **options,
        )

    async def enqueue(self, definition: str = "add", **options: Any) -> UUID:
        """Enqueue one job. Returns the id of the existing job if it holds the dedupe key."""
        job = await self.new_job(definition, **options)
        return (await self.store.jobs.enqueue_many([job])).get(job.id, job.id)

    async def enqueue_many(self, definition: str = "add", n: int = 1, **options: Any) -> list[UUID]:
        jobs = [await self.new_job(definition, **options) for _ in range(n)]
        existing = await self.store.jobs.enqueue_many(jobs)
        return [existing.get(job.id, job.id) for job in jobs]

    async def cancel(self, job: UUID, *, tenant: str = "default") -> Status:
        return await self.store.jobs.cancel(job, tenant_id=await self.tenant(tenant))

    async def retry(self, job: UUID, *, tenant: str = "default", run_at: datetime | None = None) -> Status:
        return await self.store.jobs.retry(job, tenant_id=await self.tenant(tenant), run_at=run_at)

    async def reschedule(
        self,
        job: UUID,
        *,
        tenant: str = "default",
        run_at: datetime | None = None,
        max_attempts: int | None = None,
    ) -> Status:
        return await self.store.jobs.reschedule(
            job, tenant_id=await self.tenant(tenant), run_at=run_at, max_attempts=max_attempts
        )

    # Workers

    async def worker(
        self,
        *,
        queues: Sequence[str] = ("default",),
        definitions: Sequence[str] = DEFINITIONS,
        lease_s: float = LEASE_S,
        node: str | None = None,
        build: str | None = None,
    ) -> FakeWorker:
        """A worker. If it has a node, it can also become the leader (`lead`)."""
        id_ = await self.store.workers.register(
            host="here",
            pid=1,
            version="0",
            queues=queues,
            definitions=definitions,
            lease_s=lease_s,
            node=node,
            holder=node,
            build=build,
        )
        worker = FakeWorker(self.store, id_, tuple(queues))
        self._workers.append(worker)
        return worker

    async def lose(self, *workers: FakeWorker) -> Rescued:
        """Expire the leases of these workers and rescue their jobs. The clock does not move."""
        await self.expire(*workers)
        return await self.rescue()

    async def expire(self, *workers: FakeWorker) -> None:
        await self.sql(
            "update plait.workers set expires_at = plait.now() - interval '1 s' where id = any($1)",
            [worker.id for worker in workers],
        )

    # The leader

    async def lead(self, node: str, *, lease_s: float = 10) -> bool:
        """Take part in the leader election as the process on this node. Returns whether it leads."""
        return (await self.store.leader.elect(node, lease_s=lease_s)).leads

    async def promote(self, limit: int = 1000) -> int:
        return (await self.store.leader.promote(limit))[0]

    async def rescue(self, *, cancel_grace_s: float = 30, jitter_s: float = 0, limit: int = 1000) -> Rescued:
        return await self.store.leader.rescue(cancel_grace_s=cancel_grace_s, jitter_s=jitter_s, limit=limit)

    async def count_failures(self) -> None:
        """Count all changed failures."""
        while (await self.store.leader.count_failures())[0]:
            pass

    async def fire(self) -> None:
        """Fire all due schedules."""
        duty = Fire()
        while await duty.run(self.store) == 0:
            pass

    async def emit(
        self, name: str = "e", *, tenant: str = "default", correlation_id: str | None = None, **data: Any
    ) -> UUID:
        return await self.store.events.emit(
            name,
            json.dumps(data),
            tenant=str(await self.tenant(tenant)),
            correlation_id=correlation_id,
            event_id=new_id(),
        )

    async def dispatch(self) -> None:
        """Dispatch all pending events."""
        duty = Dispatch()
        while await duty.run(self.store) == 0:
            pass

    async def event(self, event: UUID) -> EventRow:
        return await self.store.events.get_event(event, all_tenants=True)

    async def trigger(self, label: str = "t", *, tenant: str = "default", **settings: Any) -> UUID:
        """A trigger of `add` with this label. It is created on first use, and changed if settings are given. Its schedule starts now."""
        if not await self.store.triggers.list_triggers(tenant_id=await self.tenant(tenant), label=label):
            settings = {"definition": "add", **settings}
        trigger = await self.store.triggers.set_trigger(label, settings, tenant_id=await self.tenant(tenant))
        await self.fire()
        return trigger

    # Reading

    async def trigger_row(self, trigger: UUID) -> TriggerRow:
        return await self.store.triggers.get_trigger(trigger, all_tenants=True)

    async def fires(self, trigger: UUID) -> list[FireRow]:
        """The firings of a trigger, oldest first."""
        rows = await self.store.triggers.list_fires(trigger_id=trigger, all_tenants=True, limit=1000)
        return sorted(rows, key=lambda row: (row.instant or row.at, row.event_id or row.id))

    async def fired_jobs(self, trigger: UUID) -> list[JobRow]:
        return [
            await self.job(row.job_id) for row in await self.fires(trigger) if row.job_id and row.outcome == "enqueued"
        ]

    async def job(self, job: UUID) -> JobRow:
        return await self.store.jobs.get_job(job, all_tenants=True)

    async def status(self, job: UUID) -> Status:
        return (await self.job(job)).status

    async def statuses(self, jobs: Sequence[UUID]) -> list[Status]:
        return [await self.status(job) for job in jobs]

    async def attempts(self, job: UUID) -> list[AttemptRow]:
        return await self.store.jobs.list_attempts(job, all_tenants=True)

    async def outcomes(self, job: UUID) -> list[str]:
        """The outcome of each attempt, in order. Rows for an operator's retry are omitted."""
        return [a.status for a in await self.attempts(job) if a.reason != "retried"]

    async def counts(self) -> dict[Status, int]:
        """The number of jobs in each status, in one snapshot."""
        rows = await self.rows("select status::text, count(*) from plait.job group by 1")
        return {Status(status): n for status, n in rows}

    async def explain(self, job: UUID) -> list[str]:
        return [code for code, _ in await self.store.jobs.explain_job(job, all_tenants=True)]

    async def findings(self) -> set[str]:
        return {finding.code for finding in await self.store.health.diagnose()}

    async def snapshot(self) -> list[str]:
        """All rows about jobs, as text, to check that a call changes nothing."""
        sql = " union all ".join(f"select '{name} ' || t::text as row from plait.{name} t" for name in _TABLES[:13])
        return [row for (row,) in await self.rows(f"{sql} order by 1")]

    async def check(self) -> None:
        found = await violations(self.admin)
        assert not found, "\n".join(found)
        if await violations(self.admin, LIVENESS):
            await self.rescue()
            await self.store.leader.resume()
            await self.promote()
            found = await violations(self.admin, {**INVARIANTS, **LIVENESS})
            assert not found, "after a round of the leader's duties:\n" + "\n".join(found)

    # Direct SQL, where the store has no method

    async def sql(self, sql: str, *args: object) -> Any:
        """Fetch one value, as the superuser."""
        return await self.admin.fetchval(sql, *args)

    async def rows(self, sql: str, *args: object) -> list[Any]:
        return list(await self.admin.fetch(sql, *args))

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection with a restricted login, as in user code."""
        connection = await asyncpg.connect(self.database.url)
        try:
            yield connection
        finally:
            await connection.close()

    async def rows_read(self) -> int:
        """The number of rows read from plait's tables so far: the cost of a plan, independent of the machine's speed."""
        # The pool reuses the store's last connection, so this flushes its statistics.
        await self.store.database.fetchval("select pg_stat_force_next_flush()")
        await self.sql("select pg_stat_clear_snapshot()")
        read = "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint from pg_stat_user_tables where schemaname = 'plait'"
        return int(await self.sql(read))

    async def until_blocked(self, n: int = 1) -> None:
        """Wait until n statements of other sessions wait for a lock."""
        waiting = 0
        while waiting < n:
            waiting = await self.sql(
                """select count(*) from pg_stat_activity
                   where datname = current_database() and wait_event_type = 'Lock'"""
            )
