"""A database that an older plait made, with jobs in every state, is migrated, and its jobs go on."""

from collections.abc import AsyncIterator

import pytest

from plait.model.states import Ending, Status
from plait.store import Store
from plait.store.migrate import SQL, migrate, migrate_connection, schema_version
from plait.store.roles import ensure_dev_login
from plait.store.workers import Settlement
from plait.testing import TestDatabase, TestServer

from ..security.logins import as_superuser, connected
from .catalogue import catalogue
from .snapshot import SNAPSHOTS

NEWEST = max(SNAPSHOTS.glob("*.sql"))


@pytest.fixture
async def loaded(versioned: TestServer) -> AsyncIterator[TestDatabase]:
    """The newest snapshot, as a plait of its time left it."""
    database = await versioned.create_empty_database()
    await as_superuser(
        database,
        (SQL / "roles.sql").read_text(),
        NEWEST.read_text(),
        # Its functions were another's, even when the file is of today.
        "update plait.installed set functions_hash = 'of its time'",
    )
    await ensure_dev_login(database.admin_url)
    yield database
    await versioned.drop_database(database)


async def test_the_sample_has_something_in_every_table_and_every_status(loaded: TestDatabase) -> None:
    async with connected(loaded.admin_url) as connection:
        tables = await connection.fetch(
            "select relname from pg_class where relnamespace = 'plait'::regnamespace and relkind = 'r'"
        )
        for table in tables:
            assert await connection.fetchval(f"select count(*) from plait.{table[0]}") > 0, table[0]
        statuses = await connection.fetch("select distinct status::text from plait.job")
        assert {row[0] for row in statuses} == set(Status)


async def test_a_snapshot_is_migrated_to_this_version(loaded: TestDatabase) -> None:
    plan = await migrate(loaded.admin_url)
    assert plan.installed == int(NEWEST.stem)
    assert plan.functions
    assert (await migrate(loaded.admin_url)).empty
    store = await Store.open(loaded.url)
    jobs = await store.jobs.list_jobs(all_tenants=True, limit=1000)
    assert len(jobs) > len(Status)
    assert [job.status for job in jobs] == [job.correlation_id for job in jobs]
    assert {job.status for job in jobs} == set(Status)
    for job in jobs:
        attempts = await store.jobs.list_attempts(job.id, all_tenants=True)
        assert bool(attempts) == (job.status.final or job.attempt > (job.status in (Status.RUNNING, Status.WAITING)))
    await store.close()


async def test_jobs_of_a_snapshot_run_on(loaded: TestDatabase) -> None:
    await migrate(loaded.admin_url)
    store = await Store.open(loaded.url)
    before = {job.id: job.status for job in await store.jobs.list_jobs(all_tenants=True, limit=1000)}
    waiting = {job for job, status in before.items() if status in (Status.QUEUED, Status.RUNNING)}
    # The snapshot may be seconds old, and its worker is gone all the same.
    await as_superuser(loaded, "update plait.workers set expires_at = plait.now() - interval '1 s'")
    assert (await store.leader.rescue(jitter_s=0)).lost == 1
    worker = await store.workers.register(
        host="h",
        pid=2,
        version="1",
        queues=["default", "slow"],
        definitions=["work", "limited", "connector.webhook.deliver"],
        lease_s=30,
    )
    done = set()
    while claimed := await store.workers.claim(worker, "default", 10):
        outcomes = [Settlement(job.job_id, job.attempt, Ending.SUCCEEDED, result="2") for job in claimed]
        assert all(await store.workers.settle(worker, outcomes))
        done |= {job.job_id for job in claimed}
    assert done >= waiting
    after = {job.id: job.status for job in await store.jobs.list_jobs(all_tenants=True, limit=1000)}
    assert {after[job] for job in done} == {Status.SUCCEEDED}
    assert {job: after[job] for job in before if job not in done} == {
        job: status for job, status in before.items() if job not in done
    }
    await store.close()


async def test_a_migrated_snapshot_is_what_a_new_database_is(versioned: TestServer, loaded: TestDatabase) -> None:
    new = await versioned.create_empty_database()
    async with connected(loaded.admin_url) as one, connected(new.admin_url) as two:
        await migrate_connection(one)
        await migrate_connection(two)
        migrated, installed = await catalogue(one), await catalogue(two)
    for section in installed.keys() - {"rows", "constraints"}:
        assert migrated[section] == installed[section], section
    # A dump that is read again has fewer brackets: what was `(a and b) and c` is `a and b and c`.
    brackets = str.maketrans("", "", "()")
    assert [line.translate(brackets) for line in migrated["constraints"]] == [
        line.translate(brackets) for line in installed["constraints"]
    ]
    await versioned.drop_database(new)


def test_there_is_a_snapshot_of_every_version_but_the_one_being_made() -> None:
    made = {int(path.stem) for path in SNAPSHOTS.glob("*.sql")}
    assert made >= set(range(1, schema_version()))
