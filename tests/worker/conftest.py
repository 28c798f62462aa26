"""A worker in this process, on a database with the real clock."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from plait import Plait
from plait.leader.leader import Leader
from plait.leader.promote import Promote
from plait.leader.rescue import Rescue
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.testing import TestDatabase
from plait.worker.worker import Worker

Running = Callable[..., AbstractAsyncContextManager[Worker]]


@pytest.fixture
async def app(real_clock_database: TestDatabase) -> AsyncIterator[Plait]:
    """An app without jobs: each test defines its own."""
    app = Plait(real_clock_database.url, settings=Settings(lease=10, heartbeat=0.3, poll=0.2, grace=5, loop_timeout=60))
    yield app
    await app.close()


@asynccontextmanager
async def run_worker(app: Plait, **options: Any) -> AsyncIterator[Worker]:
    """Run a worker and a leader until the end of the block. Then they drain."""
    stop = Stop()
    worker = Worker(app, **options)
    leader = Leader(app, duties=[Promote(), Rescue(every_s=0.2, cancel_grace_s=3)])
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run(stop))
        group.create_task(leader.run(stop))
        try:
            yield worker
        finally:
            stop.request()


@pytest.fixture
def running() -> Running:
    return run_worker
