"""One path through every layer: spawn, return, wait, end."""

import pytest

from plait import Plait, Status, after, spawn
from plait.model.errors import JobFailed
from plait.testing import Kit

from ..harness import Harness


async def test_a_job_that_has_spawned_waits_and_succeeds_with_its_children(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    ran: list[str] = []

    @app.job
    async def child(n: int) -> int:
        ran.append(f"child {n}")
        return n

    @app.job
    async def report() -> None:
        ran.append("report")

    @app.job
    async def parent() -> str:
        for n in range(3):
            await spawn(child, n)
        await after(report)
        return "kept"

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == "kept"
    assert sorted(ran[:3]) == ["child 0", "child 1", "child 2"]
    assert ran[3:] == ["report"]
    assert await app_harness.outcomes(handle.id) == ["suspended", "succeeded"]
    assert await app_harness.counts() == {Status.SUCCEEDED: 5}


async def test_a_parent_fails_after_all_its_children_have_ended_and_names_those_that_failed(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(retries=0)
    async def child(n: int) -> int:
        if n == 1:
            raise ValueError("no one")
        return n

    @app.job
    async def parent() -> None:
        for n in range(3):
            await spawn(child, n)

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match=r"1 of 3 children did not succeed: child .* no one") as failed:
        await handle.result(120)
    assert failed.value.reason == "children_failed"
    assert await app_harness.counts() == {Status.SUCCEEDED: 2, Status.DEAD_LETTER: 1, Status.FAILED: 1}
