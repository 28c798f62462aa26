"""Roll-ups by the minute: right after restarts, and however late a transaction commits."""

import asyncpg

from ..harness import World
from .api_client import Calling


async def _history(world: World) -> list[tuple[int, int, int]]:
    rows = await world.store.statistics.history(all_tenants=True)
    return [(row.enqueued, row.succeeded, row.failed) for row in rows]


async def _close(world: World) -> None:
    """Roll up until every minute but the present one is right for ever; whatever else the server does ends soon."""
    await world.store.leader.roll_up()
    while await world.sql("select closed_to < date_trunc('minute', plait.now()) from plait.rolled"):
        await world.store.leader.roll_up()


async def test_what_ended_is_counted_in_its_minute(api: Calling, world: World) -> None:
    worker = await world.worker()
    await world.enqueue_many("add", 3)
    first, second, third = await worker.claim(3)
    await worker.succeed(first)
    await worker.fail(second, permanent=True)
    await world.advance(minutes=1)
    await worker.succeed(third)
    for _ in range(3):
        await world.store.leader.roll_up()
    assert await _history(world) == [(3, 1, 1), (0, 1, 0)]
    told = await (await api.acting("viewer")).ok("GET", "/jobs/history", params={"step_seconds": 3600})
    assert sum(one["succeeded"] for one in told["items"]) == 2
    other = await (await api.acting("viewer", "b")).ok("GET", "/jobs/history")
    assert other["items"] == []
    refused = await (await api.acting("viewer")).get("/jobs/history", params={"start": "2020-01-01T00:00:00Z"})
    assert refused.status_code == 422


async def test_a_transaction_that_commits_late_is_counted_though_its_minute_is_long_over(world: World) -> None:
    worker = await world.worker()
    await world.enqueue("add")
    lease = await worker.claim_one()
    late = await asyncpg.connect(world.database.url)
    try:
        transaction = late.transaction()
        await transaction.start()
        await late.fetch(
            "select plait.settle($1, $2, $3, null)", worker.id, [lease.job_id], [lease.attempt]
        )  # it has read the clock, and is not committed
        for _ in range(10):
            await world.advance(minutes=1)
            await world.store.leader.roll_up()
        assert sum(succeeded for _, succeeded, _ in await _history(world)) == 0
        await transaction.commit()
    finally:
        await late.close()
    await _close(world)
    assert sum(succeeded for _, succeeded, _ in await _history(world)) == 1


async def test_minutes_without_a_leader_are_counted_when_one_comes(world: World) -> None:
    worker = await world.worker(lease_s=86_000)
    await _close(world)
    for _ in range(5):
        await world.enqueue("add")
        await worker.succeed(await worker.claim_one())
        await world.advance(minutes=40)
    await _close(world)
    rows = await world.rows("select succeeded from plait.minutes where succeeded > 0")
    assert [row[0] for row in rows] == [1] * 5
    for _ in range(3):
        await world.store.leader.roll_up()
    assert await world.sql("select sum(succeeded) from plait.minutes") == 5, "counted anew, never twice"
