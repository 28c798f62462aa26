"""Jobs of lost workers: harmless jobs run again immediately, and a poison job is found by bisection."""

import random
from datetime import timedelta
from typing import Any

import pytest

from ..fake_worker import FakeWorker, Lease, outcome
from ..harness import Harness


async def test_first_losses_run_again_beside_each_other(harness: Harness) -> None:
    """F34: another worker gets all 40 jobs of a killed worker in one claim."""
    jobs = await harness.enqueue_many("add", 40)
    victim = await harness.worker()
    await victim.claim(40)
    await harness.lose(victim)
    assert {(await harness.job(job)).lane for job in jobs} == {""}
    assert len(await (await harness.worker()).claim(100)) == 40


async def test_first_losses_come_back_with_jitter(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 20)
    victim = await harness.worker()
    await victim.claim(20)
    await harness.expire(victim)
    assert (await harness.rescue(jitter_s=2)).requeued == 20
    now = await harness.now()
    due = {run_at - now for job in jobs if (run_at := (await harness.job(job)).run_at) is not None}
    assert len(due) > 10
    assert all(timedelta() <= later <= timedelta(seconds=2) for later in due)
    assert await (await harness.worker()).claim(20) == []
    await harness.advance(seconds=2)
    assert await harness.promote() == 20
    assert len(await (await harness.worker()).claim(20)) == 20


async def test_no_loss_counts_as_a_try(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 4, max_attempts=1)
    for _ in range(3):
        await lose_all(harness)
    assert [(row.status, row.failed_attempts) for row in [await harness.job(job) for job in jobs]] == [
        ("queued", 0)
    ] * 4


async def test_a_first_loss_is_forgotten_when_the_job_comes_back_from_a_living_worker(harness: Harness) -> None:
    job = await harness.enqueue("add")
    await lose_all(harness)
    worker = await harness.worker()
    await worker.settle(outcome(await worker.claim_one(), "snoozed"))
    await lose_all(harness)
    assert (await harness.job(job)).lane == ""


# Suspects


async def lose_all(harness: Harness, limit: int = 1000, **options: Any) -> FakeWorker:
    """Let a worker claim as many jobs as it can, and then lose it."""
    victim = await harness.worker(**options)
    assert await victim.claim(limit)
    await harness.lose(victim)
    return victim


async def groups(harness: Harness) -> list[int]:
    """The sizes of the groups of suspects."""
    sizes = await harness.sql(
        "select array_agg(n order by n) from (select count(*)::int as n from plait.live "
        "where lane like 'suspect%' group by suspect_group) s"
    )
    return sizes or []


async def test_jobs_lost_again_run_as_one_group(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 9)
    await lose_all(harness)
    await lose_all(harness)
    assert {(await harness.job(job)).lane for job in jobs} == {"suspect"}
    assert await groups(harness) == [9]
    assert len(await (await harness.worker()).claim(100)) == 9


async def test_each_further_loss_halves_the_group(harness: Harness) -> None:
    await harness.enqueue_many("add", 9)
    for sizes in ([], [9], [4, 5]):
        await lose_all(harness)
        assert await groups(harness) == sizes
    await harness.advance(seconds=1)
    await lose_all(harness)
    await lose_all(harness)
    assert await groups(harness) == [2, 2, 2, 3]


async def test_a_worker_runs_suspects_of_one_group_at_a_time(harness: Harness) -> None:
    await harness.enqueue_many("add", 8)
    for _ in range(3):
        await lose_all(harness)
    one, two, three = await harness.worker(), await harness.worker(), await harness.worker()
    first = await one.claim(10)
    assert len(first) == 4
    assert await one.claim(10) == []
    assert await one.claim_plainly(10) == []
    assert len(await two.claim(10)) == 4
    assert await three.claim(10) == []
    await harness.lose(two)
    await one.settle(*(outcome(lease) for lease in first[1:]))
    assert await one.claim(10) == []  # one job of its group is still running
    await one.succeed(first[0])
    assert len(await one.claim(10)) == 2


async def test_a_group_spans_queues(harness: Harness) -> None:
    for queue in ("a", "b"):
        await harness.enqueue_many("add", 2, queue=queue)
    for _ in range(2):
        await lose_all(harness, queues=["a", "b"])
    await harness.enqueue("add", queue="b")
    assert len(await (await harness.worker(queues=["a", "b"])).claim(5)) == 5


async def test_a_worker_takes_as_many_of_a_group_as_it_has_slots(harness: Harness) -> None:
    """Other jobs of the group may run on another worker at the same time, because losses are counted by worker."""
    await harness.enqueue_many("add", 9)
    for _ in range(2):
        await lose_all(harness)
    small, large = await harness.worker(), await harness.worker()
    assert len(await small.claim(4)) == 4
    assert len(await large.claim(10)) == 5
    await harness.lose(small)
    assert await groups(harness) == [2, 2, 5]


async def test_a_suspect_runs_beside_others_whose_first_loss_it_may_cause(harness: Harness) -> None:
    suspect = await harness.enqueue("add")
    for _ in range(2):
        await lose_all(harness)
    others = await harness.enqueue_many("add", 4)
    victim = await harness.worker()
    assert len(await victim.claim(10)) == 5
    await harness.lose(victim)
    assert {(await harness.job(job)).lane for job in others} == {""}
    assert (await harness.job(suspect)).lane == "suspect"


@pytest.mark.parametrize("ending", ["failed", "snoozed", "timeout"])
async def test_a_suspect_that_came_back_from_a_living_worker_is_none(harness: Harness, ending: str) -> None:
    job = await harness.enqueue("add")
    for _ in range(4):
        await lose_all(harness)
    worker = await harness.worker()
    await worker.settle(outcome(await worker.claim_one(), ending, delay_s=1))
    assert (await harness.job(job)).lane == ""
    assert await harness.sql("select losses = 0 and suspect_group is null from plait.live")


