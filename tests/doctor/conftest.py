from collections.abc import AsyncIterator

import pytest

from plait import Plait
from plait.testing import Kit, TestDatabase

from ..harness import Harness


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
async def unchecked_harness(plait_database: TestDatabase) -> AsyncIterator[Harness]:
    """A harness over a database that the test damages, so the invariants are not checked."""
    harness = await Harness.open(plait_database)
    yield harness
    await harness.close()
