"""One system on a fresh database: its client, its workers, and the look into the database that ends every measurement."""

import asyncio
import json
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg

from bench import environments, processes
from bench.server import Postgres
from bench.systems import System
from plait.store.migrate import migrate
from plait.store.roles import DEV_LOGIN, ensure_dev_login

ROOT = Path(__file__).parent.parent
READY_S = 60.0
STOP_S = 10.0


class Failed(Exception):
    """The system did not do what it was asked to do; the message has the last lines of its log."""


class Process:
    """A driver, in a session of its own, that speaks in lines."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.pid = process.pid

    @classmethod
    async def start(cls, argv: list[str], env: Mapping[str, str], log: Path) -> "Process":
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=dict(env),
                cwd=ROOT,
                start_new_session=True,
            )
        return cls(process, log)

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")

    async def hear(self, timeout_s: float | None = None) -> str:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(timeout_s):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise Failed(f"silent for {timeout_s} s: {self.last_words()}") from None
        if not line:
            raise Failed(f"ended: {self.last_words()}")
        return line.decode().strip()

    async def stop(self) -> None:
        """End of input is the wish to stop; who does not heed it is killed, with all that it started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._process.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            await self._process.wait()

    def last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return " / ".join(line.strip() for line in lines[-4:])[-600:] or "without a word"


class Crew:
    """Worker processes of one system, and what they have counted."""

    def __init__(self, members: list[Process]) -> None:
        self._members = members
        self._listening: list[asyncio.Task[None]] = []
        self._begun = asyncio.Event()
        self.begun_at = 0.0
        self.counted = 0

    def go(self) -> None:
        for member in self._members:
            member.tell("go")
            self._listening.append(asyncio.create_task(self._listen(member)))

    async def wait_until_begun(self, timeout_s: float = READY_S) -> None:
        """Until the first handler of any of them runs."""
        begun = asyncio.create_task(self._begun.wait())
        try:
            await asyncio.wait([begun, *self._listening], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
        self.check()
        if not self._begun.is_set():
            raise Failed(f"no job began within {timeout_s:.0f} s: {self._members[0].last_words()}")

    def check(self) -> None:
        for task in self._listening:
            if task.done() and (error := task.exception()):
                raise error

    async def stop(self) -> None:
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        await asyncio.gather(*(member.stop() for member in self._members))

    def cpu_s(self) -> float:
        return sum(processes.cpu_s(member.pid) for member in self._members)

    def rss_mb(self) -> float:
        return max(processes.rss_mb(member.pid) for member in self._members)

    async def _listen(self, member: Process) -> None:
        while True:
            line = await member.hear()
            if line.startswith("+"):
                self.counted += int(line[1:])
            elif line.startswith("begun "):
                at = int(line.split()[1]) / 1e9
                self.begun_at = min(self.begun_at or at, at)
                self._begun.set()


class Contest:
    """One system, set up, with a client."""

    def __init__(self, postgres: Postgres, system: System, database: str, settings: Mapping[str, Any]) -> None:
        self._postgres = postgres
        self.system = system
        self.database = database
        self.settings = {**system.settings, **settings}
        self._stack = AsyncExitStack()
        self._place = Path(tempfile.mkdtemp(prefix="bench-"))
        self.latencies = self._place / "latencies"

    @classmethod
    @asynccontextmanager
    async def begin(
        cls, postgres: Postgres, system: System, settings: Mapping[str, Any] | None = None
    ) -> "AsyncIterator[Contest]":
        async with postgres.fresh_database() as database:
            contest = cls(postgres, system, database, settings or {})
            try:
                await contest._set_up()
                yield contest
            finally:
                await contest._stack.aclose()

    async def _set_up(self) -> None:
        if self.system.language == "plait":
            admin = self._postgres.url(self.database)
            await migrate(admin)
            await ensure_dev_login(admin)
        self._connection = await asyncpg.connect(self._postgres.url(self.database))
        self._stack.push_async_callback(self._connection.close)
        self.client = await self.new_client()
        await self.ask("setup")

    @property
    def url(self) -> str:
        """As what the system is to be used: plait refuses a superuser."""
        user = DEV_LOGIN if self.system.language == "plait" else "postgres"
        return self._postgres.url(self.database, user=user)

    async def new_client(self) -> Process:
        return await self._start("client")

    async def ask(self, order: str, *, client: Process | None = None, **details: Any) -> dict[str, Any]:
        client = client or self.client
        client.tell(json.dumps({"do": order, **details}))
        answer: dict[str, Any] = json.loads(await client.hear(600))
        return answer

    async def workers(self, count: int, *, go: bool = True) -> Crew:
        members = [await self._start("worker") for _ in range(count)]
        crew = Crew(members)
        self._stack.push_async_callback(crew.stop)
        for member in members:
            said = await member.hear(READY_S)
            if said != "ready":
                raise Failed(f"said {said!r} and not that it is ready: {member.last_words()}")
        if go:
            crew.go()
        return crew

    async def settle_down(self) -> None:
        """Statistics and a checkpoint for everybody, so that nobody pays for what came before."""
        await self._connection.execute("analyze")
        await self._connection.execute("checkpoint")

    async def unfinished(self) -> int:
        return int(await self._connection.fetchval(self.system.unfinished))

    async def finished(self) -> int | None:
        """How many jobs the database shows as finished; None where it keeps nothing of them."""
        return int(await self._connection.fetchval(self.system.finished)) if self.system.finished else None

    async def fetchval(self, sql: str, *arguments: Any) -> Any:
        return await self._connection.fetchval(sql, *arguments)

    async def execute(self, sql: str) -> None:
        await self._connection.execute(sql)

    async def written(self) -> int:
        """Bytes of WAL since the server was made."""
        return int(await self._connection.fetchval("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def server_cpu_s(self) -> float:
        return self._postgres.cpu_s()

    async def wait_until_done(self, crew: Crew, jobs: int, *, limit_s: float) -> float:
        """When the database showed no unfinished job; the time is CLOCK_MONOTONIC.

        Looks once a second, and every 5 ms from when the workers have counted nearly all: looking costs the server too.
        """
        deadline = time.monotonic() + limit_s
        looked_at = time.monotonic()
        while time.monotonic() < deadline:
            near = crew.counted >= jobs - 2000
            if near or time.monotonic() - looked_at > 1:
                looked_at = time.monotonic()
                if not await self.unfinished():
                    return looked_at
                crew.check()
            await asyncio.sleep(0.005)
        raise Failed(f"{await self.unfinished()} jobs are not done after {limit_s:.0f} s")

    async def _start(self, role: str) -> Process:
        env = {
            name: value for name, value in os.environ.items() if not name.startswith(("PLAIT_", "PG", "VIRTUAL_ENV"))
        }
        env |= {
            "BENCH_URL": self.url,
            "BENCH_SETTINGS": json.dumps(self.settings),
            "BENCH_LATENCIES": str(self.latencies),
            "PYTHONPATH": str(ROOT),
            "PYTHONNOUSERSITE": "1",
        }
        process = await Process.start(environments.command(self.system, role), env, self._place / f"{role}.log")
        if role == "client":
            self._stack.push_async_callback(process.stop)
        return process
