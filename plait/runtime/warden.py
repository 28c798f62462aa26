"""The warden of one command: a separate process that starts the command and ends all processes that the command started.

It runs as a plain script, `python -I -S warden.py`, imports nothing from plait, and gets its instructions from the worker on its standard
input: one line of JSON with the command to start. When the input ends, because the worker has closed it or has died, even by kill -9, all
processes that the command has started are ended too. The warden adopts orphaned descendants (it is a subreaper), so a child that forks twice
or calls setsid is found too (T102). It exits with the command's exit code when no process is left.

The warden is two processes, a keeper and its child, since an operator or the OOM killer may kill either of them. If the child
dies, the keeper inherits its processes and ends them. If the keeper dies, the kernel signals the child, which ends them.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

GRACE_S = 0.5
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
NOT_STARTED = 127


def main() -> int:
    line = sys.stdin.buffer.readline()
    if not line:
        return NOT_STARTED  # the worker ended before it sent the request
    asked = json.loads(line)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # only the worker stops it; otherwise the command could outlive it
    keeper = os.getpid()
    warden = os.fork()
    if warden == 0:
        os._exit(_watch(asked, libc, keeper))
    code = None
    while code is None:
        pid, status = os.waitpid(-1, 0)
        if pid == warden:
            code = os.waitstatus_to_exitcode(status)
    _kill_all()
    return _plain(code)


def _watch(asked: dict, libc: ctypes.CDLL, keeper: int) -> int:  # type: ignore[type-arg]  # plain JSON
    """The keeper's child: start the command, and end it when the worker or the keeper is gone; returns its exit code."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    for number in (signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        _become(asked, libc)
    code = None
    while code is None:
        over = os.getppid() != keeper
        if not over:
            ready, _, _ = select.select([sys.stdin.fileno(), woken], [], [])
            if woken in ready:
                os.read(woken, 4096)
            over = sys.stdin.fileno() in ready
        code = _reap(child)
        if over and code is None:
            code = _end(child)
    _kill_all()
    return _plain(code)


def _plain(code: int) -> int:
    """The exit code as a shell reports it: 128 plus the signal's number."""
    return code if code >= 0 else 128 - code


def _become(asked: dict, libc: ctypes.CDLL) -> None:  # type: ignore[type-arg]  # plain JSON
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.setsid()
        os.execve(asked["argv"][0], asked["argv"], asked["env"])  # noqa: S606 - an argv from the worker's own allow-list, no shell
    except OSError as error:
        os.write(2, f"the command cannot be started: {error}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _reap(child: int) -> int | None:
    """Reap all ended processes; returns the command's exit code if it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)


def _end(child: int) -> int:
    """Send SIGTERM to all processes, wait a moment, and kill them."""
    for pid in list(_descendants()):
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        code = _reap(child)
        if code is not None:
            return code
        time.sleep(0.01)
    return -signal.SIGKILL


def _kill_all() -> None:
    """Kill all descendants. Repeats until none is left, because some may fork while others are killed."""
    while True:
        left = list(_descendants())
        for pid in left:
            _signal(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            if not left:
                return
        time.sleep(0.002)


def _descendants() -> Iterator[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            except OSError:
                continue  # it has just ended
            if state != b"Z":
                parents[int(entry.name)] = int(parent)
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= more
    yield from mine - {os.getpid()}


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has just ended, or belongs to another user
        os.kill(pid, number)


if __name__ == "__main__":
    os._exit(main())
