"""The process that runs handlers with isolation="process": `python -m plait.worker.handler_process FD PARENT`.

It has no database connection and answers only its worker, over one socket (channel.py). Only this process may answer, never a forked copy,
and only for the running job. After each job it reports whether it may run another. It may not if the handler has left behind
processes, or threads that used `current()`.
"""

import asyncio
import contextvars
import ctypes
import importlib
import importlib.util
import os
import signal
import sys
import threading
import time
from types import ModuleType
from typing import Any, Final, NoReturn
from uuid import UUID

from plait.model.errors import InvalidDefinition, NotDurable, TooLarge
from plait.model.states import AttemptOutcome
from plait.runtime.logging import configure
from plait.runtime.settings import Settings
from plait.sdk.context import Current, NoCurrentJob, ended, set_attempt
from plait.sdk.definition import Definition
from plait.sdk.job import Job
from plait.sdk.streams import no_streams
from plait.store.logs import LogEntry
from plait.worker import outcomes
from plait.worker.attempt_log import AttemptLog
from plait.worker.channel import Channel, ChannelClosed, Message, NoMessage, Request
from plait.worker.leftovers import Descendants, end_copy
from plait.worker.log_capture import capture
from plait.worker.outcomes import Finished

_PR_SET_PDEATHSIG: Final = 1
MAX_UNSENT: Final = 1_000_000
"""Characters of log lines that wait for the worker."""
CLOSED: Final = 74
"""The exit code of a child whose handler has closed its channel."""


def main() -> None:
    fd, parent = int(sys.argv[1]), int(sys.argv[2])
    _die_with(parent)
    settings = Settings()
    configure(level=settings.log_level, form=settings.log_format)
    descendants, channel = Descendants(), Channel(fd)
    capture()
    try:
        while (request := channel.receive()) is not None:
            attempt = _Attempt(request, channel)
            # Use a separate context: the next handler must not see this handler's context variables.
            finished = contextvars.copy_context().run(_handle, request, attempt, channel)
            attempt.end(finished, descendants)
    except ChannelClosed:
        os._exit(CLOSED)


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)  # the worker died before the death signal was set


def _handle(request: Request, attempt: "_Attempt", channel: Channel) -> Finished:
    try:
        definition = _find(request)
        arguments = definition.codec.decode_payload(request.payload)
        set_attempt(attempt)
        attempt.say(started=True)
        value = definition.function(**arguments)
        if asyncio.iscoroutine(value):
            value = asyncio.run(value)
    except BaseException as error:  # noqa: BLE001 - any error is the handler's outcome
        if not channel.is_ours:
            end_copy(error)
        return outcomes.raised(error)
    if not channel.is_ours:
        end_copy(None)
    try:
        return outcomes.succeeded(value, definition.codec)
    except TooLarge as large:
        return Finished(AttemptOutcome.SUCCEEDED, large.text)  # the worker stores it as an artifact
    except BaseException as error:  # noqa: BLE001 - encoding a value may raise anything
        return outcomes.raised(error)


def _find(request: Request) -> Definition:
    target: Any = _module(request.module, request.file)
    for name in request.qualname.split("."):
        target = getattr(target, name, None)
    if not isinstance(target, Job):
        raise InvalidDefinition(
            f"{request.module}.{request.qualname} cannot be found as a job in a new process: define it at module level"
        )
    return target.definition


def _module(name: str, file: str | None) -> ModuleType:
    if name != "__main__":
        return importlib.import_module(name)
    # The worker was started by a script. Load its file under another name, so that its `__main__` block does not run again.
    alias = "__plait_main__"
    if alias not in sys.modules:
        spec = importlib.util.spec_from_file_location(alias, file or "")
        if spec is None or spec.loader is None:
            raise InvalidDefinition("isolation='process' requires a job whose module is a file")
        sys.modules[alias] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[alias])
    return sys.modules[alias]


async def _no_last_report() -> NoReturn:
    raise NotDurable("jobs with isolation='process' cannot read the progress of earlier attempts")


class _Attempt:
    _late = False
    """Whether code that outlived its job has used plait. The process must not be reused then."""

    def __init__(self, request: Request, channel: Channel) -> None:
        self._request = request
        self._channel = channel
        self._deadline = time.monotonic() + request.timeout_s
        self._over = False
        self._threads: set[threading.Thread] = set()
        self._log = None if request.job_logs is None else AttemptLog(self._put, request.job_logs, threading.RLock())
        self._unsent: list[LogEntry] = []
        self._unsent_size = 0

    def durable(self) -> NoReturn:
        self._called()
        if self._over:
            raise NotDurable(self._refusal())
        raise NotDurable(
            "a job with isolation='process' cannot call steps: call the steps in an `async def` job, which runs this job with fan_out"
        )

    def branches(self) -> None:
        return None

    def log(self) -> AttemptLog | None:
        return None if self._over or not self._channel.is_ours else self._log

    def _put(self, _line: int, entry: LogEntry, must: bool) -> bool:
        """Send log lines at once. While the worker does not read them, they wait here, and then they are dropped."""
        if not must and self._unsent_size + entry.size > MAX_UNSENT:
            return False
        self._unsent.append(entry)
        self._unsent_size += entry.size
        request = self._request
        message = Message(nonce=request.nonce, job=request.job, attempt=request.attempt, logs=self._unsent)
        if self._channel.try_send(message):
            self._unsent, self._unsent_size = [], 0
        return True

    def current(self) -> Current:
        self._called()
        request = self._request
        return Current(
            job_id=UUID(request.job),
            attempt=request.attempt,
            failed_attempts=request.failed_attempts,
            max_attempts=request.max_attempts,
            tenant_id=UUID(request.tenant),
            definition=request.definition,
            queue=request.queue,
            correlation_id=request.correlation_id,
            deadline=self._deadline,
            report=self._report,
            open_stream=no_streams,
            last_report=_no_last_report,
            worker=request.worker,
        )

    def say(self, **said: Any) -> None:
        request = self._request
        self._channel.send(Message(nonce=request.nonce, job=request.job, attempt=request.attempt, **said))

    def end(self, finished: Finished, descendants: Descendants) -> None:
        """Send the outcome; later messages about this job are ignored."""
        if self._log is not None:
            self._log.end()
        self._over = True
        if self._unsent:
            self.say(logs=self._unsent)
        left = _Attempt._late or any(thread.is_alive() for thread in self._threads) or descendants.any_left()
        try:
            self.say(outcome=finished.outcome, result=finished.result, detail=finished.detail, reusable=not left)
        except NoMessage as error:
            failed = outcomes.failed(str(error), reason="bad_result", permanent=True)
            self.say(outcome=failed.outcome, detail=failed.detail, reusable=not left)

    def _report(self, progress: dict[str, Any]) -> None:
        self._called()
        if self._over or not self._channel.is_ours:
            raise NoCurrentJob(self._refusal())
        self.say(progress=progress)

    def _called(self) -> None:
        if self._over:
            _Attempt._late = True
        elif (thread := threading.current_thread()) is not threading.main_thread():
            self._threads.add(thread)

    def _refusal(self) -> str:
        if not self._channel.is_ours:
            return "this process was forked from the process that runs the job: only the original process can use plait"
        return ended(self._request.job, self._request.attempt)


if __name__ == "__main__":
    main()
