from collections.abc import AsyncIterator

import pytest

from ..harness import World
from .api_client import Calling


@pytest.fixture(autouse=True)
def webhooks_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """What keys of endpoints are worked out from."""
    monkeypatch.setenv("PLAIT_SECRET_WEBHOOKS", "for-tests-for-tests-for-tests-for-tests")


@pytest.fixture
async def api(world: World) -> AsyncIterator[Calling]:
    """The API over the world's database, without a socket."""
    async with Calling.over(world) as calling:
        yield calling
