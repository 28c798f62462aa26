"""Two servers, one of which replicates the other, like Patroni or a managed Postgres on a small scale."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

from plait.embedded import postgres_binaries, postgres_place
from tests.waiting import eventually

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_retrieve_retry_interval": "200ms",
    "synchronous_commit": "on",
    "fsync": "on",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "wal_sender_timeout": "5s",
}


class Server:
    def __init__(self, directory: Path, bin_dir: Path, user: dict[str, Any], **settings: str) -> None:
        self._settings = SETTINGS | settings
        self.directory = directory
        self.port = _free_port()
        self._bin_dir = bin_dir
        self._user = user
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    async def make(self) -> None:
        await self._run(
            "initdb", "-D", self.directory, "-U", "postgres", "--auth=trust", "--no-sync", "--no-instructions"
        )

    async def follow(self, primary: "Server") -> None:
        """A copy of the primary, as it is now, that will follow it."""
        shutil.rmtree(self.directory, ignore_errors=True)
        from_ = ("-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres")
        await self._run("pg_basebackup", "-D", self.directory, *from_, "-R", "-X", "stream", "-c", "fast", "--no-sync")

    async def start(self) -> None:
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        with (self.directory.parent / f"{self.directory.name}.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                str(self._bin_dir / "postgres"), "-D", str(self.directory), "-p", str(self.port), *options,
                stdout=log, stderr=log, cwd="/", start_new_session=True, **self._user,
            )  # fmt: skip
        await eventually(self._answers, what="the start of a server", within=180)

    async def kill(self) -> None:
        """All of it, at once: nothing is written any more. Its children are no part of its process group: they are named one by one."""
        if self._process is not None and self._process.returncode is None:
            os.kill(self._process.pid, signal.SIGSTOP)  # so that it has no more of them
            for pid in (*_children(self._process.pid), self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await self._process.wait()

    async def promote(self) -> None:
        await self.execute("select pg_promote()")

    async def execute(self, sql: str) -> Any:
        connection = await asyncpg.connect(self.url, timeout=5)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    async def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.returncode is None, "the server has ended: look at its log"
        try:
            await self.execute("select 1")
        except (OSError, TimeoutError, asyncpg.PostgresError):
            return False
        return True

    async def _run(self, program: str, *arguments: object) -> None:
        process = await asyncio.create_subprocess_exec(
            str(self._bin_dir / program), *map(str, arguments),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd="/", **self._user,
        )  # fmt: skip
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()


class Pair:
    """`primary` takes writes, and acknowledges none that `standby` has not stored."""

    def __init__(self, primary: Server, standby: Server) -> None:
        self.primary = primary
        self.standby = standby

    async def fail_over(self) -> None:
        """The primary dies, the standby takes its place, and what is left of the old one is made its standby. Until then nothing is acknowledged."""
        await self.primary.kill()
        self.primary, self.standby = self.standby, self.primary
        await self.primary.promote()
        await self.attach()

    async def attach(self) -> None:
        await self.primary.execute("alter system set synchronous_standby_names = '*'")
        await self.standby.follow(
            self.primary
        )  # with this setting: when it takes over, it waits for a standby of its own
        await self.standby.start()
        await self.primary.execute("select pg_reload_conf()")
        await eventually(self._in_step, what="a standby that is in step", within=180)

    async def _in_step(self) -> bool:
        state = await self.primary.execute("select sync_state from pg_stat_replication")
        return state in ("sync", "quorum")

    def url(self, url: str) -> str:
        """A URL that leads to whichever takes writes."""
        here, there = (f"127.0.0.1:{server.port}" for server in (self.primary, self.standby))
        return f"{url.replace(here, f'{here},{there}')}?target_session_attrs=read-write"


@asynccontextmanager
async def pair() -> AsyncIterator[Pair]:
    async with _servers("one", "two") as (one, two):
        yield Pair(one, two)


@asynccontextmanager
async def alone(**settings: str) -> AsyncIterator[Server]:
    """One server, with settings of its own."""
    async with _servers("one", **settings) as [server]:
        yield server


@asynccontextmanager
async def _servers(*names: str, **settings: str) -> AsyncIterator[list[Server]]:
    """The first of them runs."""
    directory = Path(tempfile.mkdtemp(prefix="pl-", dir="/tmp"))
    binaries = postgres_binaries.find(None)
    account = postgres_place.make_place(directory, binaries.version).account
    user: dict[str, Any] = {}
    if account is not None:
        os.chown(directory, account.uid, account.gid)
        directory.chmod(0o700)
        user = {"user": account.uid, "group": account.gid, "extra_groups": []}
    bin_dir = binaries.runnable_by(account).bin_dir
    servers = [Server(directory / name, bin_dir, user, **settings) for name in names]
    try:
        await servers[0].make()
        await servers[0].start()
        yield servers
    finally:
        for server in servers:
            await server.kill()
        shutil.rmtree(directory, ignore_errors=True)


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
