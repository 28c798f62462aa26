"""Processes that use an embedded Postgres, the process table, and a bounded wait.

Every process that is ended here was started by the test: a user by its Popen, a keeper or a postmaster by the pid in the
test's own data directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from plait.embedded import postgres_binaries
from plait.embedded.postgres import Server

T = TypeVar("T")

USER = """
import json, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
from plait.embedded.postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1]), linger=0.2) as server:
    print(json.dumps({"socket_dir": str(server.socket_dir)}), flush=True)
    sys.stdin.read()
"""


def eventually(look: Callable[[], T], *, within: float = 120) -> T:
    """The first truthy answer; the only place in these tests that sleeps."""
    deadline = time.monotonic() + within
    while not (answer := look()):
        assert time.monotonic() < deadline, f"not within {within} s"
        time.sleep(0.02)  # sleep: other processes have no clock of ours; bounded by the deadline
    return answer


@contextlib.contextmanager
def using_process(data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that uses the server until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", USER, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that a test can press Ctrl-C on it alone
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                assert process.stdin
                process.stdin.close()
                process.wait(180)


def socket_of(process: subprocess.Popen[str]) -> str:
    """Where the process found its server, once it has."""
    assert process.stdout
    return str(json.loads(process.stdout.readline())["socket_dir"])


def postmasters(data_dir: Path) -> list[int]:
    """The Postgres processes that work in this data directory and whose parent is no Postgres."""
    servers = dict(_processes(data_dir))
    return [pid for pid, parent in servers.items() if parent not in servers]


def keeper_of(data_dir: Path) -> int:
    [postmaster] = postmasters(data_dir)
    return dict(_processes(data_dir))[postmaster]


def children_of(keeper: int, data_dir: Path) -> list[int]:
    return [pid for pid, parent in _processes(data_dir) if parent == keeper]


def _processes(data_dir: Path) -> Iterator[tuple[int, int]]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "exe").readlink().name == "postgres" and _is_below(process / "cwd", data_dir):
                # After the command's name in parentheses: the state, then the parent.
                yield int(process.name), int((process / "stat").read_text().rpartition(")")[2].split()[1])


def _is_below(link: Path, data_dir: Path) -> bool:
    places = {place.resolve() for place in data_dir.glob("pg*")}
    return link.readlink().parent in places


def is_running(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def cluster_state(data_dir: Path, version: int = 18) -> str:
    """The state in the cluster's control file: `shut down` after a clean stop."""
    program = postgres_binaries.find(None).bin_dir / "pg_controldata"
    told = subprocess.run(
        [program, data_dir / f"pg{version}" / "data"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout
    [line] = [line for line in told.splitlines() if line.startswith("Database cluster state")]
    return line.partition(":")[2].strip()


def query(server: Server, *statements: str) -> Any:
    """Run the statements, each committed by itself; the last one's first value."""

    async def run() -> Any:
        connection = await asyncpg.connect(server.url())
        try:
            for statement in statements[:-1]:
                await connection.execute(statement)
            return await connection.fetchval(statements[-1])
        finally:
            await connection.close()

    return asyncio.run(run())
