"""`continue_as_new`: the same job continues with new arguments and an empty history."""

import asyncio
from typing import Any

import pytest

from plait import (
    InvalidArguments,
    NotDurable,
    Plait,
    Status,
    after,
    call,
    continue_as_new,
    fan_out_stream,
    sleep,
    spawn,
    sub,
    wait_for_signal,
)
from plait.store.workflows import Lease
from plait.testing import Kit

from ..harness import Harness


async def double(n: int) -> int:
    return n * 2


async def test_a_job_goes_on_with_new_arguments_and_an_empty_history(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    runs: list[int] = []

    @app.job
    async def counter(n: int, *, until: int = 3) -> int:
        runs.append(n)
        await call(double, n)
        await sleep("1h")
        if n < until:
            await continue_as_new(n + 1, until=until)
        return n

    handle = await counter.options(dedupe_key="one").enqueue(1)
    for n in (1, 2, 3):
        await kit.run_until_idle()
        assert await handle.status() == Status.WAITING
        row = await handle.info()
        assert (row.payload, row.runs) == (f'{{"n":{n}}}' if n == 1 else f'{{"n":{n},"until":3}}', n)
        steps = await app_harness.store.jobs.list_steps(handle.id, all_tenants=True)
        assert [(step.seq, step.name) for step in steps] == [(1, "double"), (2, "sleep")]
        again = await counter.options(dedupe_key="one").enqueue(9)
        assert (again.id, again.deduplicated) == (handle.id, True)  # the job still holds its dedupe key
        await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await handle.result(timeout=120) == 3
    assert runs == [1, 1, 2, 2, 3, 3]


async def test_signals_that_were_not_read_follow(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def inbox(read: list[str]) -> list[str]:
        read = [*read, await wait_for_signal("message", type=str)]
        if len(read) < 3:
            await continue_as_new(read)
        return read

    handle = await inbox.enqueue([])
    for text in ("a", "b"):
        await handle.signal("message", text)
    await handle.signal("other", "nobody reads it")
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    unread = await app_harness.store.jobs.unread_signals(handle.id, all_tenants=True)
    assert [(one.name, one.signals) for one in unread] == [("other", 1)]
    await handle.signal("message", "c")
    await kit.run_until_idle()
    assert await handle.result(timeout=120) == ["a", "b", "c"]


async def test_attempts_start_again_with_each_run(app: Plait, kit: Kit, app_harness: Harness) -> None:
    tries: list[int] = []

    @app.job(retries=1)
    async def fragile(n: int) -> int:
        tries.append(n)
        if tries.count(n) == 1:
            raise ValueError
        if n < 4:
            await continue_as_new(n + 1)
        return n

    handle = await fragile.enqueue(1)
    for _ in range(5):
        await kit.run_until_idle()
        await kit.advance(minutes=10)
    assert await handle.result(timeout=120) == 4
    assert tries == [1, 1, 2, 2, 3, 3, 4, 4]
    row = await handle.info()
    assert (row.attempts_used, row.max_attempts, row.runs) == (2, 2, 4)


async def test_what_runs_beside_it_is_dropped_and_open_sub_jobs_are_canceled(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    seen: list[str] = []

    @app.job(queue="nobody")
    async def slow() -> None: ...

    @app.job
    async def parent(n: int) -> str:
        if n == 2:
            return "done"

        async def waits() -> None:
            try:
                await sleep("30d")
            finally:
                seen.append("dropped")

        task = asyncio.create_task(waits())
        stream = fan_out_stream([sub(slow)], queue="elsewhere", name="s")
        asking = asyncio.ensure_future(anext(stream))
        await call(double, 1)
        await continue_as_new(2)
        task.cancel()
        asking.cancel()
        return "?"

    handle = await parent.enqueue(1)
    await kit.run_until_idle()
    assert await handle.result(timeout=120) == "done"
    assert seen == ["dropped"]
    await app_harness.store.leader.resume()
    nodes = await handle.tree()
    assert {node.status for node in nodes if node.definition == "slow"} <= {Status.CANCELED}


async def test_children_and_follow_ups_belong_to_the_job_not_to_the_run(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    ran: list[str] = []

    @app.job
    async def child(n: int) -> None:
        ran.append(f"child {n}")

    @app.job
    async def uncle(n: int) -> None:
        ran.append(f"uncle {n}")

    @app.job
    async def parent(n: int) -> int:
        await spawn(child, n)
        await after(uncle, n)
        if n < 2:
            await continue_as_new(n + 1)
        return n

    handle = await parent.enqueue(1)
    await kit.run_until_idle()
    assert await handle.result(timeout=120) == 2
    assert sorted(ran) == ["child 1", "child 2", "uncle 2"]  # the second run has registered its follow-ups again


async def test_arguments_are_checked_and_a_step_can_not_continue(app: Plait, kit: Kit, app_harness: Harness) -> None:
    errors: list[str] = []

    @app.job
    async def parent(n: int) -> int:
        async def inside() -> None:
            await continue_as_new(2)

        for attempt in (lambda: call(inside), lambda: continue_as_new("x"), lambda: continue_as_new()):
            try:
                await attempt()  # type: ignore[no-untyped-call]
            except (NotDurable, InvalidArguments) as error:
                errors.append(str(error))
        return n

    handle = await parent.enqueue(1)
    await kit.run_until_idle()
    assert await handle.result(timeout=120) == 1
    assert "continue_as_new was called inside the step 'inside'" in errors[0]
    assert "Expected `int`, got `str`" in errors[1]
    assert "missing a required argument: 'n'" in errors[2]
    with pytest.raises(NotDurable):
        await continue_as_new(1)


async def test_a_handler_that_is_dropped_can_not_continue(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def parent(n: int) -> int:
        try:
            await sleep("1h")
        finally:
            if n == 1:
                await continue_as_new(2)
        return n

    handle = await parent.enqueue(1)
    await kit.run_until_idle()
    assert ((await handle.info()).runs, await handle.status()) == (1, Status.WAITING)
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert (await handle.info()).runs == 2


async def test_only_the_current_attempt_continues_and_twice_is_once(harness: Harness) -> None:
    job = await harness.enqueue(payload={"n": 1})
    worker = await harness.worker(lease_s=86_400)
    lease = await worker.claim_one()
    held = Lease(worker.id, job, lease.attempt)
    stale = Lease(worker.id, job, lease.attempt + 1)
    before = await harness.snapshot()
    assert await harness.store.workflows.continue_as_new(stale, '{"n":3}') == "stale"
    assert await harness.snapshot() == before
    assert await harness.store.workflows.continue_as_new(held, '{"n":2}') == "suspended"
    assert await harness.store.workflows.continue_as_new(held, '{"n":2}') == "suspended"  # the reply was lost
    row = await harness.job(job)
    assert (row.status, row.payload, row.runs, row.attempts_used) == ("queued", '{"n":2}', 2, 0)
    lease = await worker.claim_one()
    assert lease.payload == '{"n":2}'
    await harness.cancel(job)
    assert await harness.store.workflows.continue_as_new(Lease(worker.id, job, lease.attempt), '{"n":3}') == "canceled"
    await worker.report_canceled(lease)
    assert (await harness.job(job)).status == "canceled"


async def test_jobs_are_found_by_the_arguments_of_their_current_run(harness: Harness) -> None:
    await harness.define("add", search_keys=["order"])
    job = await harness.enqueue(payload={"order": 1})
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.store.workflows.continue_as_new(Lease(worker.id, job, lease.attempt), '{"order":2}')

    async def found(order: int) -> list[Any]:
        rows = await harness.store.jobs.list_jobs(definition="add", payload=f'{{"order": "{order}"}}')
        return [row.id for row in rows]

    assert (await found(1), await found(2)) == ([], [job])
