"""What the durable jobs of one worker share."""

import asyncio
from collections.abc import Callable, Mapping
from threading import get_ident
from typing import Any

from plait.sdk.artifacts import Artifacts
from plait.sdk.checkpoints import Checkpoints
from plait.sdk.definition import Definition
from plait.store import Store


class Durables:
    def __init__(
        self,
        store: Store,
        definitions: Mapping[str, Definition],
        artifacts: Artifacts,
        *,
        node: str | None = None,
        real_time: bool = True,
    ) -> None:
        """`real_time`: whether the database's clock runs; in a test it may stand still, and deadlines with it."""
        self.store = store
        self.artifacts = artifacts
        self.definitions = definitions
        self.checkpoints = Checkpoints(store)
        self.loop = asyncio.get_running_loop()
        self.thread = get_ident()
        self.worker = 0
        self.node = node
        self.real_time = real_time
        self.keep: Callable[[Any, int], asyncio.Future[bool] | None] = lambda _run, _size: None
        """Keeps the handler of a job that has begun to wait, of so many bytes, in memory; see plait.worker.cached."""

    async def close(self) -> None:
        await self.checkpoints.close()
