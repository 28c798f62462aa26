"""Completion webhooks: each outcome that an endpoint wants to know makes one delivery, whatever commits late, and nothing where nobody asks."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest

from plait.leader.announce import Announce
from plait.model.errors import ChangedMeanwhile, InvalidSetting, QuotaExceeded
from plait.model.states import Status

from ..harness import World

DELIVER = "connector.webhook.deliver"


async def subscribe(world: World, label: str = "mine", *, tenant: str = "default", **settings: Any) -> UUID:
    chosen = {"url": "https://hooks.example.com/x", "statuses": ["succeeded", "failed", "dead_letter"], **settings}
    return await world.store.endpoints.set_endpoint(label, chosen, tenant_id=await world.tenant(tenant))


async def announce(world: World) -> int:
    """Until there is no more."""
    told = 0
    while True:
        n, more, _ = await world.store.leader.announce()
        told += n
        if not more:
            return told


async def deliveries(world: World) -> list[dict[str, Any]]:
    rows = await world.rows("select payload::text from plait.jobs where definition = $1 order by id", DELIVER)
    return [json.loads(payload) for (payload,) in rows]


async def finish(world: World, *jobs: UUID, tenant: str = "default") -> None:
    worker = await world.worker()
    for lease in await worker.claim(100):
        if lease.job_id in jobs:
            await worker.succeed(lease)


async def test_an_outcome_is_told_once_to_each_who_wants_to_know(world: World) -> None:
    mine, all_of_it = await subscribe(world), await subscribe(world, "all", statuses=[s for s in Status if s.final])
    await subscribe(world, "others", definitions=["other"])
    await subscribe(world, "theirs", tenant="b")
    job, canceled = await world.enqueue("add", correlation_id="c 7"), await world.enqueue("add")
    await world.cancel(canceled)
    await finish(world, job)
    assert await announce(world) == 3
    assert await announce(world) == await announce(world) == 0
    told = sorted((one["endpoint"], one["type"], one["data"]["job_id"]) for one in await deliveries(world))
    assert told == sorted(
        [
            (str(mine), "job.succeeded", str(job)),
            (str(all_of_it), "job.succeeded", str(job)),
            (str(all_of_it), "job.canceled", str(canceled)),
        ]
    )
    row = (await world.rows("select * from plait.jobs where definition = $1 and source_ref = $2", DELIVER, str(job)))[0]
    assert (row["source"], row["correlation_id"]) == ("system", "c 7")
    [data] = [one["data"] for one in await deliveries(world) if one["endpoint"] == str(mine)]
    assert (data["status"], data["definition"], data["attempt"], data["correlation_id"]) == (
        "succeeded",
        "add",
        1,
        "c 7",
    )


async def test_a_retried_job_is_told_again_when_it_ends_again(world: World) -> None:
    await subscribe(world)
    job = await world.enqueue("add", max_attempts=1)
    worker = await world.worker()
    await worker.fail(await worker.claim_one())
    assert await announce(world) == 1
    await world.retry(job)
    await worker.succeed(await worker.claim_one())
    assert await announce(world) == 1
    assert [one["type"] for one in await deliveries(world)] == ["job.dead_letter", "job.succeeded"]


async def test_what_becomes_of_deliveries_is_told_to_nobody(world: World) -> None:
    await subscribe(world, statuses=["succeeded", "failed", "canceled"])
    job = await world.enqueue("add")
    await finish(world, job)
    assert await announce(world) == 1
    worker = await world.worker(definitions=[DELIVER])
    await worker.succeed(await worker.claim_one())
    by_hand = await world.enqueue(DELIVER)
    await world.cancel(by_hand)
    assert await announce(world) == 0


async def test_what_commits_late_is_told_and_nothing_twice(world: World) -> None:
    """An outcome is of the moment at which it was reported, and may be seen long after."""
    await subscribe(world)
    late, early = await world.enqueue("add"), await world.enqueue("add")
    worker = await world.worker()
    leases = {lease.job_id: lease for lease in await worker.claim(10)}
    async with world.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.fetch(
            "select plait.settle($1, $2, $3, $4)", worker.id, [late], [leases[late].attempt], ["succeeded"]
        )
        for _ in range(5):
            await world.advance(minutes=1)
            await announce(world)
        await worker.succeed(leases[early])
        assert await announce(world) == 1
        await world.advance(minutes=1)
        assert await announce(world) == 0
        await transaction.commit()
    assert await announce(world) == 1
    remembered = 2
    async with asyncio.timeout(180):  # transactions of others on this server, which must have ended too
        while remembered:
            await world.advance(seconds=1)
            assert await announce(world) == 0
            remembered = await world.sql("select count(*) from plait.announcements")
    assert {one["data"]["job_id"] for one in await deliveries(world)} == {str(late), str(early)}


async def test_a_database_that_was_restored_elsewhere_goes_on(world: World) -> None:
    """Numbers of transactions are a server's own: those of another would be waited for for ever."""
    await subscribe(world)
    await finish(world, await world.enqueue("add"))
    assert await announce(world) == 1
    await world.rows("update plait.announced set seen_xid = '9000000000000000000'")
    remembered = 1
    async with asyncio.timeout(180):
        while remembered:
            await world.advance(seconds=1)
            assert await announce(world) == 0
            remembered = await world.sql("select count(*) from plait.announcements")


async def test_what_happened_while_nobody_led_is_told_minute_by_minute(world: World) -> None:
    await subscribe(world)
    await announce(world)
    jobs = []
    for _ in range(5):
        await world.advance(minutes=7)
        jobs.append(await world.enqueue("add"))
        await finish(world, jobs[-1])
    await world.advance(minutes=7)
    assert await announce(world) == 5
    assert {one["data"]["job_id"] for one in await deliveries(world)} == {str(job) for job in jobs}


