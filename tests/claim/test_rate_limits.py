"""Rate limits: a sliding window over the starts, with the database's clock."""

import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from plait.store.leader import Retention

from ..harness import Harness

Rate = Callable[[Harness, int, float], Awaitable[dict[str, Any]]]


async def _queue(harness: Harness, count: int, period: float) -> dict[str, Any]:
    await harness.queue(rate_count=count, rate_period_s=period)
    return {}


async def _definition(harness: Harness, count: int, period: float) -> dict[str, Any]:
    await harness.define("add", rate_count=count, rate_period_s=period)
    return {}


async def _key(harness: Harness, count: int, period: float) -> dict[str, Any]:
    await harness.define("add", key_rate_count=count, key_rate_period_s=period)
    return {"limit_key": "k"}


each_rate = pytest.mark.parametrize("rate", [_queue, _definition, _key], ids=lambda rate: rate.__name__.strip("_"))


@each_rate
async def test_so_many_start_at_once_and_the_next_when_these_are_a_period_old(harness: Harness, rate: Rate) -> None:
    await harness.enqueue_many("add", 50, **await rate(harness, 6, 60))
    worker = await harness.worker(lease_s=7200)
    assert len(await worker.claim(4)) == 4
    await harness.advance(seconds=20)
    assert len(await worker.claim(20)) == 2
    await harness.advance(seconds=39)
    assert await worker.claim(20) == []
    await harness.advance(seconds=1)
    assert len(await worker.claim(20)) == 4
    await harness.advance(seconds=19)
    assert await worker.claim(20) == []
    await harness.advance(seconds=1)
    assert len(await worker.claim(20)) == 2
    await harness.advance(hours=1)
    assert len(await worker.claim(20)) == 6


@each_rate
async def test_three_in_two_seconds_are_three_in_any_two_seconds(harness: Harness, rate: Rate) -> None:
    """A token bucket would start five jobs in the first two seconds."""
    await harness.enqueue_many("add", 20, **await rate(harness, 3, 2))
    worker = await harness.worker(lease_s=3600)
    started = []
    for _ in range(20):
        started.append(len(await worker.claim(5)))
        await harness.advance(seconds=0.25)
    assert started == [3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0]


@pytest.mark.parametrize(("count", "period"), [(1, 0.5), (3, 2.0), (7, 1.0), (200, 10.0), (1000, 60.0)])
@pytest.mark.parametrize("seed", range(3))
async def test_no_period_has_more_starts_than_it_may(harness: Harness, count: int, period: float, seed: int) -> None:
    """Also with more starts than are stored individually. A start counts for at most a 32nd of the period longer."""
    chance = random.Random(seed)
    now, starts = 0.0, list[float]()
    began = await harness.now()
    for _ in range(300):
        now = round(now + chance.choice([0, 0.001, period / 50, period / count, chance.random() * period / 10]), 6)
        at = began + timedelta(seconds=now)
        room = await harness.sql("select plait._rate_tokens('x', $1, $2, $3)", count, period, at)
        long = sum(now - period * (1 + 1 / 32) - 1e-5 < start for start in starts)
        assert room >= count - long, "a start counts for at most a 32nd of the period longer"
        if take := min(room, chance.randint(1, max(1, count // 50))):
            await harness.sql("select plait._rate_tokens('x', $1, $2, $3, $4)", count, period, at, take)
            starts += [now] * take
        assert sum(now - period + 1e-6 < start for start in starts) <= count
    kept = await harness.sql("select cardinality(starts) from plait.buckets")
    assert kept <= 64


@each_rate
async def test_what_may_start_is_started_within_a_32nd_of_the_period(harness: Harness, rate: Rate) -> None:
    await harness.enqueue_many("add", 300, **await rate(harness, 100, 32))
    worker = await harness.worker(lease_s=3600)
    for _ in range(100):
        assert len(await worker.claim(1)) == 1
        await harness.advance(seconds=0.2)
    await harness.advance(seconds=32 - 100 * 0.2 + 1)
    started = 0
    for _ in range(100):
        started += len(await worker.claim(5))
        await harness.advance(seconds=0.2)
    assert started == 100


@each_rate
async def test_a_job_that_ends_gives_no_token_back(harness: Harness, rate: Rate) -> None:
    await harness.enqueue_many("add", 5, **await rate(harness, 1, 60))
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    assert await worker.claim(5) == []


@each_rate
async def test_who_finds_no_job_spends_no_token(harness: Harness, rate: Rate) -> None:
    options = await rate(harness, 1, 60)
    worker = await harness.worker()
    for _ in range(3):
        assert await worker.claim(5) == []
    await harness.enqueue("add", **options)
    assert len(await worker.claim(5)) == 1


@each_rate
async def test_tokens_run_out_one_by_one(harness: Harness, rate: Rate) -> None:
    await harness.enqueue_many("add", 10, **await rate(harness, 3, 60))
    worker = await harness.worker()
    assert [len(await worker.claim(1)) for _ in range(5)] == [1, 1, 1, 0, 0]


@each_rate
async def test_a_clock_that_goes_back_gives_nothing(harness: Harness, rate: Rate) -> None:
    await harness.enqueue_many("add", 10, **await rate(harness, 1, 60))
    worker = await harness.worker()
    await worker.claim(1)
    await harness.advance(hours=-1)
    assert await worker.claim(5) == []


async def test_a_rate_and_a_concurrency_hold_both(harness: Harness) -> None:
    await harness.define("add", max_running=2, rate_count=3, rate_period_s=60)
    await harness.enqueue_many("add", 10)
    worker = await harness.worker()
    first, _ = await worker.claim(10)
    await worker.succeed(first)
    [third] = await worker.claim(10)
    await worker.succeed(third)
    assert await worker.claim(10) == []


async def test_a_suspect_spends_a_token_too(harness: Harness) -> None:
    await harness.define("add", rate_count=2, rate_period_s=60)
    await harness.enqueue_many("add", 3)
    victim = await harness.worker()
    await victim.claim_one()
    await harness.lose(victim)
    worker = await harness.worker()
    assert len(await worker.claim(5)) == 1
    assert await (await harness.worker()).claim(5) == []


async def test_buckets_of_keys_that_are_full_again_are_forgotten(harness: Harness) -> None:
    """T97: the number of keys is not limited."""
    await harness.define("add", key_rate_count=1, key_rate_period_s=60)
    jobs = [await harness.new_job("add", limit_key=f"k{n}") for n in range(60)]
    await harness.store.jobs.enqueue_many(jobs)
    worker = await harness.worker()
    claimed = len(await worker.claim(30)) + len(await worker.claim(30))
    assert claimed == 60
    assert await harness.sql("select count(*) from plait.buckets") == 60
    keep = Retention(succeeded=timedelta(days=1))
    await harness.advance(seconds=59)
    await harness.store.leader.prune(keep)
    assert await harness.sql("select count(*) from plait.buckets") == 60
    await harness.advance(seconds=1)
    await harness.store.leader.prune(keep)
    assert await harness.sql("select count(*) from plait.buckets") == 0


async def test_a_rate_that_is_lowered_holds_at_once(harness: Harness) -> None:
    await harness.define("add", rate_count=10, rate_period_s=60)
    await harness.enqueue_many("add", 30)
    worker = await harness.worker()
    await worker.claim(2)
    await harness.define("add", rate_count=3, rate_period_s=60)
    assert len(await worker.claim(30)) == 1
    await harness.define("add", rate_count=1, rate_period_s=60)
    await harness.advance(seconds=59)
    assert await worker.claim(30) == []
    await harness.advance(seconds=1)
    assert len(await worker.claim(30)) == 1
