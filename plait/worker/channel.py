"""The messages between a worker and a process that runs handlers for it.

A frame is a marker, a length and JSON. Every message from a child names its run: job, attempt, and a nonce that the worker created for
this run. The worker drops every other message, so code that outlives its job cannot write to the next job. If invalid bytes arrive, the
current run fails.
"""

import asyncio
import contextlib
import os
import select
import struct
import threading
from typing import Any, Final

import msgspec

from plait.model.errors import PlaitError
from plait.model.states import AttemptOutcome
from plait.store.logs import Level, LogEntry

_HEAD: Final = struct.Struct("!4sI")
_MARK: Final = b"plt1"
LARGEST: Final = 2**30
"""Maximum size of a message in bytes. A job with a larger result fails."""


class NoMessage(PlaitError):
    """The handler's process sent an invalid message to the worker."""


class ChannelClosed(PlaitError):
    """The handler closed its process's connection to the worker: a handler must close only descriptors that it opened."""


class Request(msgspec.Struct, kw_only=True):
    """A request to run a handler."""

    nonce: str
    job: str
    attempt: int
    module: str
    file: str | None
    qualname: str
    definition: str
    payload: str
    failed_attempts: int
    max_attempts: int
    tenant: str
    queue: str
    correlation_id: str | None
    worker: int | None
    timeout_s: float
    job_logs: Level | None
    """The minimum level of stored log lines; None: none are stored."""

    @property
    def run(self) -> tuple[str, int, str]:
        return self.job, self.attempt, self.nonce


class Message(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A child's message about a run: its handler starts, its progress, its log lines, or its outcome."""

    nonce: str
    job: str
    attempt: int
    started: bool = False
    progress: dict[str, Any] | None = None
    logs: list[LogEntry] | None = None
    outcome: AttemptOutcome | None = None
    result: str | None = None
    detail: str | None = None
    reusable: bool = True
    """Sent with an outcome: whether the job has left nothing behind in the process, so that the process may run another job."""

    @property
    def run(self) -> tuple[str, int, str]:
        return self.job, self.attempt, self.nonce


def framed(message: Request | Message) -> bytes:
    body = msgspec.json.encode(message)
    if len(body) > LARGEST:
        raise NoMessage(f"a message must be at most {LARGEST:,} bytes, got {len(body):,}")
    return _HEAD.pack(_MARK, len(body)) + body


async def read_message(reader: asyncio.StreamReader) -> Message:
    """Read the next message. Raises EOFError at the end of the channel, and NoMessage for invalid data."""
    try:
        length = _length(await reader.readexactly(_HEAD.size))
        return msgspec.json.decode(await reader.readexactly(length), type=Message)
    except asyncio.IncompleteReadError:
        raise EOFError from None
    except msgspec.MsgspecError as error:
        raise NoMessage(f"{NoMessage.__doc__} ({error})") from None


def _length(head: bytes) -> int:
    mark, length = _HEAD.unpack(head)
    if mark != _MARK or length > LARGEST:
        raise NoMessage
    return int(length)


class Channel:
    """The child's end of the channel. It belongs to the process that opened it; a forked copy can neither read nor write."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pid = os.getpid()
        self._identity = _identity(fd)
        self._sending = threading.Lock()  # a handler may report progress from its own threads
        os.set_inheritable(fd, False)
        os.register_at_fork(after_in_child=self._leave)

    @property
    def is_ours(self) -> bool:
        return os.getpid() == self._pid

    def receive(self) -> Request | None:
        """The next request; None if the worker has exited."""
        head = self._read(_HEAD.size)
        body = None if head is None else self._read(_length(head))
        return None if body is None else msgspec.json.decode(body, type=Request)

    def send(self, message: Message) -> None:
        data = memoryview(framed(message))
        with self._sending:
            self._write(data)

    def try_send(self, message: Message) -> bool:
        """Send a message unless that would have to wait; returns whether it was sent."""
        if not self._sending.acquire(blocking=False):
            return False
        try:
            self._check()
            if not select.select([], [self._fd], [], 0)[1]:
                return False
            self._write(memoryview(framed(message)))
            return True
        finally:
            self._sending.release()

    def _write(self, data: memoryview) -> None:
        while data:
            self._check()
            data = data[os.write(self._fd, data) :]

    def _read(self, count: int) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            self._check()
            part = os.read(self._fd, min(count - len(data), 2**20))
            if not part:
                return None
            data += part
        return bytes(data)

    def _check(self) -> None:
        """Check that the descriptor is still the channel: it may have been closed and reused."""
        if _identity(self._fd) != self._identity:
            raise ChannelClosed

    def _leave(self) -> None:
        """Close the channel in a forked copy."""
        self._sending = threading.Lock()  # another thread may have held the lock
        with contextlib.suppress(OSError):
            if _identity(self._fd) == self._identity:
                os.close(self._fd)
        self._identity = None


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino
