"""Fan-out and fan-in."""

import asyncio
from typing import Any

import pytest

from plait import (
    FanOutError,
    JobFailed,
    Plait,
    Result,
    Status,
    all_succeeded,
    call,
    collect_all,
    current,
    fan_out,
    quorum,
    sub,
    values,
)
from plait.testing import Kit

from ..harness import Harness
from .fan_out_jobs import FanOutJobs


async def test_fan_out_resume_after_crash(fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness) -> None:
    """The worker is lost while the resumed parent runs. The next attempt uses the recorded results and creates no children (T4, T10)."""
    fan_out_jobs.children(1, 2)
    handle = await fan_out_jobs.parent.enqueue("fail_fast")
    first = await app_harness.worker(definitions=["parent"])
    await kit.run_until_idle()
    assert await handle.result(120) == [1, 2]

    fan_out_jobs.children(3, 4, queue="elsewhere")
    handle = await fan_out_jobs.parent.enqueue("fail_fast")
    await kit.run_until_idle()
    for child, value in zip(await kit.sub_jobs(handle), (3, 4), strict=True):
        await kit.complete_sub_job(child.id, value)
    lease = await first.claim_one()
    assert lease.job_id == handle.id
    await app_harness.lose(first)
    await kit.run_until_idle()
    assert await handle.result(120) == [3, 4]
    assert await app_harness.outcomes(handle.id) == ["suspended", "lost", "succeeded"]
    assert len(await handle.tree()) == 3


async def test_fan_out_timeout(fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness) -> None:
    """T22: the timeout uses the database's clock. Unfinished children are canceled, and the parent gets the available results."""
    fan_out_jobs.children(1, 2, 3, queue="elsewhere")
    fan_out_jobs.options = {"timeout": "10m"}
    handle = await fan_out_jobs.parent.enqueue("collect_all")
    await kit.run_until_idle()
    first, *_ = await kit.sub_jobs(handle)
    await kit.complete_sub_job(first.id, 1)
    await kit.advance(minutes=9)
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="timeout exceeded"):
        await handle.result(120)
    [error] = fan_out_jobs.seen
    assert error.timed_out
    assert [r.value for r in error.results] == [1]
    assert [node.status for node in await handle.tree()] == ["failed", "succeeded", "canceled", "canceled"]


async def test_a_timed_out_fan_out_cancels_running_handlers_too(app: Plait, fan_out_jobs: FanOutJobs, kit: Kit) -> None:
    """T14."""
    fan_out_jobs.children("hang", 1)
    fan_out_jobs.options = {"timeout": 60}
    handle = await fan_out_jobs.parent.enqueue("collect_all")
    running = asyncio.create_task(kit.run_until_idle())
    try:
        while [n.status for n in await handle.tree()] != ["waiting", "running", "succeeded"]:
            await asyncio.sleep(0.01)
        await kit.advance(minutes=2)
        await asyncio.wait_for(running, 180)
    finally:
        running.cancel()
    assert [n.status for n in await handle.tree()] == ["failed", "canceled", "succeeded"]


async def test_a_child_without_a_handler_is_ended_by_the_timeout(app: Plait, kit: Kit) -> None:
    """T13."""

    @app.job(retries=0)
    async def parent() -> str:
        try:
            await fan_out([sub("nobody knows it", n=1)], timeout="1m")
        except FanOutError as error:
            return str(error)
        return "?"

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    assert await handle.result(120) == "fan-out failed: timeout exceeded (0/1 sub-jobs failed)"


async def test_fan_out_cancel_on_parent_failure(fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness) -> None:
    """T21: if a parent ends without success, its children are canceled only with `cancel_on_parent_failure`."""
    for asked, expected in ((True, Status.CANCELED), (False, Status.QUEUED)):
        fan_out_jobs.children(1, 2, queue="elsewhere")
        fan_out_jobs.options = {"cancel_on_parent_failure": asked}
        handle = await fan_out_jobs.parent.enqueue("collect_all")
        await kit.run_until_idle()
        children = await kit.sub_jobs(handle)
        assert await handle.cancel() == Status.CANCELED
        await kit.run_until_idle()
        assert [await app_harness.status(child.id) for child in children] == [expected] * 2


async def test_a_parent_that_fails_by_its_own_error_takes_late_children_with_it(
    app: Plait, fan_out_jobs: FanOutJobs, kit: Kit
) -> None:
    """T21."""

    @app.job(retries=0)
    async def hasty() -> None:
        await fan_out(
            [sub(fan_out_jobs.child, 1), sub(fan_out_jobs.child, 2, queue="elsewhere")],
            quorum(1),
            cancel_on_parent_failure=True,
        )
        raise RuntimeError("my own")

    handle = await hasty.enqueue()
    await kit.run_until_idle()
    assert [n.status for n in await handle.tree()] == ["dead_letter", "succeeded", "canceled"]


