"""Resume: resume jobs whose wait is over, or whose build has no worker left; cancel open children of decided fan-outs."""

from plait.runtime.logging import get_logger
from plait.store import Store

log = get_logger("leader")

BATCH = 1000
LONGEST_S, SHORTEST_S = 0.5, 0.01
"""A job may begin a short wait at any time, so the leader never sleeps long."""


class Resume:
    async def run(self, store: Store) -> float:
        done = await store.leader.resume(BATCH)
        if BATCH in (done.resumed, done.timed_out):
            return 0.0
        return max(SHORTEST_S, min(LONGEST_S, done.next_s if done.next_s is not None else LONGEST_S))


BUILDS_EVERY_S = 30.0
MISSED_EVERY_S, SHARE = 30.0, 20.0
"""The minimum interval. The duty runs for at most a twentieth of the time."""


class ResumeMissed:
    """A second check of all waiting jobs, which resumes those that were missed."""

    async def run(self, store: Store) -> float:
        missed, took_s = await store.leader.resume_missed()
        if missed:
            log.error("resumed waiting jobs that had been missed", jobs=missed)
        return max(MISSED_EVERY_S, took_s * SHARE)


class ReleaseBuilds:
    """Lets any worker run durable functions whose build has no worker left."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s

    async def run(self, store: Store) -> float:
        jobs, builds = await store.leader.release_builds(after_s=self._after_s)
        if jobs:
            log.warning("no worker of a build is left: other workers may run its jobs", builds=builds, jobs=jobs)
        return min(BUILDS_EVERY_S, max(1.0, self._after_s / 4))
