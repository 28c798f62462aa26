"""Fixtures of plait's own tests, from the kit that users get."""

import pytest

from plait.testing import TestDatabase, TestServer


@pytest.fixture(scope="session")
def server(plait_server: TestServer) -> TestServer:
    return plait_server


@pytest.fixture
def database(plait_database: TestDatabase) -> TestDatabase:
    """A migrated database whose clock stands still until the test moves it."""
    return plait_database
