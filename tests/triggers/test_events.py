"""Events: emitted in a transaction, stored, and one job for each matching trigger."""

import asyncio
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from plait.leader.dispatch import Dispatch
from plait.model.errors import InvalidId, InvalidJob, UnknownTenant
from plait.model.ids import new_id

from ..harness import Harness


async def jobs_of(harness: Harness, event: UUID) -> list[Any]:
    fires = await harness.store.triggers.list_fires(event_id=event, all_tenants=True)
    return [await harness.job(row.job_id) for row in fires if row.job_id and row.outcome == "enqueued"]


async def test_an_event_makes_one_job_for_each_trigger_that_it_matches(harness: Harness) -> None:
    """T88."""
    await harness.trigger("a", event_name="order.paid", payload={"order": "{{event.id}}", "all": "{{event.lines}}"})
    await harness.trigger("b", event_name="order.paid")
    await harness.trigger("c", event_name="order.lost")
    event = await harness.emit("order.paid", id=17, lines=[{"sku": "x"}])
    await harness.dispatch()
    payloads = sorted(job.payload for job in await jobs_of(harness, event))
    assert payloads == ['{"order":17,"all":[{"sku":"x"}]}', "{}"]
    assert {(job.source, job.source_ref) for job in await jobs_of(harness, event)} == {("event", str(event))}
    row = await harness.event(event)
    assert (row.jobs, row.error, row.dispatched_at) == (2, None, await harness.now())
    await harness.dispatch()
    assert await harness.counts() == {"queued": 2}


async def test_an_event_that_rolls_back_has_never_happened(harness: Harness) -> None:
    await harness.trigger(event_name="e")
    async with harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("select plait.emit('e')")
        await harness.dispatch()  # the event is not visible yet
        await transaction.rollback()
        await harness.dispatch()
        assert await harness.counts() == {}
        await connection.execute("select plait.emit('e')")
    await harness.dispatch()
    assert await harness.counts() == {"queued": 1}


async def test_an_event_is_matched_in_its_own_tenant_only(harness: Harness) -> None:
    mine = await harness.trigger("t", event_name="e", tenant="acme")
    await harness.trigger("t", event_name="e", tenant="other")
    event = await harness.emit("e", tenant="acme")
    await harness.dispatch()
    assert [row.trigger_id for row in await harness.store.triggers.list_fires(event_id=event, all_tenants=True)] == [
        mine
    ]
    assert await harness.store.events.list_events() == []
    assert await harness.store.events.list_events(tenant_id=await harness.tenant("other")) == []


async def test_the_options_of_a_trigger_and_the_events_correlation_reach_the_job(harness: Harness) -> None:
    """T90."""
    await harness.trigger(
        "t", event_name="e", tenant="acme", queue="q", priority=3, max_attempts=9, timeout_s=5,
        dedupe_key="{{event.n}}-{{tenant.slug}}", limit_key="{{trigger.event_name}}",
        payload={"id": "{{trigger.event_id}}", "t": "{{trigger.label}}"},
    )  # fmt: skip
    await harness.trigger("own", event_name="e", tenant="acme", correlation_id="c {{event.n}}")
    event = await harness.emit("e", tenant="acme", correlation_id="request 5", n=1)
    await harness.dispatch()
    [job] = [job for job in await jobs_of(harness, event) if job.queue == "q"]
    assert (job.priority, job.max_attempts, job.timeout_s, job.dedupe_key) == (3, 9, 5.0, "1-acme")
    assert (job.limit_key, job.correlation_id, job.tenant_id) == ("e", "request 5", await harness.tenant("acme"))
    assert job.payload == f'{{"id":"{event}","t":"t"}}'
    [other] = [job for job in await jobs_of(harness, event) if job.queue != "q"]
    assert other.correlation_id == "c 1"


async def test_the_same_payload_within_the_window_makes_one_job(harness: Harness) -> None:
    trigger = await harness.trigger(event_name="e", dedupe_window_s=120, payload={"path": "{{event.path}}"})
    for path in ("/a", "/a", "/b"):
        await harness.emit("e", path=path, noise=str(new_id()))
    await harness.dispatch()
    assert [row.outcome for row in await harness.fires(trigger)] == ["enqueued", "deduplicated", "enqueued"]
    first, second, _ = await harness.fires(trigger)
    assert second.job_id == first.job_id
    await harness.advance(seconds=120)
    await harness.emit("e", path="/a")
    await harness.dispatch()
    assert [row.outcome for row in await harness.fires(trigger)][-1] == "enqueued"


