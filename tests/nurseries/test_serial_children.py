"""`child_mode="serial"` and `on_child_failure`: one child after the other, and the effect of a failure: T23, T26."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from plait import Plait, Status, spawn, spawn_many
from plait.model.errors import IllegalMove, JobFailed
from plait.testing import Kit

from ..harness import Harness


async def _children(app_harness: Harness, parent: UUID) -> list[Any]:
    return await app_harness.rows(
        "select status::text, reason from plait.job where parent_id = $1 order by fan_out_index", parent
    )


@pytest.mark.parametrize("policy", ["continue", "stop"])
@pytest.mark.parametrize("mode", ["serial", "concurrent"])
async def test_a_failed_child_stops_the_others_or_does_not(
    app: Plait, kit: Kit, app_harness: Harness, mode: Any, policy: Any
) -> None:
    """T26."""
    ran: list[int] = []

    @app.job(retries=0)
    async def child(n: int) -> None:
        ran.append(n)
        if n == 1:
            raise ValueError("one")

    @app.job(child_mode=mode, on_child_failure=policy)
    async def parent() -> None:
        for n in range(4):
            await spawn(child, n, delay=None if mode == "serial" or n < 2 else "1h")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    if policy == "continue":
        await kit.advance(hours=2)
        await kit.run_until_idle()
    rows = [(row["status"], row["reason"]) for row in await _children(app_harness, handle.id)]
    failed, succeeded = ("dead_letter", "attempts_exhausted"), ("succeeded", None)
    if policy == "stop":
        assert ran == [0, 1]
        assert rows == [succeeded, failed, ("canceled", "sibling_failed"), ("canceled", "sibling_failed")]
    else:
        assert sorted(ran) == [0, 1, 2, 3]
        assert rows == [succeeded, failed, succeeded, succeeded]
    assert await handle.status() is Status.FAILED
    if mode == "serial":
        assert ran == sorted(ran)


async def test_serial_children_run_one_after_the_other_also_when_they_are_delayed(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """T23: whose turn it is, and is not due, waits."""
    at: list[tuple[int, Any]] = []
    under_way = 0

    @app.job
    async def child(n: int) -> None:
        nonlocal under_way
        under_way += 1
        assert under_way == 1
        at.append((n, await app_harness.now()))
        await asyncio.sleep(0.01)
        under_way -= 1

    @app.job(child_mode="serial")
    async def parent() -> None:
        await spawn_many(child, [0, 1])
        await spawn(child, 2, delay="1h")
        await spawn(child, 3)

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert [n for n, _ in at] == [0, 1]
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert [n for n, _ in at] == [0, 1, 2, 3]
    assert at[2][1] - at[1][1] >= timedelta(hours=1)
    assert await handle.status() is Status.SUCCEEDED


async def test_a_tree_that_failed_is_retried_where_it_failed(app: Plait, kit: Kit, app_harness: Harness) -> None:
    broken, ran = True, []

    @app.job(retries=0)
    async def child(n: int) -> None:
        ran.append(n)
        if n == 1 and broken:
            raise ValueError

    @app.job(child_mode="serial", on_child_failure="stop")
    async def parent() -> str:
        await spawn_many(child, range(3))
        return "whole"

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed):
        await handle.result(120)
    with pytest.raises(IllegalMove, match="retry the whole workflow"):
        await app_harness.retry(handle.id)
    broken = False
    await (await app.store()).jobs.retry_tree(handle.id)
    await kit.run_until_idle()
    assert ran == [0, 1, 1, 2]
    assert await handle.result(120) == "whole"


@pytest.mark.parametrize("mode", ["serial", "concurrent"])
async def test_a_child_that_fails_again_after_a_retry_of_the_tree_stops_the_others_again(
    app: Plait, kit: Kit, app_harness: Harness, mode: Any
) -> None:
    """A retry counts as an attempt, but the others have not started since."""
    ran: list[int] = []

    @app.job(retries=0)
    async def child(n: int) -> None:
        ran.append(n)
        if n == 0:
            raise ValueError

    @app.job(child_mode=mode, on_child_failure="stop")
    async def parent() -> None:
        for n in range(3):
            await spawn(child, n, delay=None if mode == "serial" or n < 1 else "1h")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    jobs = (await app.store()).jobs
    for _ in range(2):
        assert await handle.status() is Status.FAILED
        statuses = [row["status"] for row in await _children(app_harness, handle.id)]
        assert statuses[1:] == ["canceled", "canceled"]
        assert await jobs.retry_tree(handle.id) == 4
        if mode == "serial":
            await kit.run_until_idle()
        else:
            await _fail_first(kit, app_harness, handle.id)
    assert await handle.status() is Status.FAILED
    assert ran == ([0, 0, 0] if mode == "serial" else [0])


async def _fail_first(kit: Kit, app_harness: Harness, parent: UUID) -> None:
    """The first child fails before a worker has started any other."""
    rows = await app_harness.rows("select id from plait.job where parent_id = $1 order by fan_out_index", parent)
    await kit.fail_sub_job(rows[0]["id"])
    await app_harness.store.leader.resume()
    await kit.run_until_idle()


async def test_none_is_passed_over_because_its_row_is_locked(harness: Harness) -> None:
    """While somebody names the next one in an `after`, it is nobody's turn; then it is its."""
    await harness.define("add", child_mode="serial")
    parent = await harness.enqueue()
    worker = await harness.worker()
    lease = await worker.claim_one()
    spawned = [
        await harness.store.database.fetchval("select plait.spawn('other', parent => $1)", parent) for _ in range(3)
    ]
    await worker.succeed(lease)
    first = await worker.claim_one()
    async with harness.connection() as other:
        transaction = other.transaction()
        await transaction.start()
        await other.fetchval("select plait.enqueue('other', after => array[$1::uuid])", spawned[1])
        await worker.succeed(first)
        assert await worker.claim(3) == []
        await transaction.rollback()
    await harness.rescue()
    for expected in spawned[1:]:
        [lease] = await worker.claim(3)
        assert lease.job_id == expected
        await worker.succeed(lease)
    assert await harness.status(parent) == "succeeded"


async def test_a_tree_that_is_retried_while_a_serial_child_runs_has_no_second_one_beside_it(harness: Harness) -> None:
    await harness.define("add", child_mode="serial")
    parent = await harness.enqueue()
    worker = await harness.worker()
    lease = await worker.claim_one()
    spawned = [
        await harness.store.database.fetchval("select plait.spawn('other', parent => $1)", parent) for _ in range(3)
    ]
    await worker.succeed(lease)
    await worker.fail(await worker.claim_one(), permanent=True)
    second = await worker.claim_one()
    await harness.cancel(parent)
    await harness.store.leader.resume()
    assert await harness.statuses(spawned) == ["failed", "running", "canceled"]
    await harness.store.jobs.retry_tree(parent)
    await harness.rescue()
    assert [one.job_id for one in await worker.claim(5)] == [parent]
    await worker.succeed(second)
    ran = []
    for _ in range(2):
        await harness.rescue()
        [lease] = await worker.claim(5)
        ran.append(lease.job_id)
        await worker.succeed(lease)
    assert sorted(ran) == sorted([spawned[0], spawned[2]])
