"""The start/stop contract of a service, and the process that runs some of them until a signal comes.

A service runs until it is asked to stop, then finishes what it must, and returns. Asked again, it stops hard: it gives up
what it holds and returns at once. One process may run several; when one of them fails, all are stopped.
"""

import asyncio
import signal
from collections.abc import Sequence
from typing import Protocol

from plait.runtime.logging import get_logger

log = get_logger("service")


class Stop:
    """The wish to stop: first `gracefully`, then `now`."""

    def __init__(self) -> None:
        self._gracefully = asyncio.Event()
        self._now = asyncio.Event()

    def request(self) -> None:
        if self._gracefully.is_set():
            self._now.set()
        self._gracefully.set()

    @property
    def requested(self) -> bool:
        return self._gracefully.is_set()

    @property
    def hard(self) -> bool:
        return self._now.is_set()

    async def wait(self) -> None:
        await self._gracefully.wait()

    async def wait_hard(self) -> None:
        await self._now.wait()

    async def wait_for(self, seconds: float) -> bool:
        """Sleep, but no longer than until the wish comes; tells whether it has."""
        try:
            async with asyncio.timeout(seconds):
                await self._gracefully.wait()
        except TimeoutError:
            return False
        return True


class Service(Protocol):
    async def run(self, stop: Stop) -> None: ...


async def run_services(services: Sequence[Service], stop: Stop) -> None:
    """Run services until `stop`. The first that ends or fails stops the others."""

    async def run_one(service: Service) -> None:
        try:
            await service.run(stop)
        finally:
            if not stop.requested:
                stop.request()

    async with asyncio.TaskGroup() as group:
        for service in services:
            group.create_task(run_one(service))


class Signals:
    """While entered, SIGTERM and SIGINT ask to stop; a second one stops hard. Works as PID 1 too, since it installs handlers."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self.received: signal.Signals | None = None

    def __enter__(self) -> "Signals":
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._receive, number)
        return self

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    def _receive(self, number: signal.Signals) -> None:
        self.received = number
        log.info("stopping hard" if self._stop.requested else "stopping", signal=signal.Signals(number).name)
        self._stop.request()

    @property
    def exit_code(self) -> int:
        return 0 if self.received is None else 128 + self.received
