"""Jobs that were lost with their workers: innocent ones run again at once, a poison job is found by bisection."""

import random
from datetime import timedelta
from typing import Any

import pytest

from ..fake_worker import FakeWorker, Lease, outcome
from ..harness import World


async def test_first_losses_run_again_beside_each_other(world: World) -> None:
    """F34: 40 jobs of a killed worker are one claim of another one."""
    jobs = await world.enqueue_many("add", 40)
    victim = await world.worker()
    await victim.claim(40)
    await world.lose(victim)
    assert {(await world.job(job)).lane for job in jobs} == {""}
    assert len(await (await world.worker()).claim(100)) == 40


async def test_first_losses_come_back_with_jitter(world: World) -> None:
    jobs = await world.enqueue_many("add", 20)
    victim = await world.worker()
    await victim.claim(20)
    await world.expire(victim)
    assert (await world.rescue(jitter_s=2)).requeued == 20
    now = await world.now()
    due = {run_at - now for job in jobs if (run_at := (await world.job(job)).run_at) is not None}
    assert len(due) > 10
    assert all(timedelta() <= later <= timedelta(seconds=2) for later in due)
    assert await (await world.worker()).claim(20) == []
    await world.advance(seconds=2)
    assert await world.promote() == 20
    assert len(await (await world.worker()).claim(20)) == 20


async def test_no_loss_counts_as_a_try(world: World) -> None:
    jobs = await world.enqueue_many("add", 4, max_attempts=1)
    for _ in range(3):
        await lose_all(world)
    assert [(row.status, row.tries) for row in [await world.job(job) for job in jobs]] == [("queued", 0)] * 4


async def test_a_first_loss_is_forgotten_when_the_job_comes_back_from_a_living_worker(world: World) -> None:
    job = await world.enqueue("add")
    await lose_all(world)
    worker = await world.worker()
    await worker.settle(outcome(await worker.claim_one(), "snoozed"))
    await lose_all(world)
    assert (await world.job(job)).lane == ""


# Suspects


async def lose_all(world: World, limit: int = 1000, **options: Any) -> FakeWorker:
    """A worker takes what it can, and is lost."""
    victim = await world.worker(**options)
    assert await victim.claim(limit)
    await world.lose(victim)
    return victim


async def groups(world: World) -> list[int]:
    """The sizes of the groups of suspects."""
    sizes = await world.sql(
        "select array_agg(n order by n) from (select count(*)::int as n from plait.live "
        "where lane like 'suspect%' group by suspect_group) s"
    )
    return sizes or []


async def test_jobs_lost_again_run_as_one_group(world: World) -> None:
    jobs = await world.enqueue_many("add", 9)
    await lose_all(world)
    await lose_all(world)
    assert {(await world.job(job)).lane for job in jobs} == {"suspect"}
    assert await groups(world) == [9]
    assert len(await (await world.worker()).claim(100)) == 9


async def test_each_further_loss_halves_the_group(world: World) -> None:
    await world.enqueue_many("add", 9)
    for sizes in ([], [9], [4, 5]):
        await lose_all(world)
        assert await groups(world) == sizes
    await world.advance(seconds=1)
    await lose_all(world)
    await lose_all(world)
    assert await groups(world) == [2, 2, 2, 3]


async def test_a_worker_runs_suspects_of_one_group_at_a_time(world: World) -> None:
    await world.enqueue_many("add", 8)
    for _ in range(3):
        await lose_all(world)
    one, two, three = await world.worker(), await world.worker(), await world.worker()
    first = await one.claim(10)
    assert len(first) == 4
    assert await one.claim(10) == []
    assert await one.claim_plainly(10) == []
    assert len(await two.claim(10)) == 4
    assert await three.claim(10) == []
    await world.lose(two)
    await one.settle(*(outcome(lease) for lease in first[1:]))
    assert await one.claim(10) == []  # its group has one left that runs
    await one.succeed(first[0])
    assert len(await one.claim(10)) == 2


async def test_a_group_spans_queues(world: World) -> None:
    for queue in ("a", "b"):
        await world.enqueue_many("add", 2, queue=queue)
    for _ in range(2):
        await lose_all(world, queues=["a", "b"])
    await world.enqueue("add", queue="b")
    assert len(await (await world.worker(queues=["a", "b"])).claim(5)) == 5


async def test_a_worker_takes_as_many_of_a_group_as_it_has_slots(world: World) -> None:
    """The others of the group may run on another worker at the same time: a loss is told apart by worker."""
    await world.enqueue_many("add", 9)
    for _ in range(2):
        await lose_all(world)
    small, large = await world.worker(), await world.worker()
    assert len(await small.claim(4)) == 4
    assert len(await large.claim(10)) == 5
    await world.lose(small)
    assert await groups(world) == [2, 2, 5]


async def test_a_suspect_runs_beside_others_whose_first_loss_it_may_cause(world: World) -> None:
    suspect = await world.enqueue("add")
    for _ in range(2):
        await lose_all(world)
    others = await world.enqueue_many("add", 4)
    victim = await world.worker()
    assert len(await victim.claim(10)) == 5
    await world.lose(victim)
    assert {(await world.job(job)).lane for job in others} == {""}
    assert (await world.job(suspect)).lane == "suspect"


@pytest.mark.parametrize("ending", ["failed", "snoozed", "timeout"])
async def test_a_suspect_that_came_back_from_a_living_worker_is_none(world: World, ending: str) -> None:
    job = await world.enqueue("add")
    for _ in range(4):
        await lose_all(world)
    worker = await world.worker()
    await worker.settle(outcome(await worker.claim_one(), ending, delay_s=1))
    assert (await world.job(job)).lane == ""
    assert await world.sql("select losses = 0 and suspect_group is null from plait.live")


