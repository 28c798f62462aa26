"""An app that stores large payloads and results in a directory of the test."""

from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from plait import Plait
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.testing import TestDatabase
from plait.worker.worker import Worker

from ..harness import Harness

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
async def app_harness(database: TestDatabase) -> AsyncIterator[Harness]:
    """A harness over the app's database. After the test, the invariants are checked."""
    harness = await Harness.open(database)
    yield harness
    await harness.check()
    await harness.close()
