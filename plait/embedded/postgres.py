"""Embedded Postgres: a real server with nothing to install, started when first needed, shared, and stopped when no process uses it.

    with EmbeddedPostgres() as server:
        connection = await asyncpg.connect(server.url())

Several processes share one server. Each holds a lock while it uses the server; the kernel releases it even after SIGKILL. The keeper
(see the package `keeper` for the protocol) watches that lock and stops Postgres shortly after the last process has released it. This module never signals a
process: a process stops using the server by releasing its lock.

postgres_place.py determines the location of the files and, for root, the user that runs Postgres.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import quote

from plait.embedded import postgres_binaries, postgres_settings
from plait.embedded.keeper.files import Lock, Unsafe, open_file
from plait.embedded.keeper.process import LOG_LIMIT, Plan
from plait.embedded.postgres_errors import (
    DataDirectoryDenied,
    EmbeddedPostgresError,
    SettingsDiffer,
    StartFailed,
    StartTimeout,
    UnsafeDirectory,
)
from plait.embedded.postgres_place import Place, choose_data_dir, make_place

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "Server"]

POLL = 0.01
PROGRAM: Final = Path(__file__).parent
"""The directory that is run as the keeper, by its `__main__.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The address of a running server. It has no TCP port: access is protected by the socket's directory."""

    socket_dir: Path
    port: int
    data_dir: Path
    version: int

    def url(self, *, user: str = "postgres", database: str = "postgres") -> str:
        host = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{quote(user, safe='')}@/{quote(database, safe='')}?host={host}&port={self.port}"


class EmbeddedPostgres:
    """One use of a data directory's server. Threads may share the object, and one process may have several objects.

    A forked child counts as a user while it lives, but only the process that called `start` can release the server.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        bin_dir: Path | None = None,
        linger: float = 2.0,
        start_timeout: float = 60,
    ) -> None:
        self._data_dir = data_dir
        self._settings = postgres_settings.checked(settings or {})
        self._bin_dir = bin_dir
        self._linger = linger
        self._start_timeout = start_timeout
        self._mutex = threading.Lock()
        self._use: _Use | None = None

    def start(self) -> Server:
        """Start the server, or use one that is already running. Call it again to make sure that the server is still running."""
        with self._mutex:
            deadline = time.monotonic() + self._start_timeout
            try:
                use = self._use or self._join(deadline)
                try:
                    server = self._ensure(use, deadline)
                except BaseException:
                    if self._use is None:
                        use.let_go()
                    raise
            except Unsafe as error:
                raise UnsafeDirectory(str(error)) from None
            self._use = use
            return server

    def stop(self, *, wait: bool = True, timeout: float = 30) -> None:
        """Release the server. `wait`: if this was the last user, return when the server has stopped."""
        with self._mutex:
            use, self._use = self._use, None
        if use is None:
            return
        use.let_go()
        if wait:
            _wait_until_stopped(use.place.run, time.monotonic() + timeout)

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _join(self, deadline: float) -> _Use:
        data_dir = choose_data_dir(self._data_dir)
        binaries = postgres_binaries.find(self._bin_dir)
        place = make_place(data_dir, binaries.version)
        try:
            lock = Lock(place.run / "users.lock")
        except PermissionError as error:
            raise DataDirectoryDenied(str(error)) from error
        use = _Use(data_dir=data_dir, place=place, binaries=binaries, lock=lock, pid=os.getpid())
        try:
            # Locked while a keeper stops its server: wait until the keeper has exited.
            while not lock.try_shared():
                _pause(deadline, place)
        except BaseException:
            lock.close()
            raise
        return use

    def _ensure(self, use: _Use, deadline: float) -> Server:
        run = use.place.run
        while True:
            with contextlib.closing(Lock(run / "keeper.lock")) as lock:
                if lock.try_exclusive():
                    self._start_keeper(use, lock, deadline)
            if _is_ready(run) and (server := self._read_address(use)):
                return server
            _pause(deadline, use.place)

    def _start_keeper(self, use: _Use, lock: Lock, deadline: float) -> None:
        """Start a keeper that inherits the lock, and read its answer."""
        ours, theirs = os.pipe()
        try:
            try:
                plan = self._plan(use, lock.fd, theirs)
                _spawn(plan, use.place)
            finally:
                os.close(theirs)
            readable, _, _ = select.select([ours], [], [], max(0, deadline - time.monotonic()))
            if not readable:
                raise StartTimeout(_tails(use.place))
            # The pipe ended without an answer: the keeper failed, and its log has the reason.
            answer = os.read(ours, 16_384).decode(errors="replace") or _tails(use.place)
        finally:
            os.close(ours)
        if answer != "ready":
            raise StartFailed(answer)

    def _plan(self, use: _Use, lock_fd: int, status_fd: int) -> Plan:
        place, account = use.place, use.place.account
        binaries = use.binaries.runnable_by(account)
        socket_dir = _make_socket_dir(place)
        return Plan(
            place=str(place.path),
            bin_dir=str(binaries.bin_dir),
            user=(account.uid, account.gid, list(account.groups)) if account else None,
            socket_dir=str(socket_dir),
            port=postgres_settings.PORT,
            initdb_options=postgres_settings.initdb_options(binaries.version),
            server_options=postgres_settings.server_options(socket_dir, self._settings),
            settings=self._settings,
            linger=self._linger,
            lock_fd=lock_fd,
            status_fd=status_fd,
        )

    def _read_address(self, use: _Use) -> Server | None:
        try:
            said = json.loads((use.place.run / "server.json").read_text())
        except FileNotFoundError:
            return None  # it began to stop between the two checks
        differing = {name: value for name, value in self._settings.items() if said["settings"].get(name) != value}
        if differing:
            raise SettingsDiffer(f"requested the settings {differing}, but the server runs with {said['settings']}")
        return Server(
            socket_dir=Path(said["socket_dir"]),
            port=said["port"],
            data_dir=use.data_dir,
            version=use.binaries.version,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    data_dir: Path
    place: Place
    binaries: postgres_binaries.Binaries
    lock: Lock
    pid: int

    def let_go(self) -> None:
        # Unlocking, unlike closing, also releases the lock for forked children, which share it.
        if self.pid == os.getpid():
            self.lock.release()
        self.lock.close()


def _is_ready(run: Path) -> bool:
    with contextlib.closing(Lock(run / "ready.lock")) as lock:
        return not lock.try_shared()


def _pause(deadline: float, place: Place) -> None:
    if time.monotonic() > deadline:
        raise StartTimeout(_tails(place))
    time.sleep(POLL)


def _make_socket_dir(place: Place) -> Path:
    """The directory of the socket, which the keeper gives to Postgres's user. Postgres trusts every user who can enter it."""
    directory = place.run / "sock"
    if postgres_settings.fits_a_socket(directory):
        directory.mkdir(mode=0o700, exist_ok=True)
        return directory
    candidates = [Path(os.environ.get("XDG_RUNTIME_DIR", "")), Path(tempfile.gettempdir()), Path("/tmp")]  # noqa: S108 - mkdtemp below
    for candidate in candidates:
        short = candidate / "plait-12345678"
        reachable = place.account is None or place.account.barred_by(short) is None
        if candidate.is_absolute() and reachable and postgres_settings.fits_a_socket(short):
            with contextlib.suppress(OSError):
                return Path(tempfile.mkdtemp(prefix="plait-", dir=candidate))
    raise StartFailed(f"The path {directory} is too long for a socket, and no shorter directory was found.")


def _spawn(plan: Plan, place: Place) -> None:
    # The log gets a few lines per start, and is deleted when it is too large.
    log = place.log / "keeper.log"
    if os.path.lexists(log) and log.lstat().st_size > LOG_LIMIT:
        log.unlink()
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in os.environ}
    # Run by its path and isolated, so that nothing else from the package or the environment is imported or can interfere.
    command = [sys.executable, "-I", "-S", "-B", str(PROGRAM), json.dumps(plan._asdict())]
    with open(open_file(log, os.O_WRONLY | os.O_APPEND), "ab") as output:  # noqa: PTH123 - a descriptor
        starting = subprocess.Popen(  # noqa: S603 - our own interpreter and file
            command,
            cwd="/",  # so that the current directory can be deleted
            env={**kept, "TZ": "UTC", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(plan.lock_fd, plan.status_fd),
            start_new_session=True,
        )
        starting.wait()  # it forks the keeper and exits


def _tails(place: Place) -> str:
    parts = []
    for log in (place.log / "keeper.log", place.log / "postgres.log"):
        if log.exists():
            parts.append(f"{log}:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-20:]))
    return "\n".join(parts)


def _wait_until_stopped(run: Path, deadline: float) -> None:
    """Wake the keeper and wait until it has exited, unless another process uses the server."""
    with (
        contextlib.closing(Lock(run / "users.lock")) as users,
        contextlib.closing(Lock(run / "keeper.lock")) as gone,
    ):
        while time.monotonic() < deadline:
            if gone.try_exclusive():
                return
            if users.try_exclusive():
                users.release()
                _wake(run)  # unused, and the keeper lingers
            elif users.try_shared():
                return  # other processes use the server
            time.sleep(POLL)


def _wake(run: Path) -> None:
    # Opening fails if the keeper, which is the reader, has already exited.
    with contextlib.suppress(OSError):
        pipe = os.open(run / "wake", os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(pipe, b"!")
        finally:
            os.close(pipe)
