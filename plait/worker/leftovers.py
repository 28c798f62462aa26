"""Processes that a handler started and left behind, and forked copies of a process that runs handlers."""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import traceback
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from plait.sdk.context import running_attempt

_PR_SET_CHILD_SUBREAPER: Final = 36
_STARTING: Final = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"})
_MANY_ZOMBIES: Final = 100


class Descendants:
    """The descendants of this process. Must be created before the first handler runs. This process then adopts orphans, so a daemon that forks
    twice or calls setsid is found too. Without /proc, every started process counts as left behind."""

    def __init__(self) -> None:
        self._started = False
        if sys.platform == "linux":
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        else:
            sys.addaudithook(self._audit)

    def _audit(self, event: str, _arguments: Any) -> None:
        if event in _STARTING:
            self._started = True

    def any_left(self) -> bool:
        if sys.platform != "linux":
            return self._started
        children = list(_children(os.getpid()))
        return len(children) > _MANY_ZOMBIES or any(map(_runs, children))


def kill_descendants(pid: int) -> None:
    """Kill all descendants of `pid`, including processes in other sessions. `pid` must be alive, so that it adopts orphans. Repeats, since
    some may fork while others are killed."""
    for _ in range(20):
        found = list(_descendants(pid)) if sys.platform == "linux" else []
        if not found:
            return
        for one in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield from _descendants(child)
        if _runs(child):
            yield child


def _children(pid: int) -> Iterator[int]:
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from map(int, (task / "children").read_bytes().split())
    except FileNotFoundError:  # the kernel does not have these lists, or the process has just ended
        for entry in Path("/proc").glob("[0-9]*"):
            if _stat(int(entry.name))[1:] == [str(pid).encode()]:
                yield int(entry.name)
    except ProcessLookupError:
        return


def _runs(pid: int) -> bool:
    return _stat(pid)[:1] not in ([], [b"Z"], [b"X"])


def _stat(pid: int) -> list[bytes]:
    """The state and parent of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return []


class Original:
    """The worker's own process. A handler on its loop or in one of its threads may fork. The copy has the worker's memory and database
    connections, and must never act as the worker. It may run until the handler's code ends; then it exits."""

    def __init__(self) -> None:
        self.copied = False
        _originals.add(self)


_originals: "weakref.WeakSet[Original]" = weakref.WeakSet()
_forking_on: list[asyncio.AbstractEventLoop] = []


def _before_fork() -> None:
    _forking_on.clear()
    with contextlib.suppress(RuntimeError):
        _forking_on.append(asyncio.get_running_loop())


def _in_copy() -> None:
    if running_attempt() is None:
        return  # not forked by a handler: an application may fork before it starts its worker
    for original in list(_originals):
        original.copied = True
    for loop in _forking_on:
        # If a handler on the loop awaits in the copy, the copy ends there, before one of the worker's tasks runs in it. On a loop
        # whose queue is not accessible, it ends within that turn.
        loop.call_soon(end_copy, None)
        with contextlib.suppress(AttributeError):
            loop._ready.rotate(1)  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio's own queue


os.register_at_fork(before=_before_fork, after_in_child=_in_copy)


def end_copy(error: BaseException | None) -> NoReturn:
    """Exit from a forked copy whose handler has returned or raised an error, as a program does. The handler's outcome is ignored."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        traceback.print_exception(error)
        code = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code & 0xFF)
