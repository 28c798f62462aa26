"""Count: maintain the number of live jobs, the failures by error and the outcomes per minute, so that no page has to count them."""

from plait.store import Store

SHORTEST_S, SHARE = 5.0, 20.0
"""The minimum interval. The duty runs for at most a twentieth of the time."""


class Count:
    async def run(self, store: Store) -> float:
        _, took_s = await store.leader.count_live()
        return max(SHORTEST_S, took_s * SHARE)


class CountFailures:
    async def run(self, store: Store) -> float:
        more, took_s = await store.leader.count_failures()
        return 0.05 if more else max(SHORTEST_S, took_s * SHARE)


class RollUp:
    async def run(self, store: Store) -> float:
        more, took_s = await store.leader.roll_up()
        return 0.05 if more else max(SHORTEST_S, took_s * SHARE)
