"""Hostile events, templates and numbers from one tenant do not affect other tenants."""

import asyncio
import threading
from typing import Any

import pytest

from plait.leader import dispatch
from plait.leader.dispatch import Dispatch
from plait.leader.fire import Fire
from plait.store.triggers import Triggers

from ..harness import Harness

DATA = {
    "NUL": r'{"x": "a\u0000b"}',
    "NUL in a key": r'{"a\u0000": 1, "x": {"\u0000": 1}}',
    "half a character": r'{"x": "\ud800"}',
    "deep": f'{{"x": {"[" * 5000}{"]" * 5000}}}',
    "less deep": f'{{"x": {"[" * 300}{"]" * 300}}}',
    "5,000 digits": f'{{"x": {"9" * 5000}}}',
    "infinite": '{"x": 1e999}',
    "twice": '{"x": 1, "x": 2}',
}
TEMPLATES: dict[str, dict[str, Any]] = {
    "whole": {"payload": {"y": "{{event.x}}"}},
    "within": {"payload": {"y": "<{{event.x}}>"}},
    "key": {"dedupe_key": "{{event.x}}", "correlation_id": "{{event.x}}", "limit_key": "{{event.x}}"},
    "none": {"payload": {"z": 1}},
}


@pytest.mark.parametrize("data", DATA)
async def test_whatever_an_event_brings_it_is_done_with_and_the_next_ones_too(harness: Harness, data: str) -> None:
    """T100, T101."""
    await harness.define("strict")
    for label, settings in TEMPLATES.items():
        for definition in ("add", "strict"):
            await harness.trigger(f"{label} {definition}", definition=definition, event_name="e", **settings)
    await harness.trigger("innocent", event_name="ok")
    # Defined after the triggers, because a trigger that can never match would be rejected.
    await harness.define("strict", schema={"type": "object", "properties": {"y": {"type": "integer"}}})
    event = await harness.sql("select plait.emit('e', $1::json)", DATA[data])
    innocent = await harness.emit("ok")
    await Dispatch().run(harness.store)
    assert (await harness.event(innocent)).jobs == 1
    row = await harness.event(event)
    assert row.dispatched_at is not None
    fires = await harness.store.triggers.list_fires(event_id=event, all_tenants=True)
    assert len(fires) == 2 * len(TEMPLATES)
    assert all((fire.outcome == "refused") == (fire.error is not None) for fire in fires)
    assert row.jobs == sum(fire.outcome == "enqueued" for fire in fires)


@pytest.mark.parametrize(
    "payload",
    [
        f'{{"x": {"[" * 5000}{"]" * 5000}}}',
        f'{{"x": {"9" * 5000}}}',
        '{"x": 1e999}',
    ],
    ids=["deep", "5,000 digits", "infinite"],
)
async def test_whatever_a_template_is_the_others_fire(harness: Harness, payload: str) -> None:
    for label, timing in (("a", '"every_s": 60'), ("b", '"event_name": "e"')):
        settings = f'{{"definition": "add", {timing}, "payload": {payload}}}'
        await harness.sql("select plait.set_trigger($1, $2::json)", label, settings)
    by_time = await harness.trigger("by time", every_s=60)
    by_event = await harness.trigger("by event", event_name="e")
    await harness.emit("e")
    await harness.advance(minutes=1)
    await Fire().run(harness.store)
    await Dispatch().run(harness.store)
    assert [len(await harness.fires(trigger)) for trigger in (by_time, by_event)] == [1, 1]
    broken = await harness.rows("select id from plait.triggers where label in ('a', 'b')")
    assert [len(await harness.fires(row["id"])) for row in broken] == [1, 1]


async def test_a_refusal_by_the_database_is_one_events_alone(harness: Harness) -> None:
    """This holds for any error; here, for a constraint that a user has added."""
    await harness.trigger(event_name="e", payload={"n": "{{event.n}}"}, dedupe_window_s=0)
    events = [await harness.emit("e", n=n) for n in range(5)]
    await harness.sql("alter table plait.jobs add constraint hostile check (payload::text not like '%3%') not valid")
    try:
        await Dispatch().run(harness.store)
    finally:
        await harness.sql("alter table plait.jobs drop constraint hostile")
    rows = [await harness.event(event) for event in events]
    assert [row.jobs for row in rows] == [1, 1, 1, 0, 1]
    assert "the event could not be dispatched" in (rows[3].error or "")
    assert "hostile" in (rows[3].error or "")


async def test_a_thousand_triggers_of_one_tenant_do_not_fill_the_leaders_memory(harness: Harness) -> None:
    """Pages are limited in size, and so are the jobs that one event creates."""
    acme = await harness.tenant("acme")
    template = (
        '{"definition": "add", "event_name": "e", "dedupe_window_s": 0, "payload": {"a": "{{event.x}}", "pad": "%s"}}'
        % ("p" * 60_000)
    )
    await harness.sql(
        "select count(plait.set_trigger('t' || n, $1::json, $2)) from generate_series(1, 150) n", template, acme
    )
    await harness.trigger("innocent", event_name="ok")
    events = [await harness.emit("e", tenant="acme", x="x" * 200_000) for _ in range(3)]
    await harness.emit("ok")
    pages = []
    while found := await harness.store.events.pending_events():
        pages.append(len(found))
        await Dispatch().run(harness.store)
    assert pages == [2, 1, 1]
    assert await harness.sql("select count(*) from plait.events where dispatched_at is null") == 0
    for event in events:
        row = await harness.event(event)
        assert 50 < row.jobs < 70
        assert "at most 16,000,000 bytes" in (row.error or "")


