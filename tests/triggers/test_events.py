"""Events: emitted in a transaction, kept, and one job for each trigger that they match."""

import asyncio
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from plait.leader.dispatch import Dispatch
from plait.model.errors import InvalidId, InvalidJob, UnknownTenant
from plait.model.ids import new_id

from ..harness import World


async def jobs_of(world: World, event: UUID) -> list[Any]:
    fires = await world.store.triggers.list_fires(event_id=event, all_tenants=True)
    return [await world.job(row.job_id) for row in fires if row.job_id and row.outcome == "enqueued"]


async def test_an_event_makes_one_job_for_each_trigger_that_it_matches(world: World) -> None:
    """T88."""
    await world.trigger("a", event_name="order.paid", payload={"order": "{{event.id}}", "all": "{{event.lines}}"})
    await world.trigger("b", event_name="order.paid")
    await world.trigger("c", event_name="order.lost")
    event = await world.emit("order.paid", id=17, lines=[{"sku": "x"}])
    await world.dispatch()
    payloads = sorted(job.payload for job in await jobs_of(world, event))
    assert payloads == ['{"order":17,"all":[{"sku":"x"}]}', "{}"]
    assert {(job.source, job.source_ref) for job in await jobs_of(world, event)} == {("event", str(event))}
    row = await world.event(event)
    assert (row.jobs, row.error, row.dispatched_at) == (2, None, await world.now())
    await world.dispatch()
    assert await world.counts() == {"queued": 2}


async def test_an_event_that_rolls_back_has_never_happened(world: World) -> None:
    await world.trigger(event_name="e")
    async with world.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("select plait.emit('e')")
        await world.dispatch()  # not yet to be seen
        await transaction.rollback()
        await world.dispatch()
        assert await world.counts() == {}
        await connection.execute("select plait.emit('e')")
    await world.dispatch()
    assert await world.counts() == {"queued": 1}


async def test_an_event_is_matched_in_its_own_tenant_only(world: World) -> None:
    mine = await world.trigger("t", event_name="e", tenant="acme")
    await world.trigger("t", event_name="e", tenant="other")
    event = await world.emit("e", tenant="acme")
    await world.dispatch()
    assert [row.trigger_id for row in await world.store.triggers.list_fires(event_id=event, all_tenants=True)] == [mine]
    assert await world.store.events.list_events() == []
    assert await world.store.events.list_events(tenant_id=await world.tenant("other")) == []


async def test_the_options_of_a_trigger_and_the_events_correlation_reach_the_job(world: World) -> None:
    """T90."""
    await world.trigger(
        "t", event_name="e", tenant="acme", queue="q", priority=3, max_attempts=9, timeout_s=5,
        dedupe_key="{{event.n}}-{{tenant.slug}}", limit_key="{{trigger.event_name}}",
        payload={"id": "{{trigger.event_id}}", "t": "{{trigger.label}}"},
    )  # fmt: skip
    await world.trigger("own", event_name="e", tenant="acme", correlation_id="c {{event.n}}")
    event = await world.emit("e", tenant="acme", correlation_id="request 5", n=1)
    await world.dispatch()
    [job] = [job for job in await jobs_of(world, event) if job.queue == "q"]
    assert (job.priority, job.max_attempts, job.timeout_s, job.dedupe_key) == (3, 9, 5.0, "1-acme")
    assert (job.limit_key, job.correlation_id, job.tenant_id) == ("e", "request 5", await world.tenant("acme"))
    assert job.payload == f'{{"id":"{event}","t":"t"}}'
    [other] = [job for job in await jobs_of(world, event) if job.queue != "q"]
    assert other.correlation_id == "c 1"


async def test_the_same_payload_within_the_window_makes_one_job(world: World) -> None:
    trigger = await world.trigger(event_name="e", dedupe_window_s=120, payload={"path": "{{event.path}}"})
    for path in ("/a", "/a", "/b"):
        await world.emit("e", path=path, noise=str(new_id()))
    await world.dispatch()
    assert [row.outcome for row in await world.fires(trigger)] == ["enqueued", "deduplicated", "enqueued"]
    first, second, _ = await world.fires(trigger)
    assert second.job_id == first.job_id
    await world.advance(seconds=120)
    await world.emit("e", path="/a")
    await world.dispatch()
    assert [row.outcome for row in await world.fires(trigger)][-1] == "enqueued"


