"""An API that people sign in to by a provider of the test's, and a browser."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from ...harness import World
from ..api_client import Calling
from .identity_provider import Identity, identity_provider
from .sign_in import new_browser, settings_of


@pytest.fixture
def identity() -> Iterator[Identity]:
    with identity_provider() as made:
        yield made


@pytest.fixture
async def api(world: World, identity: Identity) -> AsyncIterator[Calling]:
    async with Calling.over(world, **settings_of(identity)) as calling:
        yield calling


@pytest.fixture
async def browser(api: Calling) -> AsyncIterator[httpx.AsyncClient]:
    async with new_browser(api) as client:
        yield client
