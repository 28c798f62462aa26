from collections.abc import AsyncIterator

import pytest

from ..harness import Harness
from .api_client import ApiClient


@pytest.fixture(autouse=True)
def webhooks_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret from which the keys of webhook endpoints are derived."""
    monkeypatch.setenv("PLAIT_SECRET_WEBHOOKS", "for-tests-for-tests-for-tests-for-tests")


@pytest.fixture
async def api(harness: Harness) -> AsyncIterator[ApiClient]:
    """The API over the harness's database, without a socket."""
    async with ApiClient.over(harness) as client:
        yield client
