"""Run a job with the test kit until it is final."""

from typing import Any

from plait import Handle
from plait.testing import Kit


async def run_to_end(kit: Kit, handle: Handle[Any], *, sleeps: int = 1) -> None:
    """Run a job to its end, through its sleeps and backoffs."""
    for _ in range(sleeps + 1):
        await kit.run_until_idle()
        await kit.advance(hours=2)
    await kit.run_until_idle()
