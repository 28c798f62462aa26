"""Streams: ordered items that a handler writes while it runs, for readers of the job.

An item is identified by its position among the items that one branch of the handler writes to the stream. A handler that runs again from its
start, after a wait, a crash or a failure, writes its items again; the database ignores positions that it already has. Therefore a
handler must write the same items in every run.
"""

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, Final, NoReturn, Protocol

from plait.model.errors import InvalidArguments, LeaseLost, NotDurable, StreamClosed, StreamFull
from plait.model.redaction import hide_known
from plait.sdk.active_step import Step
from plait.sdk.argument_checks import check_stream_name
from plait.sdk.batches import Batches
from plait.sdk.branches import Branches, in_step
from plait.sdk.codec import encode
from plait.store.streams import CLOSED, FULL, STALE, StreamItem
from plait.store.workflows import Lease

MAX_ITEM: Final = 65_536
THREAD: Final = "thread"
"""The branch name of items that threads write."""


class Writing(Protocol):
    """The attempt that runs the handler."""

    def check_writable(self) -> None:
        """Raise an error if the handler has ended or its job is suspended."""

    def branches(self) -> Branches | None: ...
    def reading(self) -> AbstractContextManager[None]: ...
    def lost(self) -> None: ...


class AttemptStreams:
    """The streams of one attempt, with the positions of its branches."""

    def __init__(
        self,
        lease: Callable[[], Lease],
        run: Writing,
        batches: Batches[StreamItem, int],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """`lease` returns the current lease, which changes when a handler that waited in memory resumes."""
        self.loop = loop
        self._lease = lease
        self._run = run
        self._batches = batches
        self._positions: dict[tuple[str, str], int] = {}
        self._stored: dict[tuple[str, str], int] = {}
        """The last position that is stored, by this run or an earlier one."""

    def branch(self) -> str:
        """The branch of the running code."""
        outer = in_step.get()
        if isinstance(outer, Step):
            return outer.body().path
        branches = self._run.branches()
        return THREAD if branches is None else branches.here().path

    async def write(self, name: str, value: str | None) -> None:
        durable = self._run.branches() is not None and in_step.get() is None
        stored = self.put(name, self.branch(), value)
        if stored is not None:
            # Other branches receive no step's end during the write: the handler's next action must not depend on its duration.
            with self._run.reading() if durable else contextlib.nullcontext():
                self.check(name, await asyncio.shield(stored))

    def put(self, name: str, branch: str, value: str | None) -> "asyncio.Future[int] | None":
        """Append an item; None if an earlier run has written it."""
        self._run.check_writable()
        key = name, branch
        position = self._positions.get(key, 0)
        if value is not None:
            position = self._positions[key] = position + 1
            if position <= self._stored.get(key, 0):
                return None
        stored = self._batches.add(StreamItem(self._lease(), name, branch, position, value))
        stored.add_done_callback(lambda done: self._learn(key, done))
        return stored

    def _learn(self, key: tuple[str, str], done: "asyncio.Future[int]") -> None:
        if not done.cancelled() and done.exception() is None:
            self._stored[key] = max(self._stored.get(key, 0), done.result())

    def check(self, name: str, stored: int) -> None:
        if stored == STALE:
            self._run.lost()
            raise LeaseLost
        if stored == FULL:
            raise StreamFull
        if stored == CLOSED:
            raise StreamClosed(f"the stream {name!r} is closed")


class OwnStream:
    """A `plait.sdk.context.Stream` of an attempt."""

    def __init__(self, name: str, streams: AttemptStreams) -> None:
        check_stream_name(name)
        self.name = name
        self._streams = streams

    async def write(self, item: Any) -> None:
        await self._write(self._encode(item))

    async def close(self) -> None:
        await self._write(None)

    def write_sync(self, item: Any) -> None:
        self._write_sync(self._encode(item))

    def close_sync(self) -> None:
        self._write_sync(None)

    async def _write(self, value: str | None) -> None:
        if asyncio.get_running_loop() is not self._streams.loop:
            raise NotDurable("write must be called on the worker's event loop: use write_sync in threads")
        await self._streams.write(self.name, value)

    def _write_sync(self, value: str | None) -> None:
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop()
            raise NotDurable("write_sync would block this event loop: use `await stream.write(…)`")
        outer, done = in_step.get(), Future[int | None]()
        streams, branch = self._streams, outer.body().path if isinstance(outer, Step) else THREAD

        def put() -> None:
            try:
                stored = streams.put(self.name, branch, value)
            except BaseException as error:  # noqa: BLE001 - reported to the handler
                done.set_exception(error)
                return
            if stored is None:
                done.set_result(None)
            else:
                stored.add_done_callback(answer)

        def answer(stored: "asyncio.Future[int]") -> None:
            if stored.cancelled():
                done.cancel()
            elif error := stored.exception():
                done.set_exception(error)
            else:
                done.set_result(stored.result())

        # Use an empty context, so that tasks created here do not belong to the handler.
        streams.loop.call_soon_threadsafe(put, context=contextvars.Context())
        stored = done.result()
        if stored is not None:
            streams.check(self.name, stored)

    def _encode(self, item: Any) -> str:
        text = hide_known(encode(item, what=f"an item of the stream {self.name!r}"))
        if len(text) > MAX_ITEM or len(text.encode()) > MAX_ITEM:
            raise InvalidArguments(
                f"an item of the stream {self.name!r} must be JSON of at most {MAX_ITEM:,} bytes, got {len(text.encode()):,}"
            )
        return text


def no_streams(name: str) -> NoReturn:
    """Raise NotDurable: jobs with isolation="process" have no streams."""
    raise NotDurable(f"the stream {name!r} cannot be written: jobs with isolation='process' have no streams")
