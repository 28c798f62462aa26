"""Guarantees of spawn: T24, T25, options, siblings, info, durations."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from plait import (
    PermanentError,
    Plait,
    PlaitError,
    Status,
    after,
    current,
    fan_out,
    has_failed_siblings,
    has_pending_children,
    quorum,
    spawn,
    spawn_many,
    spawn_sibling,
    sub,
)
from plait.model.errors import DatabaseError, IllegalMove, InvalidId, NotFound
from plait.model.ids import new_id
from plait.testing import Kit

from ..fake_worker import outcome
from ..harness import Harness


async def _children(app_harness: Harness, parent: UUID) -> list[Any]:
    return await app_harness.rows(
        "select definition, status::text, reason, payload::text, queue, priority, max_attempts, timeout_s from plait.job"
        " where parent_id = $1 order by fan_out_index",
        parent,
    )


async def test_spawn_takes_options(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def child(n: int) -> None: ...

    @app.job
    async def parent() -> None:
        await spawn(child, 1, queue="elsewhere", priority=0, retries=0, timeout="2m", delay="1h", dedupe_key="k")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    [row] = await _children(app_harness, handle.id)
    assert tuple(row)[4:] == ("elsewhere", 0, 1, 120.0)
    assert (row["status"], await handle.status()) == ("scheduled", Status.WAITING)


async def test_nonsense_is_refused_with_a_sentence(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def child(n: int) -> None: ...

    wrong: list[tuple[Any, str]] = [
        (lambda: spawn(7), "a job or its name"),  # type: ignore[arg-type]
        (lambda: spawn(None), "a job or its name"),  # type: ignore[arg-type]
        (lambda: after(print), "a job or its name"),  # type: ignore[arg-type]
        (lambda: spawn("a\0b"), "without NUL"),
        (lambda: spawn("unknown", 1), "pass its arguments by name"),
        (lambda: spawn(child, "one"), "Expected `int`"),
        (lambda: spawn(child, 1, queue="no such name!"), "queue must be"),
        (lambda: spawn(child, 1, delay=-1), "delay must be between"),
        (lambda: spawn(child.options(tenant="acme"), 1), "do not support the option tenant"),
        (lambda: spawn_many(child.options(dedupe_key="k"), [1, 2]), "would give all jobs the same dedupe key"),
    ]

    @app.job(retries=0)
    async def parent() -> None:
        for ask, said in wrong:
            with pytest.raises(PlaitError, match=said):
                await ask()

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await handle.result(120)
    assert await app_harness.counts() == {Status.SUCCEEDED: 1}


async def test_a_deduplicated_spawn_returns_the_job_that_is_there(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T25."""
    said: list[Any] = []
    both = asyncio.Event()

    @app.job
    async def child(n: int) -> None:
        await both.wait()  # a child that ends in between would free the key

    @app.job
    async def parent() -> None:
        said.append(await spawn(child, 1, dedupe_key="one"))
        said.append(await spawn(child, 2, dedupe_key="one"))
        both.set()

    handle = await parent.enqueue()
    await kit.run_until_idle()
    first, second = said
    assert (second.id, second.deduplicated, first.deduplicated) == (first.id, True, False)
    assert len(await _children(app_harness, handle.id)) == 1
    assert await handle.status() is Status.SUCCEEDED


@pytest.mark.parametrize("parent", ["missing", "foreign", "finished"])
async def test_spawn_for_a_parent_that_is_not_there_is_refused(harness: Harness, parent: str) -> None:
    """T24."""
    await harness.tenant("acme")
    if parent == "missing":
        job = new_id()
    elif parent == "foreign":
        job = await harness.enqueue(tenant="acme")
    else:
        job = await harness.enqueue()
        worker = await harness.worker()
        await worker.succeed(await worker.claim_one())
    before = await harness.snapshot()
    for sql in ("select plait.spawn('other', parent => $1)", "select plait.after($1, 'other')"):
        expected: tuple[type[DatabaseError], str] = (NotFound, f"there is no job {job}")
        if parent == "finished":
            expected = (IllegalMove, "has ended")
        with pytest.raises(expected[0], match=expected[1]):
            await harness.store.database.fetchval(sql, job)
    assert await harness.snapshot() == before


