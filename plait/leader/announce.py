"""Announce: endpoints that want to know are told how jobs ended."""

from plait.store import Store

EVERY_S, SHARE = 1.0, 20.0
"""Not more often than that, and a twentieth of the time at most; half of it while there is more."""


class Announce:
    async def run(self, store: Store) -> float:
        _, more, took_s = await store.leader.announce()
        return took_s if more else max(EVERY_S, took_s * SHARE)
