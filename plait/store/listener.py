"""Notifications: work for our queues, or a job of ours to cancel. Only for speed: polling finds everything too.

LISTEN on a connection that has silently died hears nothing, so the listener notifies itself now and then, and connects again
when its own word does not come back.
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
    """`heard(kind, name)` is called for each notification: ("queue", its name) or ("cancel", a worker's id)."""

    def __init__(self, database: Database, heard: Callable[[str, str], None]) -> None:
        self._database = database
        self._heard = heard
        self._echo = asyncio.Event()
        self._retry = Retry(
            "listener",
            database.outage,
            failing="notifications do not arrive; polling goes on",
            recovered="notifications arrive again",
        )
        self.listening = False
        """Whether its last word to itself came back."""
        self.notifications = 0

    async def run(self) -> None:
        """Until canceled."""
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
            self._heard("queue", "*")  # what came while nobody listened
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
