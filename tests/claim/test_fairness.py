"""Fair over tenants: by turns, by weight, and nobody starves, however small the limit."""

from collections import Counter
from uuid import UUID

import pytest

from ..fake_worker import FakeWorker
from ..harness import World

BACKLOG = pytest.mark.parametrize(
    "backlog", [5_000, pytest.param(100_000, marks=pytest.mark.full)], ids=["5,000", "100,000"]
)


async def _fill(world: World, n: int, tenant: str, **options: str) -> None:
    while n > 0:
        await world.enqueue_many("add", min(n, 10_000), tenant=tenant, **options)
        n -= 10_000


async def _served(worker: FakeWorker, rounds: int, limit: int, *, plainly: bool = False) -> Counter[UUID]:
    """Who was served how often in so many claims, each of which is done at once."""
    served: Counter[UUID] = Counter()
    for _ in range(rounds):
        leases = await (worker.claim_plainly(limit) if plainly else worker.claim(limit))
        assert leases
        for lease in leases:
            served[lease.tenant_id] += 1
            await worker.succeed(lease)
    return served


@BACKLOG
@pytest.mark.parametrize("big_comes_first", [True, False])
async def test_a_single_job_beside_a_backlog_is_in_the_next_claim(
    world: World, backlog: int, big_comes_first: bool
) -> None:
    await world.tenant("aaa")
    await world.tenant("zzz")
    big, small = ("aaa", "zzz") if big_comes_first else ("zzz", "aaa")
    await _fill(world, backlog, big)
    worker = await world.worker()
    await worker.claim(2)
    job = await world.enqueue("add", tenant=small)
    assert job in [lease.job_id for lease in await worker.claim(2)]


@pytest.mark.parametrize("plainly", [False, True], ids=["cycle", "claim"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 25])
async def test_every_tenant_gets_the_same(world: World, limit: int, plainly: bool) -> None:
    tenants = [await world.tenant(f"t{n}") for n in range(10)]
    for n in range(10):
        await world.enqueue_many("add", 80, tenant=f"t{n}")
    served = await _served(await world.worker(), 200 // limit, limit, plainly=plainly)
    counts = [served[tenant] for tenant in tenants]
    assert max(counts) - min(counts) <= limit


async def test_what_some_leave_is_shared_by_the_others(world: World) -> None:
    hungry = [await world.tenant(slug) for slug in ("a", "z")]
    for slug in ("a", "z"):
        await world.enqueue_many("add", 300, tenant=slug)
    worker = await world.worker()
    served: Counter[UUID] = Counter()
    for _ in range(10):
        for n in range(5):
            await world.enqueue("add", tenant=f"m{n}")
        served += await _served(worker, 1, 21)
    assert [served[await world.tenant(f"m{n}")] for n in range(5)] == [10] * 5
    assert sum(served[tenant] for tenant in hungry) == 160
    assert abs(served[hungry[0]] - served[hungry[1]]) <= 20


@pytest.mark.parametrize("limit", [1, 4, 10])
async def test_a_weight_is_a_share(world: World, limit: int) -> None:
    heavy, light = await world.tenant("heavy", weight=4), await world.tenant("light")
    for slug in ("heavy", "light"):
        await world.enqueue_many("add", 500, tenant=slug)
    served = await _served(await world.worker(), 400 // limit, limit)
    assert 280 <= served[heavy] <= 360  # 320 of 400, by lot
    assert served[heavy] + served[light] == 400


@pytest.mark.parametrize("limit", [2, 4])
async def test_a_great_weight_starves_nobody(world: World, limit: int) -> None:
    """Shares that sum up to more than the limit would cut off the last ones, always the same."""
    await world.tenant("a", weight=20)
    light = [await world.tenant(slug) for slug in "bcd"]
    for slug in "abcd":
        await world.enqueue_many("add", 600, tenant=slug)
    served = await _served(await world.worker(), 600 // limit, limit)
    assert all(served[tenant] > 0 for tenant in light)


async def test_a_weight_takes_nothing_from_who_is_alone(world: World) -> None:
    await world.tenant("heavy", weight=1000)
    await world.enqueue_many("add", 10, tenant="light")
    assert len(await (await world.worker()).claim(10)) == 10


async def test_a_weighted_tenant_without_work_this_worker_knows_holds_up_nobody(world: World) -> None:
    await world.tenant("heavy", weight=1000)
    await world.enqueue_many("strange", 50, tenant="heavy")
    await world.enqueue_many("add", 5, tenant="light")
    worker = await world.worker()
    assert [len(await worker.claim(1)) for _ in range(5)] == [1] * 5


async def test_more_tenants_than_a_window_holds_all_get_their_turn(world: World) -> None:
    jobs = [await world.new_job("add", tenant=f"t{n}") for n in range(150)]
    await world.store.jobs.enqueue_many(jobs)
    worker = await world.worker()
    claimed = {lease.job_id for _ in range(5) for lease in await worker.claim(30)}
    assert claimed == {job.id for job in jobs}


# Lanes


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_limited_and_plain_jobs_of_one_queue_both_get_on(world: World, limit: int) -> None:
    await world.define("limited", max_running=50)
    for definition in ("add", "limited"):
        await world.enqueue_many(definition, 300)
    worker = await world.worker(definitions=["add", "limited"])
    served: Counter[str] = Counter()
    for _ in range(200 // limit):
        for lease in await worker.claim(limit):
            served[lease.definition] += 1
            await worker.succeed(lease)
    assert served.total() == 200 // limit * limit
    assert min(served["add"], served["limited"]) > 60  # 100 each, by lot


@pytest.mark.parametrize("limit", [1, 3, 10])
async def test_every_limit_key_gets_its_turn(world: World, limit: int) -> None:
    for n in range(10):
        await world.enqueue_many("add", 40, limit_key=f"k{n}")
    worker = await world.worker()
    served: Counter[str] = Counter()
    for _ in range(100 // limit):
        for lease in await worker.claim(limit):
            key = (await world.job(lease.job_id)).limit_key
            assert key
            served[key] += 1
            await worker.succeed(lease)
    assert len(served) == 10
    assert max(served.values()) - min(served.values()) <= limit


async def test_tenants_take_turns_within_a_limit(world: World) -> None:
    """A definition that runs one job at a time, and a tenant whose backlog stands first."""
    await world.define("add", max_running=1)
    small = await world.tenant("aaa")
    await world.tenant("zzz")
    await world.enqueue_many("add", 100, tenant="aaa")
    await world.enqueue_many("add", 100, tenant="zzz")
    served = await _served(await world.worker(), 60, 5)
    assert 5 < served[small] < 55  # by lot: 30


async def test_a_free_lane_behind_many_full_ones_is_found(world: World) -> None:
    """T97"""
    await world.define("add", key_max_running=1)
    jobs = [await world.new_job("add", limit_key=f"k{n:04}") for n in range(1000) for _ in range(2)]
    await world.store.jobs.enqueue_many(jobs)
    worker = await world.worker()
    claimed = 0
    for _ in range(200):
        claimed += len(await worker.claim(50))
        if claimed == 1000:
            break
    assert claimed == 1000
    assert await worker.claim(50) == []
    free = await world.enqueue("add", limit_key="z")
    found = [lease.job_id for _ in range(10) for lease in await worker.claim(1)]
    assert found == [free]
