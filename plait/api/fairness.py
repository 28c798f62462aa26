"""Shares of what one process can do for all: renders, previews, bulk counts and streams. Without them one key could take it all.

Counted in this process, for each key and for each tenant. What is refused answers 429 and says when to try again.
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
"""Costly requests of one key: so many a second, after a burst of so many."""
TENANT_RATE: Final = (20.0, 100.0)


class Fairness:
    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = Rates(*KEY_RATE, clock=clock)
        self._tenants = Rates(*TENANT_RATE, clock=clock)

    def take(self, caller: Caller) -> None:
        """Count a costly request (a render, a preview, a bulk count), or refuse it."""
        tenant = str(caller.tenant_id)
        if wait := self._tenants.full(tenant):
            raise _too_many("this tenant asks for too many previews, renders or bulk counts", wait)
        if wait := self._keys.take(str(caller.key_id)):
            raise _too_many("this key asks for too many previews, renders or bulk counts", wait)
        self._tenants.take(tenant)


class Shares:
    """How many of something each key and each tenant may have open at once."""

    def __init__(self, what: str, *, key: int, tenant: int) -> None:
        self._what = what
        self._most_key, self._most_tenant = key, tenant
        self._keys: Counter[UUID] = Counter()
        self._tenants: Counter[UUID | None] = Counter()

    def check(self, caller: Caller) -> None:
        if self._keys[caller.key_id] >= self._most_key:
            raise _too_many(f"this key has {self._most_key} {self._what} open, which is the limit", 10)
        if self._tenants[caller.tenant_id] >= self._most_tenant:
            raise _too_many(f"this tenant has {self._most_tenant} {self._what} open, which is the limit", 10)

    def add(self, caller: Caller) -> None:
        self._keys[caller.key_id] += 1
        self._tenants[caller.tenant_id] += 1

    def remove(self, caller: Caller) -> None:
        self._keys[caller.key_id] -= 1
        self._tenants[caller.tenant_id] -= 1
        self._keys += Counter()  # forgets those that have none
        self._tenants += Counter()


def _too_many(detail: str, wait: int) -> Refused:
    return Refused(429, "too-many", detail, headers={"Retry-After": str(wait)})
