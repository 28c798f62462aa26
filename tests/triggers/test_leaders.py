"""Leaders that change, pause or have wrong clocks: each instant creates exactly one job (T80, T84, F12, F13)."""

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from plait.leader.fire import Fire, fire
from plait.model.states import Status
from plait.store import Store
from plait.testing import TestDatabase
from plait.testing.clock import START

from ..harness import Harness
from .pass_time import instants, pass_time


@pytest.mark.parametrize("leaders", [2, 8])
async def test_of_many_leaders_one_fires(harness: Harness, leaders: int) -> None:
    """T80, T84: all of them read the same schedule, and then fire it."""
    triggers = [await harness.trigger(f"t{n}", every_s=60) for n in range(3)]
    for _ in range(5):
        await harness.advance(minutes=1)
        due = await harness.store.triggers.due_schedules()
        made = await asyncio.gather(*(fire(harness.store, schedule) for schedule in due for _ in range(leaders)))
        assert sum(n or 0 for n in made) == 3
    for trigger in triggers:
        assert await instants(harness, trigger) == [START + timedelta(minutes=n) for n in range(1, 6)]
    assert await harness.counts() == {"queued": 15}


async def test_a_leader_that_slept_with_an_old_plan_fires_nothing(harness: Harness) -> None:
    """T84: the leader reads the schedule, is stopped for an hour, and continues."""
    trigger = await harness.trigger(every_s=60, catch_up="all")
    await harness.advance(minutes=1)
    [old] = await harness.store.triggers.due_schedules()
    await pass_time(harness, 60)
    assert await fire(harness.store, old) is None
    assert (await harness.trigger_row(trigger)).fired == 61


