"""A fork uses fan-outs of its source job, so retention keeps that workflow for as long as the fork."""

import pytest

from plait import Plait, Status, call, fan_out, sleep, sub, values
from plait.model.errors import NotFound
from plait.model.ids import DEFAULT_TENANT
from plait.testing import Kit

from ..harness import Harness


async def _prune(app_harness: Harness) -> None:
    await app_harness.sql(
        "select plait.prune(interval '0', interval '0', interval '0', interval '0', interval '0', p_limit => 1000)"
    )


async def _is_kept(app_harness: Harness, *jobs: object) -> list[bool]:
    return [bool(await app_harness.sql("select exists (select from plait.jobs where id = $1)", job)) for job in jobs]


def _define(app: Plait) -> object:
    @app.job
    async def leaf(n: int) -> int:
        return n

    async def total(numbers: list[int]) -> int:
        return sum(numbers)

    @app.job(retries=0)
    async def parent() -> int:
        numbers = values(await fan_out([sub(leaf, n) for n in range(3)]))
        await sleep("8s")
        return await call(total, numbers)

    return parent


@pytest.mark.parametrize("generations", [1, 2], ids=["a fork", "a fork of a fork"])
async def test_retention_keeps_a_tree_while_a_fork_of_it_is_kept(
    app: Plait, kit: Kit, app_harness: Harness, generations: int
) -> None:
    parent = _define(app)
    handle = await parent.enqueue()  # type: ignore[attr-defined]
    await kit.run_until_idle()
    await kit.advance(seconds=9)
    await kit.run_until_idle()
    assert await handle.result(60) == 3
    line = [handle.id]
    for _ in range(generations):
        line.append(await app_harness.store.jobs.fork(line[-1], from_seq=2))  # from the sleep on
    await kit.run_until_idle()
    await kit.advance(seconds=1)
    await _prune(app_harness)
    assert await app_harness.status(line[-1]) == "waiting"
    assert all(await _is_kept(app_harness, *line))
    await kit.advance(seconds=9)
    await kit.run_until_idle()
    assert await app_harness.status(line[-1]) is Status.SUCCEEDED
    await kit.advance(seconds=1)
    for _ in line:  # a fork is deleted before its source
        await _prune(app_harness)
    assert not any(await _is_kept(app_harness, *line))
    assert await app_harness.sql("select count(*) from plait.forks") == 0


async def test_a_failed_fork_can_be_retried_after_retention(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Failed jobs are kept longer than jobs that succeeded, so the source of a failed fork must be kept with it."""
    fails = True

    @app.job
    async def leaf(n: int) -> int:
        return n

    async def check(number: int) -> int:
        if fails:
            raise ValueError(number)
        return number

    @app.job(retries=0)
    async def parent(careful: bool) -> int:
        total = sum(values(await fan_out([sub(leaf, n) for n in range(3)])))
        return await call(check, total) if careful else total

    fails = False
    handle = await parent.enqueue(True)
    await kit.run_until_idle()
    fails = True
    fork = await app_harness.store.jobs.fork(handle.id, from_seq=2)
    await kit.run_until_idle()
    assert await app_harness.status(fork) == "dead_letter"
    await kit.advance(seconds=1)
    await app_harness.sql("select plait.prune(p_succeeded => interval '0')")
    fails = False
    await app_harness.retry(fork)
    await kit.run_until_idle()
    assert (await app_harness.job(fork)).result == "3"


async def test_a_fork_and_retention_at_once_never_leave_a_fork_without_its_fan_outs(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    parent = _define(app)
    handle = await parent.enqueue()  # type: ignore[attr-defined]
    await kit.run_until_idle()
    await kit.advance(seconds=9)
    await kit.run_until_idle()
    await kit.advance(seconds=1)
    async with app_harness.connection() as connection:
        open_ = connection.transaction()
        await open_.start()
        fork = await connection.fetchval("select plait.fork($1, $2, 2)", handle.id, DEFAULT_TENANT)
        await _prune(app_harness)  # does not see the fork yet, but skips its locked source
        await open_.commit()
    assert all(await _is_kept(app_harness, handle.id, fork))
    await app_harness.cancel(fork)
    await kit.advance(seconds=1)
    for _ in range(2):
        await _prune(app_harness)
    with pytest.raises(NotFound):
        await app_harness.store.jobs.fork(handle.id, from_seq=2)
