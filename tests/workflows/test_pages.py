"""Results and steps are loaded in pages of bytes, whatever their size and number."""

import asyncio
import tracemalloc
from typing import Any

import pytest

from plait import Plait, call, collect_all, fan_out, fan_out_stream, nursery, sleep, sub, values, wait_for_signal
from plait.sdk import fan_out as module
from plait.sdk.codec import MAX_BYTES
from plait.store import workflows
from plait.store.workflows import PAGE_BYTES, ChildOutcome, Workflows
from plait.testing import Kit

from ..harness import Harness

LARGE = "x" * 900_000
MANY = 60
"""The number of results: 54 MB in total, seven pages."""


def big(n: int) -> str:
    return f"{n:04}{LARGE}"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The sizes of the loaded values, page by page."""
    loaded: list[list[int]] = []
    gather, step_values, resume_steps = Workflows.gather, Workflows.step_values, Workflows.resume_steps

    async def seen_gather(*args: Any, **kwargs: Any) -> list[ChildOutcome]:
        rows = await gather(*args, **kwargs)
        loaded.append([len(row.result or "") for row in rows])
        return rows

    async def seen_values(*args: Any, **kwargs: Any) -> Any:
        found = await step_values(*args, **kwargs)
        loaded.append([len(value) for value in (found or {}).values()])
        return found

    async def seen_steps(*args: Any, **kwargs: Any) -> Any:
        rows = await resume_steps(*args, **kwargs)
        loaded.append([len(row.value or "") for row in rows or ()])
        return rows

    monkeypatch.setattr(Workflows, "gather", seen_gather)
    monkeypatch.setattr(Workflows, "step_values", seen_values)
    monkeypatch.setattr(Workflows, "resume_steps", seen_steps)
    return loaded


def assert_bounded(pages: list[list[int]]) -> None:
    assert max(sum(page) for page in pages) < PAGE_BYTES + MAX_BYTES


async def test_a_stream_of_large_results_holds_one_page_of_them(app: Plait, kit: Kit, pages: list[list[int]]) -> None:
    """54 MB are read with less than 30 MB of memory: a page as received, as text, and decoded."""

    @app.job
    async def leaf(n: int) -> str:
        return big(n)

    peak = 0

    @app.job(retries=0)
    async def parent() -> int:
        nonlocal peak
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        total = 0
        async for result in fan_out_stream([sub(leaf, n) for n in range(MANY)], queue="elsewhere"):
            assert result.value is not None
            total += len(result.value)
        peak = tracemalloc.get_traced_memory()[1] - before
        return total

    handle = await parent.enqueue()
    await kit.run_until_idle()
    for n, child in enumerate(await kit.sub_jobs(handle)):
        await kit.complete_sub_job(child.id, big(n))
    tracemalloc.start()
    try:
        await kit.run_until_idle()
    finally:
        tracemalloc.stop()
    assert await handle.result(120) == MANY * len(big(0))
    assert_bounded(pages)
    assert 0 < peak < 30_000_000


@pytest.mark.parametrize("page", [2000, 7])
async def test_large_results_all_come_and_in_order(
    app: Plait, kit: Kit, pages: list[list[int]], page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages limited by bytes, and pages limited by rows."""
    monkeypatch.setattr(module, "PAGE", page)

    @app.job(retries=0)
    async def leaf(n: int) -> str:
        if n % 5 == 4:
            raise ValueError(str(n))
        return big(n)

    @app.job(retries=0)
    async def parent() -> list[str]:
        results = await fan_out([sub(leaf, n) for n in range(20)], collect_all())
        async with nursery() as children:
            await children.spawn_many(leaf, [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13])
        assert values(children.results) == [big(n) for n in (0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13)]
        return [result.value[:4] if result.value else "-" for result in results]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == [f"{n:04}" if n % 5 != 4 else "-" for n in range(20)]
    assert_bounded(pages)
    assert sum(len(loaded) for loaded in pages) >= 32


async def test_small_results_come_in_one_page(app: Plait, kit: Kit, pages: list[list[int]]) -> None:
    """Paging adds no query."""

    @app.job
    async def leaf(n: int) -> int:
        return n

    @app.job(retries=0)
    async def parent() -> int:
        return sum(values(await fan_out([sub(leaf, n) for n in range(100)])))

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == 4950
    assert [len(page) for page in pages] == [1, 100]


async def test_a_replay_of_large_steps_loads_them_by_pages(app: Plait, kit: Kit, pages: list[list[int]]) -> None:
    ran: list[int] = []
    seen: list[bool] = []

    async def step(n: int) -> str:
        ran.append(n)
        return big(n)

    @app.job(retries=0)
    async def parent() -> int:
        for n in range(30):
            seen.append(await call(step, n) == big(n))
        seen.append(await wait_for_signal("news", type=str) == LARGE)
        await sleep("1h")
        return len(seen)

    handle = await parent.enqueue()
    await handle.signal("news", LARGE)
    await kit.run_until_idle()
    pages.clear()
    await kit.advance(hours=2)
    await kit.run_until_idle()
    assert await handle.result(120) == 62
    assert all(seen)
    assert ran == list(range(30))
    assert_bounded(pages)
    assert len(pages) == 4, "30 MB, each loaded once"


async def test_a_replay_of_large_steps_in_many_branches_is_bounded_too(
    app: Plait, kit: Kit, pages: list[list[int]]
) -> None:
    """Branches request values in a different order than the recorded one. Each gets its own value."""
    ran: list[int] = []
    runs: list[list[int]] = []

    async def step(n: int) -> str:
        ran.append(n)
        return big(n)

    @app.job(retries=0)
    async def parent() -> list[int]:
        async def lane(lane: int) -> int:
            for n in range(4):
                assert await call(step, 10 * lane + n) == big(10 * lane + n)
            await sleep(f"{lane + 1}h")
            return len(await call(step, 10 * lane + 5))

        runs.append(list(await asyncio.gather(*(lane(n) for n in range(6)))))
        return runs[-1]

    handle = await parent.enqueue()
    for _ in range(8):
        await kit.run_until_idle()
        await kit.advance(hours=1)
    assert await handle.result(120) == [900_004] * 6
    assert sorted(ran) == sorted(10 * lane + n for lane in range(6) for n in (0, 1, 2, 3, 5))
    assert_bounded(pages)


async def test_values_come_by_pages_and_a_stale_attempt_gets_none(harness: Harness) -> None:
    await harness.enqueue()
    worker = await harness.worker()
    claimed = await worker.claim_one()
    lease = workflows.Lease(worker.id, claimed.job_id, claimed.attempt)
    store = harness.store.workflows
    key = workflows.StepKey("", "a", 1, 1)
    assert await store.save_steps(worker.id, [workflows.Checkpoint(lease, key, "call", 1, None, '"one"', None)]) == []
    other = workflows.StepKey("", "b", 1, 2)
    assert await store.save_steps(worker.id, [workflows.Checkpoint(lease, other, "call", 2, None, '"two"', None)]) == []
    rows = await store.resume_steps(lease, most_bytes=1)
    assert rows is not None
    assert [(row.name, row.value, row.left_out) for row in rows] == [("a", '"one"', False), ("b", None, True)]
    assert await store.step_values(lease, rows[1], most_bytes=1) == {("", "b", 1): '"two"'}
    assert await store.step_values(lease, rows[0], most_bytes=6) == {("", "a", 1): '"one"', ("", "b", 1): '"two"'}
    stale = workflows.Lease(worker.id, claimed.job_id, claimed.attempt + 1)
    assert await store.step_values(stale, rows[1]) is None
