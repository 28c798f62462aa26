from collections.abc import AsyncIterator

import pytest

from ..world import World
from .calling import Calling


@pytest.fixture
async def api(world: World) -> AsyncIterator[Calling]:
    """The API over the world's database, without a socket."""
    async with Calling.over(world) as calling:
        yield calling
