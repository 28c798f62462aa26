"""Enqueues that share a statement, and enqueues whose reply is lost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from plait import Job, Plait, Status
from plait.model.errors import DatabaseUnreachable, InvalidArguments, InvalidId, InvalidJob, QuotaExceeded
from plait.model.ids import new_id
from plait.sdk import enqueuer
from plait.store import Store
from plait.store.new_jobs import NewJob
from plait.testing import TestDatabase, TestServer


@pytest.fixture
def work(app: Plait) -> Job[[int], int]:
    @app.job
    async def work(x: int) -> int:
        return x

    return work


@pytest.fixture
async def store(app: Plait) -> Store:
    return await app.store()


@pytest.fixture
async def admin(database: TestDatabase) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database.admin_url)
    yield connection
    await connection.close()


Send = Callable[..., Awaitable[dict[UUID, UUID]]]


class Statements:
    """Records the size of each statement of an enqueuer. `gate` blocks statements, and `lose_replies` loses replies."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.lose_replies = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self._send: Send = store.jobs.enqueue_many
        monkeypatch.setattr(store.jobs, "enqueue_many", self._see)
        monkeypatch.setattr(enqueuer, "PAUSES_S", (0, 0, 0))

    async def _see(self, jobs: Sequence[NewJob], **options: Any) -> dict[UUID, UUID]:
        self.sizes.append(len(jobs))
        await self.gate.wait()
        existing = await self._send(jobs, **options)
        if self.lose_replies > 0:
            self.lose_replies -= 1
            raise DatabaseUnreachable("the connection broke after the commit")
        return existing


@pytest.fixture
def statements(store: Store, monkeypatch: pytest.MonkeyPatch) -> Statements:
    return Statements(store, monkeypatch)


async def queued(store: Store) -> int:
    return (await store.statistics.overview()).live[Status.QUEUED]


async def test_calls_that_come_at_once_share_a_few_statements(
    work: Job[[int], int], store: Store, statements: Statements
) -> None:
    handles = await asyncio.gather(*(work.enqueue(n) for n in range(2500)))
    assert len({handle.id for handle in handles}) == 2500 == await queued(store)
    assert (len(statements.sizes), sum(statements.sizes)) == (3, 2500)


async def test_a_lone_caller_waits_for_no_company(work: Job[[int], int], statements: Statements) -> None:
    for n in range(3):
        await work.enqueue(n)
    assert statements.sizes == [1, 1, 1]


async def test_a_bad_one_in_the_crowd_fails_alone(work: Job[[int], int], store: Store, statements: Statements) -> None:
    mine = (await work.enqueue(0)).id
    await store.tenants.set_tenant("acme")
    calls = [work.enqueue(n) for n in range(200)]
    calls.insert(77, work.options(job_id=mine, tenant="acme").enqueue(1))
    results = await asyncio.gather(*calls, return_exceptions=True)
    failed = [result for result in results if isinstance(result, BaseException)]
    assert [type(error) for error in failed] == [InvalidId]
    assert results[77] is failed[0]
    assert await queued(store) == 201
    assert len(statements.sizes) < 25, "batches were halved, not sent one by one"


async def test_a_quota_is_used_up_to_its_last_place(work: Job[[int], int], store: Store) -> None:
    await store.tenants.set_tenant("default", {"max_queued": 30})
    results = await asyncio.gather(*(work.enqueue(n) for n in range(50)), return_exceptions=True)
    assert sum(isinstance(result, QuotaExceeded) for result in results) == 20
    assert await queued(store) == 30


async def test_a_caller_that_is_canceled_before_its_job_is_sent_leaves_no_job(
    work: Job[[int], int], store: Store, statements: Statements
) -> None:
    statements.gate.clear()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(work.enqueue(1))
        while not statements.sizes:
            await asyncio.sleep(0)
        second, third = group.create_task(work.enqueue(2)), group.create_task(work.enqueue(3))
        for _ in range(5):
            await asyncio.sleep(0)
        second.cancel()
        statements.gate.set()
    assert second.cancelled()
    assert {(await task.result().info()).payload for task in (first, third)} == {'{"x":1}', '{"x":3}'}
    assert await queued(store) == 2


async def test_a_caller_that_is_canceled_meanwhile_takes_nobody_with_it(
    work: Job[[int], int], store: Store, statements: Statements
) -> None:
    statements.gate.clear()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work.enqueue(n)) for n in range(10)]
        while not statements.sizes:
            await asyncio.sleep(0)
        tasks[4].cancel()
        statements.gate.set()
    assert [task.cancelled() for task in tasks].count(True) == 1
    assert await queued(store) >= 9


async def test_an_enqueue_whose_reply_is_lost_is_sent_again_and_is_one_job(
    work: Job[[int], int], store: Store, statements: Statements
) -> None:
    """T111"""
    statements.lose_replies = 2
    handle = await work.options(dedupe_key="k", idempotency_key="k").enqueue(1)
    assert (statements.sizes, handle.deduplicated) == ([1, 1, 1], False)
    statements.lose_replies = 1
    assert len(await work.enqueue_many(range(2000))) == 2000
    assert await queued(store) == 2001


