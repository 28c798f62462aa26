"""A database with the real clock, a client's login and a table, for pages and examples."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import asyncpg
import pytest

from plait import Plait
from plait.leader.dispatch import Dispatch
from plait.runtime.service import Stop
from plait.testing import TestDatabase, TestServer
from plait.worker.worker import Worker

CLIENT = "plait_test_docs"

WorkOn = Callable[[Callable[[], object]], AbstractAsyncContextManager[None]]


@pytest.fixture
async def real_clock_database(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TestDatabase]:
    database = await server.create_database(fake_clock=False)
    connection = await asyncpg.connect(database.admin_url)
    await connection.execute("select pg_advisory_lock(hashtext('plait tests: docs'))")
    if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", CLIENT):
        await connection.execute(f"create role {CLIENT} login in role plait_client")
    await connection.execute(
        f"create table orders (customer int, cents int, id int generated always as identity); grant all on orders to {CLIENT}"
    )
    await connection.close()
    monkeypatch.setenv("PLAIT_DATABASE_URL", database.url)
    monkeypatch.setenv("PLAIT_POLL", "0.05")
    yield database
    await server.drop_database(database)


@pytest.fixture
def work_on() -> WorkOn:
    """Run what is enqueued, as `plait dev` would beside the page. The app is asked for: a page may make it on its way."""

    @asynccontextmanager
    async def work_on(find_app: Callable[[], object]) -> AsyncIterator[None]:
        async def work() -> None:
            while True:
                app = find_app()
                if isinstance(app, Plait) and app.definitions:
                    leader = (await app.store()).leader
                    await leader.elect(app.holder, lease_s=60)
                    await Dispatch().run(await app.store())
                    await Worker(app, once=True).run(Stop())
                    await leader.promote()
                    await leader.resume()
                await asyncio.sleep(0.02)

        working = asyncio.ensure_future(work())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.wait({working})
            if isinstance(app := find_app(), Plait):
                await app.close()
                await asyncio.to_thread(app.close_sync)
        assert working.cancelled(), working.exception()

    return work_on
