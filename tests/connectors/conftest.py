"""An app with connectors on the harness's database, whose worker may reach this machine."""

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

from ..harness import Harness

MASTER = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"


class ConnectorRunner:
    """Runs jobs of connectors, one at a time."""

    def __init__(self, harness: Harness, **settings: Any) -> None:
        resolve: Resolve | None = settings.pop("resolve", None)
        open_ = {
            "connectors": "all",
            "connector_hosts": "*",
            "connector_networks": "127.0.0.0/8",
            "connector_schemes": "http,https",
            "poll": 0.05,
            "listen": False,
        }
        self.harness = harness
        self.app = Plait(harness.database.url, settings=Settings(**{**open_, **settings}))
        self.kit = Kit(self.app, harness.database)
        install(self.app, resolve=resolve)

    async def run(self, definition: str, *, tenant: str = "default", options: Any = None, **payload: Any) -> JobRow:
        """Enqueue one job and run it until nothing can run now."""
        job = await self.harness.enqueue(definition, tenant=tenant, payload=payload, **(options or {}))
        await self.kit.run_until_idle()
        return await self.harness.job(job)

    async def request(self, url: str, *, tenant: str = "default", options: Any = None, **payload: Any) -> JobRow:
        return await self.run("connector.http.request", tenant=tenant, options=options, url=url, **payload)

    async def last(self, job: UUID) -> AttemptRow:
        return (await self.harness.attempts(job))[-1]

    async def again(self) -> None:
        """Advance the clock by a day, so that jobs that wait for a retry run again."""
        await self.kit.advance(days=1)
        await self.kit.run_until_idle()


@pytest.fixture
async def new_runner(harness: Harness) -> AsyncIterator[Callable[..., ConnectorRunner]]:
    made: list[ConnectorRunner] = []

    def make(*ports: int, **settings: Any) -> ConnectorRunner:
        settings.setdefault("connector_ports", ",".join(map(str, (80, 443, *ports))))
        made.append(ConnectorRunner(harness, **settings))
        return made[-1]

    yield make
    for one in made:
        await one.app.close()
