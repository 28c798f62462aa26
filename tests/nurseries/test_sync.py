"""`def` handlers spawn with the sync functions; handlers in processes can't spawn."""

import asyncio
import contextvars
import threading
from typing import Any

import pytest

from plait import (
    NotDurable,
    Plait,
    Status,
    after_sync,
    has_failed_siblings_sync,
    has_pending_children_sync,
    spawn,
    spawn_many_sync,
    spawn_sibling_sync,
    spawn_sync,
)
from plait.model.errors import LeaseLost
from plait.testing import Kit

from ..harness import Harness


async def test_a_def_handler_spawns_and_spawns_once(app: Plait, kit: Kit, app_harness: Harness) -> None:
    tries, ran, said = 0, [], []

    @app.job
    def child(n: int) -> None:
        ran.append(n)
        if n == 2:
            spawn_sibling_sync(child, 3)
            said.append(has_failed_siblings_sync())

    @app.job(retries=1)
    def parent() -> str:
        nonlocal tries
        tries += 1
        spawn_sync(child, 0, priority=1, delay="1m")
        spawn_many_sync(child, [1, 2])
        after_sync(child, 9)
        if tries == 1:
            said.append(has_pending_children_sync())
            raise ValueError
        return "kept"

    handle = await parent.enqueue()
    for _ in range(2):
        await kit.run_until_idle()
        await kit.advance(minutes=5)
    await kit.run_until_idle()
    assert await handle.result(120) == "kept"
    assert sorted(ran) == [0, 1, 2, 3, 9]
    assert sorted(said) == [False, True]
    assert len(await handle.tree()) == 5


async def test_threads_of_a_handler_spawn_too(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    def child(n: int) -> None: ...

    @app.job
    def parent() -> None:
        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(spawn_sync, child, n)) for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert len(await handle.tree()) == 5


async def test_the_sync_forms_are_refused_on_a_loop_and_the_async_ones_in_a_thread(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job
    async def child() -> None: ...

    @app.job(retries=0)
    async def on_the_loop() -> None:
        with pytest.raises(NotDurable, match="use the async function"):
            spawn_sync(child)

    @app.job(retries=0)
    def in_a_thread() -> None:
        with pytest.raises(NotDurable):
            asyncio.run(_spawn(child))

    for job in (on_the_loop, in_a_thread):
        await job.enqueue()
    with pytest.raises(NotDurable):
        spawn_sync(child)
    await kit.run_until_idle()
    assert await app_harness.counts() == {Status.SUCCEEDED: 2}


async def _spawn(job: Any) -> None:
    await spawn(job)


async def test_a_thread_that_has_lost_its_lease_spawns_nothing(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T34: it gets the error at once, though nothing can stop it."""
    told: list[str] = []

    @app.job
    def child() -> None: ...

    @app.job(retries=0)
    def parent() -> None:
        asyncio.run_coroutine_threadsafe(app_harness.cancel(handle.id), loop).result()
        try:
            spawn_sync(child)
        except LeaseLost:
            told.append("lost")
            raise

    loop = asyncio.get_running_loop()
    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert told == ["lost"]
    assert await handle.status() is Status.CANCELED
    assert len(await handle.tree()) == 1
