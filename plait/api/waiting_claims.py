"""Claims that wait for work, and the one listener that wakes them.

A worker over HTTP that finds nothing says so in its row, like a native one, and enqueues notify from then on. One connection of this
process listens for all who wait. Notifications are only for speed: who waits looks again now and then anyway, more often where nobody listens.
"""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from plait.store.database import Database
from plait.store.listener import Listener

LISTENING_S: Final = (0.0, 0.03, 1.0)
"""How long a claim waits between two looks, the last goes on: at once, since a job may have come before it said that it sleeps; and
soon, since of many enqueues at once only one notifies."""
POLLING_S: Final = (0.05, 0.1, 0.2, 0.4)
"""The same where nobody listens."""


@dataclass(eq=False, slots=True)
class WaitingClaim:
    queues: frozenset[str]
    pauses: tuple[float, ...]
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    looks: int = 0

    async def wait(self, most: float) -> None:
        """Until there may be work, or it is time to look."""
        pause = self.pauses[min(self.looks, len(self.pauses) - 1)]
        self.looks += 1
        try:
            async with asyncio.timeout(min(pause, most)):
                await self.woken.wait()
            self.looks = 1  # look now, and once more soon
        except TimeoutError:
            pass
        self.woken.clear()


class WaitingClaims:
    def __init__(self) -> None:
        self._waiting: set[WaitingClaim] = set()
        self.listening = False

    @contextmanager
    def waiting(self, queues: Collection[str]) -> Iterator[WaitingClaim]:
        one = WaitingClaim(frozenset(queues), LISTENING_S if self.listening else POLLING_S)
        self._waiting.add(one)
        try:
            yield one
        finally:
            self._waiting.discard(one)

    async def listen(self, database: Database) -> None:
        """Until canceled."""
        try:
            await Listener(database, self._heard).run()
        finally:
            self.listening = False

    def wake_all(self) -> None:
        self._heard("queue", "*")

    def _heard(self, kind: str, name: str) -> None:
        self.listening = True
        for one in self._waiting:
            if kind == "queue" and (name == "*" or name in one.queues):
                one.woken.set()
