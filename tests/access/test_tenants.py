"""Tenants must have valid names, and only a plain login can be bound to one."""

from uuid import UUID

import pytest

from plait.model.errors import InvalidSetting, UnknownTenant
from plait.store import Store
from plait.testing import TestDatabase

from .logins import Logins, connected, outcome


@pytest.fixture
async def store(database: TestDatabase) -> Store:
    return await Store.open(database.url)


async def test_a_good_slug_makes_a_tenant(store: Store) -> None:
    for slug in ("a", "a-b_c", "0", "x" * 63, "deadbeef"):
        tenant = await store.tenants.set_tenant(slug)
        assert await store.tenants.set_tenant(slug) == tenant
        for named in (slug, str(tenant), str(tenant).upper()):
            assert await store.tenants.tenant_id(named) == tenant
    await store.close()


async def test_a_bad_slug_is_refused(store: Store) -> None:
    an_id = "00000000-0000-7000-8000-000000000000"
    for slug in ("", "A", "-a", "_a", "a b", "a\n", "é", "x" * 64, "a/b", an_id):
        with pytest.raises(InvalidSetting, match="slug"):
            await store.tenants.set_tenant(slug)
    await store.close()


async def test_no_slug_can_be_taken_for_another_tenants_id(store: Store) -> None:
    tenant = await store.tenants.set_tenant("a")
    with pytest.raises(InvalidSetting, match="must not look like an id"):
        await store.tenants.set_tenant(str(tenant))
    await store.close()


async def test_a_time_zone_is_one_that_everybody_knows(store: Store) -> None:
    for zone in ("UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"):
        await store.tenants.set_tenant("a", {"time_zone": zone})
        assert {t.slug: t.time_zone for t in await store.tenants.list_tenants()}["a"] == zone
    await store.close()


INVALID: list[dict[str, object]] = [
    {"time_zone": "Mars/Olympus"},
    {"time_zone": "FOO5"},  # Postgres would take it
    {"time_zone": "+02"},
    {"time_zone": "posix/UTC"},
    {"time_zone": ""},
    {"time_zone": None},
    {"name": ""},
    {"name": None},
    {"name": "\0"},
    {"weight": 0},
    {"weight": 1001},
    {"weight": 100_000},
    {"weight": "heavy"},
    {"weight": None},
    {"paused": "perhaps"},
    {"paused": None},
    {"max_running": -1},
    {"max_running": 1.5},
    {"max_queued": -1},
    {"max_queued": 3_000_000_000},
    {"nonsense": 1},
    {"id": "00000000-0000-7000-8000-000000000001"},
    {"slug": "b"},
    {"quota_left": 1},
]


async def test_an_invalid_setting_is_refused_and_changes_nothing(store: Store) -> None:
    before = await store.tenants.list_tenants()
    for settings in INVALID:
        for slug in ("a", "default"):
            with pytest.raises(InvalidSetting):
                await store.tenants.set_tenant(slug, settings)
    assert await store.tenants.list_tenants() == before
    await store.close()


async def test_settings_are_an_object(database: TestDatabase) -> None:
    async with connected(database.url) as connection:
        for settings in ("[]", "1", '"x"'):
            assert (await outcome(connection, "select plait.set_tenant('a', $1)", settings)).startswith("PL012")


async def test_settings_that_are_absent_stay(store: Store) -> None:
    await store.tenants.set_tenant("a", {"name": "Ada", "time_zone": "Europe/Berlin", "max_running": 3})
    await store.tenants.set_tenant("a", {"weight": 7})
    await store.tenants.set_tenant("a", {"max_running": None})
    [tenant] = [t for t in await store.tenants.list_tenants() if t.slug == "a"]
    assert (tenant.name, tenant.time_zone, tenant.weight, tenant.max_running) == (
        "Ada",
        "Europe/Berlin",
        7,
        None,
    )
    await store.close()


UNSAFE = [
    (["plait_client"], "login", "it may act as plait_client"),
    (["plait_tenant", "plait_worker"], "login", "it may act as plait_worker"),
    (["plait_admin"], "login noinherit", "it may act as plait_admin"),
    (["plait_owner"], "login", "it may act as plait_owner"),
    ([], "login superuser", "it is a superuser"),
    ([], "login bypassrls", "may bypass row-level security"),
    ([], "login createrole", "create roles"),
    ([], "login replication", "replicate"),
    (["plait_tenant"], "nologin", "there is no login"),
]


async def test_a_login_that_could_be_more_than_its_tenant_is_not_bound(store: Store, logins: Logins) -> None:
    tenant = await store.tenants.set_tenant("a")
    for roles, options, why in UNSAFE:
        login = await logins.create(*roles, options=options)
        with pytest.raises(InvalidSetting, match=why):
            await store.tenants.bind_login(login, tenant)
    await store.close()


async def test_a_login_is_unsafe_through_another_role_too(store: Store, logins: Logins) -> None:
    tenant = await store.tenants.set_tenant("a")
    group = await logins.create("plait_client", options="nologin")
    with pytest.raises(InvalidSetting, match="it may act as"):
        await store.tenants.bind_login(await logins.create("plait_tenant", group), tenant)
    await store.close()


async def test_only_a_login_and_a_tenant_that_exist_are_bound(store: Store, logins: Logins) -> None:
    tenant = await store.tenants.set_tenant("a")
    with pytest.raises(InvalidSetting, match="there is no login"):
        await store.tenants.bind_login("nobody at all", tenant)
    login = await logins.create("plait_tenant")
    with pytest.raises(UnknownTenant):
        await store.tenants.bind_login(login, UUID(int=1))
    await store.tenants.bind_login(login, tenant)
    await store.tenants.bind_login(login, None)
    await store.tenants.bind_login("nobody at all", None)
    await store.close()
