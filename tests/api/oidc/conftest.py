"""An API with sign-in through a test identity provider, and a browser."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from ...harness import Harness
from ..api_client import ApiClient
from .identity_provider import Identity, identity_provider
from .sign_in import new_browser, settings_of


@pytest.fixture
def identity() -> Iterator[Identity]:
    with identity_provider() as made:
        yield made


@pytest.fixture
async def api(harness: Harness, identity: Identity) -> AsyncIterator[ApiClient]:
    async with ApiClient.over(harness, **settings_of(identity)) as client:
        yield client


@pytest.fixture
async def browser(api: ApiClient) -> AsyncIterator[httpx.AsyncClient]:
    async with new_browser(api) as client:
        yield client
