"""Failures by error: the counts equal plain SQL over the attempts, at any moment and however late a transaction commits."""

import json
import random
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from plait.model.errors import DatabaseError
from plait.store.leader import Retention

from ..fake_worker import FakeWorker, Lease
from ..harness import Harness

ERRORS = ("KeyError: 'a'", "KeyError: 'b'", "HTTP 502 from 10.0.0.1", "no such file", "ValueError\nmore")
KEEP = Retention(**dict.fromkeys(Retention.__slots__, timedelta(days=2)))

PLAIN = """
select j.tenant_id, j.definition, plait._fingerprint(a.error) as fingerprint, a.final::text as status, count(*) as failures,
       count(*) filter (where not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)) as jobs,
       count(*) filter (where a.finished_at >= date_trunc('hour', plait.now() - interval '1 day', 'UTC')) as recent,
       min(a.finished_at) as first_at, max(a.finished_at) as last_at,
       (array_agg(a.job_id order by a.finished_at desc, a.job_id desc))[1] as last_job
from plait.attempts a join plait.jobs j on j.id = a.job_id
where a.final in ('failed', 'dead_letter') group by 1, 2, 3, 4
"""
"""The result of a rebuild from the tables."""


async def _check(harness: Harness, tenants: list[UUID], *, counted: bool) -> None:
    """Every reader says what plain SQL says; the first and last times only if all is counted: a deleted job's are corrected then."""
    plain = await harness.rows(PLAIN)
    for tenant in [None, *tenants]:
        scope: dict[str, Any] = {"tenant_id": tenant, "all_tenants": tenant is None}
        rows = [row for row in plain if tenant in (None, row["tenant_id"])]
        overview = await harness.store.statistics.overview(**scope)
        sums = {
            status: sum(row["jobs"] for row in rows if row["status"] == status) for status in ("failed", "dead_letter")
        }
        assert {"failed": overview.failed, "dead_letter": overview.dead_letter} == sums
        for statuses in (None, ["dead_letter"]):
            wanted: dict[tuple[str, str], list[Any]] = {}
            for row in rows:
                if statuses is None or row["status"] in statuses:
                    wanted.setdefault((row["definition"], row["fingerprint"]), []).append(row)
            wanted = {key: group for key, group in wanted.items() if sum(row["jobs"] for row in group)}
            found = await harness.store.failures.list_failures(**scope, statuses=statuses, limit=1000)
            assert found.as_of == await harness.now()
            assert (found.all_errors, found.all_jobs) == (
                len(wanted),
                sum(row["jobs"] for g in wanted.values() for row in g),
            )
            assert {(row.definition, row.fingerprint): (row.jobs, row.recent, row.tenants) for row in found.rows} == {
                key: (
                    sum(row["jobs"] for row in group),
                    sum(row["recent"] for row in group),
                    len({row["tenant_id"] for row in group if row["jobs"]}),
                )
                for key, group in wanted.items()
            }
            if counted:
                assert {(row.definition, row.fingerprint): (row.first_at, row.last_at) for row in found.rows} == {
                    key: (min(row["first_at"] for row in group), max(row["last_at"] for row in group))
                    for key, group in wanted.items()
                }


async def _check_groups(harness: Harness) -> None:
    """The page of each error, and the jobs that it leads to."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for row in await harness.rows(PLAIN):
        groups.setdefault((row["definition"], row["fingerprint"]), []).append(row)
    for (definition, fingerprint), rows in groups.items():
        found = await harness.store.failures.get_group(definition, fingerprint, all_tenants=True)
        assert {(g.tenant_id, g.status): (g.jobs, g.failures, g.first_at, g.last_at, g.last_job) for g in found} == {
            (row["tenant_id"], row["status"]): (
                row["jobs"],
                row["failures"],
                row["first_at"],
                row["last_at"],
                row["last_job"],
            )
            for row in rows
        }
        history = await harness.store.failures.history(
            definition, fingerprint, all_tenants=True, start=await harness.now() - timedelta(days=30)
        )
        assert sum(one.failed + one.dead_letter for one in history) == sum(row["failures"] for row in rows)
        workers = await harness.store.failures.list_workers(definition, fingerprint, all_tenants=True)
        assert sum(one.failures for one in workers) == sum(row["failures"] for row in rows) == workers[0].all_failures
        listed = await harness.store.jobs.list_jobs(
            definition=definition, error=fingerprint, all_tenants=True, limit=1000
        )
        assert len(listed) == sum(row["jobs"] for row in rows)


class Open:
    """A transaction that somebody leaves open."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._transaction = connection.transaction()

    @classmethod
    async def begin(cls, harness: Harness, sql: str, *args: object) -> "Open":
        one = cls(await asyncpg.connect(harness.database.url))
        await one._transaction.start()
        await one._connection.execute("set local lock_timeout = '100ms'")
        with suppress(asyncpg.PostgresError):
            await one._connection.fetch(sql, *args)
        return one

    async def end(self, *, commit: bool) -> None:
        await (self._transaction.commit() if commit else self._transaction.rollback())
        await self._connection.close()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("steps", [150, pytest.param(1500, marks=pytest.mark.full)], ids=["150", "1,500"])
