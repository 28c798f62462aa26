"""The last part of a graceful shutdown: running jobs finish or are released."""

import asyncio
import contextlib
import time

from plait.runtime.logging import get_logger
from plait.runtime.service import Stop
from plait.worker.run import Stopping
from plait.worker.slots import Slots

log = get_logger("worker")


async def drain(
    slots: Slots, stop: Stop, *, worker: int | None, grace_s: float, empty: asyncio.Event, lost: asyncio.Event
) -> int:
    """Let running jobs finish. After the grace period, or at the second stop request, stop and release them. Returns the number of released jobs."""
    if stop.requested:
        log.info("worker stopping", worker_id=worker, running=slots.running_count, grace_s=grace_s)
    released, deadline = 0, time.monotonic() + grace_s
    while slots.running_count and not lost.is_set():
        if stop.hard or time.monotonic() >= deadline:
            going = [run for run in slots.running if run.stopping is None]
            if going:
                reason = "a second stop was requested" if stop.hard else "the grace period is over"
                log.warning("releasing running jobs", worker_id=worker, jobs=len(going), reason=reason)
            for run in going:
                run.stop(Stopping.RELEASE)
            released += len(going)
        empty.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await empty.wait()
    return released
