"""Each SQLSTATE that the SQL raises maps to one exception, and each exception is really raised."""

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

from ..harness import Harness
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


async def _bad_argument(harness: Harness) -> None:
    await harness.enqueue("add", queue="no spaces here")


async def _bad_id(harness: Harness) -> None:
    await harness.enqueue("add", id=uuid4())


async def _unknown_tenant(harness: Harness) -> None:
    await harness.store.tenants.tenant_id("nobody")


async def _quota(harness: Harness) -> None:
    await harness.tenant("acme", max_queued=0)
    await harness.enqueue("add", tenant="acme")


async def _idempotency(harness: Harness) -> None:
    await harness.enqueue("add", idempotency_key="k", payload={"a": 1})
    await harness.enqueue("add", idempotency_key="k", payload={"a": 2})


async def _inactive(harness: Harness) -> None:
    await harness.define("add")
    await harness.store.definitions.set_definition("add", {"active": False})
    await harness.enqueue("add")


async def _not_found(harness: Harness) -> None:
    await harness.cancel(new_id())


async def _illegal(harness: Harness) -> None:
    await harness.retry(await harness.enqueue("add"))


async def _isolation(harness: Harness) -> None:
    async with harness.connection() as connection, connection.transaction(isolation="repeatable_read"):
        try:
            await connection.fetchval("select plait.cancel($1)", new_id())
        except asyncpg.PostgresError as error:
            raise translate(error) from error


async def _worker_lost(harness: Harness) -> None:
    worker = await harness.worker()
    await harness.lose(worker)
    await worker.heartbeat()


async def _bad_setting(harness: Harness) -> None:
    await harness.store.leader.prune(Retention(**dict.fromkeys(Retention.__slots__)))


async def _dedupe(harness: Harness) -> None:
    job = await harness.enqueue("add", dedupe_key="k")
    await harness.cancel(job)
    await harness.enqueue("add", dedupe_key="k")
    await harness.retry(job)


async def _changed(harness: Harness) -> None:
    await harness.trigger(every_s=60)
    await harness.store.triggers.set_trigger("t", {"definition": "add", "every_s": 60}, new=True)


async def _foreign_tenant(harness: Harness) -> None:
    acme = await harness.tenant("acme")
    login = f"plait_test_{uuid4().hex[:12]}"
    await harness.sql(f"create role {login} login in role plait_tenant")
    try:
        await harness.store.tenants.bind_login(login, await harness.tenant("default"))
        store = Store(Database(harness.database.url_for(login)))
        try:
            await store.jobs.get_job(new_id(), tenant_id=acme)
        finally:
            await store.close()
    finally:
        await harness.sql(f"drop role {login}")


async def _twice(harness: Harness) -> None:
    for _ in range(2):
        await harness.store.definitions.define([{"name": "add"}], new=True)


async def _busy(harness: Harness) -> None:
    async with harness.connection() as user, user.transaction():
        await user.fetchval("select plait.enqueue('add', tenant => 'default', dedupe_key => 'k')")
        await harness.store.jobs.enqueue_many([await harness.new_job("add", dedupe_key="k")], patience_s=0.1)


PROVOKED: dict[type[errors.DatabaseError], Callable[[Harness], Awaitable[None]]] = {
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
async def test_the_database_raises(harness: Harness, exception: type[errors.DatabaseError]) -> None:
    with pytest.raises(errors.DatabaseError) as caught:
        await PROVOKED[exception](harness)
    assert type(caught.value) is exception
    assert str(caught.value)
