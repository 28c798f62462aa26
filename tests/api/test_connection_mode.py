"""F10: the tests use the connection mode of PLAIT_TEST_CONNECTION."""

import os
from urllib.parse import urlsplit

from ..harness import Harness


async def test_the_tests_use_the_connection_mode_of_the_environment(harness: Harness) -> None:
    pooled = os.environ.get("PLAIT_TEST_CONNECTION") == "pgbouncer"
    assert (urlsplit(harness.store.database.url).hostname == "127.0.0.1") == pooled
    assert harness.store.database.pooler == pooled
