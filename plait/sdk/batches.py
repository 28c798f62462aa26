"""Writes of many handlers that share one statement: writes that arrive during a statement are batched for the next one.

A single writer waits only for its own commit, and many writers share one. A statement whose reply was lost is sent again, so the
database must recognise a repeated write.
"""

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, repeat
from typing import Generic, TypeVar

from plait.model.errors import DatabaseUnreachable
from plait.store.database import is_transient

T = TypeVar("T")
R = TypeVar("R")

MAX_BATCH = 500
PAUSES_S = (0.05, 0.25, 1.0, 2.0)
"""Delays before each repetition of a statement whose reply was lost."""
PATIENCE_S, OUTAGE_S = 10.0, 60.0
"""No repetition begins after this time. The second value applies while the database is unavailable, which is not the handler's fault."""
CLOSE_S = 2.0


class _Write(Generic[T, R]):
    __slots__ = ("answered", "future", "item")

    def __init__(self, item: T, future: "asyncio.Future[R]") -> None:
        self.item = item
        self.future = future
        self.answered = False


class Batches(Generic[T, R]):
    """`send` stores a batch, and returns one answer for each item, in order."""

    def __init__(self, send: Callable[[Sequence[T]], Awaitable[Sequence[R]]]) -> None:
        self._store = send
        self._waiting: list[_Write[T, R]] = []
        self._sending: list[_Write[T, R]] = []
        self._flusher: asyncio.Task[None] | None = None

    def add(self, one: T) -> "asyncio.Future[R]":
        """A future with the answer. The write is sent even if its caller stops waiting."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._waiting.append(_Write(one, future))
        if self._flusher is None:
            # In an empty context: the task must not belong to the handler that happens to write first.
            self._flusher = contextvars.Context().run(loop.create_task, self._flush())
        return future

    def renew(self, canceled: "asyncio.Future[R]") -> "asyncio.Future[R] | None":
        """Another future for a write whose caller was canceled while it awaited the first one; None if the write was answered. With `asyncio.shield` every
        write would pay for a second future and its callbacks; this way only a canceled one does."""
        for write in chain(self._sending, self._waiting):
            if write.future is canceled and not write.answered:
                write.future = asyncio.get_running_loop().create_future()
                return write.future
        return None

    async def close(self) -> None:
        """Return when everything is stored, or when the database is not reachable."""
        if self._flusher is not None:
            _, late = await asyncio.wait({self._flusher}, timeout=CLOSE_S)
            for task in late:
                task.cancel()
                await asyncio.wait({task})

    async def _flush(self) -> None:
        try:
            while self._waiting:
                self._sending, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._send(self._sending)
        finally:
            self._flusher = None
            for write in self._waiting:  # the loop ends: these can no longer be sent
                write.future.cancel()
            self._sending, self._waiting = [], []

    async def _send(self, batch: list[_Write[T, R]]) -> None:
        try:
            answers = await self._surely([write.item for write in batch])
        except Exception as error:  # noqa: BLE001 - reported to the handlers
            if len(batch) > 1 and not isinstance(error, DatabaseUnreachable):  # one of them caused it: split the batch
                await self._send(batch[: len(batch) // 2])
                await self._send(batch[len(batch) // 2 :])
                return
            for write in batch:
                write.answered = True
                if not write.future.done():
                    write.future.set_exception(error)
                    write.future.exception()  # retrieved, even if its caller stopped waiting
        except BaseException:
            for write in batch:
                write.future.cancel()
            raise
        else:
            for write, answer in zip(batch, answers, strict=True):
                write.answered = True
                if not write.future.done():
                    write.future.set_result(answer)

    async def _surely(self, batch: list[T]) -> Sequence[R]:
        began = time.monotonic()
        for pause in chain(PAUSES_S, repeat(PAUSES_S[-1])):
            try:
                return await self._store(batch)
            except Exception as error:
                if not is_transient(error):
                    raise
                if time.monotonic() - began > (OUTAGE_S if isinstance(error, DatabaseUnreachable) else PATIENCE_S):
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable: the delays never end")
