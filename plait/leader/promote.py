"""Promote: move due scheduled jobs to their queues."""

from plait.store import Store

BATCH = 1000
LONGEST_S, SHORTEST_S = 0.5, 0.01
"""A job may be scheduled for the near future at any time, so the leader never sleeps long."""


class Promote:
    async def run(self, store: Store) -> float:
        promoted, next_s = await store.leader.promote(BATCH)
        if promoted == BATCH:
            return 0.0
        return max(SHORTEST_S, min(LONGEST_S, next_s if next_s is not None else LONGEST_S))
