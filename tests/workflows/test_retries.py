"""Retries by an operator: of a whole workflow, of a child, and of a parent. Succeeded jobs are kept."""

import pytest

from plait import (
    JobFailed,
    PermanentError,
    Plait,
    Status,
    call,
    collect_all,
    fan_out,
    sub,
    values,
)
from plait.model.errors import IllegalMove
from plait.testing import Kit

from ..harness import Harness
from .nested_workflow import NestedWorkflow


async def test_what_failed_in_a_tree_is_retried_and_what_succeeded_stays(
    nested: NestedWorkflow, kit: Kit, app_harness: Harness
) -> None:
    nested.fail = {"r.0.1"}
    handle = await nested.node.enqueue("r", 2)
    await kit.run_until_idle()
    with pytest.raises(JobFailed):
        await handle.result(120)
    before = list(nested.ran)
    nested.fail = set()
    retried = await handle.retry_tree()
    await kit.run_until_idle()
    assert await handle.result(120) == ["r.0.0", "r.0.1", "r.1.0", "r.1.1"]
    again = nested.ran[len(before) :]
    assert "r.0.0" not in again  # it had succeeded
    assert not [what for what in again if what.startswith("note") and what in before]  # steps are kept
    # The root, its failed node, the failed leaf of that node, and jobs that were canceled as a result.
    assert retried >= 3
    assert {n.status for n in await handle.tree()} == {Status.SUCCEEDED}


async def test_a_tree_is_retried_as_often_as_it_fails(nested: NestedWorkflow, kit: Kit) -> None:
    nested.fail = {"r.0.1", "r.1.0"}
    handle = await nested.node.enqueue("r", 2)
    await kit.run_until_idle()
    for fail in ({"r.1.0"}, {"r.1.0"}, set()):
        assert await handle.status() == Status.FAILED
        nested.fail = fail
        await handle.retry_tree()
        await kit.run_until_idle()
    assert await handle.status() == Status.SUCCEEDED


async def test_a_tree_is_retried_from_its_root_and_only_when_that_has_failed(
    nested: NestedWorkflow, kit: Kit, app_harness: Harness
) -> None:
    handle = await nested.node.enqueue("r", 1)
    with pytest.raises(IllegalMove, match="a queued job cannot be retried"):
        await handle.retry_tree()
    await kit.run_until_idle()
    with pytest.raises(IllegalMove, match="a succeeded job cannot be retried"):
        await handle.retry_tree()
    child = (await handle.tree())[1]
    with pytest.raises(IllegalMove, match=f"is not the root of its workflow: retry the root, job {handle.id}"):
        await app_harness.store.jobs.retry_tree(child.id)


async def test_a_child_is_retried_alone_while_its_fan_out_is_open(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def leaf(n: int) -> int:
        return n

    @app.job(retries=0)
    async def parent() -> list[int]:
        return values(await fan_out([sub(leaf, n, queue="elsewhere") for n in range(2)], collect_all()))

    handle = await parent.enqueue()
    await kit.run_until_idle()
    first, second = await kit.sub_jobs(handle)
    await kit.fail_sub_job(first.id)
    assert await app_harness.retry(first.id) == Status.QUEUED
    await kit.complete_sub_job(first.id, 10)
    await kit.fail_sub_job(second.id)
    await kit.run_until_idle()
    assert await handle.result(120) == [10]
    with pytest.raises(IllegalMove, match="retry the whole workflow"):
        await app_harness.retry(second.id)
    assert await app_harness.status(second.id) == Status.FAILED


async def test_a_retried_parent_does_its_failed_fan_out_anew(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T18: with the old checkpoint, the parent would only fail again. Earlier steps are kept unless the retry drops them."""
    ran: list[str] = []
    fails = [True]

    @app.job(retries=0)
    async def leaf() -> int:
        if fails:
            raise PermanentError("no")
        return 1

    async def before() -> None:
        ran.append("before")

    @app.job(retries=0)
    async def parent() -> list[int]:
        await call(before)
        return values(await fan_out([sub(leaf)]))

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.status() == Status.FAILED
    await handle.retry()
    await kit.run_until_idle()
    assert await handle.status() == Status.FAILED
    fails.clear()
    await handle.retry()
    await kit.run_until_idle()
    assert (await handle.result(120), ran, len(await handle.tree())) == ([1], ["before"], 4)

    fails.append(True)
    handle = await parent.enqueue()
    await kit.run_until_idle()
    fails.clear()
    await handle.retry(drop_steps=True)
    await kit.run_until_idle()
    assert (await handle.result(120), ran) == ([1], ["before"] * 3)


async def test_an_error_that_was_borne_stays_on_record(app: Plait, kit: Kit) -> None:
    """A retry keeps failures that the job handled. Only a failed last step runs again."""
    ran: list[str] = []

    async def charge(card: str) -> str:
        ran.append(card)
        if card == "bad":
            raise PermanentError("refused")
        return card

    async def ship() -> None:
        ran.append("ship")
        if ran.count("ship") == 1:
            raise PermanentError("no truck")

    @app.job(retries=0)
    async def order() -> str:
        try:
            paid = await call(charge, "bad")
        except PermanentError:
            paid = await call(charge, "good")
        await call(ship)
        return paid

    handle = await order.enqueue()
    await kit.run_until_idle()
    assert await handle.status() == Status.FAILED
    await handle.retry()
    await kit.run_until_idle()
    assert await handle.result(120) == "good"
    assert ran == ["bad", "good", "ship", "ship"]