async def test_remaining_children_run_on_where_that_is_wanted(fan_out_jobs: FanOutJobs, kit: Kit) -> None:
    fan_out_jobs.subs = [sub(fan_out_jobs.child, "fail"), sub(fan_out_jobs.child, 2, queue="elsewhere")]
    fan_out_jobs.options = {"cancel_remaining": False}
    handle = await fan_out_jobs.parent.enqueue("fail_fast")
    await kit.run_until_idle()
    assert [n.status for n in await handle.tree()] == ["failed", "failed", "queued"]


async def test_nested_fan_out(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Nested fan-outs. Every job stores its root, its depth and its parent."""

    @app.job
    async def node(depth: int) -> int:
        if depth == 0:
            return 1
        return 1 + sum(map(int, values(await fan_out([sub(node, depth - 1), sub(node, depth - 1)]))))

    handle = await node.options(correlation_id="c-1").enqueue(3)
    await kit.run_until_idle()
    assert await handle.result(120) == 15
    tree = await handle.tree()
    assert sorted(n.depth for n in tree) == [0] + [1] * 2 + [2] * 4 + [3] * 8
    by_id = {n.id: n for n in tree}
    for n in tree[1:]:
        assert n.parent_id is not None
        assert by_id[n.parent_id].depth == n.depth - 1
        job = await app_harness.job(n.id)
        assert (job.root_id, job.correlation_id) == (handle.id, "c-1")


async def test_a_fan_out_may_forbid_its_children_to_fan_out(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def leaf() -> None:
        await fan_out([sub(leaf)])

    @app.job(retries=0)
    async def root() -> list[str]:
        results = await fan_out([sub(leaf)], collect_all(), nested=False)
        return [r.error.error for r in results if r.error]

    handle = await root.enqueue()
    await kit.run_until_idle()
    [error] = await handle.result(120)
    assert "may not fan out" in error


async def test_workflow_resume(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Sequential phases with steps between them. Each runs once, in spite of replays (T5, T12)."""
    done: list[str] = []

    async def note(what: str) -> str:
        done.append(what)
        return what

    @app.job
    async def part(n: int) -> int:
        return n

    @app.job(retries=0)
    async def workflow() -> list[Any]:
        out: list[Any] = [await call(note, "begin")]
        out += values(await part.map([1, 2, 3]))
        out.append(await call(note, "middle"))
        out += values(await part.map([4, 5]))
        out.append(await call(note, "end"))
        return out

    handle = await workflow.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == ["begin", 1, 2, 3, "middle", 4, 5, "end"]
    assert done == ["begin", "middle", "end"]
    job = await app_harness.job(handle.id)
    assert (job.attempt, await app_harness.outcomes(handle.id)) == (3, ["suspended", "suspended", "succeeded"])


async def test_fan_out_with_polling_fallback(fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness) -> None:
    """The parent's row is locked when its last child ends. The child's transaction does not wait, and rescue resumes the parent (T1, T10)."""
    fan_out_jobs.children(1, queue="elsewhere")
    handle = await fan_out_jobs.parent.enqueue("fail_fast")
    await kit.run_until_idle()
    [child] = await kit.sub_jobs(handle)
    async with app_harness.admin.transaction():
        await app_harness.sql("select 1 from plait.live where job_id = $1 for update", handle.id)
        await kit.complete_sub_job(child.id, 7)
    assert await handle.status() == Status.WAITING
    assert await kit.wait_for_fan_out(handle) == "succeeded"
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING  # only rescue resumes it
    await app_harness.advance(minutes=1)
    assert "missed_resume" in await app_harness.findings()
    assert (await app_harness.rescue()).resumed == 1
    assert (await app_harness.rescue()).resumed == 0
    assert "missed_resume" not in await app_harness.findings()
    await kit.run_until_idle()
    assert await handle.result(120) == [7]


async def test_the_last_child_resumes_its_parent_without_any_leader(
    fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness
) -> None:
    """Only the transaction of the last child resumes the parent. No rescue runs."""
    fan_out_jobs.children(1, queue="elsewhere")
    handle = await fan_out_jobs.parent.enqueue("fail_fast")
    await kit.run_until_idle()
    [child] = await kit.sub_jobs(handle)
    await kit.complete_sub_job(child.id, 7)
    assert await handle.status() == Status.QUEUED


async def test_a_fan_out_that_is_decided_resumes_its_parent_once(
    fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness
) -> None:
    """T5: a sweeper must not resume a parent that waits for phase 2 because phase 1 is complete."""
    fan_out_jobs.children(1, queue="elsewhere")

    @fan_out_jobs.app.job(retries=0)
    async def phases() -> int:
        await fan_out([sub(fan_out_jobs.child, 1)])
        await fan_out([sub(fan_out_jobs.child, 2, queue="elsewhere")])
        return 3

    handle = await phases.enqueue()
    await kit.run_until_idle()
    for _ in range(3):
        assert (await app_harness.rescue()).resumed == 0
        await kit.run_until_idle()
    assert await app_harness.outcomes(handle.id) == ["suspended", "suspended"]


async def test_what_a_sub_job_says_goes_before_the_fan_out_and_its_definition(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """T19, T90: the most specific option takes precedence, and 0 is a value."""

    @app.job(queue="plain", priority=7)
    async def plain() -> None: ...

    @app.job(queue="strict", retries=0, priority=3)
    async def strict() -> None: ...

    @app.job(retries=8)
    async def parent(case: str) -> None:
        match case:
            case "none":
                await fan_out([sub(plain), sub(strict)], name=case)
            case "fan-out":
                await fan_out(
                    [sub(plain), sub(strict)], name=case, queue="fan", priority=0, retries=0, sub_timeout="5m"
                )
            case "sub":
                await fan_out(
                    [sub(plain, queue="own", priority=0, retries=0, timeout=1), sub("strict", retries=2)],
                    name=case,
                    queue="fan",
                    priority=50,
                    retries=9,
                    sub_timeout=2,
                )
            case _:
                await fan_out([sub(plain.options(queue="opt", priority=-1, retries=1, timeout=9))], name=case)

    async def children(case: str) -> list[tuple[Any, ...]]:
        handle = await parent.enqueue(case)
        await kit.run_until_idle()
        rows = await app_harness.rows(
            "select queue, priority, max_attempts, timeout_s from plait.jobs where parent_id = $1 order by fan_out_index",
            handle.id,
        )
        return [tuple(row) for row in rows]

    assert await children("none") == [("plain", 7, 9, None), ("strict", 3, 1, None)]
    assert await children("fan-out") == [("fan", 0, 1, 300.0), ("fan", 0, 1, 300.0)]
    assert await children("sub") == [("own", 0, 1, 1.0), ("fan", 50, 3, 2.0)]
    assert await children("options") == [("opt", -1, 2, 9.0)]


async def test_children_belong_to_their_parents_tenant(app: Plait, kit: Kit, app_harness: Harness) -> None:
    acme = await app_harness.tenant("acme")

    @app.job
    async def leaf() -> str:
        return str(current().tenant_id)

    @app.job
    async def parent() -> list[str]:
        return values(await leaf.map([(), ()]))

    handle = await parent.options(tenant="acme").enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == [str(acme)] * 2


async def test_children_count_toward_their_tenants_quota(app: Plait, kit: Kit, app_harness: Harness) -> None:
    await app_harness.tenant("small", max_queued=3)

    @app.job
    async def leaf() -> None: ...

    @app.job(retries=0)
    async def parent() -> None:
        await leaf.map([()] * 5)

    handle = await parent.options(tenant="small").enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="may have at most 3 unfinished jobs"):
        await handle.result(120)
    assert len(await handle.tree()) == 1  # T3: no child of the fan-out was stored


async def test_a_child_that_is_retried_is_counted_once(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T6: a failed attempt is not a failed child."""
    tried: list[int] = []

    @app.job(retries=3)
    async def flaky() -> int:
        tried.append(1)
        if len(tried) < 3:
            raise RuntimeError("not yet")
        return len(tried)

    @app.job
    async def parent() -> list[int]:
        return values(await fan_out([sub(flaky)]))

    handle = await parent.enqueue()
    for _ in range(4):
        await kit.run_until_idle()
        await kit.advance(minutes=5)
    await kit.run_until_idle()
    assert await handle.result(120) == [3]


@pytest.mark.parametrize("nonsense", ["not a sub", None, 7])
async def test_what_is_no_sub_job_is_refused(
    fan_out_jobs: FanOutJobs, kit: Kit, app_harness: Harness, nonsense: Any
) -> None:
    for subs in ([nonsense], [sub(fan_out_jobs.child, 1), nonsense, sub(fan_out_jobs.child, 2)]):
        fan_out_jobs.subs = subs
        handle = await fan_out_jobs.parent.enqueue("fail_fast")
        await kit.run_until_idle()
        with pytest.raises(JobFailed, match=rf"fan_out arguments must be sub\(job, …\), got {type(nonsense).__name__}"):
            await handle.result(120)
        assert len(await handle.tree()) == 1


def test_results_tell_what_they_are() -> None:
    one: Result[int] = Result(index=0, job_id=None, value=1)  # type: ignore[arg-type]
    assert all_succeeded([one])
    assert values([one, Result(index=1, job_id=None, skipped=True)]) == [1]  # type: ignore[arg-type]
