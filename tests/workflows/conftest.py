"""An app on a database with a fake clock, and a worker that runs until it is idle: the test kit of `plait.testing`."""

from collections.abc import AsyncIterator

import pytest

from plait import Plait
from plait.testing import Kit, TestDatabase

from ..harness import Harness
from .fan_out_jobs import FanOutJobs
from .nested_workflow import NestedWorkflow


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
async def app_harness(kit: Kit, plait_database: TestDatabase) -> AsyncIterator[Harness]:
    """A harness over the app's database. After the test, the invariants are checked."""
    harness = await Harness.open(plait_database)
    yield harness
    await harness.check()
    await harness.close()


@pytest.fixture
def fan_out_jobs(app: Plait) -> FanOutJobs:
    return FanOutJobs(app)


@pytest.fixture
def nested(app: Plait) -> NestedWorkflow:
    return NestedWorkflow(app)
