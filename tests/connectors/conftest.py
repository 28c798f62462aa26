"""An app with connectors on the world's database, whose worker may reach this machine."""

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import pytest

from plait import Plait
from plait.connectors import install
from plait.connectors.client import Resolve
from plait.runtime.settings import Settings
from plait.store.job_rows import AttemptRow, JobRow
from plait.testing import Kit

from ..harness import World

MASTER = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"


class Bench:
    """Runs connectors' jobs, one at a time."""

    def __init__(self, world: World, **settings: Any) -> None:
        resolve: Resolve | None = settings.pop("resolve", None)
        open_ = {
            "connectors": "all",
            "connector_hosts": "*",
            "connector_networks": "127.0.0.0/8",
            "connector_schemes": "http,https",
            "poll": 0.05,
            "listen": False,
        }
        self.world = world
        self.app = Plait(world.database.url, settings=Settings(**{**open_, **settings}))
        self.kit = Kit(self.app, world.database)
        install(self.app, resolve=resolve)

    async def run(self, definition: str, *, tenant: str = "default", options: Any = None, **payload: Any) -> JobRow:
        """One job, as far as it goes now."""
        job = await self.world.enqueue(definition, tenant=tenant, payload=payload, **(options or {}))
        await self.kit.run_until_idle()
        return await self.world.job(job)

    async def request(self, url: str, *, tenant: str = "default", options: Any = None, **payload: Any) -> JobRow:
        return await self.run("connector.http.request", tenant=tenant, options=options, url=url, **payload)

    async def last(self, job: UUID) -> AttemptRow:
        return (await self.world.attempts(job))[-1]

    async def again(self) -> None:
        """Whatever waits for its next try gets it."""
        await self.kit.advance(days=1)
        await self.kit.run_until_idle()


@pytest.fixture
async def bench(world: World) -> AsyncIterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(*ports: int, **settings: Any) -> Bench:
        settings.setdefault("connector_ports", ",".join(map(str, (80, 443, *ports))))
        made.append(Bench(world, **settings))
        return made[-1]

    yield make
    for one in made:
        await one.app.close()