async def test_without_a_window_each_event_makes_a_job(harness: Harness) -> None:
    trigger = await harness.trigger(event_name="e", dedupe_window_s=0)
    for _ in range(3):
        await harness.emit("e")
    await harness.dispatch()
    assert [row.outcome for row in await harness.fires(trigger)] == ["enqueued"] * 3


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


async def test_what_cannot_be_rendered_or_does_not_fit_is_kept_with_the_event(harness: Harness) -> None:
    await harness.define("add")
    await harness.trigger("good", event_name="e", payload={"n": "{{event.n}}"})
    await harness.trigger("hole", event_name="e", payload={"n": "{{event.missing}}"})
    await harness.trigger("misfit", event_name="e", payload={"n": "no {{event.n}}"})
    await harness.define("add", schema=SCHEMA)  # defined last, because the schema would reject the last trigger
    event = await harness.emit("e", n=7)
    await harness.dispatch()
    row = await harness.event(event)
    assert row.jobs == 1
    assert row.error is not None
    assert "hole: {{event.missing}}: there is no 'missing' in event" in row.error
    assert 'misfit: the payload does not fit the schema: n: "no 7" is not of type "integer"' in row.error
    outcomes = {f.label: f.outcome for f in await harness.store.triggers.list_fires(event_id=event, all_tenants=True)}
    assert outcomes == {"good": "enqueued", "hole": "refused", "misfit": "refused"}
    assert [e.id for e in await harness.store.events.list_events(failed=True)] == [event]
    assert "refused_events" in await harness.findings()


async def test_a_schema_bomb_that_came_in_by_sql_refuses_the_event_and_nothing_else(harness: Harness) -> None:
    """T126, S13."""
    await harness.define("add", schema={"$ref": "http://127.0.0.1:9/x"})
    await harness.trigger(event_name="e")
    event = await harness.emit("e")
    await harness.dispatch()
    assert "must refer only to its own parts" in ((await harness.event(event)).error or "")


async def test_what_the_database_refuses_is_kept_too(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=1)
    await harness.trigger(event_name="e", tenant="acme", dedupe_window_s=0)
    first, second = [await harness.emit("e", tenant="acme") for _ in range(2)]
    await harness.dispatch()
    assert ((await harness.event(first)).jobs, (await harness.event(second)).jobs) == (1, 0)
    assert (
        await harness.event(second)
    ).error == "t: quota exceeded: tenant acme may have at most 1 unfinished jobs, and 1 more would exceed this limit"


async def test_of_many_leaders_one_dispatches(harness: Harness) -> None:
    for label in ("a", "b"):
        await harness.trigger(label, event_name="e", dedupe_window_s=0)
    events = [await harness.emit("e") for _ in range(20)]
    await asyncio.gather(*(Dispatch().run(harness.store) for _ in range(8)))
    await harness.dispatch()
    for event in events:
        assert len(await jobs_of(harness, event)) == 2
    assert await harness.counts() == {"queued": 40}


async def test_a_dispatch_that_dies_at_its_end_is_done_again(harness: Harness) -> None:
    """The jobs are created and the event is marked as dispatched in one transaction. A lost reply creates no second job."""
    await harness.trigger(event_name="e", dedupe_window_s=0)
    event = await harness.emit("e")
    [pending] = await harness.store.events.pending_events()
    text = f'[{{"event": "{event}", "fires": [{{"trigger": "{pending.triggers[0].id}", "revision": 1, "payload": {{}}}}]}}]'
    async with harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        assert await connection.fetchval("select plait.dispatch($1::json)", text) == 1
        await transaction.rollback()
        assert await harness.counts() == {}
        assert await connection.fetchval("select plait.dispatch($1::json)", text) == 1
        assert await connection.fetchval("select plait.dispatch($1::json)", text) == 0
    assert await harness.counts() == {"queued": 1}


