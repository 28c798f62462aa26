"""Schedules: each instant makes exactly one job, whoever fires, and policies do what their names say."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plait.leader.fire import Fire, fire
from plait.model.errors import IllegalMove, InactiveDefinition, InvalidSetting, NotFound
from plait.store import Store
from plait.testing.clock import START

from ..world import World


async def pass_time(world: World, minutes: int) -> None:
    """Minute after minute, with a leader that looks."""
    for _ in range(minutes):
        await world.advance(minutes=1)
        await world.fire()


async def instants(world: World, trigger: object) -> list[datetime | None]:
    return [row.instant for row in await world.fires(trigger)]  # type: ignore[arg-type]


async def test_each_instant_makes_one_job(world: World) -> None:
    trigger = await world.trigger(cron="*/5 * * * *", payload={"x": 1})
    await pass_time(world, 16)
    assert await instants(world, trigger) == [START + timedelta(minutes=m) for m in (5, 10, 15)]
    jobs = await world.fired_jobs(trigger)
    assert [(job.definition, job.payload, job.source, job.source_ref, job.status) for job in jobs] == [
        ("add", '{"x":1}', "schedule", str(trigger), "queued")
    ] * 3
    row = await world.trigger_row(trigger)
    assert (row.fired, row.missed, row.skipped, row.last_at) == (3, 0, 0, START + timedelta(minutes=15))
    assert (row.next_at, row.last_job_id) == (START + timedelta(minutes=20), jobs[-1].id)


async def test_a_new_schedule_does_not_fire_at_once_nor_does_one_that_is_declared_again(world: World) -> None:
    """T81."""
    declared = [
        {"tenant": None, "label": f"s{n}", "settings": {"definition": "add", "cron": "0 * * * *"}} for n in range(20)
    ]
    for _ in range(3):
        await world.store.triggers.declare_triggers(declared, ["add"])
        await pass_time(world, 10)
    assert await world.counts() == {}
    await pass_time(world, 30)
    assert await world.counts() == {"queued": 20}
    await world.store.triggers.declare_triggers(declared, ["add"])
    await world.fire()
    assert await world.counts() == {"queued": 20}


async def test_every_counts_from_when_it_was_set(world: World) -> None:
    await world.advance(seconds=17)
    trigger = await world.trigger(every_s=90)
    for _ in range(5):
        await world.advance(seconds=60)
        await world.fire()
    assert await instants(world, trigger) == [START + timedelta(seconds=17 + 90 * n) for n in (1, 2, 3)]


@pytest.mark.parametrize("leaders", [2, 8])
async def test_of_many_leaders_one_fires(world: World, leaders: int) -> None:
    """T80, T84: all of them read the same schedule, and then fire it."""
    triggers = [await world.trigger(f"t{n}", every_s=60) for n in range(3)]
    for _ in range(5):
        await world.advance(minutes=1)
        due = await world.store.triggers.due_schedules()
        made = await asyncio.gather(*(fire(world.store, schedule) for schedule in due for _ in range(leaders)))
        assert sum(n or 0 for n in made) == 3
    for trigger in triggers:
        assert await instants(world, trigger) == [START + timedelta(minutes=n) for n in range(1, 6)]
    assert await world.counts() == {"queued": 15}


async def test_a_leader_that_slept_with_an_old_plan_fires_nothing(world: World) -> None:
    """T84: it read the schedule, was stopped for an hour, and goes on."""
    trigger = await world.trigger(every_s=60, catch_up="all")
    await world.advance(minutes=1)
    [old] = await world.store.triggers.due_schedules()
    await pass_time(world, 60)
    assert await fire(world.store, old) is None
    assert (await world.trigger_row(trigger)).fired == 61


async def test_the_job_and_the_schedules_progress_are_one_transaction(world: World) -> None:
    """T82: whatever fails in between, both are there or neither is."""
    trigger = await world.trigger(every_s=60)
    await world.advance(minutes=1)
    [due] = await world.store.triggers.due_schedules()
    async with world.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        made = await connection.fetchval(
            "select plait.fire($1, $2, $3, $4, $5, $6::json)", due.id, due.revision, due.cursor_at, due.now,
            due.now + timedelta(minutes=1), '[{"instant": "2030-01-01T12:01:00Z", "payload": {}}]',
        )  # fmt: skip
        assert made == 1
        await transaction.rollback()
    assert await world.counts() == {}
    await world.fire()
    assert await instants(world, trigger) == [START + timedelta(minutes=1)]


async def test_instants_are_neither_of_the_future_nor_behind_the_cursor(world: World) -> None:
    from plait.model.errors import InvalidJob

    await world.trigger(every_s=60)
    await world.advance(minutes=1)
    [due] = await world.store.triggers.due_schedules()
    for instant in ("2030-01-01T12:02:00Z", "2030-01-01T11:59:00Z", None):
        with pytest.raises(InvalidJob):
            await world.store.triggers.fire(
                due, upto=due.now, next_at=None, fires=[{"instant": instant, "payload": {}}], missed=0
            )
    with pytest.raises(InvalidJob):
        await world.store.triggers.fire(due, upto=due.now + timedelta(1), next_at=None, fires=[], missed=0)


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
    world: World, policy: dict[str, Any], fired: list[int], missed: int
) -> None:
    """T83."""
    trigger = await world.trigger(cron="*/10 * * * *", **policy)
    await world.advance(minutes=64)
    await world.fire()
    assert await instants(world, trigger) == [START + timedelta(minutes=m) for m in fired]
    assert (await world.trigger_row(trigger)).missed == missed
    await pass_time(world, 6)  # and goes on as ever
    assert (await instants(world, trigger))[-1] == START + timedelta(minutes=70)


async def test_an_instant_that_is_a_little_late_is_fired_by_every_policy(world: World) -> None:
    trigger = await world.trigger(cron="*/10 * * * *", catch_up="none")
    await world.advance(minutes=10, seconds=59)
    await world.fire()
    assert await instants(world, trigger) == [START + timedelta(minutes=10)]


async def test_a_long_downtime_is_caught_up_in_batches(world: World) -> None:
    trigger = await world.trigger(every_s=10, catch_up="all")
    await world.advance(hours=1)
    assert await Fire().run(world.store) == 0
    assert (await world.trigger_row(trigger)).fired == 100
    await world.fire()
    assert (await world.trigger_row(trigger)).fired == 360
    assert len(set(await instants(world, trigger))) == 360


async def test_overlap_skip_leaves_out_what_comes_while_the_last_job_is_not_final(world: World) -> None:
    trigger = await world.trigger(every_s=60, overlap="skip")
    await pass_time(world, 3)
    worker = await world.worker()
    await worker.succeed(await worker.claim_one())
    await pass_time(world, 1)
    assert [row.outcome for row in await world.fires(trigger)] == ["enqueued", "skipped", "skipped", "enqueued"]
    row = await world.trigger_row(trigger)
    assert (row.fired, row.skipped, row.missed) == (2, 2, 0)


async def test_overlap_queue_runs_them_one_after_the_other(world: World) -> None:
    trigger = await world.trigger(every_s=60, overlap="queue", payload={"at": "{{schedule.instant}}"})
    await pass_time(world, 3)
    assert [row.outcome for row in await world.fires(trigger)] == ["enqueued", "held", "held"]
    assert (await world.trigger_row(trigger)).held == 2
    worker = await world.worker()
    for n in range(3):
        lease = await worker.claim_one()
        assert (await world.job(lease.job_id)).payload == f'{{"at":"2030-01-01T12:0{n + 1}:00+00:00"}}'
        assert await worker.claim() == []
        await worker.succeed(lease)
        await world.fire()
    assert [row.outcome for row in await world.fires(trigger)] == ["enqueued"] * 3


async def test_overlap_queue_keeps_a_hundred_in_line(world: World) -> None:
    trigger = await world.trigger(every_s=1, overlap="queue", catch_up="all")
    await world.advance(seconds=110)
    for _ in range(3):
        await world.fire()
    outcomes = [row.outcome for row in await world.fires(trigger)]
    assert (outcomes.count("enqueued"), outcomes.count("held"), outcomes.count("skipped")) == (1, 100, 9)


async def test_jitter_is_the_same_whoever_works_it_out_and_within_its_bound(world: World) -> None:
    trigger = await world.trigger(every_s=3600, jitter_s=600)
    for _ in range(20):
        await world.advance(hours=1)
        await world.fire()
    jobs = await world.fired_jobs(trigger)
    delays = [(job.scheduled_for or job.created_at) - job.created_at for job in jobs]
    assert all(timedelta() <= delay < timedelta(minutes=10) for delay in delays)
    assert len(set(delays)) > 10


async def test_a_paused_schedule_fires_nothing_and_misses_nothing(world: World) -> None:
    trigger = await world.trigger(every_s=60, catch_up="all")
    await pass_time(world, 2)
    await world.trigger(enabled=False)
    await pass_time(world, 5)
    await world.trigger(enabled=True)
    assert (await world.trigger_row(trigger)).fired == 2
    await pass_time(world, 1)
    row = await world.trigger_row(trigger)
    assert (row.fired, row.missed) == (3, 0)


async def test_a_changed_timing_counts_from_now(world: World) -> None:
    trigger = await world.trigger(cron="0 * * * *", catch_up="all")
    await world.advance(minutes=90)
    await world.trigger(cron="*/15 * * * *")
    assert await instants(world, trigger) == []
    await pass_time(world, 15)
    assert await instants(world, trigger) == [START + timedelta(minutes=105)]


async def test_a_schedule_without_a_zone_follows_its_tenants(world: World) -> None:
    await world.tenant("acme", time_zone="America/New_York")
    own = await world.trigger("own", tenant="acme", cron="0 9 * * *", time_zone="Asia/Tokyo")
    theirs = await world.trigger("theirs", tenant="acme", cron="0 9 * * *")
    assert (await world.trigger_row(own)).next_at == datetime(2030, 1, 2, 0, tzinfo=UTC)
    assert (await world.trigger_row(theirs)).next_at == datetime(2030, 1, 1, 14, tzinfo=UTC)
    await world.tenant("acme", time_zone="Europe/Berlin")
    await world.fire()
    assert (await world.trigger_row(theirs)).next_at == datetime(2030, 1, 2, 8, tzinfo=UTC)
    assert (await world.trigger_row(own)).next_at == datetime(2030, 1, 2, 0, tzinfo=UTC)
    assert await world.counts() == {}


async def test_the_options_of_a_trigger_reach_the_job(world: World) -> None:
    """T90."""
    await world.tenant("acme")
    trigger = await world.trigger(
        tenant="acme",
        every_s=60,
        queue="nights",
        priority=7,
        max_attempts=2,
        timeout_s=30,
        correlation_id="{{tenant.slug}} {{trigger.label}}",
        dedupe_key="sync {{schedule.instant}}",
        limit_key="{{tenant.id}}",
        payload={"t": "{{tenant.slug}}", "deep": [{"at": "{{schedule.instant}}"}]},
    )
    await pass_time(world, 1)
    [job] = await world.fired_jobs(trigger)
    tenant = await world.tenant("acme")
    assert (job.tenant_id, job.queue, job.priority, job.max_attempts, job.timeout_s) == (tenant, "nights", 7, 2, 30.0)
    assert (job.correlation_id, job.limit_key) == ("acme t", str(tenant))
    assert job.dedupe_key == "sync 2030-01-01T12:01:00+00:00"
    assert job.payload == '{"t":"acme","deep":[{"at":"2030-01-01T12:01:00+00:00"}]}'
    assert (job.source, job.source_ref) == ("schedule", str(trigger))


async def test_a_dedupe_key_of_its_own_holds_for_the_window(world: World) -> None:
    trigger = await world.trigger(every_s=60, dedupe_key="once", dedupe_window_s=150)
    worker = await world.worker()
    outcomes = []
    for _ in range(6):
        await pass_time(world, 1)
        for lease in await worker.claim():
            await worker.succeed(lease)
        outcomes.append((await world.fires(trigger))[-1].outcome)
    assert outcomes == ["enqueued", "deduplicated", "deduplicated", "enqueued", "deduplicated", "deduplicated"]


async def test_a_manual_run_does_not_suppress_the_scheduled_one(world: World) -> None:
    """T86."""
    trigger = await world.trigger(every_s=60)
    await world.enqueue("add")
    await pass_time(world, 1)
    assert [row.outcome for row in await world.fires(trigger)] == ["enqueued"]


async def test_a_failed_job_does_not_end_its_schedule(world: World) -> None:
    """T89: nothing reschedules itself."""
    await world.define("add", max_attempts=1)
    trigger = await world.trigger(every_s=60, overlap="skip")
    worker = await world.worker()
    for _ in range(3):
        await pass_time(world, 1)
        await worker.fail(await worker.claim_one())
    assert [row.outcome for row in await world.fires(trigger)] == ["enqueued"] * 3


async def test_what_a_job_is_refused_for_is_kept_with_the_instant(world: World) -> None:
    await world.define("add")
    refused = await world.trigger("refused", every_s=60)
    template = await world.trigger("template", every_s=60, payload={"x": "{{event.x}}"})
    await world.store.definitions.set_definition("add", {"active": False})
    await pass_time(world, 1)
    [row] = await world.fires(refused)
    assert (row.outcome, row.error) == ("refused", "definition 'add' is inactive: it takes no new jobs")
    [row] = await world.fires(template)
    assert row.outcome == "refused"
    assert "there is no 'event'" in (row.error or "")
    with pytest.raises(InactiveDefinition):
        await world.trigger("new", every_s=60)


async def test_a_schedule_that_cannot_be_worked_out_says_so_and_holds_up_no_other(world: World) -> None:
    broken = await world.trigger("a", cron="99 * * * *")
    sound = await world.trigger("b", every_s=60)
    await pass_time(world, 1)
    row = await world.trigger_row(broken)
    assert (row.next_at, row.error) == (None, "cron '99 * * * *': Bad minute")
    assert len(await world.fires(sound)) == 1
    assert "broken_trigger" in await world.findings()
    await world.trigger("a", cron="* * * * *")
    assert (await world.trigger_row(broken)).error is None


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cron": "* * * * *", "every_s": 60},
        {"event_name": "x", "cron": "* * * * *"},
        {"event_name": "x", "overlap": "skip"},
        {"cron": "* * * *"},
        {"every_s": 0.5},
        {"every_s": 60, "catch_up": "window"},
        {"every_s": 60, "catch_up": "some"},
        {"every_s": 60, "time_zone": "Mars/Base"},
        {"every_s": 60, "queue": "a b"},
        {"every_s": 60, "dedupe_window_s": -1},
        {"every_s": 60, "payload": [1]},
        {"every_s": 60, "unknown": 1},
        {"every_s": "soon"},
    ],
)
async def test_a_trigger_is_an_events_or_a_schedules_and_valid(world: World, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        await world.trigger(**settings)


async def test_a_trigger_is_deleted_softly(world: World) -> None:
    trigger = await world.trigger(every_s=60)
    await pass_time(world, 1)
    await world.store.triggers.delete_trigger(trigger)
    await pass_time(world, 3)
    assert [row.label for row in await world.fires(trigger)] == ["t"]
    assert await world.store.triggers.list_triggers() == []
    with pytest.raises(NotFound):
        await world.store.triggers.delete_trigger(trigger)
    assert await world.trigger(every_s=60) != trigger  # its label is free again


async def test_a_trigger_in_code_is_changed_in_code(world: World) -> None:
    settings = {"definition": "add", "every_s": 60}
    declare = world.store.triggers.declare_triggers
    await declare([{"tenant": None, "label": "t", "settings": settings}], ["add"])
    [row] = await world.store.triggers.list_triggers()
    with pytest.raises(IllegalMove):
        await world.trigger(every_s=30)
    with pytest.raises(IllegalMove):
        await world.store.triggers.delete_trigger(row.id)
    await world.trigger(enabled=False)
    await declare([{"tenant": None, "label": "t", "settings": settings}], ["add"])
    assert not (await world.trigger_row(row.id)).enabled  # an operator's pause stays
    await declare([], ["other"])
    assert len(await world.store.triggers.list_triggers()) == 1  # somebody else's application
    await declare([], ["add"])
    assert await world.store.triggers.list_triggers() == []


async def test_old_occasions_are_forgotten_and_do_not_come_again(world: World) -> None:
    from plait.store.leader import Retention

    trigger = await world.trigger(every_s=60)
    await pass_time(world, 2)
    await world.advance(days=31)
    await world.store.leader.prune(Retention())
    assert await world.fires(trigger) == []
    await world.fire()
    assert len(await world.fires(trigger)) == 1


async def test_schedules_that_nobody_fires_are_found(world: World) -> None:
    await world.trigger(every_s=60)
    await world.advance(minutes=2)
    assert "overdue_schedules" in await world.findings()
    await world.fire()
    assert "overdue_schedules" not in await world.findings()


async def test_a_tenants_login_manages_its_own_triggers_only(world: World) -> None:
    await world.tenant("acme")
    trigger = await world.trigger(tenant="acme", every_s=60)
    with pytest.raises(NotFound):
        await world.store.triggers.delete_trigger(trigger)
    assert await world.store.triggers.list_triggers() == []


async def leaders_change(world: World, changes: int, schedules: int, ticks: int) -> None:
    """F13: at each tick some leaders have read, some fire what they read ticks ago, one of them the lease's holder."""
    triggers = [await world.trigger(f"t{n}", every_s=60, catch_up="all") for n in range(schedules)]
    stores: list[Store] = [world.store]
    asleep: list[object] = []
    every = max(1, changes // ticks)
    for tick in range(ticks):
        await world.advance(minutes=1)
        for change in range(every):
            holder = f"leader {tick} {change}"
            await world.store.leader.elect(holder, lease_s=1)
            due = await stores[0].triggers.due_schedules()
            if change % 2:
                asleep.extend(due)  # stopped before it fires: another one leads
            else:
                woken, asleep = asleep[:schedules], asleep[schedules:]
                await asyncio.gather(*(fire(world.store, plan) for plan in [*woken, *due, *due]))  # type: ignore[arg-type]
            await world.store.leader.elect(holder, lease_s=1, resign=True)
    await world.fire()
    expected = [START + timedelta(minutes=n) for n in range(1, ticks + 1)]
    for trigger in triggers:
        assert await instants(world, trigger) == expected
    assert await world.sql("select count(*) from plait.jobs") == schedules * ticks
    assert await world.sql("select term from plait.leader") >= changes


async def test_leaders_change_and_no_instant_is_missed_or_doubled(world: World) -> None:
    """F13, small: 10 changes x 4 schedules x 5 ticks."""
    await leaders_change(world, 10, 4, 5)


@pytest.mark.full
async def test_two_hundred_leaders_change_over_a_hundred_ticks(world: World) -> None:
    """F13: 200 x 20 x 100."""
    await leaders_change(world, 200, 20, 100)
