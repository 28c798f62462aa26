"""The strategies of a fan-out: fail_fast, collect_all, threshold, quorum; and an empty fan-out."""

from typing import Any

import pytest

from plait import (
    InvalidArguments,
    JobFailed,
    all_succeeded,
    partition,
    quorum,
    threshold,
)
from plait.testing import Kit

from ..harness import Harness
from .fan_out_jobs import FanOutJobs


async def test_fan_out_fail_fast(fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness) -> None:
    """It fails with the first failed child. Open children are canceled, and the error has the results so far."""
    fan_out_jobs.children(1, 2, "fail", *["hang"] * 2)
    handle = await fan_out_jobs.parent.enqueue("fail_fast")
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="fan-out failed: 1/5 sub-jobs failed"):
        await handle.result(120)
    [error] = fan_out_jobs.seen
    assert (error.total_count, error.failed_count, error.strategy) == (5, 1, "fail_fast")
    assert [(f.index, f.error, f.attempt) for f in error.failures] == [(2, "as told", 1)]
    assert {r.index: r.value for r in error.results if r.succeeded} == {0: 1, 1: 2}
    statuses = [node.status for node in await handle.tree()]
    assert statuses == [
        "failed",
        "succeeded",
        "succeeded",
        "failed",
        "canceled",
        "canceled",
    ]  # T14: handlers stopped too
    assert (await app_harness.job(handle.id)).reason == "fan_out_failed"


async def test_fan_out_collect_all(fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness) -> None:
    """It waits for all children and never fails. A canceled child is an error, not an empty success (T7, T11)."""
    fan_out_jobs.children(1, "fail", 3, "skip", 5)
    handle = await fan_out_jobs.parent.enqueue("collect_all")
    await kit.run_until_idle()
    assert await handle.result(120) == [1, 3, 5]
    [results] = fan_out_jobs.seen
    assert [r.index for r in results] == [0, 1, 2, 3, 4]
    good, bad = partition(results)
    assert good == [1, 3, 5]
    assert [f.index for f in bad] == [1]
    assert results[3].skipped
    assert results[3].succeeded
    assert not all_succeeded(results)


async def test_a_canceled_child_is_counted_and_is_no_success(
    fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness
) -> None:
    """T7, T11."""
    fan_out_jobs.children(1, 2, 3, queue="elsewhere")
    handle = await fan_out_jobs.parent.enqueue("collect_all")
    await kit.run_until_idle()
    first, second, third = await kit.sub_jobs(handle)
    await app_harness.cancel(first.id)
    await kit.complete_sub_job(second.id, 2)
    await kit.fail_sub_job(third.id)
    assert await kit.wait_for_fan_out(handle) == "succeeded"
    await kit.run_until_idle()
    [results] = fan_out_jobs.seen
    assert [r.error and r.error.status for r in results] == ["canceled", None, "failed"]
    assert await handle.result(120) == [2]


@pytest.mark.parametrize(
    ("share", "total", "needed"),
    [(0.9, 10, 9), (0.8, 3, 3), (0, 5, 0), (1, 5, 5), (0.1, 30, 3), (0.5, 3, 2), (1.0, 1, 1), (0.001, 10, 1)],
)
def test_a_threshold_is_rounded_up_and_never_by_a_rounding_error(share: float, total: int, needed: int) -> None:
    """T8."""
    assert threshold(share).needed(total) == needed


@pytest.mark.parametrize("share", [1.1, -0.1, float("nan"), "0.5", True, None])
def test_a_threshold_outside_0_to_1_is_refused(share: Any) -> None:
    """T8."""
    with pytest.raises(InvalidArguments, match="between 0 and 1"):
        threshold(share)


@pytest.mark.parametrize("count", [0, -1, "most", 1.5, True])
def test_a_quorum_that_is_no_number_is_refused(count: Any) -> None:
    with pytest.raises(InvalidArguments, match="quorum must be"):
        quorum(count)


async def test_fan_out_threshold(fan_out_jobs: FanOutJobs, kit: Kit) -> None:
    """Half of four children must succeed: two failures are tolerated, and all children are awaited."""
    fan_out_jobs.children("fail", 1, "fail", 2)
    handle = await fan_out_jobs.parent.enqueue("half")
    await kit.run_until_idle()
    assert await handle.result(120) == [1, 2]
    assert len(fan_out_jobs.seen[0]) == 4


async def test_a_threshold_fails_as_soon_as_it_cannot_be_reached(fan_out_jobs: FanOutJobs, kit: Kit) -> None:
    fan_out_jobs.children("fail", "fail", "fail", "hang")
    handle = await fan_out_jobs.parent.enqueue("half")
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="3/4 sub-jobs failed"):
        await handle.result(120)


async def test_a_quorum_goes_on_as_soon_as_enough_have_succeeded(
    fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness
) -> None:
    """Late children change the counts, but neither the decision nor the results (T9)."""
    fan_out_jobs.children(1, 2, 3, 4, queue="elsewhere")
    handle = await fan_out_jobs.parent.enqueue("two")
    await kit.run_until_idle()
    children = await kit.sub_jobs(handle)
    await kit.complete_sub_job(children[3].id, 4)
    await kit.complete_sub_job(children[1].id, 2)
    await kit.complete_sub_job(children[0].id, 1)  # late, but before the parent runs again
    await kit.run_until_idle()
    assert await handle.result(120) == [2, 4]
    await kit.fail_sub_job(children[2].id)
    [fan] = await app_harness.rows("select decision, succeeded, failed, decided_ended, cancel_due from plait.fan_outs")
    assert tuple(fan) == ("succeeded", 3, 1, 2, False)


async def test_a_quorum_fails_as_soon_as_it_cannot_be_reached(fan_out_jobs: FanOutJobs, kit: Kit) -> None:
    fan_out_jobs.children("fail", "fail", "hang", 1)
    handle = await fan_out_jobs.parent.enqueue("majority")
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="2/4 sub-jobs failed"):
        await handle.result(120)


async def test_a_quorum_of_more_than_there_are_is_refused(fan_out_jobs: FanOutJobs, kit: Kit) -> None:
    fan_out_jobs.children(1)
    handle = await fan_out_jobs.parent.enqueue("two")
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="a quorum of 2 cannot be reached: there are 1"):
        await handle.result(120)


@pytest.mark.parametrize("strategy", ["fail_fast", "collect_all", "half", "majority"])
async def test_an_empty_fan_out_returns_at_once(
    fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness, strategy: str
) -> None:
    """T20."""
    handle = await fan_out_jobs.parent.enqueue(strategy)
    await kit.run_until_idle()
    assert await handle.result(120) == []
    assert await app_harness.outcomes(handle.id) == ["succeeded"]
