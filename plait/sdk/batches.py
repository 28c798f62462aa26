"""Writes of many handlers that share one statement: what comes while a statement is under way gathers for the next.

A lone writer waits for nothing but its own commit, and many pay for one. A statement whose reply was lost is sent again: whatever is
written this way must be recognised by the database when it comes twice.
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
"""Before each repetition of a statement whose reply was lost."""
PATIENCE_S, OUTAGE_S = 10.0, 60.0
"""No repetition begins after this time; the second one while the database is unavailable, which is no fault of the handler's."""
CLOSE_S = 2.0


class Batches(Generic[T, R]):
    """`send` stores a batch, and returns one answer for each of it, in order."""

    def __init__(self, send: Callable[[Sequence[T]], Awaitable[Sequence[R]]]) -> None:
        self._store = send
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._flusher: asyncio.Task[None] | None = None

    def add(self, one: T) -> "asyncio.Future[R]":
        """Its answer. It is sent also when nobody waits for that any more."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._waiting.append((one, future))
        if self._flusher is None:
            # In a context of nobody's: it is no task of the handler that comes first.
            self._flusher = contextvars.Context().run(loop.create_task, self._flush())
        return future

    async def close(self) -> None:
        """Return when all is stored; a database that does not answer is not waited for."""
        if self._flusher is not None:
            _, late = await asyncio.wait({self._flusher}, timeout=CLOSE_S)
            for task in late:
                task.cancel()
                await asyncio.wait({task})

    async def _flush(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._send(batch)
        finally:
            self._flusher = None
            for _, future in self._waiting:  # the loop ends: nobody is left to send these
                future.cancel()
            self._waiting = []

    async def _send(self, batch: "list[tuple[T, asyncio.Future[R]]]") -> None:
        try:
            answers = await self._surely([one for one, _ in batch])
        except Exception as error:  # noqa: BLE001 - it is the handlers' to handle
            if len(batch) > 1 and not isinstance(error, DatabaseUnreachable):  # one of them is at fault: halve
                await self._send(batch[: len(batch) // 2])
                await self._send(batch[len(batch) // 2 :])
                return
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # also when nobody waits for it any more
        except BaseException:
            for _, future in batch:
                future.cancel()
            raise
        else:
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)

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
        raise AssertionError("the pauses never end")
