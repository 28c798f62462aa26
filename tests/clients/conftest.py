from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from plait.model.roles import Role

from ..api.api_client import new_key
from ..api.api_server import serve_api
from ..harness import Harness


@dataclass(frozen=True)
class ApiServer:
    """The API server over the harness's database, and API keys for it."""

    harness: Harness
    url: str

    async def key(self, role: Role | str = Role.OPERATOR, tenant: str = "default") -> str:
        _, token = await new_key(self.harness.store, role, await self.harness.tenant(tenant))
        return token


@pytest.fixture
async def api_server(harness: Harness) -> AsyncIterator[ApiServer]:
    with serve_api(harness.database.url) as url:
        yield ApiServer(harness, url)
