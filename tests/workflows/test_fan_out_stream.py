"""`fan_out_stream`: results in the order in which sub-jobs ended, in pages, and the same on every replay."""

from typing import Any

import pytest

from plait import FanOutError, PermanentError, Plait, Status, call, fail_fast, fan_out_stream, quorum, sub
from plait.sdk import fan_out as module
from plait.testing import Kit

from ..harness import Harness


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 3)


async def test_results_come_in_the_order_in_which_they_ended(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Each replay reads the same results as the one before, and then more."""
    runs: list[list[int]] = []

    @app.job
    async def leaf(n: int) -> int:
        return n

    @app.job(retries=0)
    async def parent(count: int) -> list[int]:
        runs.append([])
        async for result in fan_out_stream(sub(leaf, n, queue="elsewhere") for n in range(count)):
            assert result.value is not None
            runs[-1].append(result.value)
        return runs[-1]

    handle = await parent.enqueue(10)
    await kit.run_until_idle()
    order = [7, 2, 9, 0, 1, 3, 8, 4, 6, 5]
    children = await kit.sub_jobs(handle)
    for n in order:
        await kit.complete_sub_job(children[n].id, n)
        await kit.run_until_idle()
    assert await handle.result(120) == order
    assert all(order[: len(run)] == run for run in runs)
    assert len(runs) >= 6
    assert await app_harness.rescue() is not None


async def test_a_stream_is_replayed_from_the_record(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """The steps in the loop's body belong to the same results in each replay."""
    seen: list[int] = []

    async def keep(n: int) -> int:
        seen.append(n)
        return n

    @app.job(retries=0)
    async def leaf(n: int) -> int:
        if n % 3 == 0:
            raise PermanentError("three")
        return n

    @app.job(retries=0)
    async def parent() -> list[int]:
        out = []
        async for result in fan_out_stream([sub(leaf, n) for n in range(20)]):
            if result.succeeded:
                out.append(await call(keep, result.value))
        return out

    handle = await parent.enqueue()
    await kit.run_until_idle()
    result = await handle.result(120)
    assert sorted(result) == [n for n in range(20) if n % 3]
    assert result == seen


async def test_a_stream_ends_as_its_strategy_says(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def leaf(n: int) -> int:
        if n == 2:
            raise PermanentError("two")
        return n

    seen: list[Any] = []

    @app.job(retries=0)
    async def fails() -> str:
        seen.clear()
        try:
            async for result in fan_out_stream(
                [sub(leaf, 1), sub(leaf, 2), sub(leaf, 3, queue="elsewhere")], fail_fast()
            ):
                seen.append(result.index)
        except FanOutError as error:
            return f"{error} {[f.index for f in error.failures]}"
        return "?"

    handle = await fails.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == "fan-out failed: 1/3 sub-jobs failed; sub-job 1 failed: two [1]"
    assert sorted(seen) == [0, 1]
    assert [n.status for n in await handle.tree()] == [
        Status.SUCCEEDED,
        Status.SUCCEEDED,
        Status.FAILED,
        Status.CANCELED,
    ]

    @app.job(retries=0)
    async def two_of() -> list[int]:
        subs = [sub(leaf, n, queue="elsewhere") for n in (3, 4, 5)]
        return [result.value or 0 async for result in fan_out_stream(subs, quorum(2))]

    handle2 = await two_of.enqueue()
    await kit.run_until_idle()
    children = await kit.sub_jobs(handle2)
    for n in (2, 0, 1):
        await kit.complete_sub_job(children[n].id, n)
    await kit.run_until_idle()
    assert await handle2.result(120) == [2, 0]


async def test_an_empty_stream_ends_at_once(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T20."""

    @app.job(retries=0)
    async def parent() -> int:
        return len([result async for result in fan_out_stream([])])

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == 0
    assert await app_harness.outcomes(handle.id) == ["succeeded"]
