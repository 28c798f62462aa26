"""Count: how many jobs are live, and how attempts ended minute by minute, so that nobody who looks at a page has to count them."""

from plait.store import Store

SHORTEST_S, SHARE = 5.0, 20.0
"""Not more often than that, and a twentieth of the time at most."""


class Count:
    async def run(self, store: Store) -> float:
        _, took_s = await store.leader.count_live()
        return max(SHORTEST_S, took_s * SHARE)


class RollUp:
    async def run(self, store: Store) -> float:
        more, took_s = await store.leader.roll_up()
        return 0.05 if more else max(SHORTEST_S, took_s * SHARE)
