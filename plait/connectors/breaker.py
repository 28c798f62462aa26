"""The circuit breaker: pause requests to a server that fails repeatedly.

The state of each server is stored in Postgres per tenant (admit_requests, report_requests), and shared by all workers. For a healthy server, a
worker sends at most one query per second and writes nothing.
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
"""How long jobs wait for an open circuit without using attempts. After that, each wait uses an attempt, so that the jobs fail eventually."""
MOST: Final = 10_000


class Breaker:
    def __init__(self) -> None:
        self._well: dict[tuple[UUID, str], float] = {}

    async def admit(self, store: Store, tenant_id: UUID, origin: str) -> None:
        """Return if the circuit admits a request; otherwise raise an outcome that postpones the job."""
        key, now = (tenant_id, origin), time.monotonic()
        if now < self._well.get(key, 0):
            return
        admission = await store.connectors.admit_request(tenant_id, origin)
        if admission.well:
            if len(self._well) >= MOST:
                self._well.clear()
            self._well[key] = now + LOOK_S
        elif not admission.admitted:
            told = f"circuit breaker open: {origin} has failed for {admission.open_s:.0f} s"
            if admission.open_s > PATIENCE_S:
                raise RetryLater(admission.wait_s, told)
            raise Snooze(admission.wait_s, told)

    async def report(self, store: Store, tenant_id: UUID, origin: str, *, ok: bool) -> None:
        """Report the server's response. Success is written only if a failure was recorded."""
        key = (tenant_id, origin)
        if ok and key in self._well:
            return
        self._well.pop(key, None)
        try:
            await store.connectors.report_request(tenant_id, origin, ok=ok)
        except PlaitError as error:  # the request was sent, so its result counts even if the state is not recorded
            log.warning("circuit breaker state not recorded", origin=origin, error=str(error))
