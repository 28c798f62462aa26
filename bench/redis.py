"""The Redis server for celery and dramatiq: Debian's package, on a socket, with an append-only file.

If there is no redis-server, Debian's packages are downloaded and unpacked beside the peers' environments: nothing is installed, and no
service is started on the machine.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from bench import processes
from bench.environments import ENVIRONMENTS, Missing

# An append-only file with one fsync per second, as Redis does by default.
SETTINGS: Final = {"appendonly": "yes", "appendfsync": "everysec", "save": ""}
UNPACKED: Final = ENVIRONMENTS / "redis"
PACKAGES: Final = (
    "redis-server",
    "redis-tools",
    "libjemalloc2",
    "liblzf1",
    "libatomic1",
    "liblua5.1-0",
    "lua-cjson",
    "lua-bitop",
)
START_S: Final = 20.0


class Redis:
    def __init__(self, process: asyncio.subprocess.Process, socket: Path) -> None:
        self._process = process
        self._socket = socket
        self.url = f"redis+socket://{socket}"

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls) -> "AsyncIterator[Redis]":
        binary = await asyncio.to_thread(_binary)
        with tempfile.TemporaryDirectory(prefix="bench-redis-") as place:
            socket = Path(place) / "redis.sock"
            options = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)]
            # The server ends with this process, even if this process is killed.
            leash = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
            process = await asyncio.create_subprocess_exec(
                *leash, str(binary), "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700", "--dir", place, *options,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                env={**os.environ, "LD_LIBRARY_PATH": str(UNPACKED / "usr/lib/x86_64-linux-gnu")},
            )  # fmt: skip
            try:
                redis = cls(process, socket)
                async with asyncio.timeout(START_S):
                    while not socket.exists():  # noqa: ASYNC110 - Redis does not notify
                        await asyncio.sleep(0.02)
                yield redis
            finally:
                if process.returncode is None:
                    process.terminate()
                await process.wait()

    async def ask(self, *words: str, database: int = 0) -> str:
        """Send one command. Returns its reply without the type prefix."""
        reader, writer = await asyncio.open_unix_connection(str(self._socket))
        try:
            answer = ""
            for command in (("select", str(database)), words):
                writer.write(" ".join(command).encode() + b"\r\n")
                answer = (await reader.readline()).decode().strip()
            if answer.startswith("$"):
                answer = " " + (await reader.readexactly(int(answer[1:]))).decode()
            return answer[1:]
        finally:
            writer.close()

    async def empty(self) -> None:
        await self.ask("flushall")

    async def written(self) -> int:
        """The size of the append-only file in bytes."""
        lines = (await self.ask("info", "persistence")).splitlines()
        return int(next(line.partition(":")[2] for line in lines if line.startswith("aof_current_size:")))

    def cpu_s(self) -> float:
        return processes.cpu_s(self._process.pid)

    async def version(self) -> str:
        lines = (await self.ask("info", "server")).splitlines()
        return next(line.partition(":")[2] for line in lines if line.startswith("redis_version:"))


def _binary() -> Path:
    if found := shutil.which("redis-server"):
        return Path(found)
    unpacked = UNPACKED / "usr/bin/redis-server"
    if not unpacked.exists():
        _unpack()
    return unpacked


def _unpack() -> None:
    for tool in ("apt-get", "dpkg"):
        if not shutil.which(tool):
            raise Missing(f"requires Redis: redis-server is not installed, and there is no {tool} to download it with")
    with tempfile.TemporaryDirectory(prefix="bench-redis-") as place:
        fetched = subprocess.run(
            ["apt-get", "download", "-qq", *PACKAGES],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if fetched.returncode:
            raise Missing(f"requires Redis, and apt-get download failed: {fetched.stderr.strip()[-300:]}")
        for package in Path(place).glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), str(UNPACKED)], check=True, timeout=60)
