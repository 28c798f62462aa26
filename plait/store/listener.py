"""Notifications (LISTEN/NOTIFY) of new jobs and of cancellations. They only reduce latency: polling finds the same jobs.
A dead connection receives nothing and raises no error. So the listener notifies itself every 10 seconds, and reconnects if its own
notification does not arrive.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Final

import asyncpg

from plait.model.errors import PlaitError
from plait.runtime.outage import Retry
from plait.store.database import UNREACHABLE, Database

CHANNEL: Final = "plait"
SELF_TEST_S: Final = 10.0
ANSWER_S: Final = 3.0


class Listener:
    """`heard(kind, name)` is called for each notification, with ("queue", the queue's name) or ("cancel", a worker's id)."""

    def __init__(self, database: Database, heard: Callable[[str, str], None]) -> None:
        self._database = database
        self._heard = heard
        self._echo = asyncio.Event()
        self._retry = Retry(
            "listener",
            database.outage,
            failing="notifications do not arrive, polling instead",
            recovered="notifications arrive again",
        )
        self.listening = False
        """Whether the last notification to itself arrived."""
        self.notifications = 0

    async def run(self) -> None:
        """Run until canceled."""
        try:
            while True:
                try:
                    await self._listen()
                except (PlaitError, asyncpg.PostgresError, *UNREACHABLE) as error:
                    await asyncio.sleep(self._retry.failed(error))
        finally:
            self._retry.end()

    async def _listen(self) -> None:
        connection = await self._database.connect()
        try:
            await connection.add_listener(CHANNEL, self._receive)
            self._heard("queue", "*")  # notifications may have been missed meanwhile
            while True:
                self._echo.clear()
                async with asyncio.timeout(ANSWER_S):
                    await connection.execute("select pg_notify('plait', 'echo ' || pg_backend_pid())")
                    await self._echo.wait()
                self.listening = True
                self._retry.succeeded()
                await asyncio.sleep(SELF_TEST_S)
        finally:
            self.listening = False
            with contextlib.suppress(asyncpg.PostgresError, *UNREACHABLE):
                connection.terminate()

    def _receive(self, connection: Any, pid: int, _channel: str, payload: object) -> None:
        kind, _, name = str(payload).partition(" ")
        if kind == "echo":
            if pid == connection.get_server_pid():
                self._echo.set()
        else:
            self.notifications += 1
            self._heard(kind, name)
