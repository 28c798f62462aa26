"""F10: that the tests go by the way that they say."""

import os
from urllib.parse import urlsplit

from ..harness import World


async def test_the_tests_go_by_the_way_that_the_environment_names(world: World) -> None:
    pooled = os.environ.get("PLAIT_TEST_WAY") == "pgbouncer"
    assert (urlsplit(world.store.database.url).hostname == "127.0.0.1") == pooled
    assert world.store.database.pooler == pooled
