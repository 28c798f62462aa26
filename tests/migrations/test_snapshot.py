"""A database of the previous release, with jobs in every state, is migrated, and its jobs continue."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plait.model.states import AttemptOutcome, Status
from plait.store import Store
from plait.store import migrate as migrating
from plait.store.dev_login import ensure_dev_login
from plait.store.migrate import migrate, migrate_connection, schema_version
from plait.store.workers import Settlement
from plait.testing import TestDatabase, TestServer

from ..access.logins import as_superuser, connected
from .catalogue import catalogue
from .releases import NEXT_NAME, NEXT_VERSION, frozen, loaded, next_release
from .snapshot import snapshot

_made: list[str] = []


@pytest.fixture
async def left(versioned: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TestDatabase]:
    """A database as this release leaves it, while the code is that of the next."""
    if not _made:
        _made.append(await snapshot())
    database = await loaded(versioned, _made[0])
    await ensure_dev_login(database.admin_url)
    monkeypatch.setattr(migrating, "SQL", next_release(tmp_path))
    yield database
    await versioned.drop_database(database)


async def test_the_sample_has_something_in_every_table_and_every_status(left: TestDatabase) -> None:
    async with connected(left.admin_url) as connection:
        tables = await connection.fetch(
            "select relname from pg_class where relnamespace = 'plait'::regnamespace and relkind = 'r'"
        )
        for table in tables:
            assert await connection.fetchval(f"select count(*) from plait.{table[0]}") > 0, table[0]
        statuses = await connection.fetch("select distinct status::text from plait.job")
        assert {row[0] for row in statuses} == set(Status)


async def test_a_database_with_jobs_in_every_state_is_migrated(left: TestDatabase) -> None:
    plan = await migrate(left.admin_url)
    assert (plan.installed, plan.migrations, plan.functions) == (NEXT_VERSION - 1, (NEXT_NAME,), True)
    assert (await migrate(left.admin_url)).empty
    store = await Store.open(left.url)
    jobs = await store.jobs.list_jobs(all_tenants=True, limit=1000)
    assert len(jobs) > len(Status)
    assert [job.status for job in jobs] == [job.correlation_id for job in jobs]
    assert {job.status for job in jobs} == set(Status)
    for job in jobs:
        attempts = await store.jobs.list_attempts(job.id, all_tenants=True)
        assert bool(attempts) == (job.status.final or job.attempt > (job.status in (Status.RUNNING, Status.WAITING)))
    await store.close()


async def test_jobs_of_the_release_before_run_on(left: TestDatabase) -> None:
    await migrate(left.admin_url)
    store = await Store.open(left.url)
    before = {job.id: job.status for job in await store.jobs.list_jobs(all_tenants=True, limit=1000)}
    waiting = {job for job, status in before.items() if status in (Status.QUEUED, Status.RUNNING)}
    # The snapshot may be seconds old, and its worker is gone all the same.
    await as_superuser(left, "update plait.workers set expires_at = plait.now() - interval '1 s'")
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
        outcomes = [Settlement(job.job_id, job.attempt, AttemptOutcome.SUCCEEDED, result="2") for job in claimed]
        assert all(await store.workers.settle(worker, outcomes))
        done |= {job.job_id for job in claimed}
    assert done >= waiting
    after = {job.id: job.status for job in await store.jobs.list_jobs(all_tenants=True, limit=1000)}
    assert {after[job] for job in done} == {Status.SUCCEEDED}
    assert {job: after[job] for job in before if job not in done} == {
        job: status for job, status in before.items() if job not in done
    }
    await store.close()


async def test_a_migrated_database_is_what_a_new_one_is(versioned: TestServer, left: TestDatabase) -> None:
    new = await versioned.create_empty_database()
    async with connected(left.admin_url) as one, connected(new.admin_url) as two:
        await migrate_connection(one)
        await migrate_connection(two)
        migrated, installed = await catalogue(one), await catalogue(two)
    _compare(migrated, installed)
    await versioned.drop_database(new)


async def test_every_frozen_snapshot_is_migrated_to_this_version(server: TestServer) -> None:
    new = await server.create_empty_database()
    async with connected(new.admin_url) as connection:
        await migrate_connection(connection)
        installed = await catalogue(connection)
    for version in range(1, schema_version()):
        database = await frozen(server, version)
        async with connected(database.admin_url) as connection:
            assert (await migrate_connection(connection)).installed == version
            _compare(await catalogue(connection), installed)
        await server.drop_database(database)
    await server.drop_database(new)


def _compare(migrated: dict[str, list[str]], installed: dict[str, list[str]]) -> None:
    for section in installed.keys() - {"rows", "constraints"}:
        assert migrated[section] == installed[section], section
    # A dump that is read again has fewer brackets: what was `(a and b) and c` is `a and b and c`.
    brackets = str.maketrans("", "", "()")
    assert [line.translate(brackets) for line in migrated["constraints"]] == [
        line.translate(brackets) for line in installed["constraints"]
    ]
