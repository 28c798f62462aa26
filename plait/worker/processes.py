"""Processes for handlers with isolation="process": each runs one handler at a time, and can be killed.

A child is started when it is first needed, imports the application once, and is reused as long as it works and its handlers leave
nothing behind. It has its own session, so that its whole process group can be killed, and it always dies with this process (by a death
signal if the system has one; otherwise it notices that its socket was closed). If a child fails, so does its current run. But if a
reused child fails before it has started the handler, an earlier job is the cause, so another child executes the run.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys

import msgspec

from plait.model.states import AttemptOutcome
from plait.runtime.logging import get_logger
from plait.worker import outcomes
from plait.worker.channel import ChannelClosed, NoMessage, Request, framed, read_message
from plait.worker.handler_process import CLOSED
from plait.worker.leftovers import kill_descendants
from plait.worker.outcomes import Finished
from plait.worker.run import Run

log = get_logger("worker")

_TERM_GRACE_S = 1.0
_EXIT_S = 5.0
"""How long a process may take to exit on its own after its channel was closed, so that its own exit code is reported."""
START_S = 60.0
"""How long a new process may take to import the application. This does not count as the handler's time."""


class Processes:
    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(max(1, limit))
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()

    async def run(self, run: Run) -> Finished:
        async with self._free:
            while self._idle:
                if (finished := await self._run_in(self._idle.pop(), run, reused=True)) is not None:
                    return finished
            finished = await self._run_in(await _Child.start(), run)
            assert finished is not None
            return finished

    async def _run_in(self, child: "_Child", run: Run, *, reused: bool = False) -> Finished | None:
        """The outcome; None if a reused child failed before it started the handler."""
        self._all.add(child)
        run.begin(after_s=START_S)
        try:
            finished = await child.run(run)
        except asyncio.CancelledError:
            await self._discard(child)
            raise
        except (EOFError, OSError, NoMessage) as error:
            try:
                cause, code = await child.cause(error)
            finally:
                await self._discard(child)
            if not reused or child.started:
                return outcomes.failed(cause, reason="process_died", pid=child.pid, exit_code=code)
            log.info(
                "process failed before it started its next job; another process will run the job",
                pid=child.pid,
                cause=cause,
            )
            return None
        if child.reusable:
            self._idle.append(child)
        else:
            with contextlib.suppress(asyncio.CancelledError):  # its outcome is known
                await self._discard(child)
        return finished

    async def close(self) -> None:
        for child in list(self._all):
            await self._discard(child)

    async def _discard(self, child: "_Child") -> None:
        self._all.discard(child)
        if child in self._idle:
            self._idle.remove(child)
        # Shielded, because the child must be ended even if the worker stops immediately.
        await asyncio.shield(child.kill())


class _Child:
    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._exited = asyncio.ensure_future(self._watch())
        self._killed = False
        self._dropped = False
        self.pid = process.pid
        self.started = False
        """Whether the handler of the last run has started."""
        self.reusable = True

    @classmethod
    async def start(cls) -> "_Child":
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "plait.worker.handler_process",
                str(theirs.fileno()),
                str(os.getpid()),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        reader, writer = await asyncio.open_connection(sock=ours, limit=2**24)
        return cls(process, reader, writer)

    async def run(self, run: Run) -> Finished:
        request = _request(run)
        self.started = False
        self._writer.write(framed(request))
        await self._writer.drain()
        while True:
            message = await read_message(self._reader)
            if message.run != request.run:
                self._drop(run)
            elif message.started:
                self.started = True
                run.begin()
            elif message.progress is not None:
                run.hear(message.progress)
            elif message.logs is not None:
                if (log_of_run := run.log()) is not None:
                    for entry in message.logs:
                        log_of_run.relay(entry)
            elif message.outcome is not None:
                self.reusable = self.reusable and message.reusable
                detail = message.detail
                if message.outcome is not AttemptOutcome.SUCCEEDED:
                    detail = msgspec.json.encode({**msgspec.json.decode(detail or b"{}"), "pid": self.pid}).decode()
                return Finished(message.outcome, message.result, detail)

    def _drop(self, run: Run) -> None:
        """Drop a message from code that an earlier job left behind."""
        self.reusable = False
        if not self._dropped:
            self._dropped = True
            log.warning("dropped a process's message about another job", pid=self.pid, **run.current().about())

    async def cause(self, error: Exception) -> tuple[str, int | None]:
        """Why the child no longer answers, and its exit code if it has exited on its own. Determined before it is killed, since the kill is
        not the cause."""
        if isinstance(error, NoMessage):
            return f"{error}; the process was killed", None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_S):
                await asyncio.shield(self._exited)
        code = self._process.returncode
        if self._killed:
            return "the worker killed its process", None
        if code is None or code == CLOSED:
            return str(ChannelClosed()), None
        return _died(code), code

    async def kill(self) -> None:
        """Terminate the child and all its descendants: SIGTERM first, then SIGKILL."""
        self._killed = True
        for number, wait_s in ((signal.SIGTERM, _TERM_GRACE_S), (signal.SIGKILL, 10.0)):
            if self._process.returncode is None:
                kill_descendants(self.pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await asyncio.shield(self._exited)
                break
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # processes that the handler started
        self._writer.close()

    async def _watch(self) -> None:
        """Close the channel after the process has ended and the remaining messages are read. A forked copy may keep it open."""
        await self._process.wait()
        asyncio.get_running_loop().call_later(1.0, self._writer.close)


def _request(run: Run) -> Request:
    function, claimed = run.definition.function, run.claimed
    return Request(
        nonce=secrets.token_hex(8),
        job=str(claimed.job_id),
        attempt=claimed.attempt,
        module=function.__module__,
        file=getattr(sys.modules.get(function.__module__), "__file__", None),
        qualname=function.__qualname__,
        definition=claimed.definition,
        payload=claimed.payload,
        failed_attempts=claimed.failed_attempts,
        max_attempts=claimed.max_attempts,
        tenant=str(claimed.tenant_id),
        queue=claimed.queue,
        correlation_id=claimed.correlation_id,
        worker=run.runtime.worker if run.runtime else None,
        timeout_s=claimed.timeout_s or run.definition.timeout_s,
        job_logs=run.runtime.job_logs.level if run.runtime and run.runtime.job_logs else None,
    )


def _died(code: int) -> str:
    if code < 0:
        return f"its process was killed by {signal.Signals(-code).name}"
    return f"its process exited with code {code}"
