"""An app on a database whose clock stands still, and a worker that runs until nothing is left: the kit that users get."""

from collections.abc import AsyncIterator

import pytest

from plait import Plait
from plait.testing import Kit, TestDatabase

from ..harness import World
from .fan_out_jobs import Bench
from .nested_workflow import Tree


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
async def over(kit: Kit, plait_database: TestDatabase) -> AsyncIterator[World]:
    """The words of plait's own tests over the same database; at its end, what must always hold is looked at."""
    world = await World.open(plait_database)
    yield world
    await world.check()
    await world.close()


@pytest.fixture
def bench(app: Plait) -> Bench:
    return Bench(app)


@pytest.fixture
def tree(app: Plait) -> Tree:
    return Tree(app)
