"""Failover to a synchronous standby under load: nothing that was acknowledged is lost, and workers find the new primary (F6)."""

import asyncio
import contextlib
import time
from uuid import UUID

import asyncpg
import pytest

from plait import DatabaseUnreachable, Plait
from plait.leader.leader import Leader
from plait.leader.promote import Promote
from plait.leader.rescue import Rescue
from plait.runtime.service import Service, Stop, run_services
from plait.runtime.settings import Settings
from plait.store.database import UNREACHABLE
from plait.testing import TestServer
from plait.worker.worker import Worker

from ..invariants import violations
from ..waiting import eventually
from .servers import Pair, pair

BATCH, PAUSE_S = 50, 0.1
"""500 jobs/s, for as long as the database answers."""


class Load:
    """Asks for jobs, and keeps what was acknowledged: that a job is stored, and what another client has read of its end."""

    def __init__(self, app: Plait) -> None:
        self._app = app
        self.stored: set[UUID] = set()
        self.unknown = 0
        self.ended: dict[UUID, str | None] = {}

        @app.job(retries=20)
        async def double(n: int) -> int:
            return 2 * n

        self._job = double

    async def ask(self, stop: Stop) -> None:
        n = 0
        while not stop.requested:
            began = time.monotonic()
            try:
                handles = await self._job.enqueue_many(range(n, n + BATCH))
            except (DatabaseUnreachable, asyncpg.PostgresError):
                self.unknown += 1
                await stop.wait_for(0.05)
                continue
            self.stored.update(handle.id for handle in handles)
            n += BATCH
            await stop.wait_for(max(0, PAUSE_S - (time.monotonic() - began)))

    async def read(self, url: str, stop: Stop) -> None:
        """An outcome that a client has seen must not change."""
        while not stop.requested:
            with contextlib.suppress(*UNREACHABLE, asyncpg.PostgresError):
                connection = await asyncpg.connect(url, timeout=5)
                try:
                    while not stop.requested:
                        rows = await connection.fetch(
                            "select job_id, result::text from plait.attempts where final is not null order by finished_at desc limit 300"
                        )
                        for job_id, result in rows:
                            assert self.ended.setdefault(UUID(bytes=job_id.bytes), result) == result
                        await stop.wait_for(0.2)
                finally:
                    connection.terminate()
            await stop.wait_for(0.1)


async def fail_over(servers: Pair, times: int) -> None:
    database = await TestServer(servers.primary.url).create_database(fake_clock=False)
    await servers.attach()
    url, admin_url = servers.url(database.url), servers.url(database.admin_url)
    app = Plait(url, settings=Settings(lease=5, heartbeat=0.5, poll=0.2, grace=5))
    load, stop, asking = Load(app), Stop(), Stop()
    services: list[Service] = [
        Worker(app, concurrency=200),
        Leader(app, lease_s=1, duties=[Promote(), Rescue(every_s=0.5)]),
    ]
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(task)
            for task in (run_services(services, stop), load.ask(asking), load.read(admin_url, asking))
        ]
        try:
            for _ in range(times):
                before = len(load.stored)

                async def some_more(before: int = before) -> bool:
                    return len(load.stored) >= before + 10 * BATCH

                await eventually(some_more, what="load after a failover", within=180)
                await servers.fail_over()
            asked_s = time.monotonic() - began
            asking.request()
            admin = await asyncpg.connect(admin_url)

            async def all_done() -> bool:
                return not await admin.fetchval("select exists (select from plait.live)")

            await eventually(all_done, what="the end of all jobs", within=240)
        except BaseException:
            for task in tasks:
                task.cancel()  # not gracefully: the database may answer nobody
            raise
        stop.request()
    finals = {
        UUID(bytes=job.bytes): (status, result)
        for job, status, result in await admin.fetch("select id, status::text, result::text from plait.job")
    }
    lost = load.stored - finals.keys()
    assert not lost, f"{len(lost)} acknowledged jobs are lost"
    assert {finals[job][0] for job in load.stored} == {"succeeded"}
    changed = {job for job, result in load.ended.items() if finals.get(job, (None, None))[1] != result}
    assert not changed, f"{len(changed)} results that were read are lost"
    assert len(load.ended) > 100
    assert await violations(admin) == []
    await admin.close()
    await app.close()
    print(
        f"{times} failovers in {asked_s:.0f} s: {len(load.stored)} jobs acknowledged, {load.unknown} calls without an answer, "
        f"{len(load.ended)} results read, 0 lost"
    )


async def test_nothing_acknowledged_is_lost_when_the_standby_takes_over() -> None:
    async with pair() as servers:
        await fail_over(servers, 1)


@pytest.mark.full
async def test_nothing_acknowledged_is_lost_in_twenty_failovers() -> None:
    async with pair() as servers:
        await fail_over(servers, 20)
