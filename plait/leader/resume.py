"""Resume: what waits for a time, or for a build that is gone, and need not any more, goes on; what a decided fan-out has left open is canceled."""

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


BUILDS_EVERY_S = 30.0
MISSED_EVERY_S, SHARE = 30.0, 20.0
"""Not more often than that, and a twentieth of the time at most."""


class ResumeMissed:
    """A second look at everything that waits, should anything else have failed to move it on."""

    async def run(self, store: Store) -> float:
        missed, took_s = await store.leader.resume_missed()
        if missed:
            log.error("waiting jobs had been missed; they go on now", jobs=missed)
        return max(MISSED_EVERY_S, took_s * SHARE)


class ReleaseBuilds:
    """Durable jobs whose build has no worker any more run on any."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s

    async def run(self, store: Store) -> float:
        jobs, builds = await store.leader.release_builds(after_s=self._after_s)
        if jobs:
            log.warning("no worker of a build is left: other workers take over its jobs", builds=builds, jobs=jobs)
        return min(BUILDS_EVERY_S, max(1.0, self._after_s / 4))
