"""Announce: deliver outcomes to the webhook endpoints that subscribe to them."""

from plait.store import Store

EVERY_S, SHARE = 1.0, 20.0
"""The minimum interval. The duty runs for at most a twentieth of the time, or half of the time while more outcomes are pending."""


class Announce:
    async def run(self, store: Store) -> float:
        _, more, took_s = await store.leader.announce()
        return took_s if more else max(EVERY_S, took_s * SHARE)
