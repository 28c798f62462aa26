"""The circuit breaker: a server that fails again and again is left alone for a while, by all workers together.

What is known of a server is in Postgres (admit_requests, report_requests), for each tenant apart. A server that is well costs one look a second
and no write at all.
"""

import time
from typing import Final
from uuid import UUID

from plait.model.errors import PlaitError, RetryLater, Snooze
from plait.runtime.logging import get_logger
from plait.store import Store

log = get_logger("connectors")

LOOK_S: Final = 1.0
PATIENCE_S: Final = 86_400.0
"""For so long jobs wait for a server without losing a try. After that each wait is one, so that they come to an end."""
MOST: Final = 10_000


class Breaker:
    def __init__(self) -> None:
        self._well: dict[tuple[UUID, str], float] = {}

    async def admit(self, store: Store, tenant_id: UUID, origin: str) -> None:
        """Returns where the server may be asked; else the job is put off, by an outcome that is raised."""
        key, now = (tenant_id, origin), time.monotonic()
        if now < self._well.get(key, 0):
            return
        admission = await store.connectors.admit_request(tenant_id, origin)
        if admission.well:
            if len(self._well) >= MOST:
                self._well.clear()
            self._well[key] = now + LOOK_S
        elif not admission.admitted:
            told = f"{origin} has failed for {admission.open_s:.0f} s and is left alone for now"
            if admission.open_s > PATIENCE_S:
                raise RetryLater(admission.wait_s, told)
            raise Snooze(admission.wait_s, told)

    async def report(self, store: Store, tenant_id: UUID, origin: str, *, ok: bool) -> None:
        """How the server answered. That it is well is only said where something else was known."""
        key = (tenant_id, origin)
        if ok and key in self._well:
            return
        self._well.pop(key, None)
        try:
            await store.connectors.report_request(tenant_id, origin, ok=ok)
        except PlaitError as error:  # the request was made: what came of it counts, not whether it was counted
            log.warning("a server's state was not recorded", origin=origin, error=str(error))
