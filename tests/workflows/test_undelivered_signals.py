"""If a signal ends a wait that the handler has canceled, the next wait gets the signal."""

import asyncio
from typing import Any

import pytest

from plait import Plait, call, continue_as_new, first, sleep, wait_for_signal
from plait.store.workflows import Lease, Workflows
from plait.testing import Kit

from ..harness import Harness


async def noted(name: str) -> str:
    return name


async def test_a_signal_whose_wait_was_canceled_is_received_by_the_next_wait(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job
    async def racing() -> list[Any]:
        won = await first(a=wait_for_signal("a"), b=wait_for_signal("b"))
        await call(noted, "between")
        await sleep(10)
        return [won.name, await wait_for_signal("b", timeout=5)]

    handle = await racing.enqueue()
    await kit.run_until_idle()
    await handle.signal("a", 1)
    await handle.signal("b", 2)
    await kit.run_until_idle()
    await kit.advance(seconds=10)
    await kit.run_until_idle()
    assert await handle.result(60) == ["a", 2]


async def test_a_signal_that_comes_with_a_timeout_is_not_lost(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def patient() -> Any:
        try:
            async with asyncio.timeout(5):
                return ["in time", await wait_for_signal("go")]
        except TimeoutError:
            return ["late", await wait_for_signal("go", timeout=5)]

    handle = await patient.enqueue()
    await kit.run_until_idle()
    await kit.clock.advance(seconds=6)
    await handle.signal("go", 7)
    await kit.run_until_idle()
    assert await handle.result(60) == ["late", 7]


async def test_continue_as_new_keeps_a_signal_that_did_not_reach_the_handler(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job
    async def rounds(n: int) -> list[Any]:
        if n:
            return [await wait_for_signal("b", timeout=5)]
        other = asyncio.create_task(wait_for_signal("b"))
        await wait_for_signal("a")
        assert not other.done()
        await continue_as_new(1)
        return []

    handle = await rounds.enqueue(0)
    await kit.run_until_idle()
    await handle.signal("a", 1)
    await handle.signal("b", 2)
    await kit.run_until_idle()
    assert await handle.result(60) == [2]


async def test_continue_as_new_keeps_a_signal_that_comes_while_it_returns_others(
    app: Plait, kit: Kit, app_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a query of another branch nor the restart itself may consume a signal that no handler receives."""
    await_steps, restart = Workflows.await_steps, Workflows.continue_as_new

    async def late_query(self: Workflows, lease: Lease, waits: Any, abandoned: Any, **options: Any) -> Any:
        if abandoned:
            await handle.signal("c", 3)
        return await await_steps(self, lease, waits, abandoned, **options)

    async def late_restart(self: Workflows, lease: Lease, *args: Any) -> Any:
        await handle.signal("c", 3)
        return await restart(self, lease, *args)

    monkeypatch.setattr(Workflows, "await_steps", late_query)
    monkeypatch.setattr(Workflows, "continue_as_new", late_restart)

    @app.job
    async def rounds(n: int) -> list[Any]:
        if n:
            return [await wait_for_signal(name, timeout=5) for name in ("b", "c")]
        others = [asyncio.create_task(wait_for_signal(name)) for name in ("b", "c")]
        await wait_for_signal("a")
        assert not any(other.done() for other in others)
        await continue_as_new(1)
        return []

    handle = await rounds.enqueue(0)
    await kit.run_until_idle()
    await handle.signal("a", 1)
    await handle.signal("b", 2)
    await kit.run_until_idle()
    assert await handle.result(60) == [2, 3]


async def test_a_failed_continue_as_new_does_not_stop_other_waits(
    app: Plait, kit: Kit, app_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> Any:
        raise ValueError("rejected")

    monkeypatch.setattr(Workflows, "continue_as_new", refuse)

    @app.job
    async def rounds(n: int) -> list[Any]:
        other = asyncio.create_task(wait_for_signal("b"))
        with pytest.raises(ValueError, match="rejected"):
            await continue_as_new(1)
        return [await wait_for_signal("a"), await other]

    handle = await rounds.enqueue(0)
    await handle.signal("a", 1)
    await handle.signal("b", 2)
    await kit.run_until_idle()
    assert await handle.result(60) == [1, 2]
