"""Scan bounds: a worker's claims skip dead index entries, and miss no job."""

import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID

import asyncpg
import pytest

from ..access.logins import connected
from ..fake_worker import FakeWorker
from ..harness import Harness

MANY = 120
"""Enough jobs to advance the bounds: a claim advances them only if it claims at least a hundred jobs."""


async def advance_bounds(harness: Harness, worker: FakeWorker, *, tenant: str = "default") -> None:
    """Claim three times, a second apart, so that the bounds reach the start of the queue."""
    for _ in range(3):
        await harness.enqueue_many("add", MANY, tenant=tenant)
        await harness.advance(seconds=1)
        assert len(await worker.claim(MANY)) == MANY
    assert worker.bounds() is not None


@asynccontextmanager
async def transaction(harness: Harness) -> AsyncIterator[asyncpg.Connection]:
    async with harness.connection() as connection:
        await connection.execute("begin")
        yield connection


async def claimed(worker: FakeWorker, n: int = 1000) -> set[UUID]:
    return {lease.job_id for lease in await worker.claim(n)}


async def test_a_job_whose_transaction_commits_late_is_claimed(harness: Harness) -> None:
    worker = await harness.worker()
    async with transaction(harness) as late:
        job = await late.fetchval("select plait.enqueue('add')")
        await advance_bounds(harness, worker)
        assert await claimed(worker) == set()
        await late.execute("commit")
        assert await claimed(worker) == {job}


async def test_a_job_of_a_transaction_that_had_no_number_yet_is_claimed(harness: Harness) -> None:
    """Its transaction began before the bounds advanced, and got its transaction id afterwards."""
    worker = await harness.worker()
    async with transaction(harness) as late:
        await late.fetchval("select 1")
        await advance_bounds(harness, worker)
        job = await late.fetchval("select plait.enqueue('add')")
        await harness.advance(seconds=1)
        await advance_bounds(harness, worker)
        await late.execute("commit")
        assert await claimed(worker) == {job}


async def test_a_job_that_was_locked_whenever_the_marks_moved_is_claimed(harness: Harness) -> None:
    """One transaction locked the job when the bounds' time was read, and another when the bounds advanced to that time."""
    worker = await harness.worker()
    job = await harness.enqueue("add")
    for _ in range(3):
        async with transaction(harness) as operator:
            await operator.fetchval("select plait.cancel($1)", job)
            await harness.enqueue_many("add", MANY)
            await harness.advance(seconds=1)
            assert job not in await claimed(worker, MANY)
            await operator.execute("rollback")
    assert worker.bounds() is not None
    assert await claimed(worker) == {job}


@pytest.mark.parametrize("how", ["released", "failed", "snoozed", "rescheduled", "retried", "left"])
async def test_a_job_that_comes_back_is_claimed(harness: Harness, how: str) -> None:
    await harness.define("add", backoff_base_s=1, max_attempts=3)
    worker, other = await harness.worker(), await harness.worker()
    job = await harness.enqueue("add")
    lease = await other.claim_one()
    await advance_bounds(harness, worker)
    match how:
        case "released":
            await other.release(lease)
        case "failed":
            await other.fail(lease)
        case "snoozed":
            await other.snooze(lease, 2)
        case "rescheduled":
            await other.snooze(lease, 600)
            await harness.store.jobs.reschedule(job, run_at=await harness.now())
        case "retried":
            await other.fail(lease, permanent=True)
            await harness.store.jobs.retry(job)
        case _:
            await harness.store.workers.leave(other.id)
    await harness.advance(seconds=30)
    await harness.promote()
    assert await claimed(worker) == {job}


async def test_other_tenants_and_priorities_beside_the_marks_are_claimed(harness: Harness) -> None:
    worker = await harness.worker()
    await harness.tenant("m")
    await advance_bounds(harness, worker, tenant="m")
    tenants = ["a", "m", "z"]
    jobs = [
        await harness.enqueue("add", tenant=tenant, priority=priority)
        for tenant in tenants
        for priority in (1, 100, 200)
    ]
    assert await claimed(worker) == set(jobs)


