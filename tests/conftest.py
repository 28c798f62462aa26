"""Fixtures of plait's own tests, from the kit that users get."""

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest

from plait.model import redaction
from plait.testing import TestDatabase, TestServer

from .connection_modes.connection_mode import Way, way
from .harness import World

T = TypeVar("T")

hypothesis.settings.register_profile("plait", deadline=None)  # how long an example takes is the machine's affair
hypothesis.settings.load_profile("plait")


@pytest.fixture(autouse=True)
def _secrets_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process remembers the secrets that it has read: those of other tests must not be hidden in this one."""
    monkeypatch.setattr(redaction, "_values", set())
    monkeypatch.setattr(redaction, "_forms", ())


@pytest.fixture(autouse=True)
def _modules_of_this_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Apps that a test wrote and imported are forgotten: another test may write one of the same name."""
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).is_relative_to(tmp_path_factory.getbasetemp()):
            del sys.modules[name]


@pytest.fixture(scope="session")
def server(plait_server: TestServer) -> TestServer:
    return plait_server


@pytest.fixture(scope="session")
def way_there(server: TestServer) -> Iterator[Way]:
    """Straight to the database, unless the environment names another way (tests/connection_modes)."""
    with way(server.admin_url) as there:
        yield there


@pytest.fixture
def database(plait_database: TestDatabase, way_there: Way) -> TestDatabase:
    """A migrated database whose clock stands still until the test moves it."""
    return way_there.to(plait_database)


@pytest.fixture(scope="session")
def emptied_database(server: TestServer, way_there: Way) -> Iterator[TestDatabase]:
    """One for many tests, each of which empties it: to make and drop one costs more than most tests do."""
    database = run_apart(server.create_database())
    yield way_there.to(database)
    run_apart(server.drop_database(database))


@pytest.fixture
async def world(emptied_database: TestDatabase) -> AsyncIterator[World]:
    """The vocabulary of tests over such a database; at its end, what must always hold is looked at."""
    world = await World.open(emptied_database)
    await world.empty()
    yield world
    await world.check()
    await world.close()


@pytest.fixture
async def own_world(database: TestDatabase) -> AsyncIterator[World]:
    """The same over a database of its own, for tests that change its schema or count what it did."""
    world = await World.open(database)
    yield world
    await world.check()
    await world.close()


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """In a thread, since the test's own loop must not be disturbed."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@pytest.fixture
async def real_database(server: TestServer, way_there: Way) -> AsyncIterator[TestDatabase]:
    """Here time passes by itself: leases, heartbeats and processes are real."""
    database = await server.create_database(fake_clock=False)
    yield way_there.to(database)
    await server.drop_database(database)
