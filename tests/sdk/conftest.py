"""An app on the test's database, and a worker that runs until it is idle."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import asyncpg
import pytest

from plait import Plait
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.testing import TestDatabase
from plait.worker.worker import Worker

Drain = Callable[[Plait], Coroutine[Any, Any, None]]
CLIENT = "plait_test_client"


@pytest.fixture
async def app(database: TestDatabase) -> AsyncIterator[Plait]:
    app = Plait(database.url, settings=Settings(poll=0.05, listen=False))
    yield app
    await app.close()
    app.close_sync()


@pytest.fixture
def drain() -> Drain:
    """Run a worker until no job can be claimed."""

    async def drain(app: Plait) -> None:
        await Worker(app, once=True).run(Stop())

    return drain


@pytest.fixture
async def client_url(database: TestDatabase) -> str:
    """The login of an application, with only the role plait_client."""
    connection = await asyncpg.connect(database.admin_url)
    try:
        # Roles belong to the server, so concurrent tests share this role.
        await connection.execute("select pg_advisory_lock(hashtext('plait tests: client'))")
        if not await connection.fetchval("select exists (select from pg_roles where rolname = $1)", CLIENT):
            await connection.execute(f"create role {CLIENT} login in role plait_client")
        await connection.execute(
            f"create table public.orders (id int primary key); grant all on public.orders to {CLIENT}"
        )
    finally:
        await connection.close()
    return database.url_for(CLIENT)