async def test_nobody_waits_for_another_tenants_backlog_of_events(harness: Harness) -> None:
    """One tenant emits thousands of events; another has events that can't be dispatched now."""
    for tenant in ("loud", "stuck", "quiet"):
        await harness.trigger(event_name="e", tenant=tenant, dedupe_window_s=0)
    for tenant in ("loud", "stuck"):
        await harness.sql("select count(plait.emit('e', tenant => $1)) from generate_series(1, 300)", tenant)
    last = [await harness.emit("e", tenant="quiet") for _ in range(3)]
    async with harness.connection() as connection, connection.transaction():
        await connection.execute(
            "select plait.set_trigger('t', '{\"priority\": 5}', $1)", await harness.tenant("stuck")
        )
        await Dispatch().run(harness.store)
        assert [(await harness.event(event)).jobs for event in last] == [1, 1, 1]
        await harness.dispatch()
        assert await harness.counts() == {"queued": 303}
    await harness.dispatch()
    assert await harness.counts() == {"queued": 603}


async def test_a_trigger_that_is_paused_or_deleted_while_it_fires_fires_once_or_not_at_all(harness: Harness) -> None:
    for n in range(10):
        event_trigger = await harness.trigger(f"e{n}", event_name=f"e{n}", dedupe_window_s=0)
        schedule = await harness.trigger(f"s{n}", every_s=1)
        await harness.emit(f"e{n}")
        await harness.advance(seconds=1)
        triggers: Triggers = harness.store.triggers
        await asyncio.gather(
            *(Dispatch().run(harness.store) for _ in range(2)),
            *(Fire().run(harness.store) for _ in range(2)),
            triggers.delete_trigger(event_trigger),
            triggers.set_trigger(f"s{n}", {"enabled": False}),
        )
        await harness.dispatch()
        await harness.fire()
        assert await harness.sql("select count(*) from plait.events where dispatched_at is null") == 0
        for trigger in (event_trigger, schedule):
            fires = await harness.fires(trigger)
            assert len(fires) <= 1
            assert len(await harness.fired_jobs(trigger)) == len(fires)


@pytest.mark.parametrize("cron", ["*/0 * * * *", "60 * * * *", "0 0 31 2 *", "1-0 * * * *", "* * * * mon#9", "é * * * *", "0 0 L * *", f"{'1,' * 99}1 * * * *"])  # fmt: skip
async def test_whatever_a_cron_is_it_fires_or_says_why_not(harness: Harness, cron: str) -> None:
    broken = await harness.sql(
        "select plait.set_trigger('t', json_build_object('definition', 'add', 'cron', $1::text))", cron
    )
    await harness.fire()
    row = await harness.trigger_row(broken)
    assert (row.next_at is None) == (row.error is not None)


async def test_an_event_whose_template_fails_is_refused_with_the_reason_and_not_tried_again(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds for any failure, because an exception would repeat the whole batch forever."""
    await harness.trigger("bad", event_name="e", dedupe_window_s=0, payload={"a": "{{event.x}}" * 100})
    await harness.trigger("worse", event_name="e", dedupe_window_s=0)
    await harness.trigger("good", event_name="ok", dedupe_window_s=0)

    def failing(event: Any, data: Any, trigger: Any) -> dict[str, Any]:
        if trigger.label == "worse":
            raise MemoryError
        return render(event, data, trigger)

    render = dispatch._fire
    monkeypatch.setattr(dispatch, "_fire", failing)
    event = await harness.emit("e", x="x" * 100_000)
    good = await harness.emit("ok")
    await Dispatch().run(harness.store)
    row = await harness.event(event)
    assert (row.jobs, (await harness.event(good)).jobs) == (0, 1)
    assert "bad: a template must render to at most 1,000,000 characters" in (row.error or "")
    assert "worse: the event cannot be dispatched: MemoryError" in (row.error or "")
    assert await harness.sql("select count(*) from plait.fires where event_id = $1 and outcome = 'refused'", event) == 2
    assert await harness.store.events.pending_events() == []


async def test_large_templates_are_rendered_off_the_leaders_loop(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, int] = {}

    def watched(event: Any, data: Any, trigger: Any) -> dict[str, Any]:
        threads[trigger.label] = threading.get_ident()
        return render(event, data, trigger)

    render = dispatch._fire
    monkeypatch.setattr(dispatch, "_fire", watched)
    await harness.trigger("small", event_name="s", dedupe_window_s=0)
    await harness.trigger("large", event_name="l", dedupe_window_s=0, payload={"a": "{{event.x}}"})
    await harness.emit("s")
    await harness.emit("l", x="x" * 100_000)
    await Dispatch().run(harness.store)
    assert threads["small"] == threading.get_ident() != threads["large"]
    assert await harness.counts() == {"queued": 2}


async def test_a_schedule_that_the_database_refuses_records_it_and_moves_on(harness: Harness) -> None:
    """If it were retried forever, it would log forever and never reach its next instant."""
    hostile = await harness.trigger("hostile", every_s=60, payload={"n": 3})
    innocent = await harness.trigger("innocent", every_s=60)
    await harness.sql("alter table plait.jobs add constraint hostile check (payload::text not like '%3%') not valid")
    try:
        await harness.advance(minutes=1)
        await Fire().run(harness.store)
    finally:
        await harness.sql("alter table plait.jobs drop constraint hostile")
    [fire] = await harness.fires(hostile)
    assert fire.outcome == "refused"
    assert "the schedule could not be fired" in (fire.error or "")
    assert [fire.outcome for fire in await harness.fires(innocent)] == ["enqueued"]
    await harness.advance(minutes=1)
    await Fire().run(harness.store)
    assert [fire.outcome for fire in await harness.fires(hostile)] == ["refused", "enqueued"]
