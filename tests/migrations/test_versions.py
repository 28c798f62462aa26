"""Every verb on the oldest, the middle and the newest supported Postgres."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import pytest
import uuid_utils.compat

from plait.model.errors import IllegalMove, NotFound
from plait.model.states import AttemptOutcome, Status
from plait.store import Store
from plait.store.leader import Retention
from plait.store.migrate import function_files, migrate
from plait.store.new_jobs import NewJob
from plait.store.workers import Claimed, Cursor, CycleConnection, Settlement
from plait.testing import FakeClock, TestDatabase, TestServer

from ..access.logins import connected

DEFAULT = UUID("00000000-0000-7000-8000-000000000000")


@dataclass(slots=True)
class Life:
    """One worker on one database, as a client and an operator see it too."""

    store: Store
    clock: FakeClock
    connection: CycleConnection
    worker: int
    cursors: dict[str, Cursor] = field(default_factory=dict)

    async def enqueue(self, *, tenant_id: UUID = DEFAULT, **options: object) -> UUID:
        job_id: UUID = uuid_utils.compat.uuid7()
        job = NewJob(id=job_id, definition="work", payload="{}", tenant_id=tenant_id, **options)  # type: ignore[arg-type]
        existing = await self.store.jobs.enqueue_many([job])
        return existing.get(job_id, job_id)

    async def cycle(self, *settlements: Settlement, wanted: int = 10) -> list[Claimed]:
        done = await self.connection.cycle(self.worker, {"default": wanted}, self.cursors, settlements, sleep=True)
        assert done.alive
        assert done.stale == []
        return done.claimed

    async def status(self, job_id: UUID) -> Status:
        return (await self.store.jobs.get_job(job_id)).status


@pytest.fixture
async def versioned_database(versioned: TestServer) -> AsyncIterator[TestDatabase]:
    database = await versioned.create_database()
    yield database
    await versioned.drop_database(database)


@pytest.fixture
async def life(versioned_database: TestDatabase) -> AsyncIterator[Life]:
    store = await Store.open(versioned_database.url)
    await store.definitions.define([{"name": "work", "max_attempts": 2}])
    worker = await store.workers.register(
        host="h", pid=1, version="0", queues=["default"], definitions=["work"], lease_s=30
    )
    connection = await CycleConnection.open(store.database)
    yield Life(store, FakeClock(versioned_database.admin_url), connection, worker)
    await connection.close()
    await store.close()


OUTCOMES = [
    (AttemptOutcome.SUCCEEDED, None, Status.SUCCEEDED),
    (AttemptOutcome.FAILED, None, Status.SCHEDULED),
    (AttemptOutcome.FAILED, '{"permanent": true, "error": "no", "exit_code": 3}', Status.FAILED),
    (AttemptOutcome.FAILED, '{"delay_s": 0}', Status.QUEUED),
    (AttemptOutcome.TIMEOUT, None, Status.SCHEDULED),
    (AttemptOutcome.SKIPPED, '{"reason": "nothing to do"}', Status.SKIPPED),
    (AttemptOutcome.SNOOZED, '{"delay_s": 60}', Status.SCHEDULED),
    (AttemptOutcome.RELEASED, None, Status.QUEUED),
    (AttemptOutcome.CANCELED, None, Status.QUEUED),  # nobody asked: the worker only gave it back
]


async def test_a_job_ends_in_every_way(life: Life) -> None:
    jobs = [await life.enqueue() for _ in OUTCOMES]
    claimed = {job.job_id: job for job in await life.cycle()}
    assert set(claimed) == set(jobs)
    settlements = [
        Settlement(
            job, 1, ending, result='{"n": 1}' if ending is AttemptOutcome.SUCCEEDED else None, detail=detail, ran_ms=5
        )
        for job, (ending, detail, _) in zip(jobs, OUTCOMES, strict=True)
    ]
    await life.cycle(*settlements, wanted=0)
    assert [await life.status(job) for job in jobs] == [status for _, _, status in OUTCOMES]
    assert await life.store.workers.settle(life.worker, settlements) == [True] * len(jobs)  # sent again
    assert len(await life.store.jobs.list_attempts(jobs[0])) == 1
    [outcome] = [o for o in await life.store.jobs.get_outcomes([(j, DEFAULT) for j in jobs]) if o.job_id == jobs[0]]
    assert (outcome.status, outcome.result) == (Status.SUCCEEDED, '{"n": 1}')


async def test_a_job_is_retried_until_it_is_a_dead_letter_and_an_operator_runs_it_again(life: Life) -> None:
    job = await life.enqueue(dedupe_key="d", idempotency_key="i", correlation_id="c", limit_key="l")
    assert await life.enqueue(dedupe_key="d") == job
    for attempt in (1, 2):
        await life.clock.advance(hours=1)
        await life.store.leader.promote()
        [claimed] = await life.cycle()
        assert (claimed.job_id, claimed.attempt, claimed.failed_attempts) == (job, attempt, attempt - 1)
        assert await life.store.workers.progress(life.worker, job, attempt, '{"done": 1}')
        await life.cycle(Settlement(job, attempt, AttemptOutcome.FAILED), wanted=0)
    assert await life.status(job) == Status.DEAD_LETTER
    assert await life.store.jobs.retry(job) == Status.QUEUED
    later = await life.clock.now() + timedelta(hours=1)
    assert await life.store.jobs.reschedule(job, run_at=later, max_attempts=9) == Status.SCHEDULED
    assert await life.store.jobs.cancel(job) == Status.CANCELED
    assert await life.store.jobs.reschedule(job) == Status.QUEUED
    [claimed] = await life.store.workers.claim(life.worker, "default", 5)
    await life.cycle(Settlement(job, claimed.attempt, AttemptOutcome.SUCCEEDED), wanted=0)
    assert await life.status(job) == Status.SUCCEEDED
    with pytest.raises(IllegalMove):
        await life.store.jobs.retry(job)


async def test_delayed_jobs_are_promoted(life: Life) -> None:
    job = await life.enqueue(delay_s=60.0)
    assert await life.status(job) == Status.SCHEDULED
    assert await life.store.leader.promote() == (0, 60)
    await life.clock.advance(minutes=1)
    assert await life.store.leader.promote() == (1, None)
    assert await life.status(job) == Status.QUEUED


async def test_a_running_job_is_asked_to_stop(life: Life) -> None:
    job = await life.enqueue()
    [claimed] = await life.cycle()
    assert await life.store.jobs.cancel(job, reason="enough") == Status.RUNNING
    beat = await life.store.workers.heartbeat(life.worker, running=1)
    assert beat.cancels == [(job, claimed.attempt)]
    await life.cycle(Settlement(job, claimed.attempt, AttemptOutcome.FAILED), wanted=0)
    assert await life.status(job) == Status.CANCELED


async def test_a_lost_workers_jobs_are_rescued(life: Life) -> None:
    lost, left = await life.enqueue(), await life.enqueue()
    await life.cycle()
    await life.clock.advance(minutes=5)
    assert (await life.store.leader.rescue(jitter_s=0)).requeued == 2
    assert await life.store.workers.leave(life.worker) == 0
    other = await life.store.workers.register(
        host="h", pid=2, version="0", queues=["default"], definitions=["work"], lease_s=30
    )
    held = await life.store.workers.claim(other, "default", 10)
    assert [job.attempt for job in held] == [2, 2]
    assert (await life.store.workers.heartbeat(other, running=0, held=[])).released == 2
    assert await life.store.workers.claim(other, "default", 10)
    assert await life.store.workers.leave(other) == 2
    assert {await life.status(lost), await life.status(left)} == {Status.QUEUED}


async def test_limits_shares_and_quotas_hold(life: Life) -> None:
    store = life.store
    a = await store.tenants.set_tenant("a", {"weight": 3, "max_running": 2, "max_queued": 50})
    await store.definitions.set_definition("work", {"max_running": 4, "rate_count": 100, "rate_period_s": 1})
    await store.queues.set_queue("default", {"max_running": 3, "rate_count": 100, "rate_period_s": 1})
    for tenant_id in (a, DEFAULT):
        for _ in range(4):
            await life.enqueue(tenant_id=tenant_id)
    claimed = await life.cycle()
    assert 1 <= len(claimed) <= 3
    assert sum(job.tenant_id == a for job in claimed) <= 2
    await store.queues.set_queue("default", {"paused": True})
    await life.cycle(*(Settlement(job.job_id, job.attempt, AttemptOutcome.SUCCEEDED) for job in claimed))
    assert await life.cycle() == []
    [(code, _), *_] = await store.jobs.explain_job(await life.enqueue())
    assert code == "queue_paused"


async def test_old_jobs_are_pruned(life: Life) -> None:
    job, kept = await life.enqueue(idempotency_key="k"), await life.enqueue()
    claimed = await life.cycle(wanted=1)
    await life.cycle(Settlement(claimed[0].job_id, 1, AttemptOutcome.SUCCEEDED), wanted=0)
    await life.clock.advance(days=8)
    assert await life.store.leader.prune(Retention()) == (1, None)
    assert claimed[0].job_id in (job, kept)
    with pytest.raises(NotFound):
        await life.store.jobs.get_job(claimed[0].job_id)
    assert len(await life.store.jobs.list_jobs()) == 1


async def test_readers_answer(life: Life) -> None:
    store = life.store
    job = await life.enqueue()
    done = await life.enqueue()
    [claimed] = [c for c in await life.cycle() if c.job_id == done]
    await life.cycle(Settlement(done, claimed.attempt, AttemptOutcome.FAILED, detail='{"permanent": true}'), wanted=0)
    for all_tenants in (False, True):
        assert {row.id for row in await store.jobs.list_jobs(all_tenants=all_tenants)} == {job, done}
        overview = await store.statistics.overview(all_tenants=all_tenants)
        assert (overview.live[Status.RUNNING], overview.failed) == (1, 1)
        assert await store.jobs.explain_job(job, all_tenants=all_tenants)
    for status in Status:
        found = await store.jobs.list_jobs(statuses=[status], queue="default", definition="work")
        assert len(found) == (status in (Status.RUNNING, Status.FAILED))
    assert [(queue.name, queue.oldest_s) for queue in await store.queues.list_queues()] == [("default", None)]
    assert [worker.id for worker in await store.workers.list_workers()] == [life.worker]
    assert [definition.name for definition in await store.definitions.list_definitions()] == ["work"]
    assert [tenant.slug for tenant in await store.tenants.list_tenants()] == ["default"]
    assert {finding.code for finding in await store.health.diagnose()} >= {"no_leader", "dead_letters"}
    assert (await store.leader.elect("me", lease_s=10)).leads
    assert not (await store.leader.elect("you", lease_s=10)).leads
    assert not (await store.leader.elect("me", lease_s=10, resign=True)).leads


async def test_every_function_is_valid_when_its_body_is_checked(versioned: TestServer) -> None:
    database = await versioned.create_empty_database()
    await migrate(database.admin_url)
    async with connected(database.admin_url) as connection:
        await connection.execute("set role plait_owner; set check_function_bodies = on")
        for path in function_files():
            await connection.execute(path.read_text())
    await versioned.drop_database(database)
