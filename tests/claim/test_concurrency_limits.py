"""Concurrency limits of a queue, a tenant, a definition and a key, counted from running rows."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from plait.model.errors import InvalidSetting

from ..fake_worker import FakeWorker, Lease, outcome
from ..harness import Harness

Limit = Callable[[Harness, int], Awaitable[dict[str, Any]]]


async def _queue(harness: Harness, n: int) -> dict[str, Any]:
    await harness.queue(max_running=n)
    return {}


async def _tenant(harness: Harness, n: int) -> dict[str, Any]:
    await harness.tenant("acme", max_running=n)
    return {"tenant": "acme"}


async def _definition(harness: Harness, n: int) -> dict[str, Any]:
    await harness.define("add", max_running=n)
    return {}


async def _key(harness: Harness, n: int) -> dict[str, Any]:
    await harness.define("add", key_max_running=n)
    return {"limit_key": "k"}


async def _definition_with_keys(harness: Harness, n: int) -> dict[str, Any]:
    await harness.define("add", max_running=n, key_max_running=n + 1)
    return {"limit_key": "k"}


LIMITS = [_queue, _tenant, _definition, _key, _definition_with_keys]
each_limit = pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.__name__.strip("_"))


@each_limit
async def test_at_most_so_many_run_at_once(harness: Harness, limit: Limit) -> None:
    await harness.enqueue_many("add", 6, **await limit(harness, 2))
    worker, other = await harness.worker(), await harness.worker()
    first, second = await worker.claim(5)
    assert await other.claim(5) == []
    assert await other.claim_plainly(5) == []
    await worker.succeed(first)
    assert len(await other.claim(5)) == 1
    await worker.fail(second)
    assert len(await other.claim(5)) == 1


@each_limit
async def test_a_limit_of_nothing_stops_all(harness: Harness, limit: Limit) -> None:
    job = await harness.enqueue("add", **await limit(harness, 0))
    assert await (await harness.worker()).claim(5) == []
    assert await harness.status(job) == "queued"


@each_limit
async def test_a_limit_that_is_raised_or_taken_away_lets_more_run(harness: Harness, limit: Limit) -> None:
    options = await limit(harness, 1)
    await harness.enqueue_many("add", 6, **options)
    worker = await harness.worker()
    assert len(await worker.claim(5)) == 1
    await limit(harness, 3)
    assert len(await worker.claim(5)) == 2
    await harness.queue(max_running=None)
    await harness.tenant("acme", max_running=None)
    await harness.define("add")
    assert len(await worker.claim(5)) == 3


@each_limit
async def test_a_limit_that_is_set_later_counts_what_runs(harness: Harness, limit: Limit) -> None:
    options = await limit(harness, 100)
    await harness.queue(max_running=None)
    await harness.tenant("acme", max_running=None)
    await harness.define("add")
    await harness.enqueue_many("add", 6, **options)
    worker = await harness.worker()
    await worker.claim(2)
    await limit(harness, 3)
    assert len(await worker.claim(5)) == 1


async def _crash(harness: Harness, worker: FakeWorker, lease: Lease) -> None:
    await harness.lose(worker)


async def _cancel_by_force(harness: Harness, worker: FakeWorker, lease: Lease) -> None:
    await harness.cancel(lease.job_id, tenant="acme")
    await harness.advance(seconds=31)
    await worker.heartbeat()
    await harness.rescue()


async def _leave(harness: Harness, worker: FakeWorker, lease: Lease) -> None:
    await worker.leave()


async def _forget(harness: Harness, worker: FakeWorker, lease: Lease) -> None:
    await worker.heartbeat(holding=[])


async def _fail(harness: Harness, worker: FakeWorker, lease: Lease) -> None:
    await worker.fail(lease)


@each_limit
async def test_no_slot_leaks(harness: Harness, limit: Limit) -> None:
    """T95: after a crash, a cancel, a shutdown, a lost reply or a failure."""
    options = await limit(harness, 1)
    for end in (_crash, _cancel_by_force, _leave, _forget, _fail):
        await harness.tenant("acme")
        await harness.enqueue_many("add", 2, **{"tenant": "acme", **options})
        worker = await harness.worker()
        lease = await worker.claim_one()
        await end(harness, worker, lease)
        after = await harness.worker()
        assert len(await after.claim(5)) == 1, end.__name__

        await harness.admin.execute("delete from plait.live; delete from plait.jobs; delete from plait.attempts")


@each_limit
async def test_a_suspect_is_limited_like_any_job(harness: Harness, limit: Limit) -> None:
    options = await limit(harness, 1)
    jobs = await harness.enqueue_many("add", 2, **options)
    victim = await harness.worker()
    await victim.claim_one()
    await harness.lose(victim)
    other, third = await harness.worker(), await harness.worker()
    assert len(await other.claim(1)) == 1
    assert await third.claim(5) == []
    assert sorted(await harness.statuses(jobs)) == ["queued", "running"]


@each_limit
async def test_the_limit_holds_among_many_claimers(harness: Harness, limit: Limit) -> None:
    """Concurrent claims on real connections, over many rounds. A checker verifies the limit in every snapshot that it can see."""
    options = await limit(harness, 3)
    await harness.enqueue_many("add", 60, **options)
    workers = [await harness.worker() for _ in range(6)]
    done = 0

    async def work(worker: FakeWorker) -> None:
        nonlocal done
        leases: list[Lease] = []
        while done < 60:
            reply = await worker.cycle(2, *(outcome(lease) for lease in leases))
            done += len(leases)
            leases = reply.claimed

    async def watch() -> None:
        while done < 60:
            assert await harness.sql("select count(*) from plait.live where state = 'running'") <= 3

    await asyncio.gather(*map(work, workers), watch())
    assert await harness.counts() == {"succeeded": 60}


async def test_a_full_lane_is_left_alone(harness: Harness) -> None:
    """T96: no job of the lane is locked, claimed or released, no matter how often workers poll."""
    await harness.define("add", max_running=1)
    await harness.enqueue_many("add", 5)
    worker = await harness.worker()
    await worker.claim_one()
    before = await harness.snapshot()
    for _ in range(20):
        assert await worker.claim(5) == []
    assert await harness.snapshot() == before


async def test_a_full_limit_does_not_hold_up_the_others(harness: Harness) -> None:
    await harness.define("slow", max_running=1)
    await harness.define("keyed", key_max_running=1)
    await harness.enqueue_many("slow", 5, priority=1)
    await harness.enqueue_many("keyed", 5, limit_key="a", priority=1)
    await harness.enqueue_many("keyed", 5, limit_key="b", priority=1)
    await harness.enqueue_many("add", 5)
    worker = await harness.worker(definitions=["slow", "keyed", "add"])
    assert Counter(lease.definition for lease in await worker.claim(20)) == {"slow": 1, "keyed": 2, "add": 5}


async def test_a_key_is_a_tenants_and_a_definitions_own(harness: Harness) -> None:
    for definition in ("add", "other"):
        await harness.define(definition, key_max_running=1)
        for tenant in ("a", "b"):
            await harness.enqueue_many(definition, 2, tenant=tenant, limit_key="k")
    assert len(await (await harness.worker()).claim(20)) == 4


async def test_a_thousand_keys(harness: Harness) -> None:
    """T97: each key runs one job at a time, regardless of the order of claims."""
    await harness.define("add", key_max_running=1)
    jobs = [await harness.new_job("add", limit_key=f"k{n}") for n in range(1000) for _ in range(2)]
    await harness.store.jobs.enqueue_many(jobs)
    worker = await harness.worker()
    running: set[str | None] = set()
    for _ in range(40):
        leases = await worker.claim(100)
        keys = [(await harness.job(lease.job_id)).limit_key for lease in leases]
        assert not running & set(keys)
        assert len(set(keys)) == len(keys)
        running |= set(keys)
        if len(running) == 1000:
            break
    assert len(running) == 1000


@pytest.mark.parametrize(
    "settings",
    [
        {"max_running": -1},
        {"rate_count": 0, "rate_period_s": 1},
        {"rate_count": 5},
        {"rate_period_s": 1},
        {"rate_count": 1, "rate_period_s": 0},
        {"rate_count": 1, "rate_period_s": "NaN"},
        {"rate_count": 1, "rate_period_s": 1e300},
        {"max_running": "many"},
        {"max_running": 1e20},
        {"max_runing": 1},
    ],
    ids=str,
)
async def test_an_invalid_limit_is_refused(harness: Harness, settings: dict[str, Any]) -> None:
    """T98: invalid values and unknown settings are never ignored silently."""
    await harness.define("other")
    with pytest.raises(InvalidSetting):
        await harness.define("add", **settings)
    with pytest.raises(InvalidSetting):
        await harness.store.definitions.set_definition("other", settings)
    with pytest.raises(InvalidSetting):
        await harness.queue(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_attempts": 0}, {"timeout_s": 0}, {"timeout_s": "NaN"}, {"backoff_factor": 0.5},
        {"backoff_jitter": 2}, {"backoff_max_s": "Infinity"}, {"backoff_base_s": -1}, {"priority": 99_999},
        {"queue": "no spaces"},
        {"key_max_running": -1}, {"key_rate_count": 1}, {"active": None},
    ],
    ids=str,
)  # fmt: skip
async def test_an_invalid_policy_is_refused(harness: Harness, settings: dict[str, Any]) -> None:
    await harness.define("other")
    with pytest.raises(InvalidSetting):
        await harness.store.definitions.set_definition("other", settings)
    if "active" not in settings:
        with pytest.raises(InvalidSetting):
            await harness.define("add", **settings)


@pytest.mark.parametrize("name", ["", " a", "a\nb", None, "a" * 201])
async def test_a_definition_that_nobody_could_enqueue_is_refused(harness: Harness, name: Any) -> None:
    with pytest.raises(InvalidSetting):
        await harness.define(name)


@pytest.mark.parametrize(
    "settings",
    [{"max_running": -1}, {"max_queued": -1}, {"weight": 0}, {"weight": 1001}, {"paused": None}, {"nme": "x"},
     {"time_zone": "Mars/Olympus"}, {"name": ""}],
    ids=str,
)  # fmt: skip
async def test_an_invalid_setting_of_a_tenant_is_refused(harness: Harness, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        await harness.tenant("acme", **settings)