@pytest.mark.parametrize("how", ["release", "leave", "forget"])
async def test_a_suspect_that_was_given_back_still_is_one(world: World, how: str) -> None:
    """It never had the chance to show that it is innocent."""
    jobs = await world.enqueue_many("add", 2)
    for _ in range(2):
        await lose_all(world)
    worker = await world.worker()
    leases = await worker.claim(2)
    match how:
        case "release":
            await worker.settle(*(outcome(lease, "released") for lease in leases))
        case "leave":
            await worker.leave()
        case _:
            await worker.heartbeat(holding=[])
    assert {(await world.job(job)).lane for job in jobs} == {"suspect"}
    assert await groups(world) == [2]


async def test_three_losses_alone_end_in_the_dead_letters(world: World) -> None:
    """The first loss is none: it may have stood beside the culprit. The second one makes it a suspect."""
    job = await world.enqueue("add", max_attempts=2)
    for _ in range(5):
        assert await world.status(job) == "queued"
        assert (await world.job(job)).tries == 0
        await lose_all(world)
    assert await world.status(job) == "dead_letter"
    last = (await world.attempts(job))[-1]
    assert (last.status, last.reason) == ("lost", "worker_lost")
    assert last.error == "its worker was lost 3 times while no other suspect ran on it"


async def test_a_loss_beside_another_suspect_does_not_count(world: World) -> None:
    """Rescue moves a lost worker's jobs in batches: the last of a batch was not alone for that."""
    await world.enqueue_many("add", 3)
    for _ in range(2):
        await lose_all(world)
    victim = await world.worker()
    await victim.claim(10)
    await world.expire(victim)
    await world.rescue(limit=1)
    assert await world.sql("select max(losses) from plait.live") == 1
    assert sum(await groups(world)) == 3


async def test_a_poison_job_is_found_in_log2_n_losses_and_nobody_else_is_buried(world: World) -> None:
    """F18: two losses make 201 jobs suspects, eight halve them down to one, three alone bury it."""
    innocent = await world.enqueue_many("add", 200, max_attempts=1)
    poison = await world.enqueue("add", max_attempts=1)
    losses = 0
    while await world.status(poison) != "dead_letter" or await world.sql("select count(*) from plait.live"):
        worker = await world.worker()
        leases = await worker.claim(300)
        if any(lease.job_id == poison for lease in leases):
            losses += 1
            await world.lose(worker)
        else:
            await worker.settle(*(outcome(lease) for lease in leases))
    assert losses <= 2 + 8 + 3
    assert set(await world.statuses(innocent)) == {"succeeded"}
    assert (await world.attempts(poison))[-1].reason == "worker_lost"


@pytest.mark.parametrize("settings", [{"max_running": 0}, {"paused": True}])
async def test_suspects_of_a_tenant_that_may_run_nothing_block_nobody(world: World, settings: dict[str, Any]) -> None:
    await world.tenant("acme")
    await world.enqueue_many("add", 30, tenant="acme")
    mine = await world.enqueue("add")
    for _ in range(2):
        await lose_all(world)
    await world.tenant("acme", **settings)
    for _ in range(5):  # tenants are tried in an order drawn by lot
        worker = await world.worker()
        [lease] = await worker.claim(10)
        assert lease.job_id == mine
        await worker.release(lease)


async def test_suspects_of_a_full_key_block_no_others(world: World) -> None:
    await world.define("other", key_max_running=30)
    await world.enqueue_many("other", 30, limit_key="k")
    mine = await world.enqueue("add")
    for _ in range(2):
        await lose_all(world)
    await world.define("other", key_max_running=1)
    leases = await (await world.worker()).claim(10)
    assert len(leases) == 2
    assert mine in {lease.job_id for lease in leases}


async def test_a_retry_of_what_killed_its_workers_is_no_suspect_at_first(world: World) -> None:
    job = await world.enqueue("add", max_attempts=1)
    for _ in range(5):
        await lose_all(world)
    await world.retry(job)
    row = await world.job(job)
    assert (row.lane, row.tries) == ("", 0)


@pytest.mark.parametrize("kills", [30, pytest.param(300, marks=pytest.mark.full)])
async def test_the_innocent_are_not_condemned_and_the_culprits_are(world: World, kills: int) -> None:
    """Workers are killed at random, and by three jobs that kill whoever runs them."""
    dice = random.Random(2)
    culprits = set(await world.enqueue_many("add", 3))
    innocent = await world.enqueue_many("add", 60 * kills)
    workers: dict[FakeWorker, list[Lease]] = {await world.worker(): [] for _ in range(4)}
    while kills > 0 or any(workers.values()) or await world.sql("select count(*) from plait.live"):
        worker = dice.choice(list(workers))
        held = workers[worker]
        if any(lease.job_id in culprits for lease in held) or (kills > 0 and dice.random() < 0.04):
            kills -= 1
            del workers[worker]
            await world.lose(worker)
            await worker.disconnect()
            workers[await world.worker()] = []
            continue
        workers[worker] = (await worker.cycle(4, *(outcome(lease) for lease in held))).claimed
    assert await world.sql("select count(*) from plait.attempts where status = 'lost'") > 20
    assert await world.counts() == {"dead_letter": 3, "succeeded": len(innocent)}
    assert {await world.status(job) for job in culprits} == {"dead_letter"}


# Races
