"""Counts per minute are correct after restarts, and after transactions that commit late."""

import asyncpg

from ..harness import Harness
from .api_client import ApiClient


async def _history(harness: Harness) -> list[tuple[int, int, int]]:
    rows = await harness.store.statistics.history(all_tenants=True)
    return [(row.enqueued, row.succeeded, row.failed) for row in rows]


async def _close(harness: Harness) -> None:
    """Roll up until every minute before the current one is closed. Other transactions on the server may delay this for a moment."""
    await harness.store.leader.roll_up()
    while await harness.sql("select closed_to < date_trunc('minute', plait.now()) from plait.rolled"):
        await harness.store.leader.roll_up()


async def test_what_ended_is_counted_in_its_minute(api: ApiClient, harness: Harness) -> None:
    worker = await harness.worker()
    await harness.enqueue_many("add", 3)
    first, second, third = await worker.claim(3)
    await worker.succeed(first)
    await worker.fail(second, permanent=True)
    await harness.advance(minutes=1)
    await worker.succeed(third)
    for _ in range(3):
        await harness.store.leader.roll_up()
    assert await _history(harness) == [(3, 1, 1), (0, 1, 0)]
    told = await (await api.acting("viewer")).ok("GET", "/jobs/history", params={"step_seconds": 3600})
    assert sum(one["succeeded"] for one in told["items"]) == 2
    other = await (await api.acting("viewer", "b")).ok("GET", "/jobs/history")
    assert other["items"] == []
    refused = await (await api.acting("viewer")).get("/jobs/history", params={"start": "2020-01-01T00:00:00Z"})
    assert refused.status_code == 422


async def test_a_transaction_that_commits_late_is_counted_though_its_minute_is_long_over(harness: Harness) -> None:
    worker = await harness.worker()
    await harness.enqueue("add")
    lease = await worker.claim_one()
    late = await asyncpg.connect(harness.database.url)
    try:
        transaction = late.transaction()
        await transaction.start()
        await late.fetch(
            "select plait.settle($1, $2, $3, null)", worker.id, [lease.job_id], [lease.attempt]
        )  # its transaction has read the clock, and is not committed
        for _ in range(10):
            await harness.advance(minutes=1)
            await harness.store.leader.roll_up()
        assert sum(succeeded for _, succeeded, _ in await _history(harness)) == 0
        await transaction.commit()
    finally:
        await late.close()
    await _close(harness)
    assert sum(succeeded for _, succeeded, _ in await _history(harness)) == 1


async def test_minutes_without_a_leader_are_counted_when_one_comes(harness: Harness) -> None:
    worker = await harness.worker(lease_s=86_000)
    await _close(harness)
    for _ in range(5):
        await harness.enqueue("add")
        await worker.succeed(await worker.claim_one())
        await harness.advance(minutes=40)
    await _close(harness)
    rows = await harness.rows("select succeeded from plait.minutes where succeeded > 0")
    assert [row[0] for row in rows] == [1] * 5
    for _ in range(3):
        await harness.store.leader.roll_up()
    assert await harness.sql("select sum(succeeded) from plait.minutes") == 5, "repeated roll-ups do not count twice"