async def test_an_enqueue_that_cannot_be_confirmed_says_so_and_can_be_repeated_by_its_id(
    work: Job[[int], int], store: Store, statements: Statements
) -> None:
    statements.lose_replies = 4
    job_id = new_id()
    with pytest.raises(DatabaseUnreachable):
        await work.options(job_id=job_id).enqueue(1)
    handle = await work.options(job_id=job_id).enqueue(1)
    assert (handle.id, handle.deduplicated, await queued(store)) == (job_id, False, 1)


async def test_an_enqueue_survives_the_end_of_its_connection(
    work: Job[[int], int], store: Store, admin: asyncpg.Connection
) -> None:
    await store.tenants.set_tenant("default", {"max_queued": 1000})
    async with asyncio.TaskGroup() as group, admin.transaction():
        await admin.execute("select from plait.tenants where slug = 'default' for update")
        enqueuing = group.create_task(work.enqueue(1))
        while not await admin.fetchval(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'"
        ):
            await asyncio.sleep(0)
    assert await enqueuing.result().status() == Status.QUEUED
    assert await queued(store) == 1


@pytest.mark.usefixtures("store")  # connect first: an app that can't connect raises immediately
async def test_enqueues_survive_the_end_of_all_connections(work: Job[[int], int], admin: asyncpg.Connection) -> None:
    for round_number in range(10):
        async with asyncio.TaskGroup() as group:
            for n in range(20):
                group.create_task(work.enqueue(n))
            group.create_task(work.enqueue_many([1, 2, 3]))
            await asyncio.sleep(0)
            await admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
            )
        assert await admin.fetchval("select count(*) from plait.live") == 23 * (round_number + 1)


async def test_a_database_that_is_gone_is_out_of_reach(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enqueuer, "PAUSES_S", (0, 0, 0))
    database = await server.create_database()
    app = Plait(database.url)

    @app.job
    async def work() -> None: ...

    await work.enqueue()
    await server.drop_database(database)
    for call in (work.enqueue(), work.enqueue_many([()])):
        with pytest.raises(DatabaseUnreachable):
            await call
    await app.close()

    nowhere = Plait("postgresql://x@127.0.0.1:1/x")
    job = nowhere.job(work._function)
    with pytest.raises(DatabaseUnreachable):
        await job.enqueue()
    with pytest.raises(DatabaseUnreachable):
        job.enqueue_sync()
    await nowhere.close()
    nowhere.close_sync()


async def test_payloads_that_are_too_large_together_are_refused(
    work: Job[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enqueuer, "MAX_TOTAL", 100)
    with pytest.raises(InvalidJob, match="in parts"):
        await work.enqueue_many(range(100))


async def test_a_repeated_enqueue_takes_no_second_place_of_a_quota(
    work: Job[[int], int], store: Store, statements: Statements
) -> None:
    await store.tenants.set_tenant("default", {"max_queued": 1})
    statements.lose_replies = 1
    handle = await work.enqueue(1)
    assert await handle.status() == Status.QUEUED


async def test_many_parts_are_one_transaction(work: Job[[int], int], store: Store) -> None:
    def calls() -> Iterator[object]:
        yield from range(2_500)
        yield "not a number"

    with pytest.raises(InvalidArguments):
        await work.enqueue_many(calls())
    assert await queued(store) == 0

    handles = await work.enqueue_many(range(2_500))
    assert len({handle.id for handle in handles}) == 2_500
    assert await queued(store) == 2_500


async def test_many_parts_whose_reply_is_lost_are_stored_once(
    work: Job[[int], int], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T111: all parts are sent again, with the same ids."""
    send, replies = store.jobs.enqueue_parts, iter(["lost", "kept"])

    async def enqueue_parts(parts: Iterator[list[NewJob]]) -> None:
        await send(parts)
        if next(replies) == "lost":
            raise DatabaseUnreachable("the connection broke after the commit")

    monkeypatch.setattr(store.jobs, "enqueue_parts", enqueue_parts)
    monkeypatch.setattr(enqueuer, "PAUSES_S", (0, 0, 0))
    handles = await work.enqueue_many(range(2_100))
    assert len(handles) == await queued(store) == 2_100
    assert next(replies, None) is None


async def test_a_plain_job_goes_the_short_way_and_a_lost_reply_makes_no_second_one(
    work: Job[[int], int], store: Store, statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T111"""
    await store.definitions.define([work.definition.row()])
    send, replies = store.jobs.enqueue_one, iter(["kept", "lost", "kept"])

    async def enqueue_one(job: NewJob) -> bool:
        stored = await send(job)
        if next(replies) == "lost":
            raise DatabaseUnreachable("the connection broke after the commit")
        return stored

    monkeypatch.setattr(store.jobs, "enqueue_one", enqueue_one)
    await work.enqueue(1)
    assert statements.sizes == []
    handle = await work.enqueue(2)
    assert statements.sizes == [1], "the job was already stored, which only the general path detects"
    assert (await handle.info()).payload == '{"x":2}'
    assert await queued(store) == 2
