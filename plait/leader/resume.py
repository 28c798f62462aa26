"""Resume: what waits for a time, and need not any more, goes on; what a decided fan-out has left open is canceled."""

from plait.runtime.logging import get_logger
from plait.store import Store

log = get_logger("leader")

BATCH = 1000
LONGEST_S, SHORTEST_S = 0.5, 0.01
"""A job may begin to wait at any moment for the next one, so the leader never sleeps long."""


class Resume:
    async def run(self, store: Store) -> float:
        done = await store.leader.resume(BATCH)
        if BATCH in (done.resumed, done.timed_out):
            return 0.0
        return max(SHORTEST_S, min(LONGEST_S, done.next_s if done.next_s is not None else LONGEST_S))


MISSED_EVERY_S, SHARE = 30.0, 20.0
"""Not more often than that, and a twentieth of the time at most."""


class ResumeMissed:
    """A second look at everything that waits, should anything else have failed to move it on."""

    async def run(self, store: Store) -> float:
        missed, took_s = await store.leader.resume_missed()
        if missed:
            log.error("waiting jobs had been missed; they go on now", jobs=missed)
        return max(MISSED_EVERY_S, took_s * SHARE)