async def test_more_than_one_call_takes_is_told_by_the_next(world: World) -> None:
    await subscribe(world)
    jobs = await world.enqueue_many("add", 25)
    await finish(world, *jobs)
    told = 0
    for _ in range(10):
        [(n, more)] = await world.rows("select o_told, o_more from plait.announce(10)")
        told += n
        if not more:
            break
    assert told == 25
    assert len({one["data"]["job_id"] for one in await deliveries(world)}) == 25


async def test_leaders_that_announce_at_once_tell_everything_once(world: World) -> None:
    await subscribe(world)
    jobs = await world.enqueue_many("add", 60)
    worker = await world.worker()
    leases = await worker.claim(60)

    async def lead() -> None:
        for _ in range(15):
            await world.store.leader.announce()

    async def end() -> None:
        for lease in leases:
            await worker.succeed(lease)

    await asyncio.gather(lead(), lead(), lead(), end())
    await announce(world)
    told = [one["data"]["job_id"] for one in await deliveries(world)]
    assert sorted(told) == sorted(str(job) for job in jobs)


async def test_a_subscription_counts_from_when_it_was_made_or_changed(world: World) -> None:
    before = await world.enqueue("add")
    await finish(world, before)
    await world.advance(seconds=1)
    await subscribe(world)
    assert await announce(world) == 0
    await world.store.endpoints.set_endpoint("mine", {"enabled": False})
    during = await world.enqueue("add")
    await finish(world, during)
    await world.advance(seconds=1)
    await world.store.endpoints.set_endpoint("mine", {"enabled": True})
    assert await announce(world) == 0
    after = await world.enqueue("add")
    await finish(world, after)
    assert await announce(world) == 1


async def test_where_nobody_wants_to_know_nothing_is_done(world: World) -> None:
    await world.store.endpoints.set_endpoint("silent", {"url": "https://hooks.example.com/x"})
    await finish(world, await world.enqueue("add"))
    assert await Announce().run(world.store) == 1.0
    assert await world.sql("select count(*) from plait.announced") == 0


async def test_a_tenants_quota_does_not_keep_outcomes_from_being_told(world: World) -> None:
    await world.tenant("full", max_queued=1)
    await subscribe(world, tenant="full")
    job = await world.enqueue("add", tenant="full")
    await finish(world, job)
    await world.enqueue("add", tenant="full")
    with pytest.raises(QuotaExceeded):
        await world.enqueue("add", tenant="full")
    assert await announce(world) == 1


async def test_an_inactive_definition_holds_deliveries_until_it_is_active_again(world: World) -> None:
    await world.define(DELIVER)
    await subscribe(world)
    await world.store.definitions.set_definition(DELIVER, {"active": False})
    await finish(world, await world.enqueue("add"))
    assert await announce(world) == 0
    await world.store.definitions.set_definition(DELIVER, {"active": True})
    assert await announce(world) == 1


@pytest.mark.parametrize(
    "settings",
    [{"url": "ftp://x"}, {"url": "https://a b"}, {"url": "https://" + "x" * 2000}, {"statuses": ["running"]}, {"statuses": ["nonsense"]},
     {"signature": "md5"}, {"definitions": []}, {"definitions": ["x"] * 101}, {"nonsense": 1}, {"url": None}, {"key_version": 7}],
)  # fmt: skip
async def test_an_endpoint_that_is_not_valid_is_refused(world: World, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        await world.store.endpoints.set_endpoint("x", {"url": "https://x.example/", **settings})


async def test_an_endpoint_is_new_or_unchanged_where_one_says_so(world: World) -> None:
    made = await subscribe(world)
    with pytest.raises(ChangedMeanwhile):
        await world.store.endpoints.set_endpoint("mine", {"url": "https://x.example/"}, new=True)
    row = await world.store.endpoints.get_endpoint(made)
    await world.advance(seconds=1)
    await world.store.endpoints.set_endpoint("mine", {"signature": "sha512"}, unchanged_since=row.updated_at)
    with pytest.raises(ChangedMeanwhile):
        await world.store.endpoints.set_endpoint("mine", {"enabled": False}, unchanged_since=row.updated_at)


async def test_a_tenant_has_a_hundred_endpoints_at_most(world: World) -> None:
    for number in range(100):
        await world.store.endpoints.set_endpoint(f"e{number}", {"url": "https://x.example/"})
    with pytest.raises(QuotaExceeded, match="100 endpoints"):
        await world.store.endpoints.set_endpoint("one more", {"url": "https://x.example/"})
    await world.store.endpoints.set_endpoint("e7", {"enabled": False})


async def test_ten_thousand_outcomes_at_once_are_not_compared_with_each_other(own_world: World) -> None:
    world = own_world
    await subscribe(world)
    await world.rows("""
        with j as (
          insert into plait.jobs (id, tenant_id, created_at, priority, max_attempts, definition, queue, payload)
          select plait.uuidv7(), $1, plait.now(), 100, 5, 'add', 'default', '{}' from generate_series(1, 10000) returning id, tenant_id)
        insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, final)
        select id, tenant_id, plait.now(), 1, 'succeeded', 'succeeded' from j
    """, await world.tenant())  # fmt: skip
    before = await world.rows_read()
    assert await announce(world) == 10_000
    assert await announce(world) == 0
    assert await world.rows_read() - before < 1_000_000  # compared one by one, they would be 50 million
