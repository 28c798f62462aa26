"""Waiting in tests, for what another process or task will do: bounded, and named for what it waits for."""

import asyncio
import time
from collections.abc import Awaitable, Callable


async def eventually(condition: Callable[[], Awaitable[bool]], *, within: float = 120.0, what: str = "it") -> None:
    """Until the condition holds. The bound is for a broken program, not a figure to reach."""
    deadline = time.monotonic() + within
    while not await condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {within} s"
        await asyncio.sleep(0.01)
