"""The privileges that migrate needs, on each version of Postgres: the meaning of CREATEROLE differs."""

import asyncio

import pytest

from plait.model.errors import PlaitError, UnsafeRole
from plait.store import Store
from plait.store.migrate import ROLES, SQL, migrate
from plait.testing import TestDatabase, TestServer

from ..access.logins import as_superuser, connected, outcome

DBA = (SQL / "roles.sql").read_text()


async def owned_by(server: TestServer, login: str, options: str = "login") -> TestDatabase:
    """An empty database that belongs to a new login."""
    database = await server.create_empty_database()
    await as_superuser(database, f"create role {login} {options}", f"alter database {database.name} owner to {login}")
    return database


async def test_a_superuser_makes_the_roles(bare: TestServer) -> None:
    database = await bare.create_empty_database()
    assert (await migrate(database.admin_url, plan_only=True)).roles == ROLES
    async with connected(database.admin_url) as connection:
        assert await connection.fetchval("select count(*) from pg_roles where rolname = any($1)", ROLES) == 0
        assert (await migrate(database.admin_url)).roles == ROLES
        rows = await connection.fetch("select * from pg_roles where rolname = any($1)", ROLES)
    assert len(rows) == len(ROLES)
    for row in rows:
        unsafe = ("rolcanlogin", "rolsuper", "rolbypassrls", "rolcreaterole", "rolcreatedb", "rolreplication")
        assert not any(row[attribute] for attribute in unsafe)


async def test_several_databases_at_once_make_the_roles_once(bare: TestServer) -> None:
    databases = [await bare.create_empty_database() for _ in range(4)]
    await asyncio.gather(*(migrate(database.admin_url) for database in databases for _ in range(2)))
    for database in databases:
        assert (await migrate(database.admin_url)).empty


@pytest.mark.parametrize("options", ["login createrole", "login createrole noinherit"])
async def test_a_login_with_createrole_migrates_its_own_database(bare: TestServer, options: str) -> None:
    database = await owned_by(bare, "operator", options)
    url = database.url_for("operator")
    assert (await migrate(url, plan_only=True)).roles == ROLES
    assert (await migrate(url)).installed is None
    assert (await migrate(url)).empty
    await as_superuser(database, "update plait.installed set functions_hash = 'older'")
    assert (await migrate(url)).functions

    async with connected(url) as operator:
        await operator.execute("create role runner login; grant plait_worker, plait_admin to runner")
        await operator.execute("create role app login")
    await (await Store.open(database.url_for("runner"))).close()
    with pytest.raises(UnsafeRole):  # a login that can migrate can do everything, so no service may use it
        await Store.open(url)
    assert (await migrate(url, grant_client="app")).grant_client == "app"
    async with connected(database.url_for("app")) as app:
        assert await app.fetchval("select plait.enqueue('work')") is not None


async def test_a_second_login_with_createrole_migrates_or_is_told_what_is_missing(bare: TestServer) -> None:
    first, second = (
        await owned_by(bare, "first", "login createrole"),
        await owned_by(bare, "second", "login createrole"),
    )
    await migrate(first.url_for("first"))
    async with connected(second.admin_url) as admin:
        newer = int(await admin.fetchval("select current_setting('server_version_num')")) >= 160000
    if newer:
        # From 16 on CREATEROLE reaches only the roles that one made.
        with pytest.raises(PlaitError, match="grant plait_owner to this login"):
            await migrate(second.url_for("second"))
        await as_superuser(second, "grant plait_owner to second")
    assert (await migrate(second.url_for("second"))).installed is None
    assert (await migrate(second.url_for("second"))).empty


