"""`conn=`: an enqueue is part of the caller's transaction, with every supported library."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import psycopg
import pytest
from django.db.utils import ConnectionHandler

from plait import Plait
from plait.model.errors import (
    DatabaseError,
    IdempotencyConflict,
    InvalidArguments,
    NotGranted,
    QuotaExceeded,
    SchemaOutdated,
    UnknownTenant,
)
from plait.runtime.settings import Settings
from plait.store import Store
from plait.testing import TestDatabase, TestServer

from .caller_connections import KINDS, Kind, RollBack
from .conftest import CLIENT, Drain

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@pytest.fixture
async def shop(app: Plait) -> Plait:
    """An app with one job, which doubles a number."""

    @app.job
    async def double(number: int) -> int:
        return 2 * number

    return app


@pytest.fixture
async def admin(database: TestDatabase) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database.admin_url)
    yield connection
    await connection.close()


async def jobs(admin: asyncpg.Connection) -> int:
    count: int = await admin.fetchval("select count(*) from plait.jobs")
    return count


@every_kind
async def test_a_job_is_there_when_the_transaction_commits(
    kind: Kind, shop: Plait, client_url: str, drain: Drain, admin: asyncpg.Connection
) -> None:
    async with kind.begin(client_url) as transaction:
        await transaction.write()
        handle = await transaction.enqueue(shop.jobs["double"], 21)
        assert await jobs(admin) == 0
    assert await jobs(admin) == 1
    await drain(shop)
    assert await handle.result(timeout=120) == 42
    assert not handle.deduplicated


@every_kind
async def test_no_job_is_there_when_the_transaction_rolls_back(
    kind: Kind, shop: Plait, client_url: str, admin: asyncpg.Connection
) -> None:
    with suppress(RollBack):
        async with kind.begin(client_url) as transaction:
            await transaction.write()
            await transaction.enqueue(shop.jobs["double"], 21)
            await transaction.enqueue_many(shop.jobs["double"], [1, 2, 3])
            raise RollBack
    assert await jobs(admin) == 0
    assert await admin.fetchval("select count(*) from public.orders") == 0


@every_kind
async def test_an_error_of_ours_arrives_as_ours(kind: Kind, shop: Plait, client_url: str, app: Plait) -> None:
    await (await app.store()).tenants.set_tenant("default", {"max_queued": 1})
    with pytest.raises(
        QuotaExceeded,
        match=r"^quota exceeded: tenant default may have at most 1 unfinished jobs, .* exceed this limit$",
    ):
        async with kind.begin(client_url) as transaction:
            await transaction.enqueue_many(shop.jobs["double"], [1, 2])
    await (await app.store()).tenants.set_tenant("default", {"max_queued": None})
    async with kind.begin(client_url) as transaction:
        await transaction.enqueue(shop.jobs["double"], 1, idempotency_key="order 17")
    with pytest.raises(IdempotencyConflict):
        async with kind.begin(client_url) as transaction:
            await transaction.enqueue(shop.jobs["double"], 2, idempotency_key="order 17")


@every_kind
async def test_a_key_that_an_older_job_holds_gives_that_jobs_handle(
    kind: Kind, shop: Plait, client_url: str, admin: asyncpg.Connection
) -> None:
    first = await shop.jobs["double"].options(dedupe_key="order 17").enqueue(1)
    async with kind.begin(client_url) as transaction:
        second = await transaction.enqueue(shop.jobs["double"], 1, dedupe_key="order 17")
        other = await transaction.enqueue(shop.jobs["double"], 1, dedupe_key="order 18")
        again = await transaction.enqueue(shop.jobs["double"], 1, dedupe_key="order 18")
    assert (second.id, second.deduplicated) == (first.id, True)
    assert (again.id, again.deduplicated, other.deduplicated) == (other.id, True, False)
    assert await jobs(admin) == 2


@every_kind
async def test_many_jobs_with_every_option_are_part_of_the_transaction(
    kind: Kind, shop: Plait, client_url: str, drain: Drain, admin: asyncpg.Connection
) -> None:
    await (await shop.store()).tenants.set_tenant("acme")
    options = {
        "tenant": "acme", "queue": "quick", "priority": 0, "retries": 0, "timeout": "5m", "delay": "1ms",
        "limit_key": "k %s :x $1", "correlation_id": "c %(p1)s",
    }  # fmt: skip
    async with kind.begin(client_url) as transaction:
        handles = await transaction.enqueue_many(shop.jobs["double"], [(n,) for n in range(500)], **options)
        assert await transaction.enqueue_many(shop.jobs["double"], []) == []
    assert len({handle.id for handle in handles}) == 500
    row = await handles[7].info()
    assert (row.queue, row.priority, row.max_attempts, row.timeout_s) == ("quick", 0, 1, 300)
    assert (row.limit_key, row.correlation_id, row.payload) == ("k %s :x $1", "c %(p1)s", '{"number":7}')
    assert (
        await admin.fetchval(
            "select count(*) from plait.jobs join plait.tenants t on t.id = tenant_id where slug = 'acme'"
        )
        == 500
    )


async def test_an_enqueue_on_the_callers_connection_needs_no_other(
    client_url: str, database: TestDatabase, tmp_path: Path
) -> None:
    async with await psycopg.AsyncConnection.connect(database.admin_url) as admin:
        await admin.execute(f"alter role {CLIENT} connection limit -1")
    app = Plait(settings=Settings(database_url=None, data_dir=tmp_path / "never made"), tenant="acme")

    @app.job
    def note(text: str) -> None: ...

    store = await Store.open(database.url)
    acme = await store.tenants.set_tenant("acme")
    conn = await asyncpg.connect(client_url)
    async with conn.transaction():
        named = await note.options(conn=conn, tenant="default").enqueue("a")
        own = await note.options(conn=conn).enqueue("a")
        by_id = await note.options(conn=conn, tenant=acme).enqueue("a")
    await conn.close()
    with psycopg.connect(client_url) as sync_conn:
        note.options(conn=sync_conn).enqueue_sync("b")

    assert not (tmp_path / "never made").exists(), "embedded Postgres was started for nothing"
    rows = {row.id: row for row in await store.jobs.list_jobs(tenant_id=acme)}
    assert {own.id, by_id.id} < set(rows)
    assert named.id not in rows
    assert len(rows) == 3
    await store.close()


async def test_a_session_names_its_tenant_where_the_caller_names_none(
    shop: Plait, client_url: str, drain: Drain
) -> None:
    acme = await (await shop.store()).tenants.set_tenant("acme")
    conn = await asyncpg.connect(client_url)
    try:
        async with conn.transaction():
            await conn.execute(f"set local plait.tenant = '{acme}'")
            handle = await shop.jobs["double"].options(conn=conn).enqueue(4)
        await drain(shop)
        assert await handle.result(timeout=120) == 8, "the handle knows its tenant"
        assert (await handle.info()).tenant_id == acme
        await conn.execute("set plait.tenant = 'acme'")
        with pytest.raises(UnknownTenant):
            await shop.jobs["double"].options(conn=conn).enqueue(4)
        with pytest.raises(UnknownTenant, match="nobody"):
            await shop.jobs["double"].options(conn=conn, tenant="nobody").enqueue(4)
    finally:
        await conn.close()


async def test_a_bound_login_acts_for_its_own_tenant_without_naming_it(
    shop: Plait, database: TestDatabase, admin: asyncpg.Connection
) -> None:
    tenants = (await shop.store()).tenants
    acme, login = await tenants.set_tenant("acme"), f"{database.name}_acme"
    await admin.execute(f"create role {login} login in role plait_tenant")
    try:
        await tenants.bind_login(login, acme)
        async with Plait(database.url_for(login)) as app:
            double = app.job(shop.jobs["double"]._function)
            assert (await (await double.enqueue(1)).info()).tenant_id == acme
            with pytest.raises(DatabaseError):
                await double.options(tenant="default").enqueue(1)
            conn = await asyncpg.connect(database.url_for(login))
            assert (await (await double.options(conn=conn).enqueue(1)).info()).tenant_id == acme
            with pytest.raises(UnknownTenant):
                await double.options(conn=conn, tenant="default").enqueue(1)
            await conn.close()
    finally:
        await tenants.bind_login(login, None)
        await admin.execute(f"drop role {login}")


async def test_a_login_without_the_role_is_told_what_to_grant(
    shop: Plait, database: TestDatabase, admin: asyncpg.Connection
) -> None:
    login = f"{database.name}_stranger"
    await admin.execute(f"create role {login} login")
    try:
        with psycopg.connect(database.url_for(login)) as conn, pytest.raises(NotGranted, match="--grant-client"):
            shop.jobs["double"].options(conn=conn).enqueue_sync(1)
    finally:
        await admin.execute(f"drop role {login}")


async def test_a_database_without_plait_is_named_as_such(shop: Plait, server: TestServer) -> None:
    empty = await server.create_empty_database()
    conn = await asyncpg.connect(empty.admin_url)
    try:
        with pytest.raises(SchemaOutdated, match="plait migrate"):
            await shop.jobs["double"].options(conn=conn).enqueue(1)
    finally:
        await conn.close()
        await server.drop_database(empty)


def test_a_django_connection_to_another_database_is_refused() -> None:
    app = Plait("postgresql://nowhere.invalid/")

    @app.job
    def note() -> None: ...

    other = ConnectionHandler({"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
    with pytest.raises(InvalidArguments, match="sqlite"):
        note.options(conn=other["default"]).enqueue_sync()


async def test_the_callers_own_errors_stay_its_drivers(shop: Plait, client_url: str) -> None:
    with psycopg.connect(client_url) as conn:
        with pytest.raises(psycopg.errors.DivisionByZero):
            conn.execute("select 1/0")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            shop.jobs["double"].options(conn=conn).enqueue_sync(1)


async def test_the_wrong_form_for_a_connection_is_refused_with_advice(shop: Plait, client_url: str) -> None:
    conn = await asyncpg.connect(client_url)
    double = shop.jobs["double"]
    try:
        with pytest.raises(InvalidArguments, match="use enqueue or"):
            double.options(conn=conn).enqueue_sync(1)
        with pytest.raises(InvalidArguments, match="use enqueue or"):
            double.options(conn=conn).enqueue_many_sync([1])
    finally:
        await conn.close()
    with psycopg.connect(client_url) as sync_conn:
        with pytest.raises(InvalidArguments, match="use enqueue_sync"):
            await double.options(conn=sync_conn).enqueue(1)
        with pytest.raises(InvalidArguments, match="use enqueue_sync"):
            await double.options(conn=sync_conn).enqueue_many([1])
        with pytest.raises(InvalidArguments, match="Cursor"):
            double.options(conn=sync_conn.cursor()).enqueue_sync(1)
    with pytest.raises(InvalidArguments, match=r"got builtins\.str"):
        await double.options(conn="postgresql://localhost").enqueue(1)
    async with asyncpg.create_pool(client_url, min_size=0) as pool:
        with pytest.raises(InvalidArguments, match=r"asyncpg\.pool\.Pool"):
            await double.options(conn=pool).enqueue(1)
