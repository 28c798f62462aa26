"""An app whose large payloads and results are kept in a directory of the test's."""

from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from plait import Plait
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.testing import TestDatabase
from plait.worker.worker import Worker

from ..harness import World

Drain = Callable[[Plait], Coroutine[Any, Any, None]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
async def app(database: TestDatabase, place: Path) -> AsyncIterator[Plait]:
    app = Plait(database.url, settings=Settings(poll=0.05, listen=False, artifacts=str(place)))
    yield app
    await app.close()
    app.close_sync()


@pytest.fixture
def drain() -> Drain:
    """Run a worker until nothing is left that can be claimed now."""

    async def drain(app: Plait) -> None:
        await Worker(app, once=True).run(Stop())

    return drain


@pytest.fixture
async def over(database: TestDatabase) -> AsyncIterator[World]:
    """The words of plait's own tests over the app's database; at its end, what must always hold is looked at."""
    world = await World.open(database)
    yield world
    await world.check()
    await world.close()