async def leaders_change(harness: Harness, changes: int, schedules: int, ticks: int) -> None:
    """F13: at each tick, some leaders read schedules and some fire schedules that they read ticks ago. One of them holds the lease."""
    triggers = [await harness.trigger(f"t{n}", every_s=60, catch_up="all") for n in range(schedules)]
    stores: list[Store] = [harness.store]
    asleep: list[object] = []
    every = max(1, changes // ticks)
    for tick in range(ticks):
        await harness.advance(minutes=1)
        for change in range(every):
            holder = f"leader {tick} {change}"
            await harness.store.leader.elect(holder, lease_s=1)
            due = await stores[0].triggers.due_schedules()
            if change % 2:
                asleep.extend(due)  # stopped before it fires; another process becomes the leader
            else:
                woken, asleep = asleep[:schedules], asleep[schedules:]
                await asyncio.gather(*(fire(harness.store, plan) for plan in [*woken, *due, *due]))  # type: ignore[arg-type]
            await harness.store.leader.elect(holder, lease_s=1, resign=True)
    await harness.fire()
    expected = [START + timedelta(minutes=n) for n in range(1, ticks + 1)]
    for trigger in triggers:
        assert await instants(harness, trigger) == expected
    assert await harness.sql("select count(*) from plait.jobs") == schedules * ticks
    assert await harness.sql("select term from plait.leader") >= changes


async def test_leaders_change_and_no_instant_is_missed_or_doubled(harness: Harness) -> None:
    """F13, small: 10 changes x 4 schedules x 5 ticks."""
    await leaders_change(harness, 10, 4, 5)


@pytest.mark.full
async def test_two_hundred_leaders_change_over_a_hundred_ticks(harness: Harness) -> None:
    """F13: 200 x 20 x 100."""
    await leaders_change(harness, 200, 20, 100)


SET_TIME = "update plait_test.clock set at = $1"
LEASE_S = 0.15
"""Seconds of the fake clock, which stands still between the steps of a test. The processes poll three times per lease."""


async def begin(module: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"tests.triggers.{module}", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip


@contextlib.asynccontextmanager
async def processes(module: str, *arguments: str, count: int) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    """Start processes. The caller may add more to the list; all are killed after the test."""
    started = [await begin(module, *arguments) for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def stop_leaders(harness: Harness, url: str, changes: int, schedules: int, ticks: int) -> None:
    """F13: real leader processes. The leader is stopped during its work until its term is over, and continues when another process is the
    leader, so for a while both act as leaders. One in ten is killed with kill -9 and replaced."""
    triggers = [await harness.trigger(f"t{n}", every_s=60, catch_up="all") for n in range(schedules)]
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    each = changes // ticks
    async with processes("leader_main", url, str(LEASE_S), count=3) as leaders:
        for tick in range(ticks):
            await harness.sql(SET_TIME, START + timedelta(seconds=60 * (tick + 1) - each))
            for change in range(each):
                leading = await leader(harness, other_than=None)
                assert leading in {process.pid for process in leaders}
                if change == each - 1:
                    await harness.sql(
                        SET_TIME, START + timedelta(seconds=60 * (tick + 1))
                    )  # the end of its term, when all schedules are due
                await asyncio.sleep(chance.uniform(0, 0.05))  # sleep: to stop it anywhere in its work
                killed = chance.random() < 0.1
                os.kill(leading, signal.SIGKILL if killed else signal.SIGSTOP)
                await harness.advance(seconds=2 * LEASE_S)
                await leader(harness, other_than=leading)
                if killed:
                    leaders.append(await begin("leader_main", url, str(LEASE_S)))
                else:
                    os.kill(leading, signal.SIGCONT)
        while await harness.sql("select count(*) from plait.triggers where next_at is null or next_at <= plait.now()"):
            await asyncio.sleep(0.05)  # sleep: for the leaders to fire what is due
    expected = [START + timedelta(minutes=n) for n in range(1, ticks + 1)]
    for trigger in triggers:
        assert await instants(harness, trigger) == expected
    assert await harness.sql("select count(*) from plait.jobs") == schedules * ticks
    terms = await harness.sql("select term from plait.leader")
    print(f"{terms} terms")
    assert terms > changes


async def leader(harness: Harness, *, other_than: int | None) -> int:
    """The pid of the leader, once it is another process."""
    for tries in range(20_000):  # at least 100 s, so that a broken program ends
        name = await harness.sql("select holder from plait.leader where expires_at > plait.now()")
        if name and (pid := int(name.split(":")[1])) != other_than:
            return pid
        if name and tries % 100 == 99:
            await harness.advance(seconds=2 * LEASE_S)  # it had renewed its lease just before it was stopped
        await asyncio.sleep(0.005)  # sleep: until a process becomes the leader
    raise AssertionError("no process became the leader")


async def test_real_leaders_are_stopped_past_their_terms_and_go_on(
    own_harness: Harness, database: TestDatabase
) -> None:
    """F13, small: 6 changes x 4 schedules x 3 ticks."""
    await stop_leaders(own_harness, database.url, 6, 4, 3)


@pytest.mark.full
async def test_two_hundred_real_leaders_are_stopped_past_their_terms_and_go_on(
    own_harness: Harness, database: TestDatabase
) -> None:
    """F13: 200 x 20 x 100."""
    await stop_leaders(own_harness, database.url, 200, 20, 100)


async def test_a_wrong_clock_takes_nothing_over_and_fires_nothing_twice(
    own_harness: Harness, database: TestDatabase
) -> None:
    """F12: a worker and leader whose clock jumps 20 times by up to two hours, beside processes whose clock is right."""
    harness = own_harness
    await harness.define("hold")
    trigger = await harness.trigger(every_s=1, catch_up="all")
    assert (await harness.store.leader.elect("right", lease_s=30)).leads
    held = await harness.enqueue("hold")
    worker = await harness.worker(definitions=["hold"])
    lease = await worker.claim_one()
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    skews = [7200.0, -7200.0, *(random.Random(seed).uniform(-7200, 7200) for _ in range(18))]
    async with processes("skewed_clock_main", database.url, count=1) as [skewed]:
        assert skewed.stdin is not None
        assert skewed.stdout is not None
        for skew in skews:
            await harness.advance(seconds=1)
            skewed.stdin.write(f"{skew}\n".encode())
            said, _ = await asyncio.gather(skewed.stdout.readline(), Fire().run(harness.store))
            told = json.loads(said)
            assert (told["leads"], told["lost"]) == (False, 0)
            assert abs(told["off"] - skew) < 1
        while (await harness.counts()).get(Status.SUCCEEDED) != len(skews):
            await asyncio.sleep(0.02)  # sleep: for its worker to run what was fired
        skewed.stdin.close()
        assert await skewed.wait() == 0
    assert await instants(harness, trigger) == [START + timedelta(seconds=n + 1) for n in range(20)]
    assert await harness.sql("select holder || term from plait.leader") == "right1"
    assert await harness.sql("select max(attempt) from plait.attempts") == 1
    assert (
        await harness.sql(
            "select count(*) from plait.attempts where finished_at not between $1 and $2",
            START,
            START + timedelta(seconds=20),
        )
        == 0
    )
    assert (await harness.job(held)).status == "running"
    await worker.succeed(lease)
