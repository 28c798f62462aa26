"""`async with nursery()`: children of a block, and their end if the block raises an error."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from plait import FanOutError, PermanentError, Plait, Status, nursery, spawn, spawn_sibling, values
from plait.model.errors import IllegalMove, InvalidArguments, JobFailed
from plait.testing import Kit

from ..harness import Harness


async def _children(app_harness: Harness, parent: UUID) -> list[Any]:
    rows = await app_harness.rows(
        "select status::text, reason from plait.job where parent_id = $1 order by fan_out_id, fan_out_index", parent
    )
    return [tuple(row) for row in rows]


async def test_a_nursery_waits_at_the_end_of_its_block(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def child(n: int) -> int:
        if n < 0:
            raise PermanentError("less than nothing")
        return n * 2

    failed: list[list[str]] = []

    @app.job
    async def parent() -> list[int]:
        async with nursery() as n:
            await n.spawn(child, 1)
            await n.spawn(child, 2)
        first = values(n.results)
        async with nursery(child_mode="serial") as empty:
            pass
        assert empty.results == []
        try:
            async with nursery(on_child_failure="stop", child_mode="serial") as n:
                for i in (3, -1, 4):
                    await n.spawn(child, i)
        except FanOutError as error:
            failed.append([failure.status for failure in error.failures])
        return first

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == [2, 4]
    assert failed == [["failed", "canceled"]]


@pytest.mark.parametrize("then", ["continues", "fails"])
async def test_a_job_whose_block_was_left_by_an_error_waits_for_what_is_open_in_it(
    app: Plait, kit: Kit, app_harness: Harness, then: str
) -> None:
    """T21: it is not final before its children, whatever its handler made of the error."""
    started, go_on = asyncio.Event(), asyncio.Event()
    seen: list[Status] = []

    @app.job(retries=0)
    async def child(n: int) -> None:
        started.set()
        await go_on.wait()
        seen.append(await handle.status())

    @app.job(retries=0)
    async def parent() -> str:
        try:
            async with nursery() as n:
                await n.spawn(child, 1)
                await n.spawn(child, 2, delay="1h")
                await started.wait()
                int("in the block")
        except ValueError:
            asyncio.get_running_loop().call_later(0.3, go_on.set)
            if then == "fails":
                raise
        return "kept"

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert seen == [Status.WAITING]
    if then == "fails":
        assert await _children(app_harness, handle.id) == [("succeeded", None), ("canceled", "parent_failed")]
        assert await handle.status() is Status.DEAD_LETTER
        return
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert seen == [Status.WAITING] * 2
    assert await handle.result(120) == "kept"


async def test_what_fails_in_a_block_that_was_left_fails_the_job(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Nobody has seen it: an error does not pass silently."""

    @app.job(retries=0)
    async def child(n: int) -> None:
        if n == 1:
            raise ValueError("no one")

    @app.job(retries=0)
    async def parent() -> None:
        await spawn(child, 0)
        try:
            async with nursery() as n:
                await n.spawn(child, 1)
                int("in the block")
        except ValueError:
            pass

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match=r"1 of 2 children did not succeed: child .* no one"):
        await handle.result(120)


async def test_a_block_that_was_left_is_entered_again_by_the_next_try(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    tries = 0

    @app.job
    async def child(n: int) -> int:
        return n

    @app.job(retries=1)
    async def parent() -> list[int]:
        nonlocal tries
        tries += 1
        async with nursery() as n:
            await n.spawn(child, 1)
            if tries == 1:
                raise ValueError
            await n.spawn_many(child, [2, 3])
        return values(n.results)

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(minutes=5)
    await kit.run_until_idle()
    assert await handle.result(120) == [1, 2, 3]
    assert len(await handle.tree()) == 4


async def test_nurseries_may_be_nested(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def child(n: int) -> int:
        if n == 2:
            await spawn_sibling(child, 20)
        return n

    @app.job
    async def parent() -> list[list[int]]:
        async with nursery() as outer:
            await outer.spawn(child, 1)
            async with nursery(child_mode="serial") as inner:
                await inner.spawn(child, 2)
                await spawn(child, 99)
            await outer.spawn(child, 3)
        return [values(outer.results), values(inner.results)]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == [[1, 3], [2, 20]]


@pytest.mark.parametrize("nested", [False, True])
async def test_a_tree_whose_nursery_failed_is_retried_where_it_failed(
    app: Plait, kit: Kit, app_harness: Harness, nested: bool
) -> None:
    broken, ran = True, []

    @app.job(retries=0)
    async def child(n: int) -> int:
        ran.append(n)
        if n == 1 and broken:
            raise ValueError
        return n

    @app.job(retries=0)
    async def parent() -> int:
        async with nursery() as outer:
            if nested:
                await outer.spawn(child, 10, delay="1h")
            async with nursery() as n:
                await n.spawn_many(child, [0, 1])
        return sum(values(n.results))

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.status() is Status.FAILED
    broken = False
    with pytest.raises(IllegalMove, match="retry the whole workflow"):
        await handle.retry()
    await handle.retry_tree()
    await kit.run_until_idle()
    if nested:
        await kit.advance(hours=1)
        await kit.run_until_idle()
    assert await handle.result(120) == 1
    assert sorted(ran) == ([0, 1, 1, 10] if nested else [0, 1, 1])


async def test_a_nursery_is_entered_once_and_takes_children_only_inside(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job
    async def child() -> None: ...

    refused: list[str] = []

    @app.job(retries=0)
    async def parent() -> None:
        n = nursery()
        with pytest.raises(InvalidArguments) as error:
            await n.spawn(child)
        refused.append(str(error.value))
        async with n:
            await n.spawn(child)
        with pytest.raises(InvalidArguments) as error:
            await n.spawn(child)
        refused.append(str(error.value))
        with pytest.raises(InvalidArguments) as error:
            async with n:
                pass
        refused.append(str(error.value))

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await handle.result(120)
    assert ["entered only once" in text for text in refused[-3:]] == [False, False, True]
    assert all("must be called inside the nursery" in text for text in refused[-3:-1])
