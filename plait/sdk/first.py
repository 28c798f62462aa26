"""`first`: wait until one of several waits ends, and cancel the others."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from plait.model.errors import InvalidArguments
from plait.sdk.context import running_attempt
from plait.sdk.until_sent import until_sent


@dataclass(frozen=True, slots=True)
class First:
    """The wait that ended first, and its result."""

    index: int
    """Its position among the given waits, from 0."""
    name: str | None
    """The name of its keyword argument."""
    value: Any


async def first(*waits: Awaitable[Any], **named: Awaitable[Any]) -> First:
    """Wait until the first of several awaitables ends: signals, sleeps, fan-outs, jobs or others. If it raises an error, this call raises it too.

    The others are canceled: a branch receives CancelledError, and the sub-jobs of a fan-out are canceled too (unless it was opened with
    `cancel_remaining=False`). Returns after they have ended. A replay has the same winner.
    """
    given = [*waits, *named.values()]
    if not given:
        raise InvalidArguments("first requires at least one awaitable")
    tasks = [asyncio.ensure_future(one) for one in given]
    running = running_attempt()
    owner = running.durable() if running is not None and running.branches() is not None else None
    paths = owner.branches.paths(tasks) if owner is not None else []
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = [index for index, task in enumerate(tasks) if task.done()]
        losers = [task for index, task in enumerate(tasks) if index not in ended[:1]]
        for task in losers:
            task.cancel()
        if losers:
            await asyncio.wait(losers)
        for task in losers:
            if not task.cancelled():
                task.exception()  # it lost the race: its error is dropped
    if owner is not None and (left := owner.delivery.left_by(paths)):
        with owner.reading():
            await until_sent(lambda: owner.store.workflows.abandon_fan_outs(owner.lease, left))
    index = ended[0]
    names = [None] * len(waits) + list(named)
    return First(index, names[index], tasks[index].result())
