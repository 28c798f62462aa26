"""Run one handler, wherever its definition says, and tell what became of it."""

import asyncio
import contextvars
from typing import Any, assert_never

from plait.model.states import Ending
from plait.sdk.context import set_attempt
from plait.sdk.durable import Suspended
from plait.worker import outcomes
from plait.worker.outcomes import Finished
from plait.worker.processes import Processes
from plait.worker.run import Run, Stopping
from plait.worker.threads import Threads

THREAD_GRACE_S = 0.8
"""Less than the worker waits before it takes a slot away."""


class Executor:
    def __init__(self, *, processes: int) -> None:
        self._threads = Threads()
        self._processes = Processes(processes)

    async def execute(self, run: Run) -> Finished | None:
        """The outcome, or None when there is none to report: the job waits, or the lease is lost. Never raises."""
        try:
            match run.definition.isolation:
                case "loop":
                    arguments = run.definition.codec.decode_payload(run.claimed.payload)
                    run.begin()
                    set_attempt(run)
                    value = await run.definition.function(**arguments)
                case "thread":
                    arguments = run.definition.codec.decode_payload(run.claimed.payload)
                    run.begin()
                    set_attempt(run)
                    value = await self._in_thread(run, arguments)
                case "process":
                    return _unless_lost(run, await self._processes.run(run))
                case unknown:
                    assert_never(unknown)
            return _unless_lost(run, outcomes.succeeded(value, run.definition.codec))
        except Suspended:
            return None
        except asyncio.CancelledError as error:
            return _stopped(run, error)
        except BaseException as error:  # noqa: BLE001 - a handler may raise anything, and the worker lives
            return _unless_lost(run, outcomes.raised(error))

    async def _in_thread(self, run: Run, arguments: dict[str, Any]) -> Any:
        ending = self._threads.submit(contextvars.copy_context(), run.definition.function, arguments)
        try:
            return await asyncio.shield(ending)
        except asyncio.CancelledError:
            # A thread can't be stopped. It may look at `current().should_stop()`, so it gets a moment; then it is let go.
            if run.stopping in (Stopping.CANCEL, Stopping.TIMEOUT, Stopping.RELEASE):
                await asyncio.wait({ending}, timeout=THREAD_GRACE_S)
                if ending.done() and run.stopping is not Stopping.TIMEOUT:
                    return ending.result()
            raise

    async def close(self) -> None:
        self._threads.close()
        await self._processes.close()


def _unless_lost(run: Run, finished: Finished) -> Finished | None:
    return None if run.stopping is Stopping.LOST else finished


def _stopped(run: Run, error: asyncio.CancelledError) -> Finished | None:
    """What a canceled handler's job becomes, by why it was canceled."""
    return abandoned(run) if run.stopping is not None else outcomes.failed(error)


def abandoned(run: Run) -> Finished | None:
    match run.stopping:
        case Stopping.TIMEOUT:
            limit = run.deadline - run.started_at
            return outcomes.failed(f"it ran longer than {limit:g} s", ending=Ending.TIMEOUT, reason="timeout")
        case Stopping.CANCEL:
            return outcomes.ended(Ending.CANCELED)
        case Stopping.RELEASE:
            return outcomes.ended(Ending.RELEASED)
        case Stopping.LOST | None:
            return None