@pytest.mark.parametrize("options", ["login", "login noinherit"])
@pytest.mark.parametrize(
    "prepared",
    ["create schema plait authorization plait_owner", "grant create on database {name} to plait_owner"],
)
async def test_where_a_dba_made_the_roles_a_member_of_the_owner_migrates(
    bare: TestServer, options: str, prepared: str
) -> None:
    database = await bare.create_empty_database()
    await as_superuser(
        database,
        DBA,
        prepared.format(name=database.name),
        f"create role member {options} in role plait_owner",
    )
    assert (await migrate(database.url_for("member"), plan_only=True)).roles == ()
    assert (await migrate(database.url_for("member"))).installed is None
    await as_superuser(database, "update plait.installed set functions_hash = 'older'")
    assert (await migrate(database.url_for("member"))).functions
    assert (await migrate(database.url_for("member"))).empty


async def test_a_plain_login_is_told_what_it_lacks(bare: TestServer) -> None:
    database = await owned_by(bare, "plain")
    url = database.url_for("plain")
    told = r"this login has no permission to migrate: permission denied.*CREATEROLE.*roles\.sql"
    with pytest.raises(PlaitError, match=told):
        await migrate(url)
    await as_superuser(database, DBA)
    with pytest.raises(PlaitError, match=r"this login has no permission to migrate"):
        await migrate(url)
    async with connected(database.admin_url) as connection:
        assert await connection.fetchval("select to_regnamespace('plait')") is None
        await connection.execute("revoke all on database " + database.name + " from public")
        await connection.execute("alter database " + database.name + " owner to postgres")
        await connection.execute("grant connect on database " + database.name + " to plain")
        await connection.execute("grant plait_owner to plain")
    with pytest.raises(PlaitError, match=r"permission denied for database"):
        await migrate(url)
    await migrate(database.admin_url)
    assert (await migrate(url)).empty


async def test_who_may_not_migrate_may_still_ask_whether_there_is_something_to_do(bare: TestServer) -> None:
    database = await bare.create_empty_database()
    await migrate(database.admin_url)
    await as_superuser(database, "create role client login in role plait_client", "create role nobody login")
    assert (await migrate(database.url_for("client"))).empty
    assert (await migrate(database.url_for("client"), plan_only=True)).empty
    with pytest.raises(PlaitError, match="has no permission to migrate"):
        await migrate(database.url_for("nobody"), plan_only=True)


async def test_an_application_gets_what_a_client_may_and_no_more(bare: TestServer) -> None:
    database = await bare.create_empty_database()
    await as_superuser(
        database,
        'create role "the App" login',
        "create table orders (id int)",
        'grant insert on orders to "the App"',
    )
    with pytest.raises(PlaitError, match="there is no role 'nobody'"):
        await migrate(database.admin_url, grant_client="nobody")
    assert (await migrate(database.admin_url, plan_only=True, grant_client="the App")).grant_client == "the App"
    assert (await migrate(database.admin_url, grant_client="the App")).grant_client == "the App"
    assert (await migrate(database.admin_url, grant_client="the App")).empty

    async with connected(database.url_for("the%20App")) as app:
        # Its row and its job are one transaction: both or neither.
        for commits in (True, False):
            transaction = app.transaction()
            await transaction.start()
            await app.execute("insert into orders values (1)")
            job = await app.fetchval("select plait.enqueue('ship')")
            await (transaction.commit() if commits else transaction.rollback())
            end = await outcome(app, "select * from plait.get_job($1)", job)
            assert end == ("ok" if commits else f"PL008 there is no job {job}")
        for denied in (
            "select plait.promote()",
            "delete from plait.jobs",
            "set role plait_owner",
            "set role plait_admin",
        ):
            assert (await outcome(app, denied)).startswith("42501")
    await (await Store.open(database.url_for("the%20App"))).close()


async def test_the_owner_may_not_be_granted_by_who_only_runs_jobs(bare: TestServer) -> None:
    database = await bare.create_empty_database()
    await migrate(database.admin_url)
    await as_superuser(database, "create role runner login in role plait_worker", "create role app login")
    with pytest.raises(PlaitError, match="has no permission to migrate"):
        await migrate(database.url_for("runner"), grant_client="app")
    async with connected(database.admin_url) as connection:
        assert not await connection.fetchval("select pg_has_role('app', 'plait_client', 'member')")
