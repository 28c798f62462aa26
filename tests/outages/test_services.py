"""A database that is unreachable, frozen or read-only for a while: every service recovers without a restart, and no outcome is lost.
Each service is a process that connects through a proxy."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from plait import Plait, Status
from plait.store import Store
from plait.testing import TestDatabase
from tests.api.api_client import new_key
from tests.outages import service_main
from tests.outages.services import BEGUN, KINDS, OVER, Kind, end_sessions, outage, service
from tests.proxy import Proxy
from tests.waiting import eventually


@pytest.fixture
async def proxy(real_clock_database: TestDatabase) -> AsyncIterator[Proxy]:
    async with Proxy(real_clock_database.url).running() as proxy:
        yield proxy


@pytest.fixture
async def store(real_clock_database: TestDatabase) -> AsyncIterator[Store]:
    """Straight to the database."""
    service_main.app.target = Plait(real_clock_database.url).target
    yield await service_main.app.store()
    await service_main.app.close()


async def _count(store: Store, status: Status, n: int) -> None:
    async def counted() -> bool:
        return (await store.jobs.count_jobs(all_tenants=True, statuses=[status])).count == n

    await eventually(counted, within=120, what=f"{n} jobs that are {status.value}")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_worker_outlasts_it_and_loses_no_outcome(
    kind: Kind, real_clock_database: TestDatabase, proxy: Proxy, store: Store, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    async with service(proxy.url, "worker", log=tmp_path / "log") as worker:
        handles = await service_main.wait_for.enqueue_many([str(gate)] * 10)
        await _count(store, Status.RUNNING, 10)
        async with outage(kind, real_clock_database, proxy):
            gate.touch()  # all handlers succeed now, and nobody can be told
            await worker.logged(BEGUN)
        handles += await service_main.wait_for.enqueue_many([str(gate)])
        await _count(store, Status.SUCCEEDED, 11)
        await worker.logged(OVER)
        assert worker.alive
        statuses = [[a.status for a in await store.jobs.list_attempts(handle.id)] for handle in handles]
        assert statuses[:10] == [["succeeded"]] * 10
        # A claim that the database carries out after the worker has given it up is released: the job had not started.
        assert set(statuses[10][:-1]) <= {"released"}
        assert statuses[10][-1] == "succeeded"
        worker.process.send_signal(signal.SIGTERM)
        assert await worker.ended() == 143


@pytest.mark.parametrize("kind", KINDS)
async def test_a_leader_outlasts_it(
    kind: Kind, real_clock_database: TestDatabase, proxy: Proxy, store: Store, tmp_path: Path
) -> None:
    async def leads() -> bool:
        return await store.leader.get_leader() is not None

    await store.definitions.define([service_main.wait_for.definition.row()])
    async with service(proxy.url, "leader", log=tmp_path / "log") as leader:
        await eventually(leads, within=120, what="an election")
        async with outage(kind, real_clock_database, proxy):
            await leader.logged(BEGUN)
        await service_main.wait_for.options(delay=0.1).enqueue("nothing")
        await _count(store, Status.QUEUED, 1)  # which only the leader can do
        await leader.logged(OVER)
        leader.process.send_signal(signal.SIGTERM)
        assert await leader.ended() == 143


@pytest.mark.parametrize("kind", KINDS)
async def test_an_api_outlasts_it_and_answers_meanwhile(
    kind: Kind, real_clock_database: TestDatabase, proxy: Proxy, store: Store, tmp_path: Path
) -> None:
    tenant_id = await store.tenants.tenant_id("default")
    await store.definitions.define([service_main.wait_for.definition.row()])
    _, token = await new_key(store, "operator", tenant_id)
    body = {"definition_key": "wait_for", "payload": {"path": "nothing"}}

    async with (
        service(proxy.url, "api", log=tmp_path / "log") as api,
        httpx.AsyncClient(base_url=api.said, headers={"Authorization": f"Bearer {token}"}, timeout=120) as client,
    ):

        async def enqueues() -> bool:
            answer = await client.post("/api/v1/jobs", json=body)
            assert answer.status_code in (201, 202, 503), answer.text
            return answer.status_code != 503

        async def runs_bulk_jobs() -> bool:
            sql = "select exists (select from plait.list_workers() where queues = '{plait.bulk}' and state = 'alive' and not stale)"
            return bool(await store.database.fetchval(sql))

        await eventually(enqueues, what="an enqueue over HTTP")
        await eventually(runs_bulk_jobs, what="a worker of bulk jobs")
        async with outage(kind, real_clock_database, proxy):
            await api.logged(BEGUN)  # its worker of bulk jobs has noticed
            answer = await client.post("/api/v1/jobs", json=body)  # the answer comes: it is this that is bounded
            assert answer.status_code in (201, 202, 503)
        await eventually(enqueues, within=120, what="an enqueue over HTTP")
        await api.logged(OVER)
        await eventually(runs_bulk_jobs, within=120, what="a worker of bulk jobs")
        api.process.send_signal(signal.SIGTERM)
        assert await api.ended() == 143


@pytest.mark.parametrize("kind", KINDS)
async def test_an_application_outlasts_it_and_stores_each_job_once(
    kind: Kind, real_clock_database: TestDatabase, proxy: Proxy, store: Store
) -> None:
    app = Plait(proxy.url, settings=service_main.app.settings)

    @app.job
    async def wait_for(path: str) -> None: ...

    enqueued = [await wait_for.enqueue("nothing")]
    for _ in range(2):  # more than one connection
        enqueued += await asyncio.gather(*(wait_for.enqueue("nothing") for _ in range(5)))
    async with outage(kind, real_clock_database, proxy):
        try:
            async with asyncio.timeout(60):
                enqueued.append(await wait_for.enqueue("nothing"))
        except TimeoutError:
            raise
        except Exception as error:
            assert type(error).__name__ in ("DatabaseUnreachable", "NoAnswer")  # noqa: PT017
    async with asyncio.timeout(60):
        enqueued += await wait_for.enqueue_many(["nothing"] * 3)
    statuses = [await handle.status() for handle in enqueued]
    assert statuses == [Status.QUEUED] * len(enqueued)
    # One that was not acknowledged may be stored or not; none is stored twice.
    stored = (await store.jobs.count_jobs(all_tenants=True)).count
    assert len(enqueued) <= stored <= 12 + 3
    await app.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_worker_can_be_stopped_meanwhile(
    kind: Kind, real_clock_database: TestDatabase, proxy: Proxy, store: Store, tmp_path: Path
) -> None:
    async with service(proxy.url, "worker", log=tmp_path / "log") as worker:
        await service_main.wait_for.enqueue(str(tmp_path / "never"))
        await _count(store, Status.RUNNING, 1)
        async with outage(kind, real_clock_database, proxy):
            worker.process.send_signal(signal.SIGTERM)
            assert await worker.ended() == 143


async def test_a_worker_that_was_declared_lost_when_a_reply_was_lost_registers_again(
    real_clock_database: TestDatabase, store: Store, tmp_path: Path
) -> None:
    admin = await asyncpg.connect(real_clock_database.admin_url)
    async with service(real_clock_database.url, "worker", log=tmp_path / "log", HEARTBEAT="15") as worker:
        await worker.logged("worker started")
        async with admin.transaction():
            await admin.execute("update plait.workers set state = 'lost', ended_at = plait.now(), clearing = true")
            await end_sessions(admin, "%plait.cycle%")
        await worker.logged("worker started", times=2)
        handle = await service_main.wait_for.enqueue(str(tmp_path))
        await handle.result(120)
        assert worker.alive
    await admin.close()


async def test_a_login_whose_default_isolation_is_another_works(
    real_clock_database: TestDatabase, store: Store, tmp_path: Path
) -> None:
    admin = await asyncpg.connect(real_clock_database.admin_url)
    await admin.execute(
        f"alter database \"{real_clock_database.name}\" set default_transaction_isolation = 'repeatable read'"
    )
    async with service(real_clock_database.url, "worker", log=tmp_path / "log") as worker:
        handle = await service_main.wait_for.enqueue(str(tmp_path))
        await handle.result(120)
        assert worker.alive
    await admin.close()


async def test_a_service_that_starts_before_its_database_waits_for_it(
    real_clock_database: TestDatabase, store: Store, tmp_path: Path
) -> None:
    async with Proxy(real_clock_database.url).running() as probe:
        port, url = probe.port, probe.url  # nobody listens there after this block

    async def leads() -> bool:
        return await store.leader.get_leader() is not None

    async with service("leader", "--url", url, "--json", log=tmp_path / "log") as leader:
        await leader.logged(BEGUN)
        async with Proxy(real_clock_database.url, port=port).running():
            await eventually(leads, within=120, what="an election")
            assert leader.alive
            assert leader.count(BEGUN) == 1


async def test_a_service_may_be_told_not_to_wait_for_its_database(tmp_path: Path) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/nothing"
    async with service("leader", "--url", nowhere, log=tmp_path / "log", PLAIT_WAIT_FOR_DATABASE="0") as leader:
        assert await leader.ended() == 3
        assert "the database cannot be reached" in leader.log.read_text()
