"""`plait.write_logs` and `plait.list_logs`: fenced, idempotent, by page."""

from datetime import timedelta
from typing import Any

import pytest

from plait import Plait, call, sleep
from plait.model.errors import InvalidSetting, NotFound
from plait.model.ids import new_id
from plait.store.leader import Retention
from plait.store.logs import Level, LogEntry, LogLine, LogRow
from plait.store.workflows import Lease
from plait.testing import Kit

from ..harness import Harness

STORED, BUSY, STALE = 1, 0, -1


async def held(harness: Harness) -> tuple[Lease, Any]:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    return Lease(worker.id, lease.job_id, lease.attempt), worker


def line(lease: Lease, number: int, message: str = "x", *, level: Level = "info", at: float = 0.0) -> LogLine:
    return LogLine(lease, number, LogEntry(at, level, "log", None, message, None))


def places(rows: list[LogRow]) -> list[tuple[int, int]]:
    return [row.position for row in rows]


async def test_a_stale_attempt_cannot_write_log_lines(harness: Harness) -> None:
    lease, worker = await held(harness)
    logs = harness.store.logs
    wrong = [
        Lease(lease.worker, lease.job_id, lease.attempt + 1),
        Lease(lease.worker + 1, lease.job_id, lease.attempt),
        Lease(lease.worker, new_id(), lease.attempt),
    ]
    batch = [*(line(one, 1) for one in wrong), line(lease, 1)]
    assert await logs.write(batch, now=0) == [STALE, STALE, STALE, STORED]
    await harness.lose(worker)
    assert await logs.write([line(lease, 2)], now=0) == [STALE]
    assert places(await logs.list_logs(lease.job_id)) == [(1, 1)]


async def test_lines_sent_again_are_stored_once_with_the_time_at_which_they_were_logged(harness: Harness) -> None:
    lease, _ = await held(harness)
    batch = [line(lease, 1, "first", at=90), line(lease, 2, "second", at=99)]
    assert await harness.store.logs.write(batch, now=100) == [STORED, STORED]
    assert await harness.store.logs.write(batch, now=200) == [STORED, STORED]
    rows = await harness.store.logs.list_logs(lease.job_id)
    now = await harness.now()
    assert [(row.message, now - row.at) for row in rows] == [
        ("first", timedelta(seconds=10)),
        ("second", timedelta(seconds=1)),
    ]


async def test_a_locked_job_delays_only_its_own_lines(harness: Harness) -> None:
    (first, _), (second, _) = await held(harness), await held(harness)
    async with harness.admin.transaction():
        await harness.admin.execute("select from plait.live where job_id = $1 for update", first.job_id)
        assert await harness.store.logs.write([line(first, 1), line(second, 1)], now=0) == [BUSY, STORED]
    assert await harness.store.logs.write([line(first, 1)], now=0) == [STORED]


async def test_log_lines_are_read_by_page_attempt_and_level(harness: Harness) -> None:
    lease, worker = await held(harness)
    logs, job = harness.store.logs, lease.job_id
    levels: list[Level] = ["debug", "info", "warning", "error", "critical"]
    await logs.write([line(lease, n + 1, level=level) for n, level in enumerate(levels)], now=0)
    await worker.release(lease)
    again = await worker.claim_one()
    await logs.write([line(Lease(worker.id, job, again.attempt), 1)], now=0)
    assert places(await logs.list_logs(job)) == [(1, n) for n in range(1, 6)] + [(2, 1)]
    assert places(await logs.list_logs(job, limit=2)) == [(1, 5), (2, 1)]
    assert places(await logs.list_logs(job, limit=2, before=(1, 5))) == [(1, 3), (1, 4)]
    assert places(await logs.list_logs(job, limit=2, after=(1, 4))) == [(1, 5), (2, 1)]
    assert places(await logs.list_logs(job, attempt=1, level="error")) == [(1, 4), (1, 5)]
    assert places(await logs.list_logs(job, attempt=2)) == [(2, 1)]
    with pytest.raises(NotFound):
        await logs.list_logs(new_id())
    with pytest.raises(InvalidSetting, match="level must be debug, info, warning, error, critical, got loud"):
        await logs.list_logs(job, level="loud")  # type: ignore[arg-type]


async def test_log_lines_are_deleted_with_their_job(harness: Harness) -> None:
    lease, worker = await held(harness)
    await harness.store.logs.write([line(lease, 1)], now=0)
    await worker.succeed(lease)
    await harness.advance(days=400)
    await harness.store.leader.prune(Retention(succeeded=timedelta(days=1)))
    assert await harness.sql("select count(*) from plait.jobs") == 0
    assert await harness.sql("select count(*) from plait.log_lines") == 0


async def test_a_replay_does_not_store_lines_again(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def durable() -> None:
        await call(_nothing)
        print("before the wait")
        await sleep("1m")
        print("after the wait")

    handle = await durable.enqueue()
    await kit.run_until_idle()
    assert [row.message for row in await app_harness.store.logs.list_logs(handle.id)] == ["before the wait"]
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    rows = await app_harness.store.logs.list_logs(handle.id)
    assert [(row.attempt, row.message) for row in rows] == [(1, "before the wait"), (2, "after the wait")]


async def _nothing() -> None: ...
