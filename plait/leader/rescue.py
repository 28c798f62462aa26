"""Rescue: requeue jobs of lost workers; cancel jobs that did not stop in time after a cancellation request."""

from plait.runtime.logging import get_logger
from plait.store import Store

log = get_logger("leader")


class Rescue:
    def __init__(self, *, every_s: float = 1.0, cancel_grace_s: float = 30.0) -> None:
        self._every_s = every_s
        self._cancel_grace_s = cancel_grace_s

    async def run(self, store: Store) -> float:
        rescued = await store.leader.rescue(cancel_grace_s=self._cancel_grace_s)
        if rescued.resumed:
            log.info("resumed waiting parents that had been missed", jobs=rescued.resumed)
        if rescued.lost or rescued.requeued or rescued.dead or rescued.canceled:
            log.warning(
                "rescued",
                lost=rescued.lost,
                workers=rescued.workers,
                requeued=rescued.requeued,
                dead=rescued.dead,
                canceled=rescued.canceled,
            )
        return self._every_s
