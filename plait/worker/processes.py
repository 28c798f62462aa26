"""Processes for handlers with isolation="process": each runs one at a time, and can be killed.

A child is started when it is first needed, imports the application once, and is used again while it behaves. It is in a session
of its own, so that its whole group can be killed, and dies with this process whatever happens (a death signal, where there is
one; else it notices that its socket has closed).
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from typing import Any

import msgspec

from plait.model.states import Ending
from plait.worker import outcomes
from plait.worker.child import read_message, write_message
from plait.worker.outcomes import Finished
from plait.worker.run import Run

_TERM_GRACE_S = 1.0
START_S = 60.0
"""How long a new process may take to import the application: not the handler's time, but not for ever either."""


class Processes:
    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(max(1, limit))
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()

    async def run(self, run: Run) -> Finished:
        async with self._free:
            child = self._idle.pop() if self._idle else await _Child.start()
            self._all.add(child)
            run.begin(after_s=START_S)
            try:
                finished = await child.run(run)
            except asyncio.CancelledError:
                await self._discard(child)
                raise
            except (EOFError, OSError, msgspec.MsgspecError):
                code = await self._discard(child)
                return outcomes.failed(_died(code), reason="process_died", pid=child.pid, exit_code=code)
            self._idle.append(child)
            return finished

    async def close(self) -> None:
        for child in list(self._all):
            await self._discard(child)

    async def _discard(self, child: "_Child") -> int | None:
        self._all.discard(child)
        if child in self._idle:
            self._idle.remove(child)
        # Shielded: when the worker stops hard while this waits, the child must still be gone.
        return await asyncio.shield(child.kill())


class _Child:
    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self.pid = process.pid

    @classmethod
    async def start(cls) -> "_Child":
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "plait.worker.child",
                str(theirs.fileno()),
                str(os.getpid()),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        reader, writer = await asyncio.open_connection(sock=ours, limit=2**24)
        return cls(process, reader, writer)

    async def run(self, run: Run) -> Finished:
        await write_message(self._writer, _request(run))
        while True:
            message = await read_message(self._reader)
            if "started" in message:
                run.begin()
                continue
            if "progress" in message:
                run.report(message["progress"])
                continue
            detail = message["detail"]
            if message["ending"] != Ending.SUCCEEDED:
                detail = msgspec.json.encode({**msgspec.json.decode(detail or b"{}"), "pid": self.pid}).decode()
            return Finished(Ending(message["ending"]), message["result"], detail)

    async def kill(self) -> int | None:
        """End the child and its process group, gently first; its exit code."""
        for number, wait_s in ((signal.SIGTERM, _TERM_GRACE_S), (signal.SIGKILL, 10.0)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), wait_s)
                break
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # what the handler itself had started
        self._writer.close()
        return self._process.returncode


def _request(run: Run) -> dict[str, Any]:
    function, claimed = run.definition.function, run.claimed
    return {
        "module": function.__module__,
        "file": getattr(sys.modules.get(function.__module__), "__file__", None),
        "qualname": function.__qualname__,
        "definition": claimed.definition,
        "payload": claimed.payload,
        "job_id": str(claimed.job_id),
        "attempt": claimed.attempt,
        "tries": claimed.tries,
        "max_attempts": claimed.max_attempts,
        "tenant_id": str(claimed.tenant_id),
        "queue": claimed.queue,
        "correlation_id": claimed.correlation_id,
        "worker": run.durables.worker if run.durables else None,
        "timeout_s": claimed.timeout_s or run.definition.timeout_s,
    }


def _died(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was killed by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"
