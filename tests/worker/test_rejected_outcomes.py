"""Outcomes that the database rejects: they are replaced by a failure only if the outcome is the cause, and otherwise retried."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from plait import JobFailed, Plait
from plait.model.errors import NoAnswer
from plait.store.workers import CycleConnection
from plait.testing import TestDatabase
from plait.worker.registration import Registration
from tests.fake_worker import outcome
from tests.harness import Harness
from tests.waiting import eventually
from tests.worker.conftest import Running

# Reject the result "refused". A sequence counts the rejections, because a rollback does not reset it.
REFUSE = """
create sequence public.refusals;
grant usage on public.refusals to public;
create function public.refuse() returns trigger language plpgsql as $$
begin
  if new.result::text = '"refused"' and nextval('public.refusals') <= {times} then
    raise exception 'refused for the test' using errcode = '{sqlstate}';
  end if;
  return new;
end $$;
create trigger refuse before insert on plait.attempts for each row execute function public.refuse();
"""


@pytest.fixture
async def admin(real_clock_database: TestDatabase) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(real_clock_database.admin_url)
    yield connection
    await connection.close()


async def _refuse(admin: asyncpg.Connection, sqlstate: str, times: int) -> None:
    await admin.execute(REFUSE.format(sqlstate=sqlstate, times=times))


@pytest.mark.parametrize("sqlstate", ["25006", "40001", "42501", "57014", "53100", "XX000", "P0001"])
async def test_an_outcome_that_the_database_refuses_for_a_while_is_kept(
    app: Plait, running: Running, admin: asyncpg.Connection, sqlstate: str
) -> None:
    await _refuse(admin, sqlstate, times=4)

    @app.job(retries=0)
    async def work(text: str) -> str:
        return text

    async with running(app):
        handles = await work.enqueue_many(["fine", "refused", "fine"])
        assert [await handle.result(60) for handle in handles] == ["fine", "refused", "fine"]
        store = await app.store()
        assert [a.status for a in await store.jobs.list_attempts(handles[1].id)] == ["succeeded"]


@pytest.mark.parametrize("sqlstate", ["23505", "22P02"])
async def test_an_outcome_that_is_at_fault_is_replaced_only_when_it_was_refused_again_alone(
    app: Plait, running: Running, admin: asyncpg.Connection, sqlstate: str
) -> None:
    await _refuse(admin, sqlstate, times=2)  # once in its batch, and once alone

    @app.job(retries=0)
    async def work(text: str) -> str:
        return text

    async with running(app):
        assert await (await work.enqueue("refused")).result(60) == "refused"
        await admin.execute("alter sequence public.refusals restart")
        await admin.execute(
            "create or replace function public.refuse() returns trigger language plpgsql as $$ begin"
            f" if new.result::text = '\"refused\"' then raise exception 'never' using errcode = '{sqlstate}'; end if;"
            " return new; end $$"
        )
        handles = await work.enqueue_many(["fine", "refused", "fine"])
        with pytest.raises(JobFailed, match="the outcome could not be stored"):
            await handles[1].result(60)
        assert [await handle.result(60) for handle in handles[::2]] == ["fine", "fine"]


async def test_a_worker_that_completes_no_round_trip_gives_up_its_lease_and_registers_again(
    app: Plait, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heartbeats succeed all the time."""
    app.settings = app.settings.model_copy(update={"lease": 3})
    stuck = asyncio.Event()
    cycle = CycleConnection.cycle

    async def no_answer(self: CycleConnection, *args: object, **options: object) -> object:
        if stuck.is_set():
            raise NoAnswer
        return await cycle(self, *args, **options)  # type: ignore[arg-type]

    async def no_reconcile(*_args: object, **_options: object) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(CycleConnection, "cycle", no_answer)

    @app.job
    async def work() -> str:
        return "done"

    async with running(app) as worker:
        assert await (await work.enqueue()).result(60) == "done"
        first = worker.id
        store = await app.store()
        monkeypatch.setattr("plait.worker.pump.Pump._reconcile", no_reconcile)
        stuck.set()

        async def another() -> bool:
            return worker.id not in (first, None)

        await eventually(another, within=60, what="a new registration")
        assert (
            first in [row.id for row in await store.workers.list_workers() if row.state != "alive"]
            or worker.id != first
        )
        monkeypatch.undo()
        stuck.clear()
        assert await (await work.enqueue()).result(60) == "done"


async def test_an_outcome_from_before_a_lost_lease_survives_an_error_that_passes(
    own_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new registration sends the outcome again. A temporary error does not discard it."""
    harness, app = own_harness, Plait(own_harness.database.url)
    held, job = await harness.enqueue("add"), await harness.enqueue("add")
    worker = await harness.worker()
    leases = await worker.claim(2)
    registration = Registration(app, queues=["default"], node="n", labels=None, metadata={})
    registration.keep(worker.id, [outcome(lease) for lease in leases])
    settle, refusals = harness.store.workers.settle_free, iter([asyncpg.DeadlockDetectedError("deadlock detected")])

    async def refused_once(*arguments: Any) -> list[bool | None]:
        if (error := next(refusals, None)) is not None:
            raise error
        return await settle(*arguments)

    monkeypatch.setattr(harness.store.workers, "settle_free", refused_once)
    with pytest.raises(asyncpg.DeadlockDetectedError):
        await registration.settle_late(harness.store)
    async with harness.connection() as connection, connection.transaction():
        await connection.fetchval("select plait.cancel($1)", held)
        await registration.settle_late(harness.store)  # does not wait for the locked job
        assert await harness.status(job) == "succeeded"
    await app.close()
