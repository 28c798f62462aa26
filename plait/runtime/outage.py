"""Temporary failures: retry with exponential backoff and jitter, and log one line when the failures begin and one when they end.

Each loop of a service has a `Retry`. Loops that use the same database share its `Outage`, so that a database outage is logged once,
not for each loop and retry.

    retry = Retry("heartbeat", outage)
    while True:
        try:
            await beat()
        except PlaitError as error:
            await asyncio.sleep(retry.failed(error))
        else:
            retry.succeeded()
"""

import random
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Final

from plait.model.errors import DatabaseUnreachable
from plait.runtime.logging import get_logger
from plait.runtime.service import Stop

log = get_logger("database")

FIRST_S: Final = 0.1
LONGEST_S: Final = 5.0


class Outage:
    """A period in which the loops of a process cannot use their database. Threads may share the object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failing: set[str] = set()
        self._since = 0.0

    def begin(self, part: str, error: BaseException) -> None:
        with self._lock:
            first = not self._failing
            self._failing.add(part)
            if first:
                self._since = time.monotonic()
        if first:
            log.warning("database unavailable, retrying", part=part, error=str(error))

    def end(self, part: str) -> None:
        with self._lock:
            over = self._failing == {part}
            self._failing.discard(part)
            lasted = time.monotonic() - self._since
        if over:
            log.info("database available again", part=part, after_s=round(lasted, 1))


class Retry:
    """The consecutive failures of one loop."""

    def __init__(
        self,
        part: str,
        outage: Outage | None = None,
        *,
        first_s: float = FIRST_S,
        longest_s: float = LONGEST_S,
        failing: str = "failing, retrying",
        recovered: str = "recovered",
    ) -> None:
        """`failing` and `recovered`: the log lines for failures of this loop alone that are not a database outage."""
        self._part = part
        self._outage = outage
        self._first_s = first_s
        self._longest_s = longest_s
        self._failing = failing
        self._recovered = recovered
        self._log = get_logger(part)
        self._since = 0.0
        self._shared = False
        self._logged: str | None = None
        self.failures = 0

    def failed(self, error: BaseException) -> float:
        """Count a failure. Returns the delay in seconds before the next retry."""
        if self.failures == 0:
            self._since = time.monotonic()
        self.failures += 1
        if self._outage is not None and isinstance(error, DatabaseUnreachable):
            self._shared = True
            self._outage.begin(self._part, error)
        elif self._logged != (kind := f"{type(error).__name__} {getattr(error, 'sqlstate', '')}"):
            self._logged = kind
            self._log.warning(self._failing, error=str(error) or type(error).__name__)
        pause = min(self._longest_s, self._first_s * 2.0 ** min(self.failures - 1, 30))
        return pause * random.uniform(0.5, 1.0)

    def succeeded(self) -> None:
        if self.failures:
            if self._logged is not None:
                self._log.info(self._recovered, after_s=round(time.monotonic() - self._since, 1))
            self.end()

    def end(self) -> None:
        """Reset the failures, after a success or when the loop ends."""
        if self._shared and self._outage is not None:
            self._outage.end(self._part)
        self.failures, self._shared, self._logged = 0, False, None


async def until_done(
    work: Callable[[], Awaitable[None]], retry: Retry, stop: Stop, *, passes: Callable[[Exception], bool]
) -> bool:
    """Do the work, and retry after a temporary error. Returns False if a stop was requested before the work was done."""
    try:
        while not stop.requested:
            try:
                await work()
            except Exception as error:
                if not passes(error):
                    raise
                await stop.wait_for(retry.failed(error))
            else:
                retry.succeeded()
                return True
        return False
    finally:
        retry.end()
