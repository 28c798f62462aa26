"""Lists, counts, and why a job does not run."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from plait.model.errors import InvalidJob, NotFound
from plait.model.ids import new_id
from plait.model.states import Status
from plait.store.job_rows import JobRow

from ..fake_worker import outcome
from ..harness import Harness


def _ids(rows: Sequence[JobRow]) -> list[UUID]:
    return [row.id for row in rows]


async def _one_of_each(harness: Harness, tenant: str = "default") -> dict[Status, UUID]:
    worker = await harness.worker(queues=[tenant], lease_s=86_400)
    jobs: dict[Status, UUID] = {}
    for status in Status:
        if status in (Status.WAITING, Status.QUEUED):
            continue
        tries = 1 if status is Status.DEAD_LETTER else 5
        jobs[status] = await harness.enqueue("add", tenant=tenant, queue=tenant, max_attempts=tries)
        lease = await worker.claim_one()
        match status:
            case Status.SUCCEEDED:
                await worker.succeed(lease, {"sum": 3})
            case Status.SKIPPED:
                await worker.skip(lease)
            case Status.FAILED:
                await worker.fail(lease, "it broke", permanent=True, traceback="line 1")
            case Status.DEAD_LETTER | Status.SCHEDULED:
                await worker.fail(lease)
            case Status.CANCELED:
                await harness.cancel(jobs[status], tenant=tenant)
                await worker.report_canceled(lease)
            case _:
                assert status is Status.RUNNING
    jobs[Status.QUEUED] = await harness.enqueue("add", tenant=tenant, queue=tenant)
    return jobs


async def test_jobs_are_listed_newest_first_and_page_by_page(harness: Harness) -> None:
    """T112: all jobs have the same time; none is skipped or listed twice."""
    jobs = sorted(await harness.enqueue_many("add", 25), reverse=True)
    listed: list[UUID] = []
    while page := await harness.store.jobs.list_jobs(before=listed[-1] if listed else None, limit=10):
        listed += _ids(page)
    assert listed == jobs


@pytest.mark.parametrize("all_tenants", [False, True])
async def test_jobs_are_listed_by_status(harness: Harness, all_tenants: bool) -> None:
    jobs = await _one_of_each(harness, "acme")
    foreign = await _one_of_each(harness, "other")
    tenant = None if all_tenants else await harness.tenant("acme")
    for status, job in jobs.items():
        rows = await harness.store.jobs.list_jobs(
            tenant_id=tenant, all_tenants=all_tenants, statuses=[status], definition="add"
        )
        assert _ids(rows) == ([foreign[status], job] if all_tenants else [job]), status
    several = [Status.FAILED, Status.RUNNING, Status.SUCCEEDED]
    rows = await harness.store.jobs.list_jobs(tenant_id=tenant, all_tenants=all_tenants, statuses=several)
    assert {row.status for row in rows} == set(several)


async def test_a_job_that_failed_once_and_was_retried_is_not_among_the_failed(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.fail(await worker.claim_one(), permanent=True)
    await harness.retry(job)
    for statuses in ([Status.FAILED], [Status.FAILED, Status.DEAD_LETTER], [Status.FAILED, Status.CANCELED]):
        assert await harness.store.jobs.list_jobs(statuses=statuses) == []
    overview = await harness.store.statistics.overview()
    assert (overview.live[Status.QUEUED], overview.failed) == (1, 0)
    await worker.fail(await worker.claim_one(), permanent=True)
    assert len(await harness.store.jobs.list_jobs(statuses=[Status.FAILED])) == 1  # it failed twice and is listed once
    overview = await harness.store.statistics.overview()
    assert (overview.live[Status.QUEUED], overview.failed) == (0, 1)


async def test_jobs_are_listed_by_queue_definition_and_correlation(harness: Harness) -> None:
    mail = await harness.enqueue("add", queue="mail", correlation_id="c")
    other = await harness.enqueue("other")
    listing = harness.store.jobs.list_jobs
    assert _ids(await listing(queue="mail")) == [mail]
    assert _ids(await listing(definition="other")) == [other]
    assert _ids(await listing(correlation_id="c")) == [mail]
    assert await listing(queue="mail", definition="other") == []


@pytest.mark.parametrize("statuses", [["failed"], ["running"], ["queued"], None], ids=str)
async def test_every_filter_pages_without_gaps(harness: Harness, statuses: list[str] | None) -> None:
    await harness.enqueue_many("add", 12)
    worker = await harness.worker()
    leases = await worker.claim(8)
    for lease in leases[:4]:
        await worker.fail(lease, permanent=True)
    wanted = [Status(status) for status in statuses] if statuses else None
    whole = _ids(await harness.store.jobs.list_jobs(statuses=wanted))
    paged: list[UUID] = []
    while page := await harness.store.jobs.list_jobs(statuses=wanted, before=paged[-1] if paged else None, limit=3):
        paged += _ids(page)
    assert paged == whole
    assert len(whole) == (12 if statuses is None else 4)


async def test_an_unknown_status_is_refused(harness: Harness) -> None:
    with pytest.raises(InvalidJob, match="status must be one of scheduled, queued"):
        await harness.store.database.fetch("select plait.list_jobs(p_statuses => array['done'])")


async def test_a_tenant_sees_its_own(harness: Harness) -> None:
    job = await harness.enqueue("add", tenant="acme")
    other = await harness.tenant("other")
    assert await harness.store.jobs.list_jobs(tenant_id=other) == []
    assert not any((await harness.store.statistics.overview(tenant_id=other)).live.values())
    for look in (harness.store.jobs.get_job, harness.store.jobs.list_attempts, harness.store.jobs.explain_job):
        with pytest.raises(NotFound):
            await look(job, tenant_id=other)
    [outcome] = await harness.store.jobs.get_outcomes([(job, other)])
    assert outcome.status is None


async def test_an_overview_counts_live_jobs_and_failures(harness: Harness) -> None:
    await _one_of_each(harness)
    await harness.enqueue_many("add", 2)
    overview = await harness.store.statistics.overview()
    assert overview.live == {"queued": 3, "scheduled": 1, "running": 1, "waiting": 0}
    assert (overview.failed, overview.dead_letter) == (1, 1)


async def test_outcomes_are_of_those_that_are_final(harness: Harness) -> None:
    jobs = await _one_of_each(harness)
    tenant = await harness.tenant()
    missing = new_id()
    asked = [*jobs.values(), missing]
    outcomes = {row.job_id: row for row in await harness.store.jobs.get_outcomes([(job, tenant) for job in asked])}
    assert {row.status for row in outcomes.values()} == {s for s in jobs if s.final} | {None}
    assert outcomes[jobs[Status.SUCCEEDED]].result == '{"sum": 3}'
    failed = outcomes[jobs[Status.FAILED]]
    assert (failed.reason, failed.error, failed.traceback) == ("permanent", "it broke", "line 1")
    assert outcomes[missing].status is None


async def test_a_retried_job_has_no_outcome_until_it_ends_again(harness: Harness) -> None:
    job = await harness.enqueue("add")
    await harness.cancel(job)
    await harness.retry(job)
    assert await harness.store.jobs.get_outcomes([(job, await harness.tenant())]) == []


async def test_a_queue_is_listed_with_what_is_in_it(harness: Harness) -> None:
    await harness.queue("settings", paused=True, max_running=3)
    await harness.enqueue("add", queue="jobs")
    await harness.enqueue("add", queue="jobs", delay_s=60)
    await harness.worker(queues=["workers"])
    await harness.advance(seconds=10)
    rows = {row.name: row for row in await harness.store.queues.list_queues()}
    assert rows.keys() == {"settings", "jobs", "workers"}
    assert (rows["jobs"].queued, rows["jobs"].scheduled, rows["jobs"].oldest_s) == (1, 1, 10)
    assert (rows["settings"].paused, rows["settings"].max_running) == (True, 3)
    assert (rows["workers"].workers, rows["workers"].oldest_s) == (1, None)


async def test_tenants_workers_and_definitions_are_listed(harness: Harness) -> None:
    await harness.tenant("acme", weight=3, max_queued=9)
    await harness.enqueue_many("add", 2, tenant="acme")
    worker = await harness.worker()
    await worker.claim(1)
    tenants = {row.slug: row for row in await harness.store.tenants.list_tenants()}
    acme = tenants["acme"]
    assert (acme.weight, acme.max_queued, acme.queued, acme.running) == (3, 9, 1, 1)
    await harness.advance(seconds=20)
    [row] = await harness.store.workers.list_workers()
    assert (row.id, row.state, row.seen_s, row.stale) == (worker.id, "alive", 20, True)
    await harness.define("add", max_running=4)
    [definition] = await harness.store.definitions.list_definitions()
    assert (definition.name, definition.max_running, definition.active) == ("add", 4, True)


async def test_defining_again_writes_only_what_differs(harness: Harness) -> None:
    define = harness.store.definitions.define
    assert await define([{"name": "add"}, {"name": "other", "priority": 5}]) == 2
    await harness.advance(seconds=1)
    assert await define([{"name": "add"}, {"name": "other", "priority": 6}]) == 1


# Why it does not run


async def test_why_a_job_does_not_run(harness: Harness) -> None:
    job = await harness.enqueue("add")
    assert await harness.explain(job) == ["no_worker", "next"]
    stranger = await harness.worker(definitions=["other"])
    assert await harness.explain(job) == ["unknown_definition", "next"]
    await harness.worker()
    assert await harness.explain(job) == ["next"]
    await harness.queue(paused=True)
    await harness.tenant("default", paused=True)
    assert await harness.explain(job) == ["tenant_paused", "queue_paused", "next"]
    await harness.queue(paused=False)
    await harness.tenant("default", paused=False)
    second = await harness.enqueue("add")
    assert await harness.explain(second) == ["behind"]
    await stranger.leave()


async def test_why_a_limited_job_does_not_run(harness: Harness) -> None:
    await harness.define("add", max_running=1, key_max_running=1, rate_count=5, rate_period_s=60)
    await harness.queue(max_running=1)
    await harness.tenant("default", max_running=1)
    _, job = await harness.enqueue_many("add", 2, limit_key="k")
    worker = await harness.worker()
    await worker.claim_one()
    assert await harness.explain(job) == [
        "queue_full", "tenant_full", "definition_full", "key_full", "rate_limited", "next",
    ]  # fmt: skip


async def test_why_a_suspect_waits(harness: Harness) -> None:
    job = await harness.enqueue("add")
    for _ in range(2):
        victim = await harness.worker()
        await victim.claim_one()
        await harness.lose(victim)
    await harness.worker()
    assert await harness.explain(job) == ["suspect", "next"]


async def test_what_each_status_says(harness: Harness) -> None:
    jobs = await _one_of_each(harness)
    codes = {status: (await harness.explain(job))[0] for status, job in jobs.items() if status != "queued"}
    assert codes == {status: str(status) for status in codes}
    assert "retrying" in await harness.explain(jobs[Status.SCHEDULED])
    await harness.cancel(jobs[Status.RUNNING])
    assert await harness.explain(jobs[Status.RUNNING]) == ["running", "cancel_requested"]
    transaction = harness.admin.transaction()
    await transaction.start()
    await harness.sql(
        """update plait.live set cancel_requested = null, state = 'waiting', worker = null
           where state = 'running'"""
    )
    said = await harness.rows("select code from plait.explain_job($1, p_all => true)", jobs[Status.RUNNING])
    assert [code for (code,) in said] == ["waiting"]
    await transaction.rollback()


# Findings


async def test_a_healthy_installation_has_no_findings(harness: Harness) -> None:
    await harness.worker()
    await harness.store.leader.elect("a", lease_s=10)
    await harness.enqueue("add")
    assert await harness.findings() == set()


async def test_findings(harness: Harness) -> None:
    await harness.enqueue("add", queue="nobody")
    assert await harness.findings() == {"no_worker", "no_leader"}
    await harness.store.leader.elect("a", lease_s=1000)
    worker = await harness.worker(queues=["nobody", "default"], definitions=["other"])
    assert await harness.findings() == {"unknown_definition"}
    await harness.queue("nobody", paused=True)
    await harness.tenant("default", paused=True)
    assert await harness.findings() == {"unknown_definition", "queue_paused", "tenant_paused"}
    await harness.tenant("default", paused=False)
    job = await harness.enqueue("other", delay_s=5, max_attempts=1)
    await harness.advance(seconds=16)
    assert await harness.findings() >= {"overdue", "stale_worker"}
    await harness.promote()
    await worker.heartbeat()
    await worker.fail(await worker.claim_one(queue="default"))
    assert await harness.status(job) == "dead_letter"
    assert await harness.findings() == {"unknown_definition", "queue_paused", "dead_letters"}
    await harness.retry(job, run_at=await harness.now() + timedelta(hours=1))
    assert "dead_letters" not in await harness.findings()


async def test_listing_queues_reads_no_history(harness: Harness) -> None:
    """Not even for the root that holds a serial queue: that is one row, however many jobs have ended."""
    await harness.queue("s", serial=True)
    worker = await harness.worker(queues=["default", "s"], lease_s=86_400)
    for _ in range(3):
        await harness.enqueue_many("add", 1000)
        await worker.settle(*(outcome(lease) for lease in await worker.claim(1000, queue="default")))
    root, _ = await harness.enqueue_many("add", 2, queue="s")
    await worker.claim_one(queue="s")
    await harness.admin.execute("analyze")
    await harness.store.queues.list_queues()
    before = await harness.rows_read()
    listed = {row.name: row for row in await harness.store.queues.list_queues()}
    assert listed["s"].root_id == root
    assert await harness.rows_read() - before < 500
