"""Claims that wait for jobs, and the listener that wakes them.

An HTTP worker that finds no job records that it is waiting, as a native worker does. From then on, each enqueue sends a notification. One connection of
this process listens for all waiting claims. Notifications only reduce latency: waiting claims also poll, and poll more often without a listener.
"""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from plait.store.database import Database
from plait.store.listener import Listener

LISTENING_S: Final = (0.0, 0.03, 1.0)
"""Polling intervals of a waiting claim; the last interval repeats. The first poll is immediate, because a job may have arrived before the claim
recorded that it waits. The second is soon, because only one of many concurrent enqueues notifies."""
POLLING_S: Final = (0.05, 0.1, 0.2, 0.4)
"""Polling intervals without a listener."""


@dataclass(eq=False, slots=True)
class WaitingClaim:
    queues: frozenset[str]
    pauses: tuple[float, ...]
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    looks: int = 0

    async def wait(self, most: float) -> None:
        """Wait for a notification, or until the next poll is due."""
        pause = self.pauses[min(self.looks, len(self.pauses) - 1)]
        self.looks += 1
        try:
            async with asyncio.timeout(min(pause, most)):
                await self.woken.wait()
            self.looks = 1  # poll now, and once more soon
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
        """Listen until canceled."""
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
