from plait.store import Store
from plait.testing import FakeClock, TestDatabase


async def test_a_new_database_has_one_tenant(database: TestDatabase) -> None:
    store = await Store.open(database.url)
    assert [t.slug for t in await store.tenants.list_tenants()] == ["default"]
    before = await FakeClock(database.admin_url).now()
    assert (await FakeClock(database.admin_url).advance(minutes=5) - before).total_seconds() == 300
    await store.close()
