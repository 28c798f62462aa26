"""A duty that fails is retried, and does not affect the others."""

import asyncio

from plait import Plait
from plait.leader.leader import Leader
from plait.runtime.service import Stop
from plait.store import Store
from plait.testing import TestDatabase


class Broken:
    async def run(self, store: Store) -> float:
        raise KeyError("a column that is not there")


class Counted:
    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self.runs = 0

    async def run(self, store: Store) -> float:
        self.runs += 1
        if self.runs == 3:
            self._stop.request()
        return 0.0


class Failing(Counted):
    async def run(self, store: Store) -> float:
        await super().run(store)
        raise ValueError("each time")


async def test_a_broken_duty_does_not_end_the_others(database: TestDatabase) -> None:
    app, stop = Plait(database.url), Stop()
    counted = Counted(stop)
    async with asyncio.timeout(180):
        await Leader(app, duties=[Broken(), counted]).run(stop)
    assert counted.runs >= 3
    await app.close()


async def test_a_broken_duty_is_tried_again(database: TestDatabase) -> None:
    app, stop = Plait(database.url), Stop()
    failing = Failing(stop)
    async with asyncio.timeout(180):
        await Leader(app, duties=[failing]).run(stop)
    assert failing.runs >= 3
    await app.close()