async def test_without_a_window_each_event_makes_a_job(world: World) -> None:
    trigger = await world.trigger(event_name="e", dedupe_window_s=0)
    for _ in range(3):
        await world.emit("e")
    await world.dispatch()
    assert [row.outcome for row in await world.fires(trigger)] == ["enqueued"] * 3


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


async def test_what_cannot_be_rendered_or_does_not_fit_is_kept_with_the_event(world: World) -> None:
    await world.define("add")
    await world.trigger("good", event_name="e", payload={"n": "{{event.n}}"})
    await world.trigger("hole", event_name="e", payload={"n": "{{event.missing}}"})
    await world.trigger("misfit", event_name="e", payload={"n": "no {{event.n}}"})
    await world.define("add", schema=SCHEMA)  # with it, the last one would not have been saved
    event = await world.emit("e", n=7)
    await world.dispatch()
    row = await world.event(event)
    assert row.jobs == 1
    assert row.error is not None
    assert "hole: {{event.missing}}: there is no 'missing' in event" in row.error
    assert 'misfit: the payload does not fit the schema: n: "no 7" is not of type "integer"' in row.error
    outcomes = {f.label: f.outcome for f in await world.store.triggers.list_fires(event_id=event, all_tenants=True)}
    assert outcomes == {"good": "enqueued", "hole": "refused", "misfit": "refused"}
    assert [e.id for e in await world.store.events.list_events(failed=True)] == [event]
    assert "refused_events" in await world.findings()


async def test_a_schema_bomb_that_came_in_by_sql_refuses_the_event_and_nothing_else(world: World) -> None:
    """T126, S13."""
    await world.define("add", schema={"$ref": "http://127.0.0.1:9/x"})
    await world.trigger(event_name="e")
    event = await world.emit("e")
    await world.dispatch()
    assert "must only refer to itself" in ((await world.event(event)).error or "")


async def test_what_the_database_refuses_is_kept_too(world: World) -> None:
    await world.tenant("acme", max_queued=1)
    await world.trigger(event_name="e", tenant="acme", dedupe_window_s=0)
    first, second = [await world.emit("e", tenant="acme") for _ in range(2)]
    await world.dispatch()
    assert ((await world.event(first)).jobs, (await world.event(second)).jobs) == (1, 0)
    assert (
        await world.event(second)
    ).error == "t: quota exceeded: tenant acme may have 1 unfinished jobs, and 1 more would exceed it"


async def test_of_many_leaders_one_dispatches(world: World) -> None:
    for label in ("a", "b"):
        await world.trigger(label, event_name="e", dedupe_window_s=0)
    events = [await world.emit("e") for _ in range(20)]
    await asyncio.gather(*(Dispatch().run(world.store) for _ in range(8)))
    await world.dispatch()
    for event in events:
        assert len(await jobs_of(world, event)) == 2
    assert await world.counts() == {"queued": 40}


async def test_a_dispatch_that_dies_at_its_end_is_done_again(world: World) -> None:
    """The jobs and the event's end are one transaction; a lost reply is no second job."""
    await world.trigger(event_name="e", dedupe_window_s=0)
    event = await world.emit("e")
    [pending] = await world.store.events.pending_events()
    text = f'[{{"event": "{event}", "fires": [{{"trigger": "{pending.triggers[0].id}", "revision": 1, "payload": {{}}}}]}}]'
    async with world.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        assert await connection.fetchval("select plait.dispatch($1::json)", text) == 1
        await transaction.rollback()
        assert await world.counts() == {}
        assert await connection.fetchval("select plait.dispatch($1::json)", text) == 1
        assert await connection.fetchval("select plait.dispatch($1::json)", text) == 0
    assert await world.counts() == {"queued": 1}


async def test_backends_die_and_each_event_fires_each_trigger_once(world: World) -> None:
    for label in ("a", "b"):
        await world.trigger(label, event_name="e", dedupe_window_s=0)
    for _ in range(50):
        await world.emit("e")

    async def die() -> None:
        await world.admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )

    for round_ in range(10):
        work = asyncio.gather(*(Dispatch().run(world.store) for _ in range(3)), return_exceptions=True)
        for _ in range(round_ * 20):
            await asyncio.sleep(0)
        await die()
        await work
    for _ in range(20):
        try:
            await world.dispatch()
            break
        except Exception:
            continue
    assert await world.sql("select count(*) from plait.events where dispatched_at is null") == 0
    assert await world.counts() == {"queued": 100}


