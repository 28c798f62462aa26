"""Completion webhooks: one delivery for each outcome that an endpoint subscribes to, however late a transaction commits."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest

from plait.leader.announce import Announce
from plait.model.errors import ChangedMeanwhile, InvalidSetting, QuotaExceeded
from plait.model.states import Status

from ..harness import Harness

DELIVER = "connector.webhook.deliver"


async def subscribe(harness: Harness, label: str = "mine", *, tenant: str = "default", **settings: Any) -> UUID:
    chosen = {"url": "https://hooks.example.com/x", "statuses": ["succeeded", "failed", "dead_letter"], **settings}
    return await harness.store.endpoints.set_endpoint(label, chosen, tenant_id=await harness.tenant(tenant))


async def announce(harness: Harness) -> int:
    """Until there is no more."""
    told = 0
    while True:
        n, more, _ = await harness.store.leader.announce()
        told += n
        if not more:
            return told


async def deliveries(harness: Harness) -> list[dict[str, Any]]:
    rows = await harness.rows("select payload::text from plait.jobs where definition = $1 order by id", DELIVER)
    return [json.loads(payload) for (payload,) in rows]


async def finish(harness: Harness, *jobs: UUID, tenant: str = "default") -> None:
    worker = await harness.worker()
    for lease in await worker.claim(100):
        if lease.job_id in jobs:
            await worker.succeed(lease)


async def test_an_outcome_is_told_once_to_each_who_wants_to_know(harness: Harness) -> None:
    mine, all_of_it = await subscribe(harness), await subscribe(harness, "all", statuses=[s for s in Status if s.final])
    await subscribe(harness, "others", definitions=["other"])
    await subscribe(harness, "theirs", tenant="b")
    job, canceled = await harness.enqueue("add", correlation_id="c 7"), await harness.enqueue("add")
    await harness.cancel(canceled)
    await finish(harness, job)
    assert await announce(harness) == 3
    assert await announce(harness) == await announce(harness) == 0
    told = sorted((one["endpoint"], one["type"], one["data"]["job_id"]) for one in await deliveries(harness))
    assert told == sorted(
        [
            (str(mine), "job.succeeded", str(job)),
            (str(all_of_it), "job.succeeded", str(job)),
            (str(all_of_it), "job.canceled", str(canceled)),
        ]
    )
    row = (await harness.rows("select * from plait.jobs where definition = $1 and source_ref = $2", DELIVER, str(job)))[
        0
    ]
    assert (row["source"], row["correlation_id"]) == ("system", "c 7")
    [data] = [one["data"] for one in await deliveries(harness) if one["endpoint"] == str(mine)]
    assert (data["status"], data["definition"], data["attempt"], data["correlation_id"]) == (
        "succeeded",
        "add",
        1,
        "c 7",
    )


async def test_a_retried_job_is_told_again_when_it_ends_again(harness: Harness) -> None:
    await subscribe(harness)
    job = await harness.enqueue("add", max_attempts=1)
    worker = await harness.worker()
    await worker.fail(await worker.claim_one())
    assert await announce(harness) == 1
    await harness.retry(job)
    await worker.succeed(await worker.claim_one())
    assert await announce(harness) == 1
    assert [one["type"] for one in await deliveries(harness)] == ["job.dead_letter", "job.succeeded"]


async def test_what_becomes_of_deliveries_is_told_to_nobody(harness: Harness) -> None:
    await subscribe(harness, statuses=["succeeded", "failed", "canceled"])
    job = await harness.enqueue("add")
    await finish(harness, job)
    assert await announce(harness) == 1
    worker = await harness.worker(definitions=[DELIVER])
    await worker.succeed(await worker.claim_one())
    by_hand = await harness.enqueue(DELIVER)
    await harness.cancel(by_hand)
    assert await announce(harness) == 0


async def test_what_commits_late_is_told_and_nothing_twice(harness: Harness) -> None:
    """An outcome is of the moment at which it was reported, and may be seen long after."""
    await subscribe(harness)
    late, early = await harness.enqueue("add"), await harness.enqueue("add")
    worker = await harness.worker()
    leases = {lease.job_id: lease for lease in await worker.claim(10)}
    async with harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.fetch(
            "select plait.settle($1, $2, $3, $4)", worker.id, [late], [leases[late].attempt], ["succeeded"]
        )
        for _ in range(5):
            await harness.advance(minutes=1)
            await announce(harness)
        await worker.succeed(leases[early])
        assert await announce(harness) == 1
        await harness.advance(minutes=1)
        assert await announce(harness) == 0
        await transaction.commit()
    assert await announce(harness) == 1
    remembered = 2
    async with asyncio.timeout(180):  # transactions of others on this server, which must have ended too
        while remembered:
            await harness.advance(seconds=1)
            assert await announce(harness) == 0
            remembered = await harness.sql("select count(*) from plait.announcements")
    assert {one["data"]["job_id"] for one in await deliveries(harness)} == {str(late), str(early)}


async def test_a_database_that_was_restored_elsewhere_goes_on(harness: Harness) -> None:
    """Numbers of transactions are a server's own: those of another would be waited for for ever."""
    await subscribe(harness)
    await finish(harness, await harness.enqueue("add"))
    assert await announce(harness) == 1
    await harness.rows("update plait.announced set seen_xid = '9000000000000000000'")
    remembered = 1
    async with asyncio.timeout(180):
        while remembered:
            await harness.advance(seconds=1)
            assert await announce(harness) == 0
            remembered = await harness.sql("select count(*) from plait.announcements")


