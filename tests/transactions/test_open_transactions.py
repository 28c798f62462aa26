"""A user's open transaction delays only the rows that it has locked: every verb, each of its locks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from plait.model.errors import Busy

from ..harness import Harness
from .verbs import MACHINERY, NO_SHARED_ROWS, READERS, STOPS_EVERYTHING, VERBS
from .workload import Workload, finish_workload, start_workload

T = TypeVar("T")

BLOCKED_S = 30.0
"""The transaction stays open: who waits for it waits for ever. This is for a broken program, not a figure to reach."""

CALLS = [pytest.param(verb, call, id=f"{verb}-{call}") for verb, calls in VERBS.items() for call in calls]
METERED = [
    pytest.param(verb, call, id=f"{verb}-{call}")
    for verb, call in (
        ("enqueue", "plainly"), ("enqueue", "a_running"), ("spawn", "a_running"), ("retry", "a_child_dead"), ("fork", "a_dead"),
        ("set_tenant", "a tenant"),
    )
]  # fmt: skip


async def test_every_function_that_may_be_called_is_in_the_list(harness: Harness) -> None:
    callable_ = await harness.rows(
        """select distinct p.proname::text from pg_proc p, unnest(array['plait_client', 'plait_tenant', 'plait_worker', 'plait_admin']) r
           where p.pronamespace = 'plait'::regnamespace and p.proname !~ '^_' and p.provolatile = 'v' and has_function_privilege(r, p.oid, 'execute')"""
    )
    listed = [set(VERBS), NO_SHARED_ROWS, READERS, MACHINERY, STOPS_EVERYTHING]
    missing = {name for (name,) in callable_} - set().union(*listed)
    assert not missing, f"say in verbs.py what an open transaction does with these: {sorted(missing)}"
    assert sum(map(len, listed)) == len(set().union(*listed)), "one is in two lists"


@pytest.mark.parametrize("commit", [True, False], ids=["then it commits", "then it is rolled back"])
@pytest.mark.parametrize(("verb", "call"), CALLS)
async def test_an_open_transaction_holds_up_only_what_it_has_touched(
    harness: Harness, verb: str, call: str, commit: bool
) -> None:
    workload = await start_workload(harness)
    async with _open(workload, verb, call, commit=commit):
        await _all_goes_on(workload, verb)
    await finish_workload(workload)


@pytest.mark.parametrize(("verb", "call"), METERED)
async def test_nor_does_one_that_holds_a_quota(harness: Harness, verb: str, call: str) -> None:
    workload = await start_workload(harness, quota=True)
    async with _open(workload, verb, call, commit=True):
        with pytest.raises(Busy):  # of the same tenant: an exact quota needs the lock
            await harness.store.jobs.enqueue_many([await harness.new_job(tenant="a")], patience_s=0.1)
        await _all_goes_on(workload, verb, quota=True)
    await finish_workload(workload)


@asynccontextmanager
async def _open(workload: Workload, verb: str, call: str, *, commit: bool) -> AsyncIterator[None]:
    async with workload.harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await VERBS[verb][call](connection, workload)
        yield
        await (transaction.commit() if commit else transaction.rollback())


async def _all_goes_on(workload: Workload, verb: str, *, quota: bool = False) -> None:
    harness, store = workload.harness, workload.harness.store
    free = ("b",) if quota else ("b", "free")
    schedules = {of: await workload.made(f"{of}_schedule") for of in free}
    await harness.advance(seconds=61)
    await harness.expire(workload.dying)

    async def doing(what: str, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(BLOCKED_S):
                return await work
        except TimeoutError:
            raise AssertionError(f"{what} waits for the open transaction") from None

    # step: all handlers' checkpoints in one statement
    steps = [name for name in ("a_running", "a_child", "b_running", "free_running") if name in workload.running]
    stale = await doing(
        "step", store.workflows.save_steps(workload.worker.id, [workload.checkpoint(name) for name in steps])
    )
    assert stale == []
    # enqueue
    for of, tenant in (("b", "b"), *(() if quota else (("free", "a"),))):
        workload.jobs[f"{of}_new"] = await doing("enqueue", harness.enqueue(tenant=tenant, queue="q_new"))
    # claim
    claimed = await doing("claim", workload.worker.cycle(10, queue="q_new"))
    assert {lease.job_id for lease in claimed.claimed} == {workload[f"{of}_new"] for of in free}
    workload.running |= {
        f"{of}_new": lease for of in free for lease in claimed.claimed if lease.job_id == workload[f"{of}_new"]
    }
    # settle: whatever runs, in one batch
    await doing("settle", workload.settle_all())
    for of in ("b", "free"):
        assert await workload.settled(f"{of}_running", f"{of}_child")
        assert await workload.state(f"{of}_parent") == "queued"
    # schedule, event
    for of in (*free, "a"):
        await doing("emit", harness.emit(of, tenant="b" if of == "b" else "a"))
    await doing("schedule and event", workload.fire_and_dispatch())
    for of in free:
        assert await workload.made(f"{of}_schedule") == schedules[of] + 1, of
        assert await workload.made(f"{of}_event") == 1, of
    # rescue
    await doing("rescue", harness.rescue())
    for of in ("b", "free"):
        assert await workload.state(f"{of}_lost") in ("scheduled", "queued")
    # resume: sleeps, and timeouts of fan-outs whatever others are due
    for _ in range(2):
        await doing("resume", store.leader.resume())
    for of in ("b", "free"):
        assert await workload.state(f"{of}_sleeper") == "queued"
        assert await workload.state(f"{of}_late") == "queued"
    # cancel
    for of, tenant in (("b", "b"), ("free", "a")):
        await doing("cancel", harness.cancel(workload[f"{of}_canceled"], tenant=tenant))
        assert await workload.state(f"{of}_canceled") == "canceled"
    # other duties of the leader
    await doing("promote", harness.promote())
    await doing("heartbeat", workload.worker.heartbeat(holding=list(workload.running.values())))
    await doing("elect", store.leader.elect("x", lease_s=10))
    await doing("count", store.leader.count_live())
    await doing("roll-up", store.leader.roll_up())
    await doing("announce", store.leader.announce())
