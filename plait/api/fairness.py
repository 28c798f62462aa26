"""Fair use of one process: limits per key and tenant on renders, previews, bulk counts and streams, so that one key cannot use up the process.

Each process counts separately. Rejected requests get status 429 with `Retry-After`.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Final
from uuid import UUID

from plait.api.caller import Caller
from plait.api.problems import Refused
from plait.api.rate_limits import Rates

KEY_RATE: Final = (10.0, 50.0)
"""Limit of expensive requests per key: rate per second, and burst."""
TENANT_RATE: Final = (20.0, 100.0)


class Fairness:
    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = Rates(*KEY_RATE, clock=clock)
        self._tenants = Rates(*TENANT_RATE, clock=clock)

    def take(self, caller: Caller) -> None:
        """Count an expensive request (a render, a preview, a bulk count), or reject it."""
        tenant = str(caller.tenant_id)
        if wait := self._tenants.full(tenant):
            raise _too_many(
                "rate limit exceeded: this tenant has requested too many previews, renders or bulk counts", wait
            )
        if wait := self._keys.take(str(caller.key_id)):
            raise _too_many(
                "rate limit exceeded: this key has requested too many previews, renders or bulk counts", wait
            )
        self._tenants.take(tenant)


class Shares:
    """Limits on the number of open streams per key and per tenant."""

    def __init__(self, what: str, *, key: int, tenant: int) -> None:
        self._what = what
        self._most_key, self._most_tenant = key, tenant
        self._keys: Counter[UUID] = Counter()
        self._tenants: Counter[UUID | None] = Counter()

    def check(self, caller: Caller) -> None:
        if self._keys[caller.key_id] >= self._most_key:
            raise _too_many(f"too many open {self._what}: the limit of this key is {self._most_key}", 10)
        if self._tenants[caller.tenant_id] >= self._most_tenant:
            raise _too_many(f"too many open {self._what}: the limit of this tenant is {self._most_tenant}", 10)

    def add(self, caller: Caller) -> None:
        self._keys[caller.key_id] += 1
        self._tenants[caller.tenant_id] += 1

    def remove(self, caller: Caller) -> None:
        self._keys[caller.key_id] -= 1
        self._tenants[caller.tenant_id] -= 1
        self._keys += Counter()  # removes zero counts
        self._tenants += Counter()


def _too_many(detail: str, wait: int) -> Refused:
    return Refused(429, "too-many", detail, headers={"Retry-After": str(wait)})
