"""A backup that is restored on another server (F27): workers and leases of the old server are not valid there, and no
job runs more often than its retry policy allows.
"""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from plait.embedded.postgres import EmbeddedPostgres
from plait.leader.fire import Fire
from plait.model.errors import InvalidSetting, WorkerLost
from plait.model.roles import Role
from plait.testing import TestServer

from ..harness import Harness
from .backups import dump, restore

POLICIES = ("all", "one", "none")


@pytest.fixture(scope="module")
def other_server() -> Iterator[TestServer]:
    directory = Path(tempfile.mkdtemp(prefix="pl-", dir="/tmp"))  # a short path, because it contains a socket
    directory.chmod(0o755)
    postgres = EmbeddedPostgres(directory)
    yield TestServer(postgres.start().url())
    postgres.stop()
    shutil.rmtree(directory)


@asynccontextmanager
async def restored(path: Path, server: TestServer) -> AsyncIterator[Harness]:
    database = await restore(path, server)
    harness = await Harness.open(database)
    try:
        yield harness
        await harness.check()
    finally:
        await harness.close()
        await server.drop_database(database)


async def test_nothing_of_the_server_before_goes_on(
    own_harness: Harness, other_server: TestServer, tmp_path: Path
) -> None:
    """Leases of the old server are invalid, and their jobs are queued again without using an attempt. Its workers are fenced off, even
    workers that registered after the backup, whose ids would otherwise be assigned again. Its leader and its sessions are invalid."""
    early = await own_harness.worker(node="a")
    job, canceled, later = await own_harness.enqueue_many("add", 3)
    assert {lease.job_id for lease in await early.claim(2)} == {job, canceled}
    await own_harness.cancel(canceled)
    assert await own_harness.lead("a", lease_s=1000)
    key = await own_harness.store.keys.create_key(
        hash="h", hint="h", name="n", role=Role.SUPER_ADMIN, tenant_id=None, expires_at=None, created_by="test"
    )
    await own_harness.store.keys.open_session(key, hash="s", csrf="c", ttl=timedelta(days=1), link=False)
    await own_harness.sql("select plait.roll_up()")
    await own_harness.sql("update plait.rolled set seen_xid = '9000000000'")  # as on a server that is years old
    dump(own_harness.database, tmp_path / "backup")

    late = await own_harness.worker()
    lease = await late.claim_one()
    assert lease.job_id == later
    await own_harness.advance(seconds=1001)
    assert await own_harness.lead("b")
    term = await own_harness.sql("select term from plait.leader")

    async with restored(tmp_path / "backup", other_server) as harness:
        assert await harness.status(job) == "running"
        done = await harness.store.health.after_restore()
        assert (done.workers, done.jobs) == (1, 2)
        assert await harness.statuses([job, canceled]) == ["queued", "canceled"]
        assert [(a.status, a.reason) for a in await harness.attempts(job)] == [("released", "restored")]
        assert await harness.sql("select failed_attempts from plait.live where job_id = $1", job) == 0
        assert await harness.sql("select state from plait.nodes") == "left"
        row = await harness.store.workers.get_worker(early.id)
        assert row is not None
        assert (row.state, row.end_reason, row.released, row.canceled) == ("gone", "restored", 1, 1)

        new = await harness.worker()
        assert new.id > late.id > early.id
        leases = {one.job_id: one for one in await new.claim(5)}
        assert leases.keys() == {job, later}
        assert leases[later].attempt == lease.attempt
        for old in (early, late):
            await old.disconnect()
            old._store = harness.store  # its connection broke, and the restored server has the same address
            with pytest.raises(WorkerLost):
                await old.heartbeat()
            assert await old.succeed(lease, "of before") is False
        assert await new.succeed(leases[later], "of now") is True
        assert (await harness.attempts(later))[-1].result == '"of now"'

        assert (await harness.store.leader.elect("c", lease_s=10)).leads
        assert not await harness.lead("a")
        assert await harness.sql("select term from plait.leader") > term
        assert await harness.sql("select count(*) from plait.sessions") == 0

        closed = await harness.sql("select closed_to from plait.rolled")
        for _ in range(3):
            await harness.advance(minutes=5)
            await harness.store.leader.roll_up()
        assert await harness.sql("select closed_to from plait.rolled") > closed, "transactions are numbered anew"


async def test_no_schedule_fires_again_for_what_the_server_before_fired(
    own_harness: Harness, other_server: TestServer, tmp_path: Path
) -> None:
    """With every catch-up policy."""
    triggers = {catch_up: await own_harness.trigger(catch_up, every_s=60, catch_up=catch_up) for catch_up in POLICIES}
    await own_harness.advance(seconds=60)
    await own_harness.fire()
    dump(own_harness.database, tmp_path / "backup")
    for _ in range(5):
        await own_harness.advance(seconds=60)
        await own_harness.fire()
    start = await own_harness.now() - timedelta(minutes=6)
    for trigger in triggers.values():
        assert len(await own_harness.fires(trigger)) == 6
    async with restored(tmp_path / "backup", other_server) as harness:
        await harness.advance(seconds=330)
        assert (await harness.store.health.after_restore()).schedules == 3
        await harness.fire()
        await harness.advance(seconds=30)
        await harness.fire()
        for trigger in triggers.values():
            instants = [row.instant for row in await harness.fires(trigger)]
            assert instants == [start + timedelta(minutes=1), start + timedelta(minutes=7)], (
                "the backup's, and a new one"
            )


async def test_who_knows_when_the_server_before_ended_says_so_and_the_rest_is_caught_up(
    own_harness: Harness, other_server: TestServer, tmp_path: Path
) -> None:
    trigger = await own_harness.trigger(every_s=60, catch_up="all")
    dump(own_harness.database, tmp_path / "backup")
    start = await own_harness.now()
    async with restored(tmp_path / "backup", other_server) as harness:
        await harness.advance(minutes=10)
        with pytest.raises(InvalidSetting, match="must not be in the future"):
            await harness.store.health.after_restore(start + timedelta(hours=1))
        assert (await harness.store.health.after_restore(start + timedelta(minutes=7))).schedules == 1
        await harness.fire()
        assert [row.instant for row in await harness.fires(trigger)] == [
            start + timedelta(minutes=minute) for minute in (8, 9, 10)
        ]


async def test_a_database_that_is_its_own_already_is_hardly_moved(harness: Harness) -> None:
    """If it is called twice or by mistake, running jobs start again, and nothing else happens."""
    job = await harness.enqueue("add")
    worker = await harness.worker()
    await worker.claim_one()
    await harness.store.health.after_restore()
    done = await harness.store.health.after_restore()
    assert (done.workers, done.jobs) == (0, 0)
    assert await harness.status(job) == "queued"
    assert await Fire().run(harness.store) >= 0
