"""S6: no process starts with a login that bypasses row-level security, or on a database where it is not enforced."""

import pytest

from plait.model.errors import PlaitError, SchemaOutdated, UnsafeRole
from plait.store import Store
from plait.testing import TestDatabase, TestServer

from .logins import Logins, as_superuser


async def refuses(url: str, why: str) -> None:
    with pytest.raises(UnsafeRole, match=why):
        await Store.open(url)


async def opens(url: str) -> None:
    await (await Store.open(url)).close()


@pytest.mark.parametrize("role", ["plait_client", "plait_worker", "plait_admin", "plait_tenant"])
async def test_a_login_with_a_runtime_role_may_start(database: TestDatabase, logins: Logins, role: str) -> None:
    await opens(database.url_for(await logins.create(role)))


async def test_a_superuser_is_refused(database: TestDatabase, logins: Logins) -> None:
    await refuses(database.admin_url, "it is a superuser")
    login = await logins.create("plait_client", options="login superuser")
    await refuses(database.url_for(login), "it is a superuser")


async def test_a_superuser_that_gives_its_rights_up_may_start(database: TestDatabase) -> None:
    await (await Store.open(database.admin_url, session_user="plait_dev")).close()


async def test_bypassrls_is_refused(database: TestDatabase, logins: Logins) -> None:
    login = await logins.create("plait_client", options="login bypassrls")
    await refuses(database.url_for(login), "it has BYPASSRLS")


async def test_the_owner_is_refused(database: TestDatabase, logins: Logins) -> None:
    login = await logins.create("plait_client")
    await as_superuser(database, f"alter table plait.buckets owner to {login}")
    await refuses(database.url_for(login), "it owns tables of plait")
    await as_superuser(database, "alter table plait.buckets owner to plait_owner")
    await opens(database.url_for(login))


@pytest.mark.parametrize("options", ["login", "login noinherit"])
async def test_a_member_of_the_owner_is_refused(database: TestDatabase, logins: Logins, options: str) -> None:
    login = await logins.create("plait_client", "plait_owner", options=options)
    await refuses(database.url_for(login), "it may act as plait_owner")


async def test_a_member_of_a_member_of_the_owner_is_refused(database: TestDatabase, logins: Logins) -> None:
    group = await logins.create("plait_owner", options="nologin")
    login = await logins.create("plait_client", group, options="login noinherit")
    await refuses(database.url_for(login), "it may act as plait_owner")


@pytest.mark.parametrize("options", ["superuser", "bypassrls"])
async def test_a_member_of_a_role_that_passes_by_is_refused(
    database: TestDatabase, logins: Logins, options: str
) -> None:
    group = await logins.create(options=f"nologin {options}")
    login = await logins.create("plait_client", group)
    await refuses(database.url_for(login), "it may act as a role that is a superuser or has BYPASSRLS")


@pytest.mark.parametrize(
    ("granted", "why"),
    [
        ("grant insert on plait.live to {}", "it may write to tables"),
        ("grant truncate on plait.buckets to {}", "it may write to tables"),
        ("grant pg_write_all_data to {}", "it may write to tables"),
        ("grant create on schema plait to {}", "it may create objects in the schema"),
    ],
)
async def test_a_login_that_could_write_past_the_functions_is_refused(
    database: TestDatabase, logins: Logins, granted: str, why: str
) -> None:
    login = await logins.create("plait_worker")
    await as_superuser(database, granted.format(login))
    await refuses(database.url_for(login), why)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("alter table plait.jobs no force row level security", "no forced row-level security"),
        ("alter table plait.attempts disable row level security", "no forced row-level security"),
        ("alter table plait.tenants no force row level security", "no forced row-level security"),
        ("create table plait.extra (tenant_id uuid)", "no forced row-level security"),
        ("create materialized view plait.extra as select * from plait.jobs", "no forced row-level security"),
        ("alter view plait.job set (security_invoker = false)", "a view of plait bypasses"),
        ("create view plait.extra as select * from plait.jobs", "a view of plait bypasses"),
    ],
)
async def test_a_table_without_forced_row_level_security_is_refused(
    database: TestDatabase, changed: str, why: str
) -> None:
    await opens(database.url)
    await as_superuser(database, changed)
    await refuses(database.url, why)


async def test_a_login_without_a_role_of_plait_is_told_so(database: TestDatabase, logins: Logins) -> None:
    with pytest.raises(PlaitError, match="has none of plait's roles"):
        await Store.open(database.url_for(await logins.create()))


async def test_a_database_without_plait_is_told_from_an_unsafe_one(server: TestServer) -> None:
    database = await server.create_empty_database()
    with pytest.raises(SchemaOutdated, match="Run `plait migrate`"):
        await Store.open(database.admin_url)
    await server.drop_database(database)
