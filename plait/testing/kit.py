"""The `plait` fixture: an app on its own database, a clock to move, and a worker to run.

Nothing runs in the background: `run_until_idle()` runs the due jobs in this process and returns; `advance()` moves the clock. Therefore a
test with retries, delays and leases does not wait in real time.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal
from uuid import UUID

import asyncpg
import msgspec

from plait.leader.dispatch import Dispatch
from plait.leader.fire import Fire
from plait.model.errors import InvalidArguments
from plait.model.states import AttemptOutcome
from plait.runtime.service import Stop
from plait.sdk.app import Plait
from plait.sdk.artifacts import is_reference
from plait.sdk.handle import Handle
from plait.sdk.job import Job
from plait.sdk.target import Target
from plait.sdk.triggers import declare
from plait.store.job_rows import JobRow, NodeRow
from plait.store.workers import Settlement
from plait.testing.clock import FakeClock
from plait.testing.databases import TestDatabase
from plait.testing.replay import replay
from plait.worker.worker import Worker


class Kit:
    def __init__(self, app: Plait, database: TestDatabase) -> None:
        self.app = app
        self.database = database
        self.clock = FakeClock(database.admin_url)
        self._target = app.target

    def enter(self) -> None:
        """Use the test's database for the app from now on."""
        self.app.target = Target(self.database.url)

    async def exit(self) -> None:
        await self.app.close()
        self.app.close_sync()
        self.app.target = self._target

    async def run_until_idle(
        self,
        *,
        except_queues: Collection[str] = (),
        except_jobs: Collection[Job[..., Any] | str] = (),
        concurrency: int = 100,
    ) -> None:
        """Run all due jobs, and jobs that become due through them, until no job can start. Jobs of `except_queues` and of the definitions in
        `except_jobs` are not run: complete or inspect them yourself."""
        for name, given in (("except_queues", except_queues), ("except_jobs", except_jobs)):
            if isinstance(given, str):
                raise InvalidArguments(f"{name} must be a list, got {given!r}")
        store = await self.app.store()
        await store.leader.elect(self.app.holder, lease_s=3600)  # run leader jobs too
        without = frozenset(_name(job) for job in except_jobs)
        while True:
            await Dispatch().run(store)
            queues = dict.fromkeys(await self._queues(except_queues), concurrency) if except_queues else None
            if queues != {}:
                await Worker(self.app, queues=queues, once=True, concurrency=concurrency, except_jobs=without).run(
                    Stop()
                )
            promoted, _ = await store.leader.promote()
            resumed = await store.leader.resume()
            told, _, _ = await store.leader.announce()
            more = promoted + resumed.resumed + resumed.timed_out + resumed.canceled + told
            if more == 0 and not await store.events.pending_events(1) and not await store.triggers.release_fires():
                return

    async def _queues(self, left_out: Collection[str]) -> list[str]:
        """The queues of the app's jobs, from their definitions and from operators' overrides, except the queues in `left_out`."""
        definitions = self.app.definitions
        moved = await (await self.app.store()).definitions.definition_queues(list(definitions))
        return sorted(({"default"} | {one.queue for one in definitions.values()} | set(moved)) - set(left_out))

    async def advance(
        self,
        delta: timedelta | None = None,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> datetime:
        """Move the clock forward. Jobs and schedules that become due run with the next `run_until_idle()`."""
        await self._begin_schedules()
        now = await self.clock.advance(delta, days=days, hours=hours, minutes=minutes, seconds=seconds)
        store = await self.app.store()
        await store.leader.promote()
        await store.leader.resume()
        await self._fire()
        return now

    async def _begin_schedules(self) -> None:
        """Register schedules before the clock moves, because they count from their registration."""
        await declare(self.app, await self.app.store())
        await self._fire()

    async def _fire(self) -> None:
        duty = Fire()
        while await duty.run(await self.app.store()) == 0:
            pass  # more schedules are due

    async def enqueued(self, job: Job[..., Any] | str | None = None, *, tenant: str | None = None) -> list[JobRow]:
        """The unfinished jobs of a tenant, oldest first, optionally of one definition only."""
        store = await self.app.store()
        rows = await store.jobs.list_jobs(
            tenant_id=await self.app.tenant_id(tenant), definition=_name(job) if job is not None else None, limit=1000
        )
        return [row for row in reversed(rows) if not row.status.final]

    async def assert_enqueued(
        self,
        job: Job[..., Any] | str,
        *,
        count: int | None = None,
        tenant: str | None = None,
        queue: str | None = None,
        **arguments: Any,
    ) -> JobRow:
        """Assert that an unfinished job with these arguments exists, on `queue` if it is given. `count`: the exact number of such jobs."""
        wanted = msgspec.json.decode(msgspec.json.encode(arguments))
        all_of_kind = await self.enqueued(job, tenant=tenant)
        found = [row for row in all_of_kind if _has(row, wanted) and queue in (None, row.queue)]
        if not found or (count is not None and len(found) != count):
            there = "\n".join(f"  {row.status} on {row.queue}: {row.payload}" for row in all_of_kind) or "  none"
            expected = "one or more" if count is None else str(count)
            raise AssertionError(
                f"expected {expected} enqueued jobs {_name(job)!r} with {arguments}, found {len(found)}; all jobs of that definition:\n{there}"
            )
        return found[0]

    async def sub_jobs(self, parent: Handle[Any] | UUID) -> list[NodeRow]:
        """The children of a job's newest fan-out, by index."""
        jobs = (await self.app.store()).jobs
        parent_id = _id(parent)
        children = [node for node in await jobs.job_tree(parent_id, all_tenants=True) if node.parent_id == parent_id]
        newest = max((node.fan_out_id for node in children if node.fan_out_id), default=None)
        return [node for node in children if node.fan_out_id == newest]

    async def complete_sub_job(self, job: Handle[Any] | UUID, result: Any = None) -> None:
        """Complete a job that has not started, as if a worker had run it and its handler had returned this value."""
        text = None if result is None else msgspec.json.encode(result).decode()
        await self._settle_by_hand(_id(job), AttemptOutcome.SUCCEEDED, result=text)

    async def fail_sub_job(self, job: Handle[Any] | UUID, error: str = "failed by hand") -> None:
        """Fail a job that has not started, as if it had failed permanently."""
        detail = msgspec.json.encode({"error": error, "permanent": True}).decode()
        await self._settle_by_hand(_id(job), AttemptOutcome.FAILED, detail=detail)

    async def history(self, job: Handle[Any] | UUID) -> dict[str, Any]:
        """The recorded history of a durable function, for `replay`: a document that can be stored as JSON. Large payloads and results are included, not only referenced."""
        text = await (await self.app.store()).jobs.job_history(_id(job), all_tenants=True)
        document: dict[str, Any] = msgspec.json.decode(text)
        artifacts, tenant_id = await self.app.artifacts(), UUID(document["tenant_id"])

        async def resolve(holder: dict[str, Any], kind: Literal["payload", "result"]) -> None:
            text = msgspec.json.encode(holder[kind]).decode()
            if is_reference(text):
                owner = UUID(holder["job_id"])
                text = await artifacts.resolve(text, job_id=owner, tenant_id=tenant_id, kind=kind)
                holder[kind] = msgspec.json.decode(text)

        await resolve(document, "payload")
        for one in (*document["children"], *document["dependencies"]):
            await resolve(one, "result")
        return document

    async def replay(self, history: Mapping[str, Any] | str | Path, handler: Callable[..., Any]) -> Any:
        """Replay a stored history against a handler; raises DeterminismError if they differ. See `plait.testing.replay`."""
        return await replay(history, handler, definitions=self.app.definitions)

    async def wait_for_fan_out(self, parent: Handle[Any] | UUID, *, timeout: float = 10) -> str:
        """Wait, in real time, until a job's newest fan-out is decided. Returns succeeded, failed or timeout."""
        jobs = (await self.app.store()).jobs
        async with asyncio.timeout(timeout):
            while True:
                steps = await jobs.list_steps(_id(parent), all_tenants=True)
                decisions = [step.decision for step in steps if step.fan_out_id is not None]
                if decisions and decisions[-1] is not None:
                    return decisions[-1]
                await asyncio.sleep(0.01)

    async def _settle_by_hand(
        self, job_id: UUID, outcome: AttemptOutcome, *, result: str | None = None, detail: str | None = None
    ) -> None:
        workers = (await self.app.store()).workers
        worker = await workers.register(host="by hand", pid=0, version="0", queues=[], definitions=[], lease_s=86_400)
        connection = await asyncpg.connect(self.database.admin_url)
        try:  # no SQL function claims a given job: only tests need that
            attempt = await connection.fetchval(_CLAIM_ONE, job_id, worker)
        finally:
            await connection.close()
        if attempt is None:
            raise AssertionError(f"job {job_id} must be queued to be completed by a test")
        await workers.settle(worker, [Settlement(job_id, attempt, outcome, result=result, detail=detail)])
        await workers.leave(worker)

    def run_until_idle_sync(self, **left_out: Any) -> None:
        self.app.call_sync(self.run_until_idle(**left_out))

    def advance_sync(self, delta: timedelta | None = None, **parts: float) -> datetime:
        return self.app.call_sync(self.advance(delta, **parts))

    def assert_enqueued_sync(self, job: Job[..., Any] | str, **expected: Any) -> JobRow:
        return self.app.call_sync(self.assert_enqueued(job, **expected))


_CLAIM_ONE: Final = """
update plait.live set state = 'running', worker = $2, attempt = attempt + 1, run_at = plait.now()
where job_id = $1 and state = 'queued' returning attempt
"""


def _id(job: Handle[Any] | UUID) -> UUID:
    return job if isinstance(job, UUID) else job.id


def _name(job: Job[..., Any] | str) -> str:
    return job if isinstance(job, str) else job.definition.name


def _has(row: JobRow, wanted: dict[str, Any]) -> bool:
    payload = msgspec.json.decode(row.payload)
    return all(name in payload and payload[name] == value for name, value in wanted.items())
