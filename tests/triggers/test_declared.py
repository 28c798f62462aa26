"""Triggers in code, and events from the SDK."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from plait import Plait
from plait.leader.fire import Fire
from plait.leader.leader import Leader
from plait.model.errors import InvalidArguments, InvalidTrigger
from plait.runtime.service import Stop
from plait.testing import Kit, TestDatabase
from plait.worker.worker import Worker


@pytest.fixture
def app() -> Plait:
    return Plait()


@pytest.fixture
async def kit(app: Plait, database: TestDatabase):  # type: ignore[no-untyped-def]
    kit = Kit(app, database)
    kit.enter()
    yield kit
    await kit.exit()


async def test_a_schedule_in_code_runs(app: Plait, kit: Kit) -> None:
    ran: list[str] = []

    @app.schedule("0 2 * * *", timezone="America/New_York", payload={"at": "{{schedule.instant}}"}, queue="nights")
    @app.job
    async def nightly(at: str) -> None:
        ran.append(at)

    @app.schedule(every="1h")
    def hourly() -> None:
        ran.append("hourly")

    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert ran == ["hourly"]
    await kit.advance(hours=18)
    job = await kit.assert_enqueued(nightly, queue="nights")
    assert (job.source, job.payload) == ("schedule", '{"at":"2030-01-02T07:00:00+00:00"}')
    store = await app.store()
    rows = await store.triggers.list_triggers()
    assert [(row.label, row.origin, row.time_zone) for row in rows] == [
        ("hourly every 1h", "code", "UTC"),
        ("nightly 0 2 * * *", "code", "America/New_York"),
    ]
    await kit.run_until_idle()


async def test_a_job_runs_for_an_event_in_the_users_own_transaction(app: Plait, kit: Kit) -> None:
    ran: list[tuple[int, str]] = []

    @app.on("order.paid", payload={"order": "{{event.id}}", "text": "for {{event.customer}}"})
    @app.job
    async def thank(order: int, text: str) -> None:
        ran.append((order, text))

    await kit.run_until_idle()
    connection = await asyncpg.connect(kit.database.url)
    for commits in (False, True):
        transaction = connection.transaction()
        await transaction.start()
        await app.emit("order.paid", {"id": 17, "customer": "Ada"}, conn=connection)
        await (transaction.commit() if commits else transaction.rollback())
        await kit.run_until_idle()
        assert ran == ([(17, "for Ada")] if commits else [])
    with pytest.raises(InvalidArguments):
        app.emit_sync("order.paid", conn=connection)
    await connection.close()
    await app.emit("order.paid", {"id": 18, "customer": "Bo"}, correlation_id="c")
    await kit.run_until_idle()
    assert ran[1:] == [(18, "for Bo")]


async def test_events_of_sync_code(app: Plait, kit: Kit) -> None:
    import psycopg
    import sqlalchemy

    with psycopg.connect(kit.database.url) as connection:
        event = app.emit_sync("e", {"driver": "psycopg"}, conn=connection)
        connection.rollback()
        event = app.emit_sync("e", {"driver": "psycopg"}, conn=connection)
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(kit.database.url))
    with engine.begin() as connection:
        other = app.emit_sync("e", {"driver": "sqlalchemy"}, conn=connection)
    engine.dispose()
    rows = await (await app.store()).events.list_events()
    assert {row.id: row.data for row in rows} == {event: '{"driver":"psycopg"}', other: '{"driver":"sqlalchemy"}'}


async def test_what_code_declares_no_more_is_deleted_and_what_it_declares_again_is_left_alone(
    app: Plait, kit: Kit
) -> None:
    @app.schedule(every="10m")
    @app.schedule("0 * * * *", label="second")
    def work() -> None: ...

    await kit.advance(minutes=9)
    [first, second] = await (await app.store()).triggers.list_triggers()
    del app.declared[None, "second"]
    await kit.advance(minutes=1)
    [row] = await (await app.store()).triggers.list_triggers()
    assert (row.id, row.fired, row.anchor_at) == (
        first.id if first.label != "second" else second.id,
        1,
        first.anchor_at,
    )
    assert row.next_at == row.anchor_at + timedelta(minutes=20)
    await kit.run_until_idle()


def test_a_trigger_is_checked_where_it_is_written(app: Plait) -> None:
    @app.job
    def work(x: int) -> None: ...

    for wrong in (
        lambda: app.schedule("* * * *"),
        lambda: app.schedule(),
        lambda: app.schedule("* * * * *", every="1m"),
        lambda: app.schedule(every="soon"),
        lambda: app.schedule(every=0.1),
        lambda: app.schedule("* * * * *", timezone="Mars/Base"),
        lambda: app.schedule("* * * * *", catch_up="some"),  # type: ignore[arg-type]
        lambda: app.schedule("* * * * *", catch_up="window"),
        lambda: app.schedule("* * * * *", overlap="some"),  # type: ignore[arg-type]
        lambda: app.schedule("* * * * *")(work),
        lambda: app.schedule("* * * * *", payload={"x": 1, "y": 2})(work),
    ):
        with pytest.raises(InvalidTrigger):
            wrong()
    app.on("e", payload={"x": "{{event.x}}"})(work)
    with pytest.raises(InvalidTrigger, match="two triggers"):
        app.on("e", payload={"x": 1})(work)


async def test_a_long_job_does_not_starve_the_schedules(app: Plait, kit: Kit) -> None:
    """T87: leader and worker are one process, and its only slot is occupied."""
    begun, end = asyncio.Event(), asyncio.Event()

    @app.job
    async def long() -> None:
        begun.set()
        await end.wait()

    @app.schedule(every="1m")
    @app.job
    async def often() -> None: ...

    await long.enqueue()
    stop = Stop()
    services = [Worker(app, concurrency=1).run(stop), Leader(app, duties=[Fire()]).run(stop)]
    running = asyncio.gather(*services)
    await begun.wait()
    await kit.clock.advance(minutes=1)
    while len(await kit.enqueued(often)) < 1:
        await asyncio.sleep(0.02)  # sleep: until the leader polls
    end.set()
    stop.request()
    await running