async def test_a_spawn_whose_lease_is_lost_or_whose_job_has_no_parent_is_refused(harness: Harness) -> None:
    """T34, T24."""
    job = await harness.enqueue()
    worker = await harness.worker()
    lease = await worker.claim_one()
    await worker.release(lease)
    fenced = "select plait.spawn('other', parent => $1, attempt => $2)"
    with pytest.raises(IllegalMove, match="is no longer running as attempt 1"):
        await harness.store.database.fetchval(fenced, job, lease.attempt)
    again = await worker.claim_one()
    assert await harness.store.database.fetchval(fenced, job, again.attempt)
    with pytest.raises(IllegalMove, match="has no parent"):
        await harness.store.database.fetchval("select plait.spawn('other', sibling_of => $1)", job)


async def test_a_replay_is_told_the_same_of_what_was_deduplicated(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T60."""
    said: list[Any] = []

    @app.job
    async def child() -> None: ...

    @app.job(retries=1)
    async def parent() -> None:
        said.append([await spawn(child, dedupe_key="held"), await spawn(child, dedupe_key="free")])
        if len(said) == 1:
            raise ValueError

    await child.options(dedupe_key="held", delay="1h").enqueue()
    await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(minutes=5)
    await kit.run_until_idle()
    assert said[0] == said[1]
    assert [one.deduplicated for one in said[0]] == [True, False]


async def test_a_child_whose_id_is_taken_is_refused(harness: Harness) -> None:
    await harness.tenant("acme")
    foreign, job = await harness.enqueue("other", tenant="acme"), await harness.enqueue()
    with pytest.raises(InvalidId):
        await harness.store.database.fetchval("select plait.spawn('other', parent => $1, id => $2)", job, foreign)


async def test_a_parent_does_not_end_before_a_spawn_that_is_under_way(harness: Harness) -> None:
    """Also when it fails, has children that have all ended, and another's transaction spawns."""
    job = await harness.enqueue()
    worker = await harness.worker()
    lease = await worker.claim_one()
    spawn = "select plait.spawn('other', parent => $1)"
    await harness.store.database.fetchval(spawn, job)
    await worker.succeed(await worker.claim_one())
    async with harness.connection() as other:
        transaction = other.transaction()
        await transaction.start()
        child = await other.fetchval(spawn, job)
        failed = outcome(lease, "failed", permanent=True)
        assert (await worker.cycle(0, failed)).busy == [0]
        await transaction.commit()
    assert not (await worker.cycle(0, failed)).busy
    assert await harness.status(job) == "waiting"
    await harness.store.leader.resume()
    assert await harness.statuses([job, child]) == ["failed", "canceled"]


async def test_none_and_many_are_spawned_at_once(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def child(n: int) -> None: ...

    @app.job
    async def parent() -> int:
        assert await spawn_many(child, []) == []
        return len(await spawn_many(child, range(5_000)))

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == 5_000
    assert await app_harness.counts() == {Status.SUCCEEDED: 5_001}


async def test_children_spawn_siblings_and_ask_about_each_other(app: Plait, kit: Kit, app_harness: Harness) -> None:
    seen: list[Any] = []

    @app.job(retries=0)
    async def batch(n: int) -> None:
        if n < 3:
            await spawn_sibling(batch, n + 1)
        if n == 2:
            raise ValueError
        seen.append((n, await has_failed_siblings()))

    @app.job(child_mode="serial")
    async def parent() -> None:
        assert not await has_pending_children()
        await spawn(batch, 0)
        assert await has_pending_children()

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert seen == [(0, False), (1, False), (3, True)]
    assert len(await _children(app_harness, handle.id)) == 4
    assert await handle.status() is Status.FAILED


async def test_a_handler_that_runs_again_spawns_once(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T4."""
    tries = 0

    @app.job
    async def child(n: int) -> None: ...

    @app.job(retries=3)
    async def parent() -> None:
        nonlocal tries
        tries += 1
        await spawn_many(child, range(3))
        await after(child, 9, dedupe_key="uncle")
        if tries < 3:
            raise ValueError

    handle = await parent.enqueue()
    for _ in range(4):
        await kit.run_until_idle()
        await kit.advance(minutes=5)
    await kit.run_until_idle()
    assert tries == 3
    assert len(await _children(app_harness, handle.id)) == 3
    assert await app_harness.counts() == {Status.SUCCEEDED: 5}


async def test_children_may_be_forbidden_children_of_their_own(app: Plait, kit: Kit, app_harness: Harness) -> None:
    errors: list[str] = []

    @app.job
    async def leaf() -> None: ...

    @app.job(retries=0)
    async def child() -> None:
        with pytest.raises(IllegalMove) as refused:
            await spawn(leaf)
        errors.append(str(refused.value))
        await spawn_sibling(leaf)

    @app.job(allow_nested=False)
    async def parent() -> None:
        await spawn(child)

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert len(errors) == 1
    assert "does not allow nested children" in errors[0]
    assert await handle.status() is Status.SUCCEEDED
    assert len(await handle.tree()) == 3


async def test_info_is_merged_upward_and_durations_are_split(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def leaf(n: int) -> None:
        current().info(rows=n, kind="leaf", worst=-n)
        await kit.clock.advance(timedelta(seconds=10))

    @app.job
    async def middle() -> None:
        current().info(kind="middle")
        current().progress(1, 2)
        await spawn_many(leaf, [1, 2, 3])

    @app.job(child_mode="serial")
    async def top() -> None:
        current().info(worst="see below")
        await spawn(middle)
        await spawn(leaf, 10)

    handle = await top.enqueue()
    await kit.run_until_idle()
    info = await handle.tree_info()
    assert (info["rows"], info["worst"]) == (16, "see below")
    root, *_ = await handle.tree()
    assert root.own_s is not None
    assert root.own_s < 10
    assert root.total_s is not None
    assert root.total_s >= 40


async def test_what_a_failed_job_has_pending_is_canceled_and_what_runs_is_left(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    @app.job
    async def child(n: int) -> None:
        started.set()
        await go_on.wait()

    @app.job(retries=0)
    async def parent() -> None:
        await spawn(child, 1)
        await spawn(child, 2, delay="1h")
        await after(child, 3)
        await started.wait()
        asyncio.get_running_loop().call_later(0.3, go_on.set)
        raise PermanentError("no")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    rows = [(row["status"], row["reason"]) for row in await _children(app_harness, handle.id)]
    assert rows == [("succeeded", None), ("canceled", "parent_failed")]
    assert await app_harness.outcomes(handle.id) == ["failed", "failed"]  # the second when its child had ended
    assert await app_harness.counts() == {Status.FAILED: 1, Status.SUCCEEDED: 1, Status.CANCELED: 1}


async def test_a_job_that_fails_by_its_children_takes_late_sub_jobs_with_it(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """T21: also those of a fan-out that it went on from."""

    @app.job(retries=0)
    async def child(fails: bool) -> None:
        if fails:
            raise ValueError

    @app.job(retries=0)
    async def parent() -> None:
        late = sub(child, False, queue="elsewhere")
        await fan_out([sub(child, False), late], quorum(1), cancel_on_parent_failure=True)
        await spawn(child, True)

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await app_harness.counts() == {
        Status.FAILED: 1,
        Status.DEAD_LETTER: 1,
        Status.SUCCEEDED: 1,
        Status.CANCELED: 1,
    }
    assert await handle.status() is Status.FAILED


async def test_a_job_that_is_canceled_by_a_dependency_takes_its_children_with_it(harness: Harness) -> None:
    first = await harness.enqueue()
    waits = await harness.enqueue("other", after="{" + str(first) + "}")
    child = await harness.store.database.fetchval("select plait.spawn('add', parent => $1, delay => '1h')", waits)
    await harness.cancel(first)
    await harness.store.leader.resume()
    assert await harness.statuses([first, waits, child]) == ["canceled"] * 3
