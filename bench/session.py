"""One system on a fresh database: its client, its workers, and the query that ends every measurement."""

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

from bench import environments, processes
from bench.job_storage import JobStorage, Servers
from bench.systems import System

ROOT = Path(__file__).parent.parent
READY_S = 60.0
STOP_S = 10.0
LONGEST_ORDER_S = 600.0
STEERING = ("PLAIT_", "PG", "DBOS_", "OBAN_", "CELERY_", "VIRTUAL_ENV")
"""Prefixes of environment variables that must not reach a driver."""


class Failed(Exception):
    """The system failed; the message has the last lines of its log."""


class Process:
    """A driver process in its own session. It exchanges lines with the harness."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self._stopped = False
        self.pid = process.pid

    @classmethod
    async def start(cls, argv: list[str], env: Mapping[str, str], log: Path, tree: Path = ROOT) -> "Process":
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=dict(env),
                cwd=tree,
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
            raise Failed(f"no output for {timeout_s} s: {self.last_words()}") from None
        if not line:
            raise Failed(f"exited: {self.last_words()}")
        return line.decode().strip()

    async def stop(self) -> None:
        """Close the driver's input, which requests a stop. A process that does not stop is killed, with all its children."""
        if self._stopped:
            return  # its pid may have been reused
        self._stopped = True
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
        return " / ".join(line.strip() for line in lines[-4:])[-600:] or "no output"


class WorkerPool:
    """Worker processes of one system, and their counts."""

    def __init__(self, members: list[Process]) -> None:
        self._members = members
        self._listening: list[asyncio.Task[None]] = []
        self._begun = asyncio.Event()
        self._told = asyncio.Event()
        self.begun_at = 0.0
        self.counted = 0

    async def wait_until_ready(self) -> None:
        for member in self._members:
            said = await member.hear(READY_S)
            if said != "ready":
                raise Failed(f"expected `ready`, got {said!r}: {member.last_words()}")

    def go(self) -> None:
        for member in self._members:
            member.tell("go")
            self._listening.append(asyncio.create_task(self._listen(member)))

    async def wait_until_begun(self, timeout_s: float = READY_S) -> None:
        """Wait until the first handler runs in any worker."""
        begun = asyncio.create_task(self._begun.wait())
        try:
            await asyncio.wait([begun, *self._listening], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
        self.check()
        if not self._begun.is_set():
            raise Failed(f"no job began within {timeout_s:.0f} s: {self._members[0].last_words()}")

    @property
    def uncounted(self) -> int:
        """The number of jobs that may be done but not reported: a worker reports every 500 jobs."""
        return 600 * len(self._members)

    async def wait_for_more(self, timeout_s: float) -> None:
        """Wait until a worker reports more jobs."""
        self._told.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._told.wait()

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
                self._told.set()
            elif line.startswith("begun "):
                at = int(line.split()[1]) / 1e9
                self.begun_at = min(self.begun_at or at, at)
                self._begun.set()


class Session:
    """One system on a fresh storage, with a client."""

    client: Process

    def __init__(self, system: System, storage: JobStorage, settings: Mapping[str, Any]) -> None:
        self.system = system
        self.storage = storage
        self.settings = {**system.settings, **settings}
        self._stack = AsyncExitStack()
        self._place = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        self.latencies = self._place / "latencies"

    @classmethod
    @asynccontextmanager
    async def begin(
        cls, servers: Servers, system: System, settings: Mapping[str, Any] | None = None
    ) -> "AsyncIterator[Session]":
        async with servers.storage(system) as storage:
            session = cls(system, storage, settings or {})
            try:
                session.client = await session.new_client()
                await session.ask("setup")
                yield session
            finally:
                await session._stack.aclose()

    async def new_client(self) -> Process:
        client = await self._start("client")
        self._stack.push_async_callback(client.stop)
        return client

    async def ask(self, order: str, *, client: Process | None = None, **details: Any) -> dict[str, Any]:
        client = client or self.client
        client.tell(json.dumps({"do": order, **details}))
        answer: dict[str, Any] = json.loads(await client.hear(LONGEST_ORDER_S))
        return answer

    async def workers(self, count: int, *, go: bool = True) -> WorkerPool:
        pool = WorkerPool([await self._start("worker") for _ in range(count)])
        self._stack.push_async_callback(pool.stop)
        await pool.wait_until_ready()
        if go:
            pool.go()
        return pool

    async def wait_until_done(self, pool: WorkerPool, jobs: int, *, limit_s: float) -> float:
        """Wait until all jobs are finished. Returns the time by CLOCK_MONOTONIC.

        The query itself costs server time, so it is sent once a second, and more often only after the workers have counted nearly all jobs.
        """
        deadline = time.monotonic() + limit_s
        looked_at = time.monotonic()
        while time.monotonic() < deadline:
            near = pool.counted >= jobs - pool.uncounted
            if near or time.monotonic() - looked_at > 1:
                looked_at = time.monotonic()
                if not await self.storage.unfinished(jobs):
                    return looked_at
                pool.check()
            if near:
                await asyncio.sleep(max(0.002, time.monotonic() - looked_at))
            else:
                await pool.wait_for_more(1)
        left = await self.storage.unfinished(jobs)
        raise Failed(f"{left} of {jobs} jobs were unfinished after {limit_s:.0f} s")

    async def _start(self, role: str) -> Process:
        tree = environments.sources(self.system)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
        env = kept | {
            "BENCH_URL": self.storage.url,
            "BENCH_SETTINGS": json.dumps(self.settings),
            "BENCH_LATENCIES": str(self.latencies),
            "PYTHONPATH": str(tree),
            "PYTHONNOUSERSITE": "1",
        }
        return await Process.start(environments.command(self.system, role), env, self._place / f"{role}.log", tree)
