"""Calls that work in any code and are steps in a durable function: `job.enqueue`, `emit`, `handle.signal`.

plait knows that a handler is durable only when it calls its first step. Calls before that step are recorded together with it. In a handler without
steps, these calls have no extra cost, but the next attempt may repeat them.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID

import msgspec

from plait.sdk.branches import in_step
from plait.sdk.context import running_attempt


async def send_once(name: str, send: Callable[[], Awaitable[list[UUID]]]) -> list[UUID]:
    """Send once, and return the ids of the sent items, which an earlier run may have sent."""
    running = running_attempt()
    if running is None or in_step.get() is not None or running.branches() is None:
        return await send()
    owner = running.durable()
    if not await owner.is_durable():
        return list(await owner.send_early(name, send))
    with await owner.begin(name, "call") as step:
        if step.row is not None:
            return msgspec.json.decode(step.row.value or "[]", type=list[UUID])
        sent = await send()
        await owner.save(step, msgspec.json.encode(sent).decode())
        return sent
