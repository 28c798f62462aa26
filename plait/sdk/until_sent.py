"""Statements of a durable job that are sent until they went through."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from plait.model.errors import DatabaseUnreachable
from plait.sdk.batches import OUTAGE_S
from plait.store.database import is_held, is_transient

T = TypeVar("T")

PAUSES_S: Final = (0.05, 0.25, 1.0)
"""Before each repetition of a statement whose reply was lost."""


async def until_sent(send: Callable[[], Awaitable[T]]) -> T:
    """Send it, and again when it is not known whether it went through: all of it may be sent twice.

    A row of the job's that a user's transaction holds is waited for as long as the job may run; no connection is held meanwhile.
    A database that is unavailable is no fault of the handler's: it waits for `OUTAGE_S`, or until the lease is lost.
    """
    pauses, began = iter(PAUSES_S), time.monotonic()
    while True:
        try:
            return await send()
        except Exception as error:
            waits = isinstance(error, DatabaseUnreachable) and time.monotonic() - began <= OUTAGE_S
            passing = next(pauses, PAUSES_S[-1] if waits else None) if is_transient(error) else None
            pause = PAUSES_S[-1] if is_held(error) else passing
            if pause is None:
                raise
        await asyncio.sleep(pause)
