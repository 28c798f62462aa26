"""Bounded waits for other processes and tasks."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

PATIENCE_S: Final = 120.0
"""The timeout of waits, and of HTTP requests, for which httpx's default is 5 s. It detects a broken program; it is not a performance target."""


async def eventually(condition: Callable[[], Awaitable[bool]], *, within: float = PATIENCE_S, what: str = "it") -> None:
    """Wait until the condition holds. The timeout detects a broken program; it is not a performance target."""
    deadline = time.monotonic() + within
    while not await condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {within} s"
        await asyncio.sleep(0.01)