async def test_what_happened_while_nobody_led_is_told_minute_by_minute(harness: Harness) -> None:
    await subscribe(harness)
    await announce(harness)
    jobs = []
    for _ in range(5):
        await harness.advance(minutes=7)
        jobs.append(await harness.enqueue("add"))
        await finish(harness, jobs[-1])
    await harness.advance(minutes=7)
    assert await announce(harness) == 5
    assert {one["data"]["job_id"] for one in await deliveries(harness)} == {str(job) for job in jobs}


async def test_more_than_one_call_takes_is_told_by_the_next(harness: Harness) -> None:
    await subscribe(harness)
    jobs = await harness.enqueue_many("add", 25)
    await finish(harness, *jobs)
    told = 0
    for _ in range(10):
        [(n, more)] = await harness.rows("select o_told, o_more from plait.announce(10)")
        told += n
        if not more:
            break
    assert told == 25
    assert len({one["data"]["job_id"] for one in await deliveries(harness)}) == 25


async def test_leaders_that_announce_at_once_tell_everything_once(harness: Harness) -> None:
    await subscribe(harness)
    jobs = await harness.enqueue_many("add", 60)
    worker = await harness.worker()
    leases = await worker.claim(60)

    async def lead() -> None:
        for _ in range(15):
            await harness.store.leader.announce()

    async def end() -> None:
        for lease in leases:
            await worker.succeed(lease)

    await asyncio.gather(lead(), lead(), lead(), end())
    await announce(harness)
    told = [one["data"]["job_id"] for one in await deliveries(harness)]
    assert sorted(told) == sorted(str(job) for job in jobs)


async def test_a_subscription_counts_from_when_it_was_made_or_changed(harness: Harness) -> None:
    before = await harness.enqueue("add")
    await finish(harness, before)
    await harness.advance(seconds=1)
    await subscribe(harness)
    assert await announce(harness) == 0
    await harness.store.endpoints.set_endpoint("mine", {"enabled": False})
    during = await harness.enqueue("add")
    await finish(harness, during)
    await harness.advance(seconds=1)
    await harness.store.endpoints.set_endpoint("mine", {"enabled": True})
    assert await announce(harness) == 0
    after = await harness.enqueue("add")
    await finish(harness, after)
    assert await announce(harness) == 1


