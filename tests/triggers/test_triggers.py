"""Triggers: their settings, their jobs, and who may change them."""

import asyncio
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from plait.model.errors import ForeignTenant, IllegalMove, InactiveDefinition, InvalidSetting, NotFound, QuotaExceeded
from plait.store import Store
from plait.store.leader import Retention
from plait.testing import TestDatabase

from ..access.logins import Logins
from ..harness import Harness
from .pass_time import pass_time


async def test_the_options_of_a_trigger_reach_the_job(harness: Harness) -> None:
    """T90."""
    await harness.tenant("acme")
    trigger = await harness.trigger(
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
    await pass_time(harness, 1)
    [job] = await harness.fired_jobs(trigger)
    tenant = await harness.tenant("acme")
    assert (job.tenant_id, job.queue, job.priority, job.max_attempts, job.timeout_s) == (tenant, "nights", 7, 2, 30.0)
    assert (job.correlation_id, job.limit_key) == ("acme t", str(tenant))
    assert job.dedupe_key == "sync 2030-01-01T12:01:00+00:00"
    assert job.payload == '{"t":"acme","deep":[{"at":"2030-01-01T12:01:00+00:00"}]}'
    assert (job.source, job.source_ref) == ("schedule", str(trigger))


async def test_what_a_job_is_refused_for_is_kept_with_the_instant(harness: Harness) -> None:
    await harness.define("add")
    refused = await harness.trigger("refused", every_s=60)
    template = await harness.trigger("template", every_s=60, payload={"x": "{{event.x}}"})
    await harness.store.definitions.set_definition("add", {"active": False})
    await pass_time(harness, 1)
    [row] = await harness.fires(refused)
    assert (row.outcome, row.error) == ("refused", "definition 'add' is inactive: it accepts no new jobs")
    [row] = await harness.fires(template)
    assert row.outcome == "refused"
    assert "there is no 'event'" in (row.error or "")
    with pytest.raises(InactiveDefinition):
        await harness.trigger("new", every_s=60)


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
async def test_a_trigger_is_an_events_or_a_schedules_and_valid(harness: Harness, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting) as refused:
        await harness.trigger(**settings)
    assert "constraint" not in str(refused.value)


async def test_a_trigger_is_deleted_softly(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=60)
    await pass_time(harness, 1)
    await harness.store.triggers.delete_trigger(trigger)
    await pass_time(harness, 3)
    assert [row.label for row in await harness.fires(trigger)] == ["t"]
    assert await harness.store.triggers.list_triggers() == []
    with pytest.raises(NotFound):
        await harness.store.triggers.delete_trigger(trigger)
    assert await harness.trigger(every_s=60) != trigger  # its label is free again


async def test_a_trigger_in_code_is_changed_in_code(harness: Harness) -> None:
    settings = {"definition": "add", "every_s": 60}
    declare = harness.store.triggers.declare_triggers
    await declare([{"tenant": None, "label": "t", "settings": settings}], ["add"])
    [row] = await harness.store.triggers.list_triggers()
    with pytest.raises(IllegalMove):
        await harness.trigger(every_s=30)
    with pytest.raises(IllegalMove):
        await harness.store.triggers.delete_trigger(row.id)
    await harness.trigger(enabled=False)
    await declare([{"tenant": None, "label": "t", "settings": settings}], ["add"])
    assert not (await harness.trigger_row(row.id)).enabled  # an operator's pause stays
    await declare([], ["other"])
    assert len(await harness.store.triggers.list_triggers()) == 1  # somebody else's application
    await declare([], ["add"])
    assert await harness.store.triggers.list_triggers() == []


async def test_a_tenants_login_manages_its_own_triggers_only(own_harness: Harness, database: TestDatabase) -> None:
    harness = own_harness
    theirs = await harness.trigger("theirs", every_s=60)
    acme = await harness.tenant("acme")
    other = await harness.tenant("other")
    logins = Logins(database)
    store = await Store.open(database.url_for(await logins.bound_to(acme)))
    try:
        triggers = store.triggers
        own = await triggers.set_trigger("own", {"definition": "add", "every_s": 60})
        assert [row.id for row in await triggers.list_triggers()] == [own]
        assert (await harness.trigger_row(own)).tenant_id == acme
        with pytest.raises(NotFound):
            await triggers.delete_trigger(theirs)
        for verb in (
            triggers.delete_trigger(theirs, tenant_id=other),
            triggers.set_trigger("theirs", {"enabled": False}, tenant_id=other),
            triggers.list_triggers(tenant_id=other),
            triggers.list_triggers(all_tenants=True),
            triggers.list_fires(all_tenants=True),
        ):
            with pytest.raises(ForeignTenant):
                await verb
        for duty in (triggers.due_schedules(), store.events.pending_events(), triggers.declare_triggers([], ["add"])):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await duty
        await triggers.delete_trigger(own)
        assert await triggers.list_triggers() == []
        assert (await harness.trigger_row(theirs)).enabled
    finally:
        await store.close()
        await logins.drop()


async def test_a_tenant_has_as_many_triggers_as_it_may_have_however_many_ask_at_once(harness: Harness) -> None:
    acme = await harness.tenant("acme", max_triggers=5)
    settings = {"definition": "add", "every_s": 60}
    made = await asyncio.gather(
        *(harness.store.triggers.set_trigger(f"t{n % 12}", settings, tenant_id=acme) for n in range(36)),
        return_exceptions=True,
    )
    rows = await harness.store.triggers.list_triggers(tenant_id=acme)
    assert len(rows) == 5
    assert {type(one) for one in made} == {UUID, QuotaExceeded}
    await harness.trigger(rows[0].label, tenant="acme", every_s=30)  # existing triggers can be changed
    await harness.store.triggers.delete_trigger(rows[0].id, tenant_id=acme)
    await harness.trigger("another", tenant="acme", every_s=60)
    code = [{"tenant": "acme", "label": f"c{n}", "settings": settings} for n in range(3)]
    await harness.store.triggers.declare_triggers(code, ["add"])
    assert len(await harness.store.triggers.list_triggers(tenant_id=acme)) == 8
    await harness.tenant("acme", max_triggers=None)
    await harness.trigger("one more", tenant="acme", every_s=60)


async def test_a_deleted_trigger_is_forgotten_after_what_it_has_made(harness: Harness) -> None:
    trigger = await harness.trigger(every_s=60)
    kept = await harness.trigger("kept", every_s=60)
    await pass_time(harness, 1)
    await harness.store.triggers.delete_trigger(trigger)
    for days, left in ((30, 2), (2, 1)):
        await harness.advance(days=days)
        await harness.store.leader.prune(Retention())
        assert await harness.sql("select count(*) from plait.triggers where id = any($1)", [trigger, kept]) == left
