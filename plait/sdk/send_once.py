"""What a handler sends to others by calls that work anywhere: `job.enqueue`, `emit`, `handle.signal`. In a durable handler they are steps.

A handler is not known to be durable before it calls its first step. What it has sent until then is recorded together with that step. A handler that never calls one
pays nothing, and may send again with its next try.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID

import msgspec

from plait.sdk.branches import in_step
from plait.sdk.context import running_attempt


async def send_once(name: str, send: Callable[[], Awaitable[list[UUID]]]) -> list[UUID]:
    """The ids of what was sent, by this run or by an earlier one."""
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
