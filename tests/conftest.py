"""Fixtures of plait's own tests: a real Postgres, a database for each test."""

from collections.abc import AsyncIterator, Iterator

import pytest

from plait.testing import TestDatabase, TestServer

from .world import World


@pytest.fixture(scope="session")
def server() -> Iterator[TestServer]:
    server = TestServer()
    yield server
    server.close()


@pytest.fixture
async def database(server: TestServer) -> AsyncIterator[TestDatabase]:
    """A migrated database whose clock stands still until the test moves it."""
    database = await server.create_database()
    yield database
    await server.drop_database(database)


@pytest.fixture
async def world(database: TestDatabase) -> AsyncIterator[World]:
    """The vocabulary of tests over that database; when the test ends, what must always hold is looked at."""
    world = await World.open(database)
    yield world
    await world.check()
    await world.close()
