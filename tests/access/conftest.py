from collections.abc import AsyncIterator, Iterator

import pytest

from plait.testing import TestDatabase, TestServer

from ..conftest import run_in_thread
from .logins import Logins, TwoTenants, make_two_tenants


@pytest.fixture
async def logins(database: TestDatabase) -> AsyncIterator[Logins]:
    logins = Logins(database)
    yield logins
    await logins.drop()


@pytest.fixture
async def tenants(database: TestDatabase, logins: Logins) -> TwoTenants:
    return await make_two_tenants(database, logins)


@pytest.fixture(scope="module")
def unchanged_tenants(server: TestServer) -> Iterator[TwoTenants]:
    """The same for tests that change nothing: to make them costs more than most of those tests do."""
    database = run_in_thread(server.create_database())
    logins = Logins(database)
    yield run_in_thread(make_two_tenants(database, logins))
    run_in_thread(logins.drop())
    run_in_thread(server.drop_database(database))