async def test_t114_dead_entries_are_not_read_again_under_an_old_snapshot(harness: Harness) -> None:
    """T114: a transaction holds back the xmin horizon, so entries of claimed jobs can't be cleaned up. A claim still reads only the entries of its own jobs."""
    worker, forgetful = await harness.worker(), await harness.worker()
    async with transaction(harness) as old:
        await old.execute("set transaction isolation level repeatable read")
        await old.fetchval("select count(*) from plait.live")
        for _ in range(20):
            await advance_bounds(harness, worker)
        while not await harness.sql(
            FRESH, worker.bounds()
        ):  # another test's transaction on the same server held back the bounds
            await advance_bounds(harness, worker)
        await harness.enqueue_many("add", 2)
        before = await entries_read(harness, worker)
        assert len(await worker.claim(1)) == 1
        with_bounds = await entries_read(harness, worker) - before
        assert len(await forgetful.claim(1)) == 1
        without = await entries_read(harness, forgetful) - before - with_bounds
    assert without > 20 * 3 * MANY  # it read the entries of all jobs that were ever claimed
    assert with_bounds < 30 * MANY  # up to three times as many on a slow machine, where it first searches for the start


FRESH = "select (b).starts[1] > plait.now() - interval '3 s' from (select $1::text::plait.scan_bounds as b) x"


async def entries_read(harness: Harness, *workers: FakeWorker) -> int:
    for worker in workers:
        await worker.flush_statistics()
    return int(await harness.sql("select idx_tup_read from pg_stat_user_indexes where indexrelname = 'live_claim'"))


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_commits_whenever_is_claimed_once(harness: Harness, seed: int) -> None:
    """Transactions that stay open for a while, several tenants and priorities, and two workers with separate bounds."""
    dice = random.Random(seed)
    workers = [await harness.worker(), await harness.worker()]
    tenants = [await harness.tenant(name) for name in "abc"]
    expected: set[UUID] = set()
    seen: list[UUID] = []
    open_: list[tuple[asyncpg.Connection, list[UUID]]] = []

    async def enqueue(connection: asyncpg.Connection, n: int) -> list[UUID]:
        tenant, priority = dice.choice(tenants), dice.choice((1, 100))
        rows = await connection.fetch(
            "select plait.enqueue('add', tenant => $1, priority => $2) as id from generate_series(1, $3)",
            str(tenant),
            priority,
            n,
        )
        return [row["id"] for row in rows]

    async with AsyncExitStack() as stack:
        free = [await stack.enter_async_context(harness.connection()) for _ in range(5)]
        for _ in range(120):
            match dice.choice(("begin", "end", "many", "claim", "claim", "time")):
                case "begin" if len(free) > 1:
                    connection = free.pop()
                    await connection.execute("begin")
                    open_.append((connection, await enqueue(connection, dice.randint(1, 5))))
                case "end" if open_:
                    connection, jobs = open_.pop(dice.randrange(len(open_)))
                    if dice.random() < 0.7:
                        await connection.execute("commit")
                        expected.update(jobs)
                    else:
                        await connection.execute("rollback")
                    free.append(connection)
                case "many":
                    expected.update(await enqueue(free[0], 150))
                case "claim":
                    seen += await claimed_list(dice.choice(workers), dice.choice((1, 130, 400)))
                case _:
                    await harness.advance(seconds=dice.choice((0.01, 1)))
        for connection, jobs in open_:
            await connection.execute("commit")
            expected.update(jobs)
        for worker in workers:
            while more := await claimed_list(worker, 1000):
                seen += more
    assert len(seen) == len(set(seen))
    assert set(seen) == expected


async def claimed_list(worker: FakeWorker, n: int) -> list[UUID]:
    return [lease.job_id for lease in await worker.claim(n)]


async def have_bounds(harness: Harness, worker: FakeWorker) -> None:
    """Advance the bounds to the current time. Other transactions on this server may hold them back for a while."""
    moved = "select ($1::text::plait.scan_bounds).seen_at = plait.now() and ($1::text::plait.scan_bounds).tenants is not null"
    await advance_bounds(harness, worker)
    while not await harness.sql(moved, worker.bounds()):
        await advance_bounds(harness, worker)


async def test_a_tenant_without_marks_gets_its_turn_beside_a_backlog_of_others(harness: Harness) -> None:
    """The claim searches for such tenants at intervals, so that not every claim searches between all known tenants."""
    worker = await harness.worker()
    await harness.store.tenants.set_tenant("acme")
    await have_bounds(harness, worker)
    await harness.enqueue_many("add", 500)
    [job] = await harness.enqueue_many("add", 1, tenant="acme")
    assert job not in await claimed(worker, 100), "no interval has passed, and the known tenants have enough jobs"
    await harness.advance(seconds=0.1)
    assert job in await claimed(worker, 100)


