"""Register a worker in the database, and register it again after its lease was lost.

While the database is unavailable, registration is retried. Only the first registration may fail permanently: the cause is a wrong setting,
and the operator who has just started the worker should see the error. Later, a database error does not end the worker.
"""

import os
import platform
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import asyncpg

from plait import __version__
from plait.model.errors import PlaitError
from plait.runtime.logging import get_logger
from plait.runtime.outage import Retry, until_done
from plait.runtime.service import Stop
from plait.sdk.app import Plait
from plait.sdk.triggers import declare
from plait.store import Store
from plait.store.database import is_transient
from plait.store.workers import Settlement

log = get_logger("worker")

PART = 500


class Registration:
    def __init__(
        self,
        app: Plait,
        *,
        queues: Sequence[str],
        node: str,
        labels: Mapping[str, str] | None,
        metadata: Mapping[str, Any],
        except_jobs: Collection[str] = (),
        build: str | None = None,
    ) -> None:
        """`except_jobs`: definitions of the app that this worker does not run."""
        self._build = build
        self._app = app
        self._except_jobs = except_jobs
        self.queues = list(queues)
        self._node = node
        self._labels = labels
        self._metadata = metadata
        self._late: list[tuple[int, list[Settlement]]] = []
        self._known = False

    async def prepare(self, store: Store, learn: Callable[[Store], Awaitable[None]], stop: Stop) -> bool:
        """Register this worker's definitions, and read operators' overrides. Returns False if a stop was requested first."""

        async def make_known() -> None:
            await store.definitions.define([definition.row() for definition in self._app.definitions.values()])
            await declare(self._app, store)
            await learn(store)

        return await self._until_done(store, stop, make_known)

    async def register(self, store: Store, stop: Stop) -> int | None:
        """The worker's id; None if a stop was requested first."""
        registered: list[int] = []

        async def register() -> None:
            await self.settle_late(store)
            worker = await store.workers.register(
                host=platform.node(),
                pid=os.getpid(),
                version=__version__,
                queues=self.queues,
                definitions=[name for name in self._app.definitions if name not in self._except_jobs],
                lease_s=self._app.settings.lease,
                metadata={
                    "python": platform.python_version(),
                    "clock": time.time(),  # clock: for `plait doctor` only
                    **({"build": self._build} if self._build else {}),
                    **self._metadata,
                },
                node=self._node,
                holder=self._app.holder,
                labels=self._labels,
                url=self._app.settings.api_url,
                build=self._build,
            )
            registered.append(worker)

        if not await self._until_done(store, stop, register):
            return None
        self._known = True
        return registered[0]

    def keep(self, worker: int, settlements: list[Settlement]) -> None:
        """Keep outcomes that this worker could not send before its lease was lost."""
        self._late += [(worker, settlements[at : at + PART]) for at in range(0, len(settlements), PART)]

    async def settle_late(self, store: Store) -> None:
        """Send the outcomes that were kept. An outcome is not recorded if another worker has claimed its job since, or if a user's transaction
        locks its row. Then the job runs again."""
        while self._late:
            worker, settlements = self._late[0]
            try:
                # A row that a user's transaction locks must not delay the registration.
                accepted = await store.workers.settle_free(worker, settlements)
            except (PlaitError, asyncpg.PostgresError) as error:
                if is_transient(error):
                    raise  # the caller retries
                if len(settlements) > 1:
                    self._late[:1] = [(worker, [one]) for one in settlements]
                    continue
                log.error(
                    "outcome dropped; the job will run again", job_id=str(settlements[0].job_id), error=str(error)
                )
            else:
                log.info(
                    "outcomes sent after the worker's lease was lost",
                    outcomes=len(settlements),
                    stale=accepted.count(False),
                    busy=accepted.count(None),
                )
            self._late.pop(0)

    async def _until_done(self, store: Store, stop: Stop, work: Callable[[], Awaitable[None]]) -> bool:
        retry = Retry("registration", store.database.outage)
        return await until_done(work, retry, stop, passes=self._passes)

    def _passes(self, error: Exception) -> bool:
        return is_transient(error) or (self._known and isinstance(error, PlaitError | asyncpg.PostgresError))
