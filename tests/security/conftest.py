from collections.abc import AsyncIterator

import pytest

from plait.testing import TestDatabase

from .logins import Logins, TwoTenants, make_two_tenants


@pytest.fixture
async def logins(database: TestDatabase) -> AsyncIterator[Logins]:
    logins = Logins(database)
    yield logins
    await logins.drop()


@pytest.fixture
async def tenants(database: TestDatabase, logins: Logins) -> TwoTenants:
    return await make_two_tenants(database, logins)
