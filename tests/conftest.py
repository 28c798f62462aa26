"""Fixtures of plait's own tests, from the kit that users get."""

from collections.abc import AsyncIterator

import pytest

from plait.testing import TestDatabase, TestServer

from .world import World


@pytest.fixture(scope="session")
def server(plait_server: TestServer) -> TestServer:
    return plait_server


@pytest.fixture
def database(plait_database: TestDatabase) -> TestDatabase:
    """A migrated database whose clock stands still until the test moves it."""
    return plait_database


@pytest.fixture
async def world(database: TestDatabase) -> AsyncIterator[World]:
    """The vocabulary of tests over that database; when the test ends, what must always hold is looked at."""
    world = await World.open(database)
    yield world
    await world.check()
    await world.close()
