"""Run one handler, wherever its definition says, and tell what became of it."""

import asyncio
import contextvars
from typing import assert_never

from plait.model.states import Ending
from plait.sdk.context import set_current
from plait.worker import outcomes
from plait.worker.outcomes import Finished
from plait.worker.processes import Processes
from plait.worker.run import Run, Stopping
from plait.worker.threads import Threads


class Executor:
    def __init__(self, *, processes: int) -> None:
        self._threads = Threads()
        self._processes = Processes(processes)

    async def execute(self, run: Run) -> Finished | None:
        """The outcome, or None when the lease is lost and nothing may be said. Never raises."""
        try:
            current = run.begin()
            match run.definition.isolation:
                case "loop":
                    arguments = run.definition.codec.decode_payload(run.claimed.payload)
                    set_current(current)
                    value = await run.definition.function(**arguments)
                case "thread":
                    arguments = run.definition.codec.decode_payload(run.claimed.payload)
                    set_current(current)
                    value = await self._threads.run(contextvars.copy_context(), run.definition.function, arguments)
                case "process":
                    return _unless_lost(run, await self._processes.run(run))
                case unknown:
                    assert_never(unknown)
            return _unless_lost(run, outcomes.succeeded(value, run.definition.codec))
        except asyncio.CancelledError as error:
            return _stopped(run, error)
        except BaseException as error:  # noqa: BLE001 - a handler may raise anything, and the worker lives
            return _unless_lost(run, outcomes.raised(error))

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
