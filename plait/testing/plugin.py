"""The pytest plugin, loaded when plait is installed.

    # conftest.py
    @pytest.fixture
    def plait_app():
        return my_application.app

    async def test_thumbnails_are_made(plait):
        await my_application.resize.enqueue("a.png", 200)
        await plait.assert_enqueued(my_application.resize, path="a.png")
        await plait.run_until_idle()

Fixtures: `plait_server` (a real Postgres for the whole run), `plait_database` (a migrated database for one test, with a clock
that stands still), `plait` (the app on that database). Imports are inside functions, because pytest loads this module in every project.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from plait.sdk.app import Plait
    from plait.testing.databases import TestDatabase, TestServer
    from plait.testing.kit import Kit


@pytest.fixture(scope="session")
def plait_server() -> "Iterator[TestServer]":
    from plait.testing.databases import TestServer

    server = TestServer()
    yield server
    server.close()


@pytest.fixture
def plait_database(plait_server: "TestServer") -> "Iterator[TestDatabase]":
    database = asyncio.run(plait_server.create_database())
    yield database
    asyncio.run(plait_server.drop_database(database))


@pytest.fixture
def plait_app() -> "Plait":
    """Override this fixture to return your own app."""
    from plait.sdk.app import Plait

    return Plait()


try:
    import pytest_asyncio
except ImportError:  # sync tests only: use the …_sync functions

    @pytest.fixture(name="plait")
    def sync_plait(plait_app: "Plait", plait_database: "TestDatabase") -> "Iterator[Kit]":
        from plait.testing.kit import Kit

        kit = Kit(plait_app, plait_database)
        kit.enter()
        yield kit
        asyncio.run(kit.exit())
else:

    @pytest_asyncio.fixture(name="plait")
    async def async_plait(plait_app: "Plait", plait_database: "TestDatabase") -> "AsyncIterator[Kit]":
        from plait.testing.kit import Kit

        kit = Kit(plait_app, plait_database)
        kit.enter()
        yield kit
        await kit.exit()
