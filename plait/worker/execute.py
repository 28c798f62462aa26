"""Run one handler on the loop, in a thread or in a process, as its definition requires, and report its outcome."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from msgspec.structs import replace

from plait.model.errors import InvalidPayload, TooLarge
from plait.model.states import AttemptOutcome
from plait.runtime.logging import get_logger
from plait.sdk.active_step import Suspended
from plait.sdk.artifacts import Artifacts, is_reference
from plait.sdk.codec import MAX_BYTES
from plait.sdk.context import set_attempt
from plait.sdk.dependencies import complete_link, is_link
from plait.store.workers import Claimed
from plait.worker import outcomes
from plait.worker.leftovers import Original, end_copy
from plait.worker.outcomes import Finished
from plait.worker.processes import Processes
from plait.worker.run import Run, Stopping
from plait.worker.threads import Threads

log = get_logger("worker")

THREAD_GRACE_S = 0.8
"""How long a thread may take to end after a stop request. Must be less than STOP_GRACE_S of the worker."""
IN_A_ROW, IN_A_ROW_S = 100, 0.001
"""The maximum number of runs that share a task, and the maximum time from the start of the first run to the start of the last. The limits are
needed because handlers that never wait do not yield to the loop."""


class Executor:
    """Runs handlers. `ended` is called for every run, with its outcome or with None if there is no outcome to report: the job waits, or the lease is lost."""

    def __init__(
        self,
        *,
        processes: Processes,
        ended: Callable[[Run, Finished | None], Coroutine[Any, Any, None] | None],
        unfit: Callable[[Claimed], str | None],
        continues: Callable[[Run], bool],
    ) -> None:
        """`unfit` checks a payload that was too large to be checked earlier. `continues`: whether the run's handler is in memory and
        continues."""
        self.original = Original()
        self._threads = Threads(self.original)
        self._processes = processes
        self._ended = ended
        self._unfit = unfit
        self._continues = continues
        self.artifacts: Artifacts | None = None
        self._context = contextvars.copy_context()
        self._inheriting = False
        self._heir: Run | None = None

    def start(self, run: Run) -> None:
        """Start a run: in the task of the run that is ending, if its context is unchanged; otherwise in a new task."""
        if self._continues(run):
            return
        if self._inheriting:
            self._inheriting, self._heir = False, run
        else:
            # The run references the task, and the slots reference the run. The task gets the worker's context, because the current one may
            # be a handler's.
            loop, context = asyncio.get_running_loop(), self._context.copy()
            run.task = loop.create_task(self._execute(run), context=context)

    async def _execute(self, run: Run) -> None:
        """Execute a run from the payload to the outcome, then continue with the next run. Never raises. This is the worker's hot path: many
        jobs share one task, which saves a third of the worker's time for small jobs."""
        began_at = 0.0
        for turn in range(1, IN_A_ROW + 1):
            finished: Finished | None
            context = None
            failure: BaseException | None = None
            try:
                definition = run.definition
                if definition.isolation == "process":
                    finished = await self._in_process(run)
                else:
                    try:
                        arguments = definition.codec.decode_payload(run.claimed.payload)
                    except InvalidPayload:
                        if not await self._fetch(run):
                            raise
                        arguments = definition.codec.decode_payload(run.claimed.payload)
                    run.begin()
                    set_attempt(run)
                    context = contextvars.copy_context()
                    if definition.isolation == "loop":
                        value = await definition.function(**arguments)
                    else:
                        value = await self._in_thread(run, arguments)
                    try:
                        finished = outcomes.succeeded(value, definition.codec)
                    except TooLarge as large:
                        finished = await self._keep(run, large)
            except Suspended:
                finished = None
            except asyncio.CancelledError as error:
                # The reason for the cancellation decides the job's outcome.
                finished = abandoned(run) if run.stopping is not None else outcomes.failed(error)
            except BaseException as error:  # noqa: BLE001 - a handler may raise anything, and the worker must survive
                finished, failure = outcomes.raised(error), error
                if self.original.copied:
                    end_copy(error)
            if self.original.copied:
                end_copy(None)
            run.over = True
            if run.steps is not None and run.steps.delivery.used:
                try:
                    await run.steps.close(failure)
                except Exception as error:  # noqa: BLE001 - the lease or the database may be lost; the slot must become free
                    finished, failure = outcomes.raised(error), error
                if run.steps.delivery.canceled and failure is None and run.stopping is None:
                    finished = outcomes.ended(AttemptOutcome.CANCELED)  # its handler has cleaned up
            if run.stopping is Stopping.LOST or run.suspended:  # regardless of the handler's result
                finished = None
            task = run.task
            assert task is not None
            began_at = began_at or run.started_at
            more = turn < IN_A_ROW and run.started_at - began_at < IN_A_ROW_S
            self._inheriting = more and run.stopping is None and not task.cancelling() and _is_in(context)
            try:
                rest = self._ended(run, finished)
            finally:
                self._inheriting, heir, self._heir = False, self._heir, None
            if rest is not None:
                await rest
            if heir is None:
                return
            heir.task, run = task, heir

    async def _fetch(self, run: Run) -> bool:
        """Load the payload, if it refers to an artifact or to another job's result."""
        claimed = run.claimed
        payload: str | None = claimed.payload
        owner: dict[str, Any] = {"job_id": claimed.job_id, "tenant_id": claimed.tenant_id}
        if self.artifacts is not None and is_reference(payload):
            payload = await self.artifacts.resolve(payload, **owner, kind="payload")
        elif self.artifacts is not None and run.runtime is not None and is_link(claimed.payload):
            payload = await complete_link(run.runtime.store, self.artifacts, claimed.payload, **owner)
        if payload is None or payload is claimed.payload:
            return False
        run.claimed = replace(claimed, payload=payload)
        if wrong := self._unfit(run.claimed):
            raise InvalidPayload(wrong)
        return True

    async def _keep(self, run: Run, large: TooLarge) -> Finished:
        """Store a result that is too large for a row as an artifact, before the outcome that refers to it."""
        claimed = run.claimed
        try:
            if self.artifacts is None:
                raise large
            result = await self.artifacts.keep(large, job_id=claimed.job_id, tenant_id=claimed.tenant_id, kind="result")
        except TooLarge as error:
            return outcomes.failed(error, reason="bad_result", permanent=True)
        return Finished(AttemptOutcome.SUCCEEDED, result)

    async def _in_process(self, run: Run) -> Finished:
        await self._fetch(run)
        finished = await self._processes.run(run)
        if finished.result is not None and len(finished.result.encode()) > MAX_BYTES:
            return await self._keep(run, TooLarge("the result cannot be stored", finished.result))
        return finished

    async def _in_thread(self, run: Run, arguments: dict[str, Any]) -> Any:
        ending = self._threads.submit(contextvars.copy_context(), run.definition.function, arguments)
        try:
            return await asyncio.shield(ending)
        except asyncio.CancelledError:
            # A thread cannot be stopped. It may check `current().should_stop()`, so it gets a short time to end before it is abandoned.
            if run.stopping in (Stopping.CANCEL, Stopping.TIMEOUT, Stopping.RELEASE):
                await asyncio.wait({ending}, timeout=THREAD_GRACE_S)
                if ending.done() and run.stopping is not Stopping.TIMEOUT:
                    return ending.result()
            raise

    async def close(self) -> None:
        self._threads.close()
        await self._processes.close()


