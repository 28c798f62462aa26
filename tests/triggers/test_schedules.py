"""Schedules: each instant creates exactly one job; catch-up and overlap policies."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plait.leader.fire import Fire
from plait.testing.clock import START

from ..harness import Harness
from .pass_time import instants, pass_time


async def test_each_instant_makes_one_job(harness: Harness) -> None:
    trigger = await harness.trigger(cron="*/5 * * * *", payload={"x": 1})
    await pass_time(harness, 16)
    assert await instants(harness, trigger) == [START + timedelta(minutes=m) for m in (5, 10, 15)]
    jobs = await harness.fired_jobs(trigger)
    assert [(job.definition, job.payload, job.source, job.source_ref, job.status) for job in jobs] == [
        ("add", '{"x":1}', "schedule", str(trigger), "queued")
    ] * 3
    row = await harness.trigger_row(trigger)
    assert (row.fired, row.missed, row.skipped, row.last_at) == (3, 0, 0, START + timedelta(minutes=15))
    assert (row.next_at, row.last_job_id) == (START + timedelta(minutes=20), jobs[-1].id)


async def test_a_new_schedule_does_not_fire_at_once_nor_does_one_that_is_declared_again(harness: Harness) -> None:
    """T81."""
    declared = [
        {"tenant": None, "label": f"s{n}", "settings": {"definition": "add", "cron": "0 * * * *"}} for n in range(20)
    ]
    for _ in range(3):
        await harness.store.triggers.declare_triggers(declared, ["add"])
        await pass_time(harness, 10)
    assert await harness.counts() == {}
    await pass_time(harness, 30)
    assert await harness.counts() == {"queued": 20}
    await harness.store.triggers.declare_triggers(declared, ["add"])
    await harness.fire()
    assert await harness.counts() == {"queued": 20}


async def test_every_counts_from_when_it_was_set(harness: Harness) -> None:
    await harness.advance(seconds=17)
    trigger = await harness.trigger(every_s=90)
    for _ in range(5):
        await harness.advance(seconds=60)
        await harness.fire()
    assert await instants(harness, trigger) == [START + timedelta(seconds=17 + 90 * n) for n in (1, 2, 3)]


async def test_the_job_and_the_schedules_progress_are_one_transaction(harness: Harness) -> None:
    """T82: whatever fails in between, both are stored or neither is."""
    trigger = await harness.trigger(every_s=60)
    await harness.advance(minutes=1)
    [due] = await harness.store.triggers.due_schedules()
    async with harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        made = await connection.fetchval(
            "select plait.fire($1, $2, $3, $4, $5, $6::json)", due.id, due.revision, due.cursor_at, due.now,
            due.now + timedelta(minutes=1), '[{"instant": "2030-01-01T12:01:00Z", "payload": {}}]',
        )  # fmt: skip
        assert made == 1
        await transaction.rollback()
    assert await harness.counts() == {}
    await harness.fire()
    assert await instants(harness, trigger) == [START + timedelta(minutes=1)]


async def test_instants_are_neither_of_the_future_nor_behind_the_cursor(harness: Harness) -> None:
    from plait.model.errors import InvalidJob

    await harness.trigger(every_s=60)
    await harness.advance(minutes=1)
    [due] = await harness.store.triggers.due_schedules()
    for instant in ("2030-01-01T12:02:00Z", "2030-01-01T11:59:00Z", None):
        with pytest.raises(InvalidJob):
            await harness.store.triggers.fire(
                due, upto=due.now, next_at=None, fires=[{"instant": instant, "payload": {}}], missed=0
            )
    with pytest.raises(InvalidJob):
        await harness.store.triggers.fire(due, upto=due.now + timedelta(1), next_at=None, fires=[], missed=0)


@pytest.mark.parametrize(
    ("policy", "fired", "missed"),
    [
        ({"catch_up": "none"}, [], 6),
        ({"catch_up": "one"}, [60], 5),
        ({"catch_up": "all"}, [10, 20, 30, 40, 50, 60], 0),
        ({"catch_up": "window", "catch_up_window_s": 1800}, [40, 50, 60], 3),
    ],
)
async def test_after_an_hour_of_downtime_each_policy_does_what_its_name_says(
    harness: Harness, policy: dict[str, Any], fired: list[int], missed: int
) -> None:
    """T83."""
    trigger = await harness.trigger(cron="*/10 * * * *", **policy)
    await harness.advance(minutes=64)
    await harness.fire()
    assert await instants(harness, trigger) == [START + timedelta(minutes=m) for m in fired]
    assert (await harness.trigger_row(trigger)).missed == missed
    await pass_time(harness, 6)  # and continues as before
    assert (await instants(harness, trigger))[-1] == START + timedelta(minutes=70)


async def test_an_instant_that_is_a_little_late_is_fired_by_every_policy(harness: Harness) -> None:
    trigger = await harness.trigger(cron="*/10 * * * *", catch_up="none")
    await harness.advance(minutes=10, seconds=59)
    await harness.fire()
    assert await instants(harness, trigger) == [START + timedelta(minutes=10)]


async def test_a_long_downtime_is_caught_up_in_batches(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=10, catch_up="all")
    await harness.advance(hours=1)
    assert await Fire().run(harness.store) == 0
    assert (await harness.trigger_row(trigger)).fired == 100
    await harness.fire()
    assert (await harness.trigger_row(trigger)).fired == 360
    assert len(set(await instants(harness, trigger))) == 360


async def test_overlap_skip_leaves_out_what_comes_while_the_last_job_is_not_final(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=60, overlap="skip")
    await pass_time(harness, 3)
    worker = await harness.worker()
    await worker.succeed(await worker.claim_one())
    await pass_time(harness, 1)
    assert [row.outcome for row in await harness.fires(trigger)] == ["enqueued", "skipped", "skipped", "enqueued"]
    row = await harness.trigger_row(trigger)
    assert (row.fired, row.skipped, row.missed) == (2, 2, 0)


async def test_overlap_queue_runs_them_one_after_the_other(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=60, overlap="queue", payload={"at": "{{schedule.instant}}"})
    await pass_time(harness, 3)
    assert [row.outcome for row in await harness.fires(trigger)] == ["enqueued", "held", "held"]
    assert (await harness.trigger_row(trigger)).held == 2
    worker = await harness.worker()
    for n in range(3):
        lease = await worker.claim_one()
        assert (await harness.job(lease.job_id)).payload == f'{{"at":"2030-01-01T12:0{n + 1}:00+00:00"}}'
        assert await worker.claim() == []
        await worker.succeed(lease)
        await harness.fire()
    assert [row.outcome for row in await harness.fires(trigger)] == ["enqueued"] * 3


async def test_overlap_queue_keeps_a_hundred_in_line(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=1, overlap="queue", catch_up="all")
    await harness.advance(seconds=110)
    for _ in range(3):
        await harness.fire()
    outcomes = [row.outcome for row in await harness.fires(trigger)]
    assert (outcomes.count("enqueued"), outcomes.count("held"), outcomes.count("skipped")) == (1, 100, 9)


async def test_jitter_is_the_same_whoever_works_it_out_and_within_its_bound(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=3600, jitter_s=600)
    for _ in range(20):
        await harness.advance(hours=1)
        await harness.fire()
    jobs = await harness.fired_jobs(trigger)
    delays = [(job.scheduled_for or job.created_at) - job.created_at for job in jobs]
    assert all(timedelta() <= delay < timedelta(minutes=10) for delay in delays)
    assert len(set(delays)) > 10


async def test_a_paused_schedule_fires_nothing_and_misses_nothing(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=60, catch_up="all")
    await pass_time(harness, 2)
    await harness.trigger(enabled=False)
    await pass_time(harness, 5)
    await harness.trigger(enabled=True)
    assert (await harness.trigger_row(trigger)).fired == 2
    await pass_time(harness, 1)
    row = await harness.trigger_row(trigger)
    assert (row.fired, row.missed) == (3, 0)


async def test_a_changed_timing_counts_from_now(harness: Harness) -> None:
    trigger = await harness.trigger(cron="0 * * * *", catch_up="all")
    await harness.advance(minutes=90)
    await harness.trigger(cron="*/15 * * * *")
    assert await instants(harness, trigger) == []
    await pass_time(harness, 15)
    assert await instants(harness, trigger) == [START + timedelta(minutes=105)]


async def test_a_schedule_without_a_zone_follows_its_tenants(harness: Harness) -> None:
    await harness.tenant("acme", time_zone="America/New_York")
    own = await harness.trigger("own", tenant="acme", cron="0 9 * * *", time_zone="Asia/Tokyo")
    theirs = await harness.trigger("theirs", tenant="acme", cron="0 9 * * *")
    assert (await harness.trigger_row(own)).next_at == datetime(2030, 1, 2, 0, tzinfo=UTC)
    assert (await harness.trigger_row(theirs)).next_at == datetime(2030, 1, 1, 14, tzinfo=UTC)
    await harness.tenant("acme", time_zone="Europe/Berlin")
    await harness.fire()
    assert (await harness.trigger_row(theirs)).next_at == datetime(2030, 1, 2, 8, tzinfo=UTC)
    assert (await harness.trigger_row(own)).next_at == datetime(2030, 1, 2, 0, tzinfo=UTC)
    assert await harness.counts() == {}


async def test_a_dedupe_key_of_its_own_holds_for_the_window(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=60, dedupe_key="once", dedupe_window_s=150)
    worker = await harness.worker()
    outcomes = []
    for _ in range(6):
        await pass_time(harness, 1)
        for lease in await worker.claim():
            await worker.succeed(lease)
        outcomes.append((await harness.fires(trigger))[-1].outcome)
    assert outcomes == ["enqueued", "deduplicated", "deduplicated", "enqueued", "deduplicated", "deduplicated"]


async def test_a_manual_run_does_not_suppress_the_scheduled_one(harness: Harness) -> None:
    """T86."""
    trigger = await harness.trigger(every_s=60)
    await harness.enqueue("add")
    await pass_time(harness, 1)
    assert [row.outcome for row in await harness.fires(trigger)] == ["enqueued"]


async def test_a_failed_job_does_not_end_its_schedule(harness: Harness) -> None:
    """T89: a job does not schedule its successor."""
    await harness.define("add", max_attempts=1)
    trigger = await harness.trigger(every_s=60, overlap="skip")
    worker = await harness.worker()
    for _ in range(3):
        await pass_time(harness, 1)
        await worker.fail(await worker.claim_one())
    assert [row.outcome for row in await harness.fires(trigger)] == ["enqueued"] * 3


async def test_a_schedule_that_cannot_be_worked_out_says_so_and_holds_up_no_other(harness: Harness) -> None:
    broken = await harness.trigger("a", cron="99 * * * *")
    sound = await harness.trigger("b", every_s=60)
    await pass_time(harness, 1)
    row = await harness.trigger_row(broken)
    assert (row.next_at, row.error) == (None, "cron '99 * * * *': Bad minute")
    assert len(await harness.fires(sound)) == 1
    assert "broken_trigger" in await harness.findings()
    await harness.trigger("a", cron="* * * * *")
    assert (await harness.trigger_row(broken)).error is None


async def test_old_occasions_are_forgotten_and_do_not_come_again(harness: Harness) -> None:
    from plait.store.leader import Retention

    trigger = await harness.trigger(every_s=60)
    await pass_time(harness, 2)
    await harness.advance(days=31)
    await harness.store.leader.prune(Retention())
    assert await harness.fires(trigger) == []
    await harness.fire()
    assert len(await harness.fires(trigger)) == 1


async def test_schedules_that_nobody_fires_are_found(harness: Harness) -> None:
    await harness.trigger(every_s=60)
    await harness.advance(minutes=2)
    assert "overdue_schedules" in await harness.findings()
    await harness.fire()
    assert "overdue_schedules" not in await harness.findings()
