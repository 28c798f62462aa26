"""One claimed job in this worker: running its handler, stopping it, and its outcome."""

import asyncio
import inspect
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from plait_client.logs import Logger
from plait_client.outcomes import Outcome, Stopped, Why
from plait_client.types import ClaimedJob, Held

PATIENCE: Final = 2.0
"""Seconds that a handler has to finish after it was asked to stop. Then its slot is freed, even if the handler is still running (T43, T103)."""
_TRACE: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")

Handler = Callable[[dict[str, Any], "Context"], Any]
Report = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Registered:
    handler: Handler
    timeout: float


@dataclass(frozen=True, slots=True)
class Context:
    """The job as seen by its handler, with methods to report progress."""

    job_id: str
    attempt: int
    failed_attempts: int
    """Attempts used, including this one. At most `max_attempts`."""
    max_attempts: int
    tenant_id: str
    definition: str
    queue: str
    correlation_id: str | None
    trace_id: str
    """The trace id of this attempt, 32 hexadecimal digits. It equals the correlation id if that has this form."""
    traceparent: str
    """The value of the `traceparent` header for outgoing requests."""
    log: Logger
    stopped: threading.Event = field(repr=False)
    """Set when the job must stop. An `async def` handler is canceled. A `def` handler must check this event."""
    _report: Report = field(repr=False)

    def progress(self, value: dict[str, Any]) -> None:
        """Report progress, which is shown with the job. Blocks: in an `async def` handler, use `await asyncio.to_thread(context.progress, …)`."""
        self._report(progress=value)

    def output(self, text: str) -> None:
        """Append output to the attempt, which keeps the last 64 KiB. Blocks, like `progress`."""
        self._report(stdout=text)


class Execution:
    """Belongs to the worker's event loop. Threads may read `lost` and `stopped`."""

    def __init__(self, job: ClaimedJob) -> None:
        self.job = job
        correlation = job["correlation_id"] or ""
        self.trace_id = correlation if _TRACE.fullmatch(correlation) else secrets.token_hex(16)
        self.why: Why | None = None
        self.stopped = threading.Event()
        self.lost = threading.Event()
        self._stop = asyncio.Event()

    @property
    def held(self) -> Held:
        return {"id": self.job["id"], "attempt": self.job["attempt"]}

    def stop(self, why: Why) -> None:
        self.why = self.why or why
        if why == "lost":
            self.why = why
            self.lost.set()
        self.stopped.set()
        self._stop.set()

    def context(self, log: Logger, report: Report) -> Context:
        job = self.job
        return Context(
            job_id=job["id"],
            attempt=job["attempt"],
            failed_attempts=job["failed_attempts"],
            max_attempts=job["max_attempts"],
            tenant_id=job["tenant_id"],
            definition=job["definition_key"],
            queue=job["queue"],
            correlation_id=job["correlation_id"],
            trace_id=self.trace_id,
            traceparent=f"00-{self.trace_id}-{secrets.token_hex(8)}-01",
            log=log,
            stopped=self.stopped,
            _report=report,
        )

    async def run(self, registered: Registered, context: Context) -> Outcome:
        """Run the handler. Always returns an outcome, even if the handler raises or is stopped."""
        if (why := self.why) is not None:  # stopped before it started
            return Outcome.of(Stopped(why), why)
        given = self.job["timeout_seconds"]
        work = _begun(registered.handler, self.job["payload"], context)
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            limit = registered.timeout if given is None else given
            await asyncio.wait({work, stopping}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.stop("timeout")  # unless it was stopped for another reason
                if isinstance(work, asyncio.Task):  # a thread can't be canceled: it must check context.stopped
                    work.cancel()
                await asyncio.wait({work}, timeout=PATIENCE)
        finally:
            stopping.cancel()
        return self._outcome(work)

    def _outcome(self, work: "asyncio.Future[Any]") -> Outcome:
        if not work.done():
            work.add_done_callback(_forget)
            return Outcome.of(Stopped(self.why or "timeout"), self.why)
        if work.cancelled():
            itself = asyncio.CancelledError("the handler canceled itself")
            return Outcome.of(itself if self.why is None else Stopped(self.why), self.why)
        error = work.exception()
        return Outcome.completed(work.result()) if error is None else Outcome.of(error, self.why)


def _begun(handler: Handler, payload: Any, context: Context) -> "asyncio.Future[Any]":
    if inspect.iscoroutinefunction(handler):
        return asyncio.ensure_future(handler(payload, context))
    return _in_thread(handler, payload, context)


def _in_thread(handler: Handler, payload: Any, context: Context) -> "asyncio.Future[Any]":
    """Run in a daemon thread, so that a handler that ignores `stopped` does not keep the process alive."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def run() -> None:
        result: Any = None
        failed: BaseException | None = None
        try:
            result = handler(payload, context)
        except StopIteration as error:  # can't be set on a future
            failed = RuntimeError(f"StopIteration: {error}")
        except BaseException as error:  # noqa: BLE001 - also SystemExit, which fails the job and not the worker
            failed = error
        try:
            loop.call_soon_threadsafe(settle, result, failed)
        except RuntimeError:
            return  # the worker has exited

    threading.Thread(target=run, name=f"job {context.job_id}", daemon=True).start()
    return done


def _forget(work: "asyncio.Future[Any]") -> None:
    """Retrieve the exception of an abandoned handler, so that asyncio does not warn about it."""
    if not work.cancelled():
        work.exception()
