"""Each SQLSTATE that the SQL raises is one exception, and each exception is really raised."""

import re
from collections.abc import Awaitable, Callable
from uuid import uuid4

import asyncpg
import pytest

from plait.model import errors
from plait.model.ids import new_id
from plait.store import Database, Store
from plait.store.database import translate
from plait.store.leader import Retention

from ..harness import World
from ..project.source_files import sources

RAISED = re.compile(r"errcode = '(PL\d{3})'")


def test_the_sql_and_the_exceptions_know_the_same_states() -> None:
    raised = {state for path in sources("plait/sql", ".sql") for state in RAISED.findall(path.read_text())}
    assert raised == set(errors.BY_SQLSTATE)


def test_no_two_exceptions_share_a_state() -> None:
    classes = errors.DatabaseError.__subclasses__()
    assert len({cls.sqlstate for cls in classes}) == len(classes)
    assert all(re.fullmatch(r"PL\d{3}", cls.sqlstate) for cls in classes)
    assert all(cls.__doc__ for cls in classes)


def test_a_file_names_in_its_head_what_it_raises() -> None:
    unnamed = {
        path.name: missing
        for path in sources("plait/sql/functions", ".sql")
        if (missing := set(RAISED.findall(path.read_text())) - _named(path.read_text()))
    }
    assert unnamed == {}


def _named(text: str) -> set[str]:
    head = text.partition("create or replace")[0]
    return set(re.findall(r"PL\d{3}", head))


async def _bad_argument(world: World) -> None:
    await world.enqueue("add", queue="no spaces here")


async def _bad_id(world: World) -> None:
    await world.enqueue("add", id=uuid4())


async def _unknown_tenant(world: World) -> None:
    await world.store.tenants.tenant_id("nobody")


async def _quota(world: World) -> None:
    await world.tenant("acme", max_queued=0)
    await world.enqueue("add", tenant="acme")


async def _idempotency(world: World) -> None:
    await world.enqueue("add", idempotency_key="k", payload={"a": 1})
    await world.enqueue("add", idempotency_key="k", payload={"a": 2})


async def _inactive(world: World) -> None:
    await world.define("add")
    await world.store.definitions.set_definition("add", {"active": False})
    await world.enqueue("add")


async def _not_found(world: World) -> None:
    await world.cancel(new_id())


async def _illegal(world: World) -> None:
    await world.retry(await world.enqueue("add"))


async def _isolation(world: World) -> None:
    async with world.connection() as connection, connection.transaction(isolation="repeatable_read"):
        try:
            await connection.fetchval("select plait.cancel($1)", new_id())
        except asyncpg.PostgresError as error:
            raise translate(error) from error


async def _worker_lost(world: World) -> None:
    worker = await world.worker()
    await world.lose(worker)
    await worker.heartbeat()


async def _bad_setting(world: World) -> None:
    await world.store.leader.prune(Retention(**dict.fromkeys(Retention.__slots__)))


async def _dedupe(world: World) -> None:
    job = await world.enqueue("add", dedupe_key="k")
    await world.cancel(job)
    await world.enqueue("add", dedupe_key="k")
    await world.retry(job)


async def _changed(world: World) -> None:
    await world.trigger(every_s=60)
    await world.store.triggers.set_trigger("t", {"definition": "add", "every_s": 60}, new=True)


async def _foreign_tenant(world: World) -> None:
    acme = await world.tenant("acme")
    login = f"plait_test_{uuid4().hex[:12]}"
    await world.sql(f"create role {login} login in role plait_tenant")
    try:
        await world.store.tenants.bind_login(login, await world.tenant("default"))
        store = Store(Database(world.database.url_for(login)))
        try:
            await store.jobs.get_job(new_id(), tenant_id=acme)
        finally:
            await store.close()
    finally:
        await world.sql(f"drop role {login}")


async def _twice(world: World) -> None:
    for _ in range(2):
        await world.store.definitions.define([{"name": "add"}], new=True)


async def _busy(world: World) -> None:
    async with world.connection() as user, user.transaction():
        await user.fetchval("select plait.enqueue('add', tenant => 'default', dedupe_key => 'k')")
        await world.store.jobs.enqueue_many([await world.new_job("add", dedupe_key="k")], patience_s=0.1)


PROVOKED: dict[type[errors.DatabaseError], Callable[[World], Awaitable[None]]] = {
    errors.InvalidJob: _bad_argument,
    errors.InvalidId: _bad_id,
    errors.UnknownTenant: _unknown_tenant,
    errors.ForeignTenant: _foreign_tenant,
    errors.QuotaExceeded: _quota,
    errors.IdempotencyConflict: _idempotency,
    errors.InactiveDefinition: _inactive,
    errors.NotFound: _not_found,
    errors.IllegalMove: _illegal,
    errors.WrongIsolation: _isolation,
    errors.WorkerLost: _worker_lost,
    errors.InvalidSetting: _bad_setting,
    errors.DedupeConflict: _dedupe,
    errors.ChangedMeanwhile: _changed,
    errors.AlreadyExists: _twice,
    errors.Busy: _busy,
}


def test_every_exception_is_provoked_here() -> None:
    assert set(PROVOKED) == set(errors.DatabaseError.__subclasses__())


@pytest.mark.parametrize("exception", PROVOKED, ids=lambda cls: cls.__name__)
async def test_the_database_raises(world: World, exception: type[errors.DatabaseError]) -> None:
    with pytest.raises(errors.DatabaseError) as caught:
        await PROVOKED[exception](world)
    assert type(caught.value) is exception
    assert str(caught.value)
