"""Service processes, and outages of their database."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import asyncpg

from plait.testing import TestDatabase
from tests.proxy import Proxy
from tests.waiting import eventually

Kind = Literal["half-open", "frozen", "read-only"]
KINDS: tuple[Kind, ...] = ("half-open", "frozen", "read-only")

PLAIT = "import sys; from plait.cli import main; sys.exit(main())"
BEGUN, OVER = "database unavailable", "database available again"


@dataclass
class Service:
    process: asyncio.subprocess.Process
    log: Path
    said: str

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def count(self, text: str) -> int:
        return self.log.read_text().count(text)

    async def logged(self, text: str, *, times: int = 1) -> None:
        async def is_there() -> bool:
            assert self.alive, self.log.read_text()[-3000:]
            return self.count(text) >= times

        await eventually(is_there, within=120, what=f"a line that says {text!r}")

    async def ended(self) -> int:
        async with asyncio.timeout(120):
            return await self.process.wait()


@asynccontextmanager
async def service(*arguments: str, log: Path, **environment: str) -> AsyncIterator[Service]:
    """tests.outages.service_main with these arguments, or `plait` with others; killed at the end of the block where it still runs."""
    command = ("-m", "tests.outages.service_main") if arguments[-1] in ("worker", "leader", "api") else ("-c", PLAIT)
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
            env={**os.environ, **environment},
        )
    assert process.stdout is not None
    try:
        said = (await process.stdout.readline()).decode().strip() if command[0] == "-m" else ""
        yield Service(process, log, said)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # to the end of its output, so that nothing stays open


@asynccontextmanager
async def outage(kind: Kind, database: TestDatabase, proxy: Proxy) -> AsyncIterator[None]:
    """From here to the end of the block; connections of before it may be dead for good."""
    match kind:
        case "half-open":
            proxy.swallow()
            yield
        case "frozen":
            proxy.cut()
            yield
            proxy.thaw()
        case "read-only":
            async with read_only(database):
                yield


@asynccontextmanager
async def read_only(database: TestDatabase) -> AsyncIterator[None]:
    """As during a switchover: sessions end, and those that come are read-only, of whom some stay so afterwards."""
    admin = await asyncpg.connect(database.admin_url)
    try:
        await admin.execute("set default_transaction_read_only = off")
        await admin.execute(f'alter database "{database.name}" set default_transaction_read_only = on')
        await end_sessions(admin)
        yield
        await admin.execute(f'alter database "{database.name}" reset default_transaction_read_only')
    finally:
        await admin.close()


async def end_sessions(admin: asyncpg.Connection, like: str = "%") -> None:
    """End all others' sessions on this database, or those whose last statement was like that."""
    await admin.fetch(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid() and query ilike $1",
        like,
    )
