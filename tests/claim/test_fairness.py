"""Fair scheduling: weighted round-robin over tenants. No tenant starves, even if the limit is small."""

from collections import Counter
from uuid import UUID

import pytest

from ..fake_worker import FakeWorker
from ..harness import Harness

BACKLOG = pytest.mark.parametrize(
    "backlog", [5_000, pytest.param(100_000, marks=pytest.mark.full)], ids=["5,000", "100,000"]
)


async def _fill(harness: Harness, n: int, tenant: str, **options: str) -> None:
    while n > 0:
        await harness.enqueue_many("add", min(n, 10_000), tenant=tenant, **options)
        n -= 10_000


async def _served(worker: FakeWorker, rounds: int, limit: int, *, plainly: bool = False) -> Counter[UUID]:
    """The number of claimed jobs of each tenant in several claims. Each job finishes immediately."""
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
    harness: Harness, backlog: int, big_comes_first: bool
) -> None:
    await harness.tenant("aaa")
    await harness.tenant("zzz")
    big, small = ("aaa", "zzz") if big_comes_first else ("zzz", "aaa")
    await _fill(harness, backlog, big)
    worker = await harness.worker()
    await worker.claim(2)
    job = await harness.enqueue("add", tenant=small)
    assert job in [lease.job_id for lease in await worker.claim(2)]


@pytest.mark.parametrize("plainly", [False, True], ids=["cycle", "claim"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 25])
async def test_every_tenant_gets_the_same(harness: Harness, limit: int, plainly: bool) -> None:
    tenants = [await harness.tenant(f"t{n}") for n in range(10)]
    for n in range(10):
        await harness.enqueue_many("add", 80, tenant=f"t{n}")
    served = await _served(await harness.worker(), 200 // limit, limit, plainly=plainly)
    counts = [served[tenant] for tenant in tenants]
    assert max(counts) - min(counts) <= limit


async def test_what_some_leave_is_shared_by_the_others(harness: Harness) -> None:
    hungry = [await harness.tenant(slug) for slug in ("a", "z")]
    for slug in ("a", "z"):
        await harness.enqueue_many("add", 300, tenant=slug)
    worker = await harness.worker()
    served: Counter[UUID] = Counter()
    for _ in range(10):
        for n in range(5):
            await harness.enqueue("add", tenant=f"m{n}")
        served += await _served(worker, 1, 21)
    assert [served[await harness.tenant(f"m{n}")] for n in range(5)] == [10] * 5
    assert sum(served[tenant] for tenant in hungry) == 160
    assert abs(served[hungry[0]] - served[hungry[1]]) <= 20


@pytest.mark.parametrize("limit", [1, 4, 10])
async def test_a_weight_is_a_share(harness: Harness, limit: int) -> None:
    heavy, light = await harness.tenant("heavy", weight=4), await harness.tenant("light")
    for slug in ("heavy", "light"):
        await harness.enqueue_many("add", 500, tenant=slug)
    served = await _served(await harness.worker(), 400 // limit, limit)
    assert 280 <= served[heavy] <= 360  # expected: 320 of 400; tenants are chosen at random
    assert served[heavy] + served[light] == 400


@pytest.mark.parametrize("limit", [2, 4])
async def test_a_great_weight_starves_nobody(harness: Harness, limit: int) -> None:
    """If the shares added up to more than the limit, the last tenants would never get a share."""
    await harness.tenant("a", weight=20)
    light = [await harness.tenant(slug) for slug in "bcd"]
    for slug in "abcd":
        await harness.enqueue_many("add", 600, tenant=slug)
    served = await _served(await harness.worker(), 600 // limit, limit)
    assert all(served[tenant] > 0 for tenant in light)


async def test_a_weight_takes_nothing_from_who_is_alone(harness: Harness) -> None:
    await harness.tenant("heavy", weight=1000)
    await harness.enqueue_many("add", 10, tenant="light")
    assert len(await (await harness.worker()).claim(10)) == 10


async def test_a_weighted_tenant_without_work_this_worker_knows_holds_up_nobody(harness: Harness) -> None:
    await harness.tenant("heavy", weight=1000)
    await harness.enqueue_many("strange", 50, tenant="heavy")
    await harness.enqueue_many("add", 5, tenant="light")
    worker = await harness.worker()
    assert [len(await worker.claim(1)) for _ in range(5)] == [1] * 5


async def test_more_tenants_than_a_window_holds_all_get_their_turn(harness: Harness) -> None:
    jobs = [await harness.new_job("add", tenant=f"t{n}") for n in range(150)]
    await harness.store.jobs.enqueue_many(jobs)
    worker = await harness.worker()
    claimed = {lease.job_id for _ in range(5) for lease in await worker.claim(30)}
    assert claimed == {job.id for job in jobs}


# Lanes


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_limited_and_plain_jobs_of_one_queue_both_get_on(harness: Harness, limit: int) -> None:
    await harness.define("limited", max_running=50)
    for definition in ("add", "limited"):
        await harness.enqueue_many(definition, 300)
    worker = await harness.worker(definitions=["add", "limited"])
    served: Counter[str] = Counter()
    for _ in range(200 // limit):
        for lease in await worker.claim(limit):
            served[lease.definition] += 1
            await worker.succeed(lease)
    assert served.total() == 200 // limit * limit
    assert min(served["add"], served["limited"]) > 60  # expected: 100 each; lanes are chosen at random


@pytest.mark.parametrize("limit", [1, 3, 10])
async def test_every_limit_key_gets_its_turn(harness: Harness, limit: int) -> None:
    for n in range(10):
        await harness.enqueue_many("add", 40, limit_key=f"k{n}")
    worker = await harness.worker()
    served: Counter[str] = Counter()
    for _ in range(100 // limit):
        for lease in await worker.claim(limit):
            key = (await harness.job(lease.job_id)).limit_key
            assert key
            served[key] += 1
            await worker.succeed(lease)
    assert len(served) == 10
    assert max(served.values()) - min(served.values()) <= limit


async def test_tenants_take_turns_within_a_limit(harness: Harness) -> None:
    """A definition that runs one job at a time, and a tenant whose backlog is first in the queue."""
    await harness.define("add", max_running=1)
    small = await harness.tenant("aaa")
    await harness.tenant("zzz")
    await harness.enqueue_many("add", 100, tenant="aaa")
    await harness.enqueue_many("add", 100, tenant="zzz")
    served = await _served(await harness.worker(), 60, 5)
    assert 5 < served[small] < 55  # expected: 30; tenants are chosen at random


async def test_a_free_lane_behind_many_full_ones_is_found(harness: Harness) -> None:
    """T97"""
    await harness.define("add", key_max_running=1)
    jobs = [await harness.new_job("add", limit_key=f"k{n:04}") for n in range(1000) for _ in range(2)]
    await harness.store.jobs.enqueue_many(jobs)
    worker = await harness.worker()
    claimed = 0
    for _ in range(200):
        claimed += len(await worker.claim(50))
        if claimed == 1000:
            break
    assert claimed == 1000
    assert await worker.claim(50) == []
    free = await harness.enqueue("add", limit_key="z")
    found = [lease.job_id for _ in range(10) for lease in await worker.claim(1)]
    assert found == [free]
