from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from plait.model.roles import Role

from ..api.api_client import new_key
from ..api.api_server import served
from ..harness import World


@dataclass(frozen=True)
class Serving:
    """The real server over the world's database, and keys of it."""

    world: World
    url: str

    async def key(self, role: Role | str = Role.OPERATOR, tenant: str = "default") -> str:
        _, token = await new_key(self.world.store, role, await self.world.tenant(tenant))
        return token


@pytest.fixture
async def serving(world: World) -> AsyncIterator[Serving]:
    with served(world.database.url) as url:
        yield Serving(world, url)