async def test_a_tenant_without_marks_is_found_at_once_when_the_others_have_too_little(harness: Harness) -> None:
    worker = await harness.worker()
    await harness.store.tenants.set_tenant("acme")
    await have_bounds(harness, worker)
    await harness.enqueue_many("add", 3)
    [job] = await harness.enqueue_many("add", 1, tenant="acme")
    assert job in await claimed(worker, 10)


@pytest.mark.parametrize("how", ["cycle", "claim"])
@pytest.mark.parametrize("tenants", [1, 3])
async def test_a_backlog_of_definitions_that_a_worker_does_not_know_is_not_read_by_every_claim(
    own_harness: Harness, how: str, tenants: int
) -> None:
    """Their entries come before the known jobs in the shared index."""
    harness, foreign = own_harness, 20_000
    worker = await harness.worker(definitions=["add"])
    claim = worker.claim if how == "cycle" else worker.claim_plainly
    for n in range(tenants):
        tenant = await harness.tenant(f"t{n}")
        await harness.sql(
            "select plait.enqueue_many(array(select plait.uuidv7() from generate_series(1, $2)), array['foreign'],"
            " array_fill('{}'::text, array[$2]), array[$1::uuid], p_priorities => array[$3::int])",
            tenant, foreign // tenants, 100 - n,
        )  # fmt: skip

    async def reads() -> int:
        job = await harness.enqueue("add", tenant=f"t{tenants - 1}")
        await harness.advance(seconds=1)
        before = await _entries(harness, worker)
        assert [lease.job_id for lease in await claim(5)] == [job]
        return await _entries(harness, worker) - before

    assert await reads() > foreign, "the first claim has no bounds yet"
    deadline = time.monotonic() + 300  # other transactions on this server may hold back the bounds for a while
    while await reads() > 100:
        assert time.monotonic() < deadline
    assert await reads() < foreign / 10
    job = await harness.enqueue("add", tenant="late", priority=50)
    assert [lease.job_id for lease in await claim(5)] == [job]


async def _entries(harness: Harness, worker: FakeWorker) -> int:
    """The number of entries of the claim's index that were read, by all sessions."""
    await worker.flush_statistics()
    await harness.store.database.fetchval("select pg_stat_force_next_flush()")
    await harness.sql("select pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    return int(await harness.sql("select idx_tup_read from pg_stat_user_indexes where indexrelname = 'live_claim'"))


@pytest.mark.parametrize("style", ["SQL, DMY", "German, DMY", "Postgres, MDY", "ISO, DMY"])
@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/St_Johns", "Pacific/Apia"])
async def test_bounds_mean_the_same_in_every_date_style_and_time_zone(harness: Harness, style: str, zone: str) -> None:
    """In most styles the time zone is an abbreviation, which is omitted or parsed as another time zone."""
    bounds = "row(plait.now() - interval '0.123456 s', null, array[plait.uuidv7()], array[1], array[plait.now()])::plait.scan_bounds"
    async with connected(harness.database.admin_url) as connection:
        await connection.execute(
            "select set_config('datestyle', $1, false), set_config('timezone', $2, false)", style, zone
        )
        text = await connection.fetchval(f"select plait._format_scan_bounds({bounds})")
        assert await connection.fetchval("select (plait._parse_scan_bounds($1)).starts[1] = plait.now()", text)
        assert await connection.fetchval("select (plait._parse_scan_bounds($1)).seen_at < plait.now()", text)
    other = await harness.sql("select (plait._parse_scan_bounds($1)).starts[1] = plait.now()", text)
    assert other, "parsed in another session"


async def test_a_worker_in_another_date_style_claims_what_is_there(own_harness: Harness) -> None:
    worker = await own_harness.worker()
    database = await own_harness.sql("select current_database()")
    await own_harness.admin.execute(f"alter database {database} set datestyle = 'SQL, DMY'")
    await own_harness.admin.execute(f"alter database {database} set timezone = 'Asia/Kolkata'")
    await advance_bounds(own_harness, worker)
    job = await own_harness.enqueue("add")
    assert await claimed(worker) == {job}
    seen = await own_harness.sql("select (plait._parse_scan_bounds($1)).seen_at - plait.now()", worker.bounds())
    assert abs(seen.total_seconds()) < 60
