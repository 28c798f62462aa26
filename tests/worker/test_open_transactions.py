"""A user's open transaction locks rows of running jobs: only their outcomes wait for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from plait import Plait, call, fan_out, sub
from plait.worker import pump
from tests.waiting import eventually
from tests.worker.conftest import Running

PATIENCE_S = 60.0
"""The timeout of waits. The transaction stays open, so a wait for it would never end."""


@asynccontextmanager
async def transaction(app: Plait) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect((await app.store()).database.url)
    await connection.execute("begin")
    try:
        yield connection
    finally:
        await connection.close()


async def test_children_whose_fan_out_is_held_do_not_keep_others_from_being_settled(
    app: Plait, running: Running
) -> None:
    go_on = asyncio.Event()

    @app.job
    async def child(n: int) -> int:
        await go_on.wait()
        return n

    @app.job(queue="nobody")
    async def never(n: int) -> int:
        return n

    @app.job
    async def parent() -> int:
        return len(await fan_out([*(sub(child, n) for n in range(30)), sub(never, 0)]))

    @app.job
    async def plain(n: int) -> int:
        return n

    store = await app.store()
    async with running(app, queues={"default": 100}):
        tree = await parent.enqueue()

        async def all_run() -> bool:
            return sum(row.running for row in await store.workers.list_workers()) >= 30

        await eventually(all_run, what="all children running")
        async with transaction(app) as user:
            [held] = await store.jobs.list_jobs(all_tenants=True, definition="never")
            await user.fetchval("select plait.cancel($1, plait.tenant_id('default'))", held.id)
            go_on.set()
            others = await plain.enqueue_many(range(50))
            assert [await other.result(PATIENCE_S) for other in others] == list(range(50))
            assert (
                len(await store.jobs.list_jobs(all_tenants=True, definition="child", statuses=["running"], limit=100))
                == 30
            )
            await user.execute("rollback")
        await tree.cancel()

        async def recorded() -> bool:
            children = await store.jobs.list_jobs(all_tenants=True, definition="child", limit=100)
            return {job.status.value for job in children} == {"succeeded"}

        await eventually(recorded, what="all children succeeded")


async def test_a_step_is_saved_while_others_change_the_rows_of_its_job(app: Plait, running: Running) -> None:
    more = asyncio.Event()
    at_work = asyncio.Event()

    async def step(n: int) -> int:
        if n == 3:
            at_work.set()
            await more.wait()
        return n

    @app.job
    async def durable() -> int:
        return sum([await call(step, n) for n in range(10)])

    @app.job
    async def later() -> None: ...

    store = await app.store()
    async with running(app):
        handle = await durable.enqueue()
        await at_work.wait()
        async with transaction(app) as user:
            await user.fetchval("select plait.signal($1, 'x', '1', plait.tenant_id('default'))", handle.id)
            await user.fetchval(
                "select plait.enqueue($1, tenant => 'default', after => array[$2::uuid])", "later", handle.id
            )
            more.set()

            async def saved() -> bool:
                return len(await store.jobs.list_steps(handle.id, all_tenants=True)) == 10

            await eventually(saved, within=PATIENCE_S, what="all steps saved")
            await user.execute("commit")
        assert await handle.result(PATIENCE_S) == 45


async def test_a_worker_that_stops_does_not_wait_for_a_transaction_for_ever(
    app: Plait, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "STOP_S", 0.5)
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.job
    async def work() -> int:
        begun.set()
        await go_on.wait()
        return 1

    async with transaction(app) as user, asyncio.timeout(PATIENCE_S), running(app):
        handle = await work.enqueue()
        await begun.wait()
        await user.fetchval("select plait.signal($1, 'x', '1', plait.tenant_id('default'))", handle.id)
        go_on.set()
    async with running(app):
        assert await handle.result(PATIENCE_S) == 1
