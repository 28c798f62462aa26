"""Distinguish waits for other asyncio tasks of the handler from waits that may end at any time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from plait.sdk.blocked import is_blocked_by

Wait = Callable[[Callable[[], Awaitable[None]]], Awaitable[Any]]


async def _gather(never: Callable[[], Any]) -> None:
    await asyncio.gather(never(), asyncio.gather(never(), never()))


async def _wait(never: Callable[[], Any]) -> None:
    await asyncio.wait({asyncio.create_task(never()), asyncio.create_task(never())})


async def _group(never: Callable[[], Any]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(never())


async def _as_completed(never: Callable[[], Any]) -> None:
    for one in asyncio.as_completed([never(), never()]):
        await one


async def _shield(never: Callable[[], Any]) -> None:
    await asyncio.gather(asyncio.shield(never()), never())


async def _wait_for(never: Callable[[], Any]) -> None:
    await asyncio.wait_for(asyncio.gather(never(), never()), 100)


async def _timeout(never: Callable[[], Any]) -> None:
    async with asyncio.timeout(100):
        await asyncio.create_task(never())


async def _queue(_: Callable[[], Any]) -> None:
    await asyncio.Queue[int]().get()


async def _event(_: Callable[[], Any]) -> None:
    await asyncio.Event().wait()


async def _sleep(_: Callable[[], Any]) -> None:
    await asyncio.sleep(100)


async def _thread(_: Callable[[], Any]) -> None:
    await asyncio.wait({asyncio.get_running_loop().create_future()})


@pytest.mark.parametrize(
    ("wait", "blocked"),
    [
        *((wait, True) for wait in (_gather, _wait, _group, _as_completed, _shield, _wait_for, _timeout)),
        *((wait, False) for wait in (_queue, _event, _sleep, _thread)),
    ],
)
async def test_a_task_is_blocked_by_other_tasks_of_its_handler_only(wait: Wait, blocked: bool) -> None:
    mine: set[asyncio.Task[Any]] = set()

    def create(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> "asyncio.Task[Any]":
        task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **options)
        mine.add(task)
        return task

    async def never() -> None:
        await asyncio.get_running_loop().create_future()

    loop = asyncio.get_running_loop()
    loop.set_task_factory(create)
    try:
        task: asyncio.Task[Any] = loop.create_task(wait(never))  # type: ignore[arg-type]
        for _ in range(10):
            await asyncio.sleep(0)
        assert is_blocked_by(task, mine.__contains__) is blocked
    finally:
        loop.set_task_factory(None)
        for one in mine:
            one.cancel()
        await asyncio.gather(*mine, return_exceptions=True)