@pytest.mark.timeout(1200)
async def test_random_failures_retries_deletions_and_late_commits_are_counted_as_plain_sql_does(
    harness: Harness, seed: int, steps: int
) -> None:
    dice = random.Random(seed)
    tenants = [await harness.tenant(slug) for slug in ("a", "b")]
    worker = await harness.worker(lease_s=86_400)
    open_: list[Open] = []
    leases: list[Lease] = []

    async def finals() -> list[Any]:
        return await harness.rows(
            "select id, tenant_id from plait.job where status in ('failed', 'dead_letter', 'canceled') order by id"
        )

    for _ in range(steps):
        match dice.choice(("enqueue", "enqueue", "claim", "settle", "settle", "settle", "late", "retry", "redrive", "cancel", "end", "end", "prune", "count", "check")):  # fmt: skip
            case "enqueue":
                await harness.enqueue_many(
                    dice.choice(("add", "other")),
                    dice.randint(1, 4),
                    tenant=dice.choice("ab"),
                    max_attempts=dice.randint(1, 2),
                )
            case "claim":
                await harness.promote()
                leases += await worker.claim(dice.randint(1, 4))
            case "settle" if leases:
                lease = leases.pop(dice.randrange(len(leases)))
                if dice.random() < 0.2:
                    await worker.succeed(lease)
                else:
                    await worker.fail(lease, dice.choice(ERRORS), permanent=dice.random() < 0.5)
            case "late" if leases and len(open_) < 3:
                lease = leases.pop(dice.randrange(len(leases)))
                detail = json.dumps({"error": dice.choice(ERRORS), "permanent": True})
                sql = "select * from plait.settle($1, array[$2::uuid], array[$3::int], '{failed}', p_details => array[$4])"
                open_.append(await Open.begin(harness, sql, worker.id, lease.job_id, lease.attempt, detail))
            case "retry" if len(open_) < 3 and (jobs := await finals()):
                job = dice.choice(jobs)
                open_.append(await Open.begin(harness, "select plait.retry($1, $2)", job["id"], job["tenant_id"]))
            case "redrive" if not open_:
                for job in dice.sample(jobs := await finals(), min(len(jobs), 5)):
                    with suppress(DatabaseError):
                        await harness.store.jobs.retry(job["id"], tenant_id=job["tenant_id"])
            case "cancel" if not open_:
                for job in await harness.rows("select job_id, tenant_id from plait.live order by job_id limit 1"):
                    await harness.store.jobs.cancel(job["job_id"], tenant_id=job["tenant_id"])
            case "end" if open_:
                await open_.pop(dice.randrange(len(open_))).end(commit=dice.random() < 0.6)
            case "prune":
                await harness.advance(hours=dice.randint(1, 30))
                await harness.store.leader.prune(KEEP)
            case "count":
                await harness.store.database.fetchrow(
                    "select * from plait.count_failures($1)", dice.choice((1, 3, 5000))
                )
            case "check":
                await _check(harness, tenants, counted=False)
            case _:
                pass
    while open_:
        await open_.pop().end(commit=True)
    await _check(harness, tenants, counted=False)
    await harness.count_failures()
    await _check(harness, tenants, counted=True)
    await _check_groups(harness)
    assert await harness.sql("select count(*) from plait.failure_changes") == 0


async def _fail(harness: Harness, worker: FakeWorker, n: int = 1, error: str = "it broke") -> list[UUID]:
    jobs = await harness.enqueue_many("add", n, max_attempts=1)
    for lease in await worker.claim(n):
        await worker.fail(lease, error)
    return jobs


async def test_a_failure_that_commits_after_a_later_one_is_counted(harness: Harness) -> None:
    worker = await harness.worker()
    await harness.enqueue("add")
    lease = await worker.claim_one()
    sql = "select * from plait.settle($1, array[$2::uuid], array[$3::int], '{failed}', p_details => array['{\"permanent\": true}'])"
    late = await Open.begin(harness, sql, worker.id, lease.job_id, lease.attempt)
    await harness.advance(minutes=10)
    await _fail(harness, worker, 2)
    await harness.count_failures()
    assert (await harness.store.statistics.overview()).failed == 0
    await late.end(commit=True)
    assert (await harness.store.statistics.overview()).failed == 1, "before it is counted"
    await harness.count_failures()
    overview = await harness.store.statistics.overview()
    assert (overview.failed, overview.dead_letter) == (1, 2)


