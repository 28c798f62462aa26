"""Advance the clock for schedules, and list their firings."""

from datetime import datetime
from uuid import UUID

from ..harness import Harness


async def pass_time(harness: Harness, minutes: int) -> None:
    """Advance the clock minute by minute and fire due schedules each time."""
    for _ in range(minutes):
        await harness.advance(minutes=1)
        await harness.fire()


async def instants(harness: Harness, trigger: UUID) -> list[datetime | None]:
    return [row.instant for row in await harness.fires(trigger)]
