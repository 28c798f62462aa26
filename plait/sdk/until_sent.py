"""Statements of a durable function that are repeated until they succeed."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from plait.model.errors import DatabaseUnreachable
from plait.sdk.batches import OUTAGE_S
from plait.store.database import is_held, is_transient

T = TypeVar("T")

PAUSES_S: Final = (0.05, 0.25, 1.0)
"""Delays before each repetition of a statement whose reply was lost."""


async def until_sent(send: Callable[[], Awaitable[T]]) -> T:
    """Send a statement, and repeat it while it is unknown whether it succeeded. The statement must be safe to send twice.

    If a user's transaction locks a row of the job, this waits for as long as the job may run, without holding a connection. A database outage
    must not fail the handler: the statement is repeated for `OUTAGE_S`, or until the lease is lost.
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
