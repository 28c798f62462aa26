"""Fixtures of plait's own tests, built on the test kit of `plait.testing`."""

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

from .connection_modes.connection_mode import ConnectionMode, selected_mode
from .harness import Harness

T = TypeVar("T")

hypothesis.settings.register_profile("plait", deadline=None)  # the duration of an example depends on the machine
hypothesis.settings.load_profile("plait")


@pytest.fixture(autouse=True)
def _secrets_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the secrets of other tests: a process remembers the secrets that it has read, and redacts them."""
    monkeypatch.setattr(redaction, "_values", set())
    monkeypatch.setattr(redaction, "_forms", ())


@pytest.fixture(autouse=True)
def _modules_of_this_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove apps that the test wrote and imported from sys.modules: another test may write an app of the same name."""
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
def connection_mode(server: TestServer) -> Iterator[ConnectionMode]:
    """A direct connection, unless PLAIT_TEST_CONNECTION names another mode (tests/connection_modes)."""
    with selected_mode(server.admin_url) as mode:
        yield mode


@pytest.fixture
def database(plait_database: TestDatabase, connection_mode: ConnectionMode) -> TestDatabase:
    """A migrated database whose clock is frozen until the test advances it."""
    return connection_mode.apply(plait_database)


@pytest.fixture(scope="session")
def shared_database(server: TestServer, connection_mode: ConnectionMode) -> Iterator[TestDatabase]:
    """One database for many tests, each of which empties it: creating and dropping a database takes longer than most tests."""
    database = run_in_thread(server.create_database())
    yield connection_mode.apply(database)
    run_in_thread(server.drop_database(database))


@pytest.fixture
async def harness(shared_database: TestDatabase) -> AsyncIterator[Harness]:
    """A harness over the shared database. After the test, the invariants are checked."""
    harness = await Harness.open(shared_database)
    await harness.empty()
    yield harness
    await harness.check()
    await harness.close()


@pytest.fixture
async def own_harness(database: TestDatabase) -> AsyncIterator[Harness]:
    """A harness over a separate database, for tests that change the schema or read statistics."""
    harness = await Harness.open(database)
    yield harness
    await harness.check()
    await harness.close()


def run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread with its own event loop, so that the test's loop is not used."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@pytest.fixture
async def real_clock_database(server: TestServer, connection_mode: ConnectionMode) -> AsyncIterator[TestDatabase]:
    """A database with the real clock, for leases, heartbeats and processes that run in real time."""
    database = await server.create_database(fake_clock=False)
    yield connection_mode.apply(database)
    await server.drop_database(database)
