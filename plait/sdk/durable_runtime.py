"""State that the durable functions of one worker share."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from threading import get_ident
from typing import Any

from plait.runtime.settings import Settings
from plait.sdk.artifacts import Artifacts
from plait.sdk.batches import Batches
from plait.sdk.checkpoints import Checkpoints
from plait.sdk.definition import Definition
from plait.store import Store
from plait.store.streams import StreamItem


class DurableRuntime:
    def __init__(
        self,
        store: Store,
        definitions: Mapping[str, Definition],
        artifacts: Artifacts,
        *,
        node: str | None = None,
        real_time: bool = True,
        settings: Settings | None = None,
    ) -> None:
        """`real_time`: whether the database's clock is running. A test may stop it, and then deadlines do not expire either."""
        self.store = store
        self.artifacts = artifacts
        self.definitions = definitions
        self.settings = settings
        self.checkpoints = Checkpoints(store)
        self.stream_items = Batches(self._write_streams)
        self.loop = asyncio.get_running_loop()
        self.thread = get_ident()
        self.worker = 0
        self.node = node
        self.real_time = real_time
        self.keep: Callable[[Any, int], asyncio.Future[bool] | None] = lambda _run, _size: None
        """Keeps a suspended job's handler, whose history has the given size, in memory; see plait.worker.cached_handlers."""
        self.flush: Callable[[Any], Awaitable[None]] = _nothing
        """Sends a run's progress, info and state."""
        self.job_logs: Any = None
        """The worker's `plait.worker.job_logs.JobLogs`; None if job logs are off."""

    async def _write_streams(self, items: Sequence[StreamItem]) -> list[int]:
        return await self.store.streams.write(items)

    async def close(self) -> None:
        await self.checkpoints.close()
        await self.stream_items.close()


async def _nothing(_: Any) -> None: ...