@pytest.mark.parametrize("how", ["release", "leave", "forget"])
async def test_a_suspect_that_was_given_back_still_is_one(harness: Harness, how: str) -> None:
    """The job did not run to completion, so it stays a suspect."""
    jobs = await harness.enqueue_many("add", 2)
    for _ in range(2):
        await lose_all(harness)
    worker = await harness.worker()
    leases = await worker.claim(2)
    match how:
        case "release":
            await worker.settle(*(outcome(lease, "released") for lease in leases))
        case "leave":
            await worker.leave()
        case _:
            await worker.heartbeat(holding=[])
    assert {(await harness.job(job)).lane for job in jobs} == {"suspect"}
    assert await groups(harness) == [2]


async def test_three_losses_alone_end_in_the_dead_letters(harness: Harness) -> None:
    """The first loss does not count, because another job may have caused it. The second loss makes the job a suspect."""
    job = await harness.enqueue("add", max_attempts=2)
    for _ in range(5):
        assert await harness.status(job) == "queued"
        assert (await harness.job(job)).failed_attempts == 0
        await lose_all(harness)
    assert await harness.status(job) == "dead_letter"
    last = (await harness.attempts(job))[-1]
    assert (last.status, last.reason) == ("lost", "worker_lost")
    assert last.error == "its worker was lost 3 times while no other suspect ran on that worker"


async def test_a_loss_beside_another_suspect_does_not_count(harness: Harness) -> None:
    """Rescue moves a lost worker's jobs in batches. A job that is alone in its batch was not alone on the worker."""
    await harness.enqueue_many("add", 3)
    for _ in range(2):
        await lose_all(harness)
    victim = await harness.worker()
    await victim.claim(10)
    await harness.expire(victim)
    await harness.rescue(limit=1)
    assert await harness.sql("select max(losses) from plait.live") == 1
    assert sum(await groups(harness)) == 3


async def test_a_poison_job_is_found_in_log2_n_losses_and_nobody_else_is_buried(harness: Harness) -> None:
    """F18: two losses make 201 jobs suspects, eight more bisect them to one job, and three losses of that job alone make it a dead letter."""
    innocent = await harness.enqueue_many("add", 200, max_attempts=1)
    poison = await harness.enqueue("add", max_attempts=1)
    losses = 0
    while await harness.status(poison) != "dead_letter" or await harness.sql("select count(*) from plait.live"):
        worker = await harness.worker()
        leases = await worker.claim(300)
        if any(lease.job_id == poison for lease in leases):
            losses += 1
            await harness.lose(worker)
        else:
            await worker.settle(*(outcome(lease) for lease in leases))
    assert losses <= 2 + 8 + 3
    assert set(await harness.statuses(innocent)) == {"succeeded"}
    assert (await harness.attempts(poison))[-1].reason == "worker_lost"


@pytest.mark.parametrize("settings", [{"max_running": 0}, {"paused": True}])
async def test_suspects_of_a_tenant_that_may_run_nothing_block_nobody(
    harness: Harness, settings: dict[str, Any]
) -> None:
    await harness.tenant("acme")
    await harness.enqueue_many("add", 30, tenant="acme")
    mine = await harness.enqueue("add")
    for _ in range(2):
        await lose_all(harness)
    await harness.tenant("acme", **settings)
    for _ in range(5):  # tenants are tried in random order
        worker = await harness.worker()
        [lease] = await worker.claim(10)
        assert lease.job_id == mine
        await worker.release(lease)


async def test_suspects_of_a_full_key_block_no_others(harness: Harness) -> None:
    await harness.define("other", key_max_running=30)
    await harness.enqueue_many("other", 30, limit_key="k")
    mine = await harness.enqueue("add")
    for _ in range(2):
        await lose_all(harness)
    await harness.define("other", key_max_running=1)
    leases = await (await harness.worker()).claim(10)
    assert len(leases) == 2
    assert mine in {lease.job_id for lease in leases}


async def test_a_retry_of_what_killed_its_workers_is_no_suspect_at_first(harness: Harness) -> None:
    job = await harness.enqueue("add", max_attempts=1)
    for _ in range(5):
        await lose_all(harness)
    await harness.retry(job)
    row = await harness.job(job)
    assert (row.lane, row.failed_attempts) == ("", 0)


@pytest.mark.parametrize("kills", [30, pytest.param(300, marks=pytest.mark.full)])
async def test_the_innocent_are_not_condemned_and_the_culprits_are(harness: Harness, kills: int) -> None:
    """Workers are killed at random, and by three jobs that kill the worker that runs them."""
    dice = random.Random(2)
    culprits = set(await harness.enqueue_many("add", 3))
    innocent = await harness.enqueue_many("add", 60 * kills)
    workers: dict[FakeWorker, list[Lease]] = {await harness.worker(): [] for _ in range(4)}
    while kills > 0 or any(workers.values()) or await harness.sql("select count(*) from plait.live"):
        worker = dice.choice(list(workers))
        held = workers[worker]
        if any(lease.job_id in culprits for lease in held) or (kills > 0 and dice.random() < 0.04):
            kills -= 1
            del workers[worker]
            await harness.lose(worker)
            await worker.disconnect()
            workers[await harness.worker()] = []
            continue
        workers[worker] = (await worker.cycle(4, *(outcome(lease) for lease in held))).claimed
    assert await harness.sql("select count(*) from plait.attempts where status = 'lost'") > 20
    assert await harness.counts() == {"dead_letter": 3, "succeeded": len(innocent)}
    assert {await harness.status(job) for job in culprits} == {"dead_letter"}


# Races
