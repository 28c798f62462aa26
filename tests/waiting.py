"""Bounded waits for other processes and tasks."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

PATIENCE_S: Final = 120.0
"""For an answer over HTTP, where httpx would give up after 5 s: for a broken program, not a figure to reach."""


async def eventually(condition: Callable[[], Awaitable[bool]], *, within: float = PATIENCE_S, what: str = "it") -> None:
    """Until the condition holds. The bound is for a broken program, not a figure to reach."""
    deadline = time.monotonic() + within
    while not await condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {within} s"
        await asyncio.sleep(0.01)
