"""Follow jobs. All followers in this process share one query, which is sent at most every `FIRST_S`, and less often while nothing changes.

Items are not prefetched for a reader: a slow reader holds no items in memory and does not delay others.
"""

import asyncio
import contextvars
import time
from collections.abc import AsyncIterator
from typing import Final
from uuid import UUID

from plait.model.errors import InvalidArguments, NotFound, PlaitError
from plait.model.texts import shown
from plait.store import Store
from plait.store.database import is_transient
from plait.store.streams import Following, News

FIRST_S: Final = 0.02
LAST_S: Final = 0.5
GROWTH: Final = 1.3
MAX_BATCH: Final = 500
PATIENCE_S: Final = 30.0
"""How long the database may be unavailable before followers get an error."""


class Follower:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[asyncio.Future[News], Following] = {}
        self._poller: asyncio.Task[None] | None = None
        self._arrived = asyncio.Event()

    async def stream(
        self, job_id: UUID, tenant_id: UUID, name: str, *, after: int = 0
    ) -> AsyncIterator[tuple[int, str]]:
        """The items of a stream after the given number, each with its number, as JSON text. Ends when the stream does."""
        if not (type(after) is int and 0 <= after < 2**31):
            raise InvalidArguments(f"after must be the number of an item, got {shown(after)}")
        while True:
            news = await self.news(job_id, tenant_id, f"stream {name}", after)
            for number, value in news.items:
                after = number
                yield number, bytes(value).decode()
            if news.ended and not news.items:
                return

    async def news(self, job_id: UUID, tenant_id: UUID, subject: str, after: int) -> News:
        """Return new items or state as soon as there are any."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[News] = loop.create_future()
        self._waiting[future] = Following(job_id, tenant_id, subject, after)
        self._arrived.set()
        if self._poller is None:
            # Use an empty context, because a handler may follow another job.
            self._poller = contextvars.Context().run(loop.create_task, self._poll())
        try:
            news = await future
        finally:
            self._waiting.pop(future, None)
        if news.status is None:
            raise NotFound(f"there is no job {job_id}")
        return news

    async def close(self) -> None:
        self._fail(PlaitError("the app was closed while following a job"))
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.wait({self._poller})

    async def _poll(self) -> None:
        pause, reached = FIRST_S, time.monotonic()
        try:
            while self._waiting:
                try:
                    any_news = await self._ask()
                    reached = time.monotonic()
                except Exception as error:
                    if not is_transient(error) or time.monotonic() - reached > PATIENCE_S:
                        raise
                    any_news = False
                pause = FIRST_S if any_news else min(pause * GROWTH, LAST_S)
                self._arrived.clear()
                await asyncio.sleep(FIRST_S)
                try:
                    async with asyncio.timeout(max(0.0, pause - FIRST_S)):
                        await self._arrived.wait()
                    pause = FIRST_S
                except TimeoutError:
                    pass
        except Exception as error:  # noqa: BLE001 - reported to the followers
            self._fail(error)
        finally:
            self._poller = None
            for future in self._waiting:
                future.cancel()
            self._waiting = {}

    async def _ask(self) -> bool:
        """Query for all followers; returns whether anything was new."""
        asked, any_news = list(self._waiting.items()), False
        for start in range(0, len(asked), MAX_BATCH):
            part = asked[start : start + MAX_BATCH]
            for position, news in (await self._store.streams.follow([one for _, one in part])).items():
                any_news, future = True, part[position][0]
                self._waiting.pop(future, None)
                if not future.done():
                    future.set_result(news)
        return any_news

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting:
            if not future.done():
                future.set_exception(error)
