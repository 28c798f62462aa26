from collections.abc import AsyncIterator

import pytest

from plait import Plait
from plait.testing import Kit, TestDatabase

from ..harness import World


@pytest.fixture
def plait_app() -> Plait:
    """An app without jobs: each test defines its own."""
    return Plait()


@pytest.fixture
def app(plait: Kit) -> Plait:
    return plait.app


@pytest.fixture
def kit(plait: Kit) -> Kit:
    return plait


@pytest.fixture
async def broken(plait_database: TestDatabase) -> AsyncIterator[World]:
    """A database of its own that the test damages: nobody looks at its end whether all is well."""
    world = await World.open(plait_database)
    yield world
    await world.close()
