"""A replay must request the recorded steps in the same order. Otherwise the job fails and reports the difference
(T62, T63).
"""

import asyncio
from typing import Any

from plait import (
    Plait,
    Status,
    call,
    sleep,
    version,
)
from plait.testing import Kit

from .run_to_end import run_to_end


async def _changed(app: Plait, kit: Kit, before: Any, after: Any) -> str:
    """The outcome of a job whose code changed from `before` to `after` while it slept."""
    code = [before]

    @app.job(retries=5)
    async def parent() -> Any:
        return await code[0]()

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    code[0] = after
    await kit.advance(hours=2)
    await kit.run_until_idle()
    row = await handle.info()
    return f"{row.status} {row.reason}: {row.error}"


async def one(n: int = 1) -> int:
    return n


async def two(n: int = 2) -> int:
    return n


async def test_another_step_in_its_place_is_an_error_that_names_both(app: Plait, kit: Kit) -> None:
    """T63: the error names the recorded step, the requested step and the remedy."""

    async def before() -> None:
        await call(one)
        await sleep("1h")

    async def after() -> None:
        await call(two)
        await sleep("1h")

    told = await _changed(app, kit, before, after)
    assert told.startswith("failed not_deterministic")
    assert "step 1 of this job was recorded as call 'one' #1, but the code now has call 'two' #1" in told
    assert "version(…)" in told


async def test_other_arguments_are_an_error(app: Plait, kit: Kit) -> None:
    async def before() -> None:
        await call(one, 1)
        await sleep("1h")

    async def after() -> None:
        await call(one, 2)
        await sleep("1h")

    told = await _changed(app, kit, before, after)
    assert "step 1 of this job, call 'one' #1, was recorded with other arguments" in told


async def test_another_kind_of_step_is_an_error(app: Plait, kit: Kit) -> None:
    async def before() -> None:
        await call(one, name="x")
        await sleep("1h")

    async def after() -> None:
        await sleep("1h", name="x")

    told = await _changed(app, kit, before, after)
    assert "was recorded as call 'x' #1, but the code now has sleep 'x' #1" in told


async def test_a_new_step_before_old_ones_is_an_error(app: Plait, kit: Kit) -> None:
    async def before() -> None:
        await sleep("1h")

    async def after() -> None:
        await call(two)
        await sleep("1h")

    told = await _changed(app, kit, before, after)
    assert "step 1 of this job was recorded as sleep 'sleep' #1, but the code now has call 'two' #1" in told


async def test_a_new_step_behind_a_version_is_none(app: Plait, kit: Kit) -> None:
    """A job that had already passed this point takes the old path. A new job takes the new path, also on a replay."""

    async def before() -> list[Any]:
        await sleep("1h")
        return ["old"]

    async def after() -> list[Any]:
        got: list[Any] = []
        if await version("with-two", 1) >= 1:
            got.append(await call(two))
        await sleep("1h")
        return [*got, await version("with-two", 1)]

    assert (await _changed(app, kit, before, after)).startswith("succeeded")

    @app.job(name="new")
    async def new() -> list[Any]:
        return await after()

    handle = await new.enqueue()
    await run_to_end(kit, handle)
    assert await handle.result(120) == [2, 1]


async def test_a_version_that_the_code_no_longer_has_is_an_error(app: Plait, kit: Kit) -> None:
    async def before() -> None:
        await version("v", 1)
        await sleep("1h")

    async def after() -> None:
        await version("v", 3, earliest=2)

    assert "uses version 1 of 'v', but the code supports the versions 2 to 3" in await _changed(app, kit, before, after)


async def test_steps_side_by_side_have_no_order(app: Plait, kit: Kit) -> None:
    """Two branches with a wait in one of them. On a replay, they can request the recorded steps in any order."""
    ran: list[str] = []

    async def note(what: str) -> str:
        ran.append(what)
        return what

    @app.job
    async def parent() -> list[str]:
        async def left() -> str:
            await call(note, "a1", name="a1")
            await asyncio.sleep(0.01)
            return await call(note, "a2", name="a2")

        async def right() -> str:
            await call(note, "b1", name="b1")
            return await call(note, "b2", name="b2")

        both = await asyncio.gather(left(), right())
        await sleep("1h")
        return [*both, await call(note, "end")]

    handle = await parent.enqueue()
    await run_to_end(kit, handle)
    assert await handle.result(120) == ["a2", "b2", "end"]
    assert sorted(ran) == ["a1", "a2", "b1", "b2", "end"]


async def test_a_step_within_a_step_is_a_step(app: Plait, kit: Kit) -> None:
    async def inner() -> int:
        return 1

    async def outer() -> int:
        return 1 + await call(inner)

    @app.job
    async def parent() -> int:
        got = await call(outer)
        await sleep("1h")
        return got + await call(inner, name="after")

    handle = await parent.enqueue()
    await run_to_end(kit, handle)
    assert await handle.result(120) == 3
