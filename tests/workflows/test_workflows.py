"""Whole workflows: cancel, retry, list and retention. Also tests forks of a job."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from plait import (
    FanOutError,
    Plait,
    Status,
    call,
    fan_out,
    sleep,
    sub,
    values,
)
from plait.model.errors import NotFound
from plait.store.leader import Retention
from plait.testing import Kit

from ..harness import Harness
from .nested_workflow import NestedWorkflow, statuses


async def test_a_whole_tree_is_canceled(nested: NestedWorkflow, kit: Kit, app_harness: Harness) -> None:
    handle = await nested.node.enqueue("r", 3, "elsewhere")
    await kit.run_until_idle()
    assert len(await handle.tree()) == 15
    done = await handle.cancel_tree("enough")
    assert (done.canceled, done.asked) == (15, 0)
    assert {n.status for n in await handle.tree()} == {Status.CANCELED}
    assert (await app_harness.job(handle.id)).error == "enough"
    again = await handle.cancel_tree()
    assert (again.canceled, again.asked) == (0, 0)


async def test_a_part_of_a_tree_is_canceled_and_counts_above(
    nested: NestedWorkflow, kit: Kit, app_harness: Harness
) -> None:
    handle = await nested.node.enqueue("r", 2, "elsewhere")
    await kit.run_until_idle()
    middle = next(n for n in await handle.tree() if n.depth == 1)
    await app_harness.store.jobs.cancel_tree(middle.id)
    await kit.run_until_idle()
    # Its parent fails as a result, and its other unfinished descendants are canceled.
    assert await statuses(handle) == ["0 failed", "1 canceled", "1 canceled", *["2 canceled"] * 4]


async def test_running_handlers_of_a_tree_are_stopped(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def hang() -> None:
        await asyncio.Event().wait()

    @app.job(retries=0)
    async def parent() -> None:
        await fan_out([sub(hang)] * 3)

    handle = await parent.enqueue()
    running = asyncio.create_task(kit.run_until_idle())
    while [n.status for n in await handle.tree()] != ["waiting", "running", "running", "running"]:
        await asyncio.sleep(0.01)
    done = await handle.cancel_tree()
    assert (done.canceled, done.asked) == (1, 3)
    await asyncio.wait_for(running, 180)
    assert {n.status for n in await handle.tree()} == {Status.CANCELED}


async def test_a_job_that_is_asked_to_stop_opens_no_fan_out(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T16: no child is created, regardless of whether the cancel or the fan-out comes first."""
    started, go = asyncio.Event(), asyncio.Event()

    @app.job
    async def leaf() -> None: ...

    @app.job(retries=0)
    async def parent() -> None:
        started.set()
        await go.wait()
        await fan_out([sub(leaf, queue="elsewhere")] * 3)

    handle = await parent.enqueue()
    running = asyncio.create_task(kit.run_until_idle())
    await started.wait()
    await app_harness.sql(
        "update plait.live set cancel_requested = plait.now() where job_id = $1", handle.id
    )  # the worker has not received the request yet
    go.set()
    await asyncio.wait_for(running, 180)
    assert await statuses(handle) == ["0 canceled"]


