"""The keeper's process, from the start to the stop of one server. The package's docstring describes the protocol."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from .files import Lock, Unsafe, inherit_owner, open_file, refuse_links
from .server import Found, find_server

LOG_LIMIT = 10 * 1024 * 1024
PR_SET_PDEATHSIG = 1
TICK = 0.5


class Plan(NamedTuple):
    """The starter's request to its keeper. (A NamedTuple: dataclasses would double the time to import.)"""

    place: str
    bin_dir: str
    user: tuple[int, int, list[int]] | None
    "uid, gid and groups of Postgres if the keeper runs as root"
    socket_dir: str
    port: int
    initdb_options: list[str]
    server_options: list[str]
    settings: dict[str, str]
    "the settings that the starter requested, published so that the next user can compare"
    linger: float
    lock_fd: int
    "keeper.lock, already locked"
    status_fd: int


class Failed(Exception):
    """The server could not be started, for the reason in the message."""


class Keeper:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        place = Path(plan.place)
        self.data, self.run, self.log = place / "data", place / "run", place / "log" / "postgres.log"
        self.address_file = self.run / "server.json"
        self.users = Lock(self.run / "users.lock")
        self.ready = Lock(self.run / "ready.lock")
        self.log_fd = open_file(self.log, os.O_RDWR | os.O_APPEND)
        self.log_start = os.fstat(self.log_fd).st_size
        self.postmaster: subprocess.Popen[bytes] | None = None
        "None while no server is running, and for an adopted server"
        self.stopping = False
        self.told = False
        self.wake = self._open_wake()
        self.signals = self._open_signals()
        self.socket_dir = Path(plan.socket_dir)
        self._give(self.socket_dir)
        # Loaded before any fork: between fork and exec nothing may be allocated or imported.
        self.libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def open(self) -> None:
        """Start the server and publish its address."""
        refuse_links(self.data)
        server = self._await_leftovers()
        if server is None:
            if not self.data.exists():
                self._init_cluster()
            elif self.plan.user and self.data.stat().st_uid != self.plan.user[0]:
                for path in (self.data, *self.data.rglob("*")):
                    self._give(path)
            server = self._start_postmaster()
        self._publish(server)

    def watch(self) -> None:
        """Return when the server must stop: after a signal, or when no process has used it for the linger time."""
        alone_since: float | None = None
        restarts: list[float] = []
        while True:
            hurried = self._doze(TICK)
            if self.stopping:
                return
            if self.postmaster.poll() is not None if self.postmaster else not self._find_running():
                self._restart(restarts)
            self._bound_log()
            if not self.users.try_exclusive():
                alone_since = None
                continue
            now = time.monotonic()
            alone_since = now if alone_since is None else alone_since
            if hurried or now - alone_since >= self.plan.linger:
                return  # still holding users.lock: new users wait until the keeper has exited
            self.users.release()

    def close(self) -> None:
        # First, so that other processes wait from now on and do not connect.
        self.ready.release()
        self.address_file.unlink(missing_ok=True)
        if self.postmaster:
            for request, patience in ((signal.SIGINT, 120), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)):
                self.postmaster.send_signal(request)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    say(f"postgres exited with {self.postmaster.wait(patience)}")
                    break
        if self.socket_dir.parent != self.run:
            shutil.rmtree(self.socket_dir, ignore_errors=True)
        # Released explicitly, because a process that the starter forked in the meantime may share the handle.
        fcntl.flock(self.plan.lock_fd, fcntl.LOCK_UN)

    def tell(self, answer: str) -> None:
        """Answer the starter, once: afterwards the pipe's descriptor number may belong to another file."""
        if not self.told:
            self.told = True
            with contextlib.suppress(BrokenPipeError):  # the starter no longer waits
                os.write(self.plan.status_fd, answer.encode())
            os.close(self.plan.status_fd)

    def log_tail(self) -> str:
        written = os.fstat(self.log_fd).st_size
        start = max(self.log_start, written - 4000)
        return os.pread(self.log_fd, written - start, start).decode(errors="replace").strip()

    def _await_leftovers(self) -> Found | None:
        """Wait until leftovers of an earlier keeper end. A server that does not end is returned, to be adopted."""
        lock = Lock(self.run / "server.lock")
        began = time.monotonic()
        settled: float | None = None
        try:
            while True:
                free = lock.try_exclusive()
                server = self._find_running()
                now = time.monotonic()
                settled = (settled or now) if server and server.ready else None
                if server is None and (free or now - began > 10):
                    # Locked for too long: held by a program that a query started, not by the server itself.
                    self._clear_stale()
                    return None
                # A server that is shutting down seems ready until it has handled its signal, so check more than once.
                if server and settled and now - settled > 1:
                    say(f"adopting the server with pid {server.pid}: this keeper did not start it and will not stop it")
                    return server
                if now - began > 60:
                    raise Failed(
                        f"an earlier server is still running on {self.data}, and this process must not stop it"
                    )
                self._pause(0.02)
        finally:
            lock.close()

    def _find_running(self) -> Found | None:
        return find_server(self.data, port=self.plan.port)

    def _clear_stale(self) -> None:
        """Remove stale files: Postgres does not start while any process has the pid that they contain, even an unrelated one."""
        for path in (self.data / "postmaster.pid", *self.socket_dir.glob(".s.PGSQL.*")):
            path.unlink(missing_ok=True)

    def _init_cluster(self) -> None:
        """Create the cluster in a temporary directory, so that an incomplete one is never used."""
        half = self.data.with_name("data.new")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(mode=0o700)
        self._give(half)
        with self._child("initdb", [f"--pgdata={half}", *self.plan.initdb_options], signal.SIGTERM) as initdb:
            try:
                while initdb.poll() is None:
                    self._pause(TICK)
            finally:
                if initdb.poll() is None:
                    initdb.terminate()
        if initdb.returncode:
            raise Failed(f"initdb exited with {initdb.returncode}\n{self.log_tail()}")
        half.rename(self.data)
        # initdb has synced the contents, but not the name of the directory.
        above = os.open(self.data.parent, os.O_RDONLY)
        os.fsync(above)
        os.close(above)

    def _start_postmaster(self) -> Found:
        options = ["-D", str(self.data), *self.plan.server_options]
        self.postmaster = self._child("postgres", options, signal.SIGINT)
        while True:
            if (code := self.postmaster.poll()) is not None:
                self.postmaster = None
                raise Failed(f"postgres exited with {code}\n{self.log_tail()}")
            server = self._find_running()
            if server and server.ready and server.pid == self.postmaster.pid:
                return server
            self._pause(0.005)

    def _restart(self, restarts: list[float]) -> None:
        """Restart Postgres after it exited unexpectedly, a limited number of times."""
        say(f"postgres exited unexpectedly with {self.postmaster.returncode if self.postmaster else 'an unknown code'}")
        self.postmaster = None
        self.ready.release()
        restarts.append(time.monotonic())
        if len(restarts) > 3 and restarts[-1] - restarts[-4] < 60:
            raise Failed(f"postgres keeps exiting unexpectedly\n{self.log_tail()}")
        self.open()

    def _child(self, program: str, arguments: list[str], death: signal.Signals) -> subprocess.Popen[bytes]:
        """Start a Postgres program that holds server.lock and that the kernel signals when the keeper dies."""
        lock = Lock(self.run / "server.lock")
        lock.try_exclusive()  # fails only if _await_leftovers decided to continue without it
        uid, gid, groups = self.plan.user or (None, None, None)
        keeper, libc = os.getpid(), self.libc

        def die_with_keeper() -> None:
            if libc is not None:
                libc.prctl(PR_SET_PDEATHSIG, int(death), 0, 0, 0)
            if os.getppid() != keeper:  # it died before the signal was set
                os._exit(1)

        try:
            return subprocess.Popen(  # noqa: S603 - the starter chooses the programs
                [str(Path(self.plan.bin_dir) / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=self.log_fd,
                stderr=self.log_fd,
                pass_fds=(lock.fd,),
                user=uid,
                group=gid,
                extra_groups=groups,
                preexec_fn=die_with_keeper,  # noqa: PLW1509 - we have no threads, and it must follow setuid
            )
        except OSError as error:
            raise Failed(f"{program} cannot be run: {error}") from error
        finally:
            lock.close()

    def _publish(self, server: Found) -> None:
        new = self.address_file.with_suffix(".new")
        new.unlink(missing_ok=True)
        with os.fdopen(open_file(new, os.O_WRONLY | os.O_EXCL), "w") as file:
            json.dump({**server._asdict(), "settings": self.plan.settings}, file)
        new.rename(self.address_file)
        fcntl.flock(self.ready.fd, fcntl.LOCK_EX)  # other processes hold it briefly, to check it

    def _give(self, path: Path) -> None:
        if self.plan.user:
            os.chown(path, self.plan.user[0], self.plan.user[1], follow_symlinks=False)

    def _bound_log(self) -> None:
        """Keep one older log. Postgres continues to write to the same file, which is truncated."""
        if os.fstat(self.log_fd).st_size > LOG_LIMIT:
            older = self.log.with_suffix(".log.1")
            older.unlink(missing_ok=True)
            with os.fdopen(open_file(older, os.O_WRONLY | os.O_EXCL), "wb") as copy, self.log.open("rb") as log:
                shutil.copyfileobj(log, copy)
            os.ftruncate(self.log_fd, 0)
            self.log_start = 0

    def _open_wake(self) -> int:
        path = self.run / "wake"
        if not path.is_fifo():
            os.mkfifo(path, 0o600)
            inherit_owner(path)
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)

    def _open_signals(self) -> int:
        ours, theirs = os.pipe()
        for end in (ours, theirs):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake up
        for request in (signal.SIGTERM, signal.SIGINT):
            signal.signal(request, self._ask_to_stop)
        return ours

    def _ask_to_stop(self, *_: object) -> None:
        self.stopping = True

    def _pause(self, seconds: float) -> None:
        """Sleep during the start. If a stop is requested, the start fails."""
        self._doze(seconds)
        if self.stopping:
            raise Failed("the keeper was asked to stop")

    def _doze(self, seconds: float) -> bool:
        """Sleep until a signal or a write to `run/wake`; returns whether there was a write."""
        readable, _, _ = select.select([self.signals, self.wake], [], [], seconds)
        for end in readable:
            os.read(end, 4096)
        return self.wake in readable


def say(message: str) -> None:
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [{os.getpid()}] {message}\n")


def main(plan: Plan) -> int:
    if os.fork():
        # The starter waits for this exit and has no child left, so no zombie stays in a long-lived process.
        os._exit(0)
    os.umask(0o077)
    keeper = Keeper(plan)
    try:
        keeper.open()
        keeper.tell("ready")
        say(f"serving {keeper.data}")
        keeper.watch()
    except (Failed, Unsafe) as failure:
        say(str(failure))
        keeper.tell(str(failure))
        return 0 if keeper.stopping else 1
    finally:
        keeper.close()
    return 0