def _is_in(context: contextvars.Context | None) -> bool:
    """Whether no context variable has changed since this copy was made. A handler must not see the context variables of another."""
    try:
        return contextvars.copy_context() == context
    except Exception:  # noqa: BLE001 - the handler set a value that cannot be compared
        return False


def abandoned(run: Run) -> Finished | None:
    match run.stopping:
        case Stopping.TIMEOUT:
            limit = run.deadline - run.started_at
            code = 124 if run.definition.command else None
            said = f"timed out after {limit:g} s"
            return outcomes.failed(said, outcome=AttemptOutcome.TIMEOUT, reason="timeout", exit_code=code)
        case Stopping.CANCEL:
            return outcomes.ended(AttemptOutcome.CANCELED, exit_code=130 if run.definition.command else None)
        case Stopping.RELEASE:
            return outcomes.ended(AttemptOutcome.RELEASED)
        case Stopping.LOST | None:
            return None


def log_failure(run: Run, finished: Finished) -> None:
    """Log a failure, at a lower level if it will be retried."""
    claimed, detail = run.claimed, msgspec.json.decode(finished.detail or "{}")
    left = 0 if detail.get("permanent") else max(0, claimed.max_attempts - claimed.failed_attempts - 1)
    level = "info" if left else "warning"
    getattr(log, level)(
        "attempt failed",
        **run.current().about(),
        error=detail.get("error"),
        attempts_left=left,
        duration_ms=round(run.ran_ms(), 1),
    )