async def test_a_tree_of_thousands_is_read_by_pages(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def leaf(n: int) -> None: ...

    @app.job(retries=0)
    async def parent(count: int) -> None:
        await fan_out(sub(leaf, n, queue="elsewhere") for n in range(count))

    handle = await parent.enqueue(10_000)
    await kit.run_until_idle()
    before = await app_harness.rows_read()
    page = await app_harness.store.jobs.job_tree(handle.id)
    assert await app_harness.rows_read() - before < 200_000  # a few rows for each job; a bad plan would read millions
    assert len(page) == 10_000
    assert [n.fan_out_index for n in page[1:]] == list(range(9_999))
    rest = await app_harness.store.jobs.job_tree(handle.id, after=page[-1])
    assert [n.fan_out_index for n in rest] == [9_999]
    small = await app_harness.store.jobs.job_tree(rest[0].id, limit=10)
    more = await app_harness.store.jobs.job_tree(rest[0].id, limit=10, after=small[-1])
    assert [n.fan_out_index for n in small + more] == [None, *range(19)]
    first = await app_harness.store.jobs.job_tree(handle.id, limit=1)
    assert [n.id for n in first] == [handle.id]
    assert [n.fan_out_index for n in await app_harness.store.jobs.job_tree(handle.id, limit=2, after=first[0])] == [
        0,
        1,
    ]


async def test_jobs_are_listed_by_parent_root_and_fan_out(
    nested: NestedWorkflow, kit: Kit, app_harness: Harness
) -> None:
    handle = await nested.node.enqueue("r", 2)
    other = await nested.leaf.enqueue("alone")
    await kit.run_until_idle()
    listing = app_harness.store.jobs.list_jobs
    nodes = await handle.tree()
    middle = next(n for n in nodes if n.depth == 1)
    assert len(await listing(root=handle.id)) == 6
    assert {row.depth for row in await listing(parent=handle.id)} == {1}
    assert {row.parent_id for row in await listing(parent=middle.id)} == {middle.id}
    assert len(await listing(fan_out=nodes[1].fan_out_id)) == 2
    assert {row.id for row in await listing(has_children=True)} == {handle.id} | {n.id for n in nodes if n.depth == 1}
    assert other.id in {row.id for row in await listing(has_children=False)}
    assert len(await listing(root=handle.id, statuses=[Status.SUCCEEDED], definition="leaf")) == 4
    assert await listing(root=handle.id, statuses=[Status.FAILED]) == []


async def _forget(app_harness: Harness) -> int:
    """Delete all final jobs that are older than a day. Returns the number of deleted jobs."""
    cursor, pruned = None, 0
    day = timedelta(days=1)
    keep = Retention(succeeded=day, skipped=day, canceled=day, failed=day, dead_letter=day)
    for _ in range(100):
        n, cursor = await app_harness.store.leader.prune(keep, cursor=cursor, limit=10)
        pruned += n
        if cursor is None:
            return pruned
    raise AssertionError("retention did not finish after 100 batches")


async def test_retention_takes_no_part_of_a_live_tree(
    nested: NestedWorkflow, app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """T17, T105: finished children of a waiting parent are kept, and are later deleted together with it."""

    @app.job(retries=0)
    async def slow() -> None:
        await fan_out([sub(nested.leaf, f"{n}") for n in range(25)])
        await sleep("10d")

    handle = await slow.enqueue()
    plain = await nested.leaf.enqueue("alone")
    await kit.run_until_idle()
    await kit.advance(days=5)
    assert await _forget(app_harness) == 1
    with pytest.raises(NotFound):
        await plain.info()
    assert len(await handle.tree()) == 26
    await kit.advance(days=6)
    await kit.run_until_idle()
    assert await handle.status() == Status.SUCCEEDED
    assert await _forget(app_harness) == 0
    await kit.advance(days=2)
    assert await _forget(app_harness) == 26
    for table in ("jobs", "attempts", "steps", "fan_outs", "fan_out_order", "signals"):
        assert await app_harness.sql(f"select count(*) from plait.{table}") == 0


async def test_a_late_child_keeps_its_tree(nested: NestedWorkflow, app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T17: the root is final and old, and one of its children still runs."""

    @app.job(retries=0)
    async def hasty() -> None:
        try:
            await fan_out([sub(nested.leaf, "x"), sub(nested.leaf, "y", queue="elsewhere")], cancel_remaining=False)
        except FanOutError:
            return

    nested.fail = {"x"}
    handle = await hasty.enqueue()
    await kit.run_until_idle()
    await kit.advance(days=5)
    assert await handle.status() == Status.SUCCEEDED
    assert await _forget(app_harness) == 0
    await kit.complete_sub_job((await handle.tree())[2].id)
    assert await _forget(app_harness) == 3


async def test_a_job_is_forked_from_a_step_of_its_past(app: Plait, kit: Kit, app_harness: Harness) -> None:
    ran: list[str] = []

    async def step(what: str) -> str:
        ran.append(what)
        return what

    @app.job(retries=0)
    async def leaf(n: int) -> int:
        ran.append(f"leaf {n}")
        return n

    @app.job(retries=0)
    async def parent() -> list[Any]:
        out: list[Any] = [await call(step, "a"), *values(await leaf.map([1, 2])), await call(step, "b")]
        await sleep("1h")
        return [*out, await call(step, "c")]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    jobs = app_harness.store.jobs
    steps = await jobs.list_steps(handle.id)
    assert [(s.seq, s.name, s.kind) for s in steps] == [
        (1, "step", "call"),
        (2, "map leaf", "fan_out"),
        (3, "step", "call"),
        (4, "sleep", "sleep"),
    ]
    ran.clear()
    forked = app.handle(await jobs.fork(handle.id, from_seq=3))
    with pytest.raises(Exception, match="step 'sleep' is not done"):
        await jobs.fork(handle.id, from_seq=5)
    await kit.run_until_idle()
    assert ran == ["b"]
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await forked.result(120) == ["a", 1, 2, "b", "c"]
    assert (await forked.info()).forked_from == handle.id
    whole = app.handle(await jobs.fork(handle.id))
    ran.clear()
    await kit.run_until_idle()
    assert ran == ["a", "leaf 1", "leaf 2", "b"]
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await whole.status() == Status.SUCCEEDED