async def test_where_nobody_wants_to_know_nothing_is_done(harness: Harness) -> None:
    await harness.store.endpoints.set_endpoint("silent", {"url": "https://hooks.example.com/x"})
    await finish(harness, await harness.enqueue("add"))
    assert await Announce().run(harness.store) == 1.0
    assert await harness.sql("select count(*) from plait.announced") == 0


async def test_a_tenants_quota_does_not_keep_outcomes_from_being_told(harness: Harness) -> None:
    await harness.tenant("full", max_queued=1)
    await subscribe(harness, tenant="full")
    job = await harness.enqueue("add", tenant="full")
    await finish(harness, job)
    await harness.enqueue("add", tenant="full")
    with pytest.raises(QuotaExceeded):
        await harness.enqueue("add", tenant="full")
    assert await announce(harness) == 1


async def test_an_inactive_definition_holds_deliveries_until_it_is_active_again(harness: Harness) -> None:
    await harness.define(DELIVER)
    await subscribe(harness)
    await harness.store.definitions.set_definition(DELIVER, {"active": False})
    await finish(harness, await harness.enqueue("add"))
    assert await announce(harness) == 0
    await harness.store.definitions.set_definition(DELIVER, {"active": True})
    assert await announce(harness) == 1


@pytest.mark.parametrize(
    "settings",
    [{"url": "ftp://x"}, {"url": "https://a b"}, {"url": "https://" + "x" * 2000}, {"statuses": ["running"]}, {"statuses": ["nonsense"]},
     {"signature": "md5"}, {"definitions": []}, {"definitions": ["x"] * 101}, {"nonsense": 1}, {"url": None}, {"key_version": 7}],
)  # fmt: skip
async def test_an_endpoint_that_is_not_valid_is_refused(harness: Harness, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        await harness.store.endpoints.set_endpoint("x", {"url": "https://x.example/", **settings})


async def test_an_endpoint_is_new_or_unchanged_where_one_says_so(harness: Harness) -> None:
    made = await subscribe(harness)
    with pytest.raises(ChangedMeanwhile):
        await harness.store.endpoints.set_endpoint("mine", {"url": "https://x.example/"}, new=True)
    row = await harness.store.endpoints.get_endpoint(made)
    await harness.advance(seconds=1)
    await harness.store.endpoints.set_endpoint("mine", {"signature": "sha512"}, unchanged_since=row.updated_at)
    with pytest.raises(ChangedMeanwhile):
        await harness.store.endpoints.set_endpoint("mine", {"enabled": False}, unchanged_since=row.updated_at)


async def test_a_tenant_has_a_hundred_endpoints_at_most(harness: Harness) -> None:
    for number in range(100):
        await harness.store.endpoints.set_endpoint(f"e{number}", {"url": "https://x.example/"})
    with pytest.raises(QuotaExceeded, match="100 endpoints"):
        await harness.store.endpoints.set_endpoint("one more", {"url": "https://x.example/"})
    await harness.store.endpoints.set_endpoint("e7", {"enabled": False})


async def test_ten_thousand_outcomes_at_once_are_not_compared_with_each_other(own_harness: Harness) -> None:
    harness = own_harness
    await subscribe(harness)
    await harness.rows("""
        with j as (
          insert into plait.jobs (id, tenant_id, created_at, priority, max_attempts, definition, queue, payload)
          select plait.uuidv7(), $1, plait.now(), 100, 5, 'add', 'default', '{}' from generate_series(1, 10000) returning id, tenant_id)
        insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, final)
        select id, tenant_id, plait.now(), 1, 'succeeded', 'succeeded' from j
    """, await harness.tenant())  # fmt: skip
    before = await harness.rows_read()
    assert await announce(harness) == 10_000
    assert await announce(harness) == 0
    assert await harness.rows_read() - before < 1_000_000  # compared one by one, they would be 50 million