async def test_a_trigger_that_changed_meanwhile_is_read_again(world: World) -> None:
    trigger = await world.trigger(event_name="e", payload={"v": 1})
    await world.emit("e")
    [pending] = await world.store.events.pending_events()
    fires = [{"trigger": trigger, "revision": pending.triggers[0].revision, "payload": {"v": 1}}]
    await world.trigger(payload={"v": 2})
    assert await world.store.events.dispatch([{"event": pending.id, "fires": fires}]) == 0
    await world.dispatch()
    [job] = await world.fired_jobs(trigger)
    assert job.payload == '{"v":2}'


async def test_a_paused_or_later_trigger_does_not_fire(world: World) -> None:
    paused = await world.trigger("paused", event_name="e", enabled=False)
    event = await world.emit("e")
    await world.advance(seconds=1)
    later = await world.trigger("later", event_name="e")
    await world.dispatch()
    assert await world.fires(paused) == await world.fires(later) == []
    assert (await world.event(event)).dispatched_at is not None


async def test_an_event_told_again_is_the_same_event(world: World) -> None:
    await world.trigger(event_name="e", dedupe_window_s=0)
    event = new_id()
    emit = world.store.events.emit
    for _ in range(2):
        assert await emit("e", "{}", tenant=None, correlation_id=None, event_id=event) == event
    await world.dispatch()
    assert await emit("e", "{}", tenant=None, correlation_id=None, event_id=event) == event
    await world.dispatch()
    assert await world.counts() == {"queued": 1}
    await world.tenant("acme")
    for name, tenant in (("other", None), ("e", "acme")):
        with pytest.raises(InvalidId):
            await emit(name, "{}", tenant=tenant, correlation_id=None, event_id=event)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("select plait.emit('')", InvalidJob),
        ("select plait.emit('a b')", InvalidJob),
        ("select plait.emit(null)", InvalidJob),
        ("select plait.emit('e', '[1]')", InvalidJob),
        ("select plait.emit('e', correlation_id => '')", InvalidJob),
        ("select plait.emit('e', ('{\"a\": \"' || repeat('x', 300000) || '\"}')::json)", InvalidJob),
        ("select plait.emit('e', tenant => 'nobody')", UnknownTenant),
        ("select plait.emit('e', id => gen_random_uuid())", InvalidId),
    ],
)
async def test_a_bad_event_is_refused(world: World, sql: str, error: type[Exception]) -> None:
    async with world.connection() as connection:
        with pytest.raises(asyncpg.PostgresError) as raised:
            await connection.execute(sql)
    assert raised.value.sqlstate == error.sqlstate  # type: ignore[attr-defined]


async def test_events_that_nobody_dispatches_are_found(world: World) -> None:
    await world.emit("e")
    await world.advance(seconds=11)
    assert "overdue_events" in await world.findings()
    await world.dispatch()
    assert "overdue_events" not in await world.findings()


@pytest.mark.parametrize("text", ["{{7*7}}", "{{event.__class__.__mro__}}", "{% raw %}", "{{event.inner}}"])
async def test_what_an_event_brings_is_never_a_template(world: World, text: str) -> None:
    """S12, T125."""
    await world.trigger(event_name="e", payload={"x": "{{event.text}}", "y": "<{{event.text}}>"})
    event = await world.emit("e", text=text, inner="secret")
    await world.dispatch()
    [job] = await jobs_of(world, event)
    assert job.payload == f'{{"x":"{text}","y":"<{text}>"}}'


async def test_whoever_holds_a_trigger_keeps_no_other_tenant_waiting(world: World) -> None:
    await world.trigger("t", event_name="e", tenant="slow", dedupe_window_s=0)
    mine = await world.trigger("t", event_name="e", tenant="acme")
    for _ in range(120):
        await world.emit("e", tenant="slow")
    await world.emit("e", tenant="acme")
    async with world.connection() as connection, connection.transaction():
        await connection.execute("select plait.set_trigger('t', '{\"priority\": 5}', $1)", await world.tenant("slow"))
        await world.dispatch()
        assert len(await world.fires(mine)) == 1
        assert await world.counts() == {"queued": 1}
    await world.dispatch()
    assert await world.counts() == {"queued": 121}