async def test_an_open_retry_delays_no_count_and_is_not_counted_before_it_commits(harness: Harness) -> None:
    worker = await harness.worker()
    [job] = await _fail(harness, worker)
    await harness.count_failures()
    retry = await Open.begin(harness, "select plait.retry($1)", job)
    await _fail(harness, worker, 2)
    await harness.count_failures()
    assert (await harness.store.statistics.overview()).dead_letter == 3
    await retry.end(commit=True)
    await harness.count_failures()
    assert (await harness.store.statistics.overview()).dead_letter == 2
    [row] = (await harness.store.failures.list_failures()).rows
    assert (row.jobs, row.recent) == (2, 3), "it did fail, although it was retried since"


async def test_success_writes_no_change(harness: Harness) -> None:
    worker = await harness.worker()
    await harness.enqueue_many("add", 3)
    for lease, verb in zip(await worker.claim(3), (worker.succeed, worker.skip, worker.release), strict=True):
        await verb(lease)
    assert await harness.sql("select count(*) from plait.failure_changes") == 0


async def test_a_leader_that_is_behind_is_seen_by_the_time_of_its_last_count(harness: Harness) -> None:
    worker = await harness.worker()
    found = await harness.store.failures.list_failures()
    assert (found.rows, found.all_errors, found.as_of) == ([], 0, await harness.now())
    await _fail(harness, worker, 2)
    await harness.count_failures()
    at = await harness.now()
    await harness.advance(minutes=5)
    behind = """insert into plait.failure_changes (tenant_id, job_id)
                select l.tenant_id, l.job_id from plait.failure_log l, generate_series(1, 1001)"""
    await harness.sql(behind)
    found = await harness.store.failures.list_failures()
    assert (found.as_of, found.all_jobs) == (at, 2)
    assert (await harness.store.statistics.overview()).failures_at == at
    listed = await harness.store.jobs.list_jobs(error=found.rows[0].fingerprint)
    assert len(listed) == 2, "the search then reads the attempts"
    more, _ = await harness.store.leader.count_failures()
    assert not more
    assert (await harness.store.failures.list_failures()).as_of == await harness.now()
    assert (await harness.store.statistics.overview()).failures_at == await harness.now()


async def test_a_count_that_was_not_finished_leaves_the_time_of_the_one_before(harness: Harness) -> None:
    worker = await harness.worker()
    await _fail(harness, worker, 3)
    row = await harness.store.database.fetchrow("select * from plait.count_failures(2)")
    assert row["o_more"]
    assert await harness.sql("select at from plait.failures_counted") is None
    await harness.count_failures()
    assert await harness.sql("select at from plait.failures_counted") == await harness.now()


async def test_errors_are_sorted_by_jobs_or_by_recent_failures_and_the_rest_is_counted(harness: Harness) -> None:
    worker = await harness.worker()
    await _fail(harness, worker, 3, "old")
    await harness.advance(days=3)
    await _fail(harness, worker, 2, "new")
    by_jobs = await harness.store.failures.list_failures(limit=1)
    assert [row.error for row in by_jobs.rows] == ["old"]
    assert (by_jobs.all_errors, by_jobs.all_jobs) == (2, 5)
    assert by_jobs.rows[0].recent == 0
    recent = await harness.store.failures.list_failures(order="recent")
    assert [(row.error, row.recent) for row in recent.rows] == [("new", 2), ("old", 0)]
    seen = await harness.store.failures.list_failures(start=await harness.now() - timedelta(hours=1))
    assert [row.error for row in seen.rows] == ["new"]
    with pytest.raises(DatabaseError, match="order must be jobs or recent"):
        await harness.store.failures.list_failures(order="other")  # type: ignore[arg-type]


async def test_jobs_of_an_error_are_found_behind_any_number_of_newer_failures(harness: Harness) -> None:
    worker = await harness.worker()
    [first] = await _fail(harness, worker, 1, "the one")
    for _ in range(3):
        await _fail(harness, worker, 50, "others")
    await harness.count_failures()
    rows = (await harness.store.failures.list_failures()).rows
    wanted = next(row for row in rows if row.error == "the one")
    for everybody in (False, True):
        sql = "select (s.job).id, s.stopped from plait.search_jobs(p_error => $1, p_scan => 100, p_all => $2) s"
        assert [tuple(row) for row in await harness.rows(sql, wanted.fingerprint, everybody)] == [(first, None)]