async def test_backends_die_and_each_event_fires_each_trigger_once(harness: Harness) -> None:
    for label in ("a", "b"):
        await harness.trigger(label, event_name="e", dedupe_window_s=0)
    for _ in range(50):
        await harness.emit("e")

    async def die() -> None:
        await harness.admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )

    for round_ in range(10):
        work = asyncio.gather(*(Dispatch().run(harness.store) for _ in range(3)), return_exceptions=True)
        for _ in range(round_ * 20):
            await asyncio.sleep(0)
        await die()
        await work
    for _ in range(20):
        try:
            await harness.dispatch()
            break
        except Exception:
            continue
    assert await harness.sql("select count(*) from plait.events where dispatched_at is null") == 0
    assert await harness.counts() == {"queued": 100}


async def test_a_trigger_that_changed_meanwhile_is_read_again(harness: Harness) -> None:
    trigger = await harness.trigger(event_name="e", payload={"v": 1})
    await harness.emit("e")
    [pending] = await harness.store.events.pending_events()
    fires = [{"trigger": trigger, "revision": pending.triggers[0].revision, "payload": {"v": 1}}]
    await harness.trigger(payload={"v": 2})
    assert await harness.store.events.dispatch([{"event": pending.id, "fires": fires}]) == 0
    await harness.dispatch()
    [job] = await harness.fired_jobs(trigger)
    assert job.payload == '{"v":2}'


async def test_a_paused_or_later_trigger_does_not_fire(harness: Harness) -> None:
    paused = await harness.trigger("paused", event_name="e", enabled=False)
    event = await harness.emit("e")
    await harness.advance(seconds=1)
    later = await harness.trigger("later", event_name="e")
    await harness.dispatch()
    assert await harness.fires(paused) == await harness.fires(later) == []
    assert (await harness.event(event)).dispatched_at is not None


async def test_an_event_told_again_is_the_same_event(harness: Harness) -> None:
    await harness.trigger(event_name="e", dedupe_window_s=0)
    event = new_id()
    emit = harness.store.events.emit
    for _ in range(2):
        assert await emit("e", "{}", tenant=None, correlation_id=None, event_id=event) == event
    await harness.dispatch()
    assert await emit("e", "{}", tenant=None, correlation_id=None, event_id=event) == event
    await harness.dispatch()
    assert await harness.counts() == {"queued": 1}
    await harness.tenant("acme")
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
async def test_a_bad_event_is_refused(harness: Harness, sql: str, error: type[Exception]) -> None:
    async with harness.connection() as connection:
        with pytest.raises(asyncpg.PostgresError) as raised:
            await connection.execute(sql)
    assert raised.value.sqlstate == error.sqlstate  # type: ignore[attr-defined]


async def test_events_that_nobody_dispatches_are_found(harness: Harness) -> None:
    await harness.emit("e")
    await harness.advance(seconds=11)
    assert "overdue_events" in await harness.findings()
    await harness.dispatch()
    assert "overdue_events" not in await harness.findings()


@pytest.mark.parametrize("text", ["{{7*7}}", "{{event.__class__.__mro__}}", "{% raw %}", "{{event.inner}}"])
async def test_what_an_event_brings_is_never_a_template(harness: Harness, text: str) -> None:
    """S12, T125."""
    await harness.trigger(event_name="e", payload={"x": "{{event.text}}", "y": "<{{event.text}}>"})
    event = await harness.emit("e", text=text, inner="secret")
    await harness.dispatch()
    [job] = await jobs_of(harness, event)
    assert job.payload == f'{{"x":"{text}","y":"<{text}>"}}'


async def test_whoever_holds_a_trigger_keeps_no_other_tenant_waiting(harness: Harness) -> None:
    await harness.trigger("t", event_name="e", tenant="slow", dedupe_window_s=0)
    mine = await harness.trigger("t", event_name="e", tenant="acme")
    for _ in range(120):
        await harness.emit("e", tenant="slow")
    await harness.emit("e", tenant="acme")
    async with harness.connection() as connection, connection.transaction():
        await connection.execute("select plait.set_trigger('t', '{\"priority\": 5}', $1)", await harness.tenant("slow"))
        await harness.dispatch()
        assert len(await harness.fires(mine)) == 1
        assert await harness.counts() == {"queued": 1}
    await harness.dispatch()
    assert await harness.counts() == {"queued": 121}
