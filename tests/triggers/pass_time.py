"""Time that passes for schedules, and what they did meanwhile."""

from datetime import datetime
from uuid import UUID

from ..harness import World


async def pass_time(world: World, minutes: int) -> None:
    """Minute after minute, with a leader that looks."""
    for _ in range(minutes):
        await world.advance(minutes=1)
        await world.fire()


async def instants(world: World, trigger: UUID) -> list[datetime | None]:
    return [row.instant for row in await world.fires(trigger)]
