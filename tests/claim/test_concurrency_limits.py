"""Limits of concurrency: of a queue, a tenant, a definition and a key. Counted from running rows."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from plait.model.errors import InvalidSetting

from ..fake_worker import FakeWorker, Lease, outcome
from ..harness import World

Limit = Callable[[World, int], Awaitable[dict[str, Any]]]


async def _queue(world: World, n: int) -> dict[str, Any]:
    await world.queue(max_running=n)
    return {}


async def _tenant(world: World, n: int) -> dict[str, Any]:
    await world.tenant("acme", max_running=n)
    return {"tenant": "acme"}


async def _definition(world: World, n: int) -> dict[str, Any]:
    await world.define("add", max_running=n)
    return {}


async def _key(world: World, n: int) -> dict[str, Any]:
    await world.define("add", key_max_running=n)
    return {"limit_key": "k"}


async def _definition_with_keys(world: World, n: int) -> dict[str, Any]:
    await world.define("add", max_running=n, key_max_running=n + 1)
    return {"limit_key": "k"}


LIMITS = [_queue, _tenant, _definition, _key, _definition_with_keys]
each_limit = pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.__name__.strip("_"))


@each_limit
async def test_at_most_so_many_run_at_once(world: World, limit: Limit) -> None:
    await world.enqueue_many("add", 6, **await limit(world, 2))
    worker, other = await world.worker(), await world.worker()
    first, second = await worker.claim(5)
    assert await other.claim(5) == []
    assert await other.claim_plainly(5) == []
    await worker.succeed(first)
    assert len(await other.claim(5)) == 1
    await worker.fail(second)
    assert len(await other.claim(5)) == 1


@each_limit
async def test_a_limit_of_nothing_stops_all(world: World, limit: Limit) -> None:
    job = await world.enqueue("add", **await limit(world, 0))
    assert await (await world.worker()).claim(5) == []
    assert await world.status(job) == "queued"


@each_limit
async def test_a_limit_that_is_raised_or_taken_away_lets_more_run(world: World, limit: Limit) -> None:
    options = await limit(world, 1)
    await world.enqueue_many("add", 6, **options)
    worker = await world.worker()
    assert len(await worker.claim(5)) == 1
    await limit(world, 3)
    assert len(await worker.claim(5)) == 2
    await world.queue(max_running=None)
    await world.tenant("acme", max_running=None)
    await world.define("add")
    assert len(await worker.claim(5)) == 3


@each_limit
async def test_a_limit_that_is_set_later_counts_what_runs(world: World, limit: Limit) -> None:
    options = await limit(world, 100)
    await world.queue(max_running=None)
    await world.tenant("acme", max_running=None)
    await world.define("add")
    await world.enqueue_many("add", 6, **options)
    worker = await world.worker()
    await worker.claim(2)
    await limit(world, 3)
    assert len(await worker.claim(5)) == 1


async def _crash(world: World, worker: FakeWorker, lease: Lease) -> None:
    await world.lose(worker)


async def _cancel_by_force(world: World, worker: FakeWorker, lease: Lease) -> None:
    await world.cancel(lease.job_id, tenant="acme")
    await world.advance(seconds=31)
    await worker.heartbeat()
    await world.rescue()


async def _leave(world: World, worker: FakeWorker, lease: Lease) -> None:
    await worker.leave()


async def _forget(world: World, worker: FakeWorker, lease: Lease) -> None:
    await worker.heartbeat(holding=[])


async def _fail(world: World, worker: FakeWorker, lease: Lease) -> None:
    await worker.fail(lease)


@each_limit
async def test_no_slot_leaks(world: World, limit: Limit) -> None:
    """T95: on a crash, a cancel, a shutdown, a lost reply or a failure."""
    options = await limit(world, 1)
    for end in (_crash, _cancel_by_force, _leave, _forget, _fail):
        await world.tenant("acme")
        await world.enqueue_many("add", 2, **{"tenant": "acme", **options})
        worker = await world.worker()
        lease = await worker.claim_one()
        await end(world, worker, lease)
        after = await world.worker()
        assert len(await after.claim(5)) == 1, end.__name__

        await world.admin.execute("delete from plait.live; delete from plait.jobs; delete from plait.attempts")


@each_limit
async def test_a_suspect_is_limited_like_any_job(world: World, limit: Limit) -> None:
    options = await limit(world, 1)
    jobs = await world.enqueue_many("add", 2, **options)
    victim = await world.worker()
    await victim.claim_one()
    await world.lose(victim)
    other, third = await world.worker(), await world.worker()
    assert len(await other.claim(1)) == 1
    assert await third.claim(5) == []
    assert sorted(await world.statuses(jobs)) == ["queued", "running"]


@each_limit
async def test_the_limit_holds_among_many_claimers(world: World, limit: Limit) -> None:
    """Real connections, all at once, over many rounds; a checker looks at every commit it can see."""
    options = await limit(world, 3)
    await world.enqueue_many("add", 60, **options)
    workers = [await world.worker() for _ in range(6)]
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
            assert await world.sql("select count(*) from plait.live where state = 'running'") <= 3

    await asyncio.gather(*map(work, workers), watch())
    assert await world.counts() == {"succeeded": 60}


async def test_a_full_lane_is_left_alone(world: World) -> None:
    """T96: no job of it is touched, claimed or given back, however often somebody asks."""
    await world.define("add", max_running=1)
    await world.enqueue_many("add", 5)
    worker = await world.worker()
    await worker.claim_one()
    before = await world.snapshot()
    for _ in range(20):
        assert await worker.claim(5) == []
    assert await world.snapshot() == before


async def test_a_full_limit_does_not_hold_up_the_others(world: World) -> None:
    await world.define("slow", max_running=1)
    await world.define("keyed", key_max_running=1)
    await world.enqueue_many("slow", 5, priority=1)
    await world.enqueue_many("keyed", 5, limit_key="a", priority=1)
    await world.enqueue_many("keyed", 5, limit_key="b", priority=1)
    await world.enqueue_many("add", 5)
    worker = await world.worker(definitions=["slow", "keyed", "add"])
    assert Counter(lease.definition for lease in await worker.claim(20)) == {"slow": 1, "keyed": 2, "add": 5}


async def test_a_key_is_a_tenants_and_a_definitions_own(world: World) -> None:
    for definition in ("add", "other"):
        await world.define(definition, key_max_running=1)
        for tenant in ("a", "b"):
            await world.enqueue_many(definition, 2, tenant=tenant, limit_key="k")
    assert len(await (await world.worker()).claim(20)) == 4


async def test_a_thousand_keys(world: World) -> None:
    """T97: each one runs one job, whatever the order of claims."""
    await world.define("add", key_max_running=1)
    jobs = [await world.new_job("add", limit_key=f"k{n}") for n in range(1000) for _ in range(2)]
    await world.store.jobs.enqueue_many(jobs)
    worker = await world.worker()
    running: set[str | None] = set()
    for _ in range(40):
        leases = await worker.claim(100)
        keys = [(await world.job(lease.job_id)).limit_key for lease in leases]
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
async def test_an_invalid_limit_is_refused(world: World, settings: dict[str, Any]) -> None:
    """T98: never ignored in silence; a word that nobody knows neither."""
    await world.define("other")
    with pytest.raises(InvalidSetting):
        await world.define("add", **settings)
    with pytest.raises(InvalidSetting):
        await world.store.definitions.set_definition("other", settings)
    with pytest.raises(InvalidSetting):
        await world.queue(**settings)


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
async def test_an_invalid_policy_is_refused(world: World, settings: dict[str, Any]) -> None:
    await world.define("other")
    with pytest.raises(InvalidSetting):
        await world.store.definitions.set_definition("other", settings)
    if "active" not in settings:
        with pytest.raises(InvalidSetting):
            await world.define("add", **settings)


@pytest.mark.parametrize("name", ["", " a", "a\nb", None, "a" * 201])
async def test_a_definition_that_nobody_could_enqueue_is_refused(world: World, name: Any) -> None:
    with pytest.raises(InvalidSetting):
        await world.define(name)


@pytest.mark.parametrize(
    "settings",
    [{"max_running": -1}, {"max_queued": -1}, {"weight": 0}, {"weight": 1001}, {"paused": None}, {"nme": "x"},
     {"time_zone": "Mars/Olympus"}, {"name": ""}],
    ids=str,
)  # fmt: skip
async def test_an_invalid_setting_of_a_tenant_is_refused(world: World, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        await world.tenant("acme", **settings)
