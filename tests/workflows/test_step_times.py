"""How long each step took: measured by its worker, or derived from the times of its wait."""

import asyncio
import contextlib
from collections.abc import Awaitable
from uuid import UUID

from plait import PermanentError, Plait, call, fan_out, sleep, sub, transaction, version
from plait.store.job_rows import StepView
from plait.store.workflows import Checkpoint, Lease, StepKey
from plait.testing import Kit

from ..harness import Harness
from .run_to_end import run_to_end
from .worker_calls import claim_children, open_one


async def _steps(harness: Harness, job: UUID) -> dict[str, StepView]:
    return {step.name: step for step in await harness.store.jobs.list_steps(job, all_tenants=True)}


async def test_a_worker_records_how_long_each_step_ran(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Also a step that failed, and one in a transaction; a step that runs no function has no run time."""
    inside: dict[str, float] = {}
    around: dict[str, float] = {}
    time = asyncio.get_running_loop().time

    async def work(name: str) -> None:
        began = time()
        await asyncio.to_thread(int)
        inside[name] = time() - began

    async def refused() -> None:
        await work("refused")
        raise PermanentError("no such page")

    async def broken() -> None:
        await work("broken")
        raise ValueError("not this time")

    async def write(_: object) -> None:
        await work("write")

    async def clocked(name: str, step: Awaitable[object]) -> None:
        began = time()
        with contextlib.suppress(PermanentError, ValueError):
            await step
        around[name] = time() - began

    @app.job
    async def parent() -> None:
        await version("v")
        await clocked("work", call(work, "work"))
        await clocked("refused", call(refused))
        await clocked("broken", call(broken))
        await clocked("write", transaction(write))

    job = await parent.enqueue()
    await run_to_end(kit, job)
    steps = await _steps(app_harness, UUID(str(job.id)))
    assert steps["version v"].took_s is None
    for name, least in inside.items():
        step = steps[name]
        assert step.took_s is not None
        assert least * 0.999 <= step.took_s <= around[name] * 1.001  # the column has seven digits
        assert step.started_at is not None
        assert abs((step.at - step.started_at).total_seconds() - step.took_s) < 1e-5
    assert set(inside) == {"work", "refused", "broken", "write"}


async def test_a_fan_out_took_until_its_decision_and_a_sleep_until_it_was_due(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job
    async def child() -> None: ...

    @app.job
    async def parent() -> None:
        await fan_out([sub(child)])
        await sleep("1h")

    job = await parent.enqueue()
    await run_to_end(kit, job)
    steps = await _steps(app_harness, UUID(str(job.id)))
    by_kind = {step.kind: step for step in steps.values()}
    assert by_kind["sleep"].took_s == 3600
    assert by_kind["fan_out"].took_s is not None


async def test_a_step_that_is_not_done_and_one_that_a_fork_copied_have_no_run_time(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    claimed = await worker.claim_one()
    lease = Lease(worker.id, claimed.job_id, claimed.attempt)
    saved = Checkpoint(lease, StepKey("", "load", 1, 1), "call", 1, None, '"page"', None, 2.5)
    assert await harness.store.workflows.save_steps(worker.id, [saved]) == []
    await open_one(harness, worker, claimed, 1, seq=2)
    assert {name: step.took_s for name, step in (await _steps(harness, job)).items()} == {"load": 2.5, "fan_out": None}
    await harness.advance(seconds=7)
    children, [one] = await claim_children(harness, 1)
    await children.succeed(one)
    assert (await _steps(harness, job))["fan_out"].took_s == 7
    await worker.succeed(await worker.claim_one())
    fork = await harness.store.jobs.fork(job, tenant_id=await harness.tenant(), from_seq=2)
    assert (await _steps(harness, fork))["load"].took_s is None


async def test_steps_of_several_jobs_are_saved_in_one_call_each_with_its_run_time(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 2)
    worker = await harness.worker()
    leases = {one.job_id: Lease(worker.id, one.job_id, one.attempt) for one in await worker.claim(2)}
    took = {jobs[0]: 0.25, jobs[1]: None}
    saved = [Checkpoint(leases[job], StepKey("", "load", 1, 1), "call", 1, None, "1", None, took[job]) for job in jobs]
    assert await harness.store.workflows.save_steps(worker.id, saved) == []
    assert {job: (await _steps(harness, job))["load"].took_s for job in jobs} == took
