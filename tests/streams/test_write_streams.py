"""`plait.write_streams`: fenced, bounded and idempotent."""

from typing import Any

from plait.model.ids import new_id
from plait.store.streams import CLOSED, FULL, STALE, StreamItem
from plait.store.workflows import Lease

from ..harness import Harness


async def _held(harness: Harness) -> tuple[Lease, Any]:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    return Lease(worker.id, lease.job_id, lease.attempt), worker


def _item(lease: Lease, position: int, value: str | None, name: str = "s", branch: str = "") -> StreamItem:
    return StreamItem(lease, name, branch, position, value)


async def test_a_stale_attempt_cannot_write_to_a_stream(harness: Harness) -> None:
    lease, worker = await _held(harness)
    streams = harness.store.streams
    assert await streams.write([_item(lease, 1, "1")]) == [1]
    wrong = [
        Lease(lease.worker, lease.job_id, lease.attempt + 1),
        Lease(lease.worker + 1, lease.job_id, lease.attempt),
        Lease(lease.worker, new_id(), lease.attempt),
    ]
    assert await streams.write([_item(one, 2, "2") for one in wrong]) == [STALE] * 3
    await harness.lose(worker)
    before = await harness.rows("select * from plait.stream_items")
    assert await streams.write([_item(lease, 2, "2"), _item(lease, 0, None)]) == [STALE, STALE]
    assert await harness.rows("select * from plait.stream_items") == before
    assert await harness.sql("select count(*) from plait.streams where closed") == 0


async def test_a_batch_sent_again_is_stored_once_and_only_the_stale_part_of_it_is_refused(harness: Harness) -> None:
    lease, _ = await _held(harness)
    other = Lease(lease.worker, lease.job_id, 7)
    batch = [
        _item(lease, 1, '"a"'),
        _item(other, 1, '"no"'),
        _item(lease, 2, '"b"'),
        _item(lease, 1, '"c"', branch="2"),
    ]
    streams = harness.store.streams
    assert await streams.write(batch) == [2, STALE, 2, 1]
    assert await streams.write(batch) == [2, STALE, 2, 1]
    rows = await harness.rows("select seq, branch, position, value::text from plait.stream_items order by seq")
    assert [tuple(row) for row in rows] == [(1, "", 1, '"a"'), (2, "", 2, '"b"'), (3, "2", 1, '"c"')]
    assert await harness.sql("select (items, bytes, last_seq) = (3, 9, 3) from plait.streams")


async def test_an_item_beyond_the_bound_is_refused_and_a_smaller_one_before_it_is_not(harness: Harness) -> None:
    lease, _ = await _held(harness)
    streams = harness.store.streams
    assert await streams.write([_item(lease, 1, "1")]) == [1]
    await harness.sql("update plait.streams set items = 99999")
    assert await streams.write([_item(lease, 2, "2"), _item(lease, 3, "3"), _item(lease, 1, "1")]) == [2, FULL, 2]
    assert await streams.write([_item(lease, 0, None)]) == [0]
    assert await streams.write([_item(lease, 1, "1"), _item(lease, 9, "9")]) == [2, CLOSED]


async def test_a_job_has_at_most_fifty_streams(harness: Harness) -> None:
    lease, _ = await _held(harness)
    written = await harness.store.streams.write([_item(lease, 1, "1", name=f"s{n:02}") for n in range(51)])
    assert sorted(written) == [FULL] + [1] * 50
