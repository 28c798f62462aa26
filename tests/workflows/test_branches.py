"""Handlers with concurrent tasks: waits are suspended together, steps run once, and a replay is identical."""

import asyncio
from collections import Counter

import pytest

from plait import NotDurable, Plait, call, fan_out, sleep, sub, wait_for_signal
from plait.testing import Kit

ran: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    ran.clear()


async def step(name: str) -> str:
    ran[name] += 1
    await asyncio.sleep(0)
    return name


async def test_a_finally_block_runs_when_the_work_is_over_not_when_the_wait_begins(app: Plait, kit: Kit) -> None:
    order: list[str] = []

    async def note(what: str) -> None:
        order.append(what)

    @app.job(retries=0)
    async def saga() -> str:
        await call(note, "acquire")
        try:
            await sleep(60)
            await call(note, "work")
        except BaseException:
            await call(note, "undo")
            raise
        finally:
            await call(note, "release")
        return "ok"

    handle = await saga.enqueue()
    await kit.run_until_idle()
    assert order == ["acquire"]
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    assert await handle.result(60) == "ok"
    assert order == ["acquire", "work", "release"]


async def test_a_step_beside_a_wait_runs_once(app: Plait, kit: Kit) -> None:
    @app.job
    async def leaf() -> int:
        return 1

    @app.job(retries=0)
    async def order() -> list[object]:
        return list(
            await asyncio.gather(
                call(step, "charge"),
                sleep(30),
                fan_out([sub(leaf)]),
                wait_for_signal("go"),
                *(call(step, f"s{n}") for n in range(8)),
            )
        )

    handle = await order.enqueue()
    await kit.run_until_idle()
    await kit.advance(minutes=1)
    await kit.run_until_idle()
    await handle.signal("go", 5)
    await kit.run_until_idle()
    result = await handle.result(60)
    assert (result[0], result[3], result[4:]) == ("charge", 5, [f"s{n}" for n in range(8)])
    assert set(ran.values()) == {1}


@pytest.mark.parametrize("lanes", [3, 8])
async def test_lanes_of_fan_outs_and_sleeps_go_on_each_at_its_own_pace(app: Plait, kit: Kit, lanes: int) -> None:
    @app.job
    async def leaf(n: int) -> int:
        return n

    @app.job(retries=0)
    async def parent() -> list[int]:
        async def lane(j: int) -> int:
            total = 0
            for i in range(lanes):
                [result] = await fan_out([sub(leaf, j * 100 + i)], name=f"lane {j} stage {i}")
                total += result.value or 0
                if i % 3 == j % 3:
                    await sleep(5)
            return total

        return list(await asyncio.gather(*(lane(j) for j in range(lanes))))

    handle = await parent.enqueue()
    for _ in range(lanes):
        await kit.run_until_idle()
        await kit.advance(seconds=6)
    await kit.run_until_idle()
    assert await handle.result(60) == [sum(j * 100 + i for i in range(lanes)) for j in range(lanes)]


async def test_waits_wait_at_the_same_time(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def parent() -> str:
        await asyncio.gather(sleep(60), sleep(60), sleep(60))
        return "ok"

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(seconds=61)
    await kit.run_until_idle()
    assert await handle.result(60) == "ok"


@pytest.mark.parametrize(("signal_at", "winner"), [(1, "approved"), (None, "timed out")])
async def test_a_race_has_a_winner_and_the_same_one_again(
    app: Plait, kit: Kit, signal_at: int | None, winner: str
) -> None:
    @app.job(retries=0)
    async def race() -> list[str]:
        signal, timer = asyncio.create_task(wait_for_signal("approved")), asyncio.create_task(sleep(10))
        done, left = await asyncio.wait({signal, timer}, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        first = "approved" if signal in done else "timed out"
        await call(step, first)
        await sleep(60)  # the replay reads the recorded value
        return [first, await call(step, first)]

    handle = await race.enqueue()
    await kit.run_until_idle()
    if signal_at is not None:
        await kit.advance(seconds=signal_at)
        await handle.signal("approved")
        await kit.run_until_idle()
    await kit.advance(seconds=11)
    await kit.run_until_idle()
    await kit.advance(seconds=120)
    await kit.run_until_idle()
    assert await handle.result(60) == [winner, winner]
    assert ran == {winner: 2}


async def test_a_signal_of_a_lost_race_is_there_for_the_next_wait(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def race() -> object:
        signal = asyncio.create_task(wait_for_signal("go"))
        timer = asyncio.create_task(sleep(10))
        await asyncio.wait({signal, timer}, return_when=asyncio.FIRST_COMPLETED)
        signal.cancel()
        await sleep(100)
        return await wait_for_signal("go")

    handle = await race.enqueue()
    await kit.run_until_idle()
    await kit.advance(seconds=11)
    await kit.run_until_idle()
    await handle.signal("go", 7)
    await kit.run_until_idle()
    await kit.advance(seconds=101)
    await kit.run_until_idle()
    assert await handle.result(60) == 7


async def test_a_wait_inside_a_step_is_refused_at_once(app: Plait, kit: Kit) -> None:
    async def pay_and_wait() -> None:
        ran["paid"] += 1
        await sleep(1)

    @app.job(retries=0)
    async def order() -> None:
        await call(pay_and_wait)

    handle = await order.enqueue()
    await kit.run_until_idle()
    with pytest.raises(Exception, match="inside the step 'pay_and_wait'"):
        await handle.result(60)
    assert ran == {"paid": 1}


async def test_a_task_group_waits_and_its_steps_run_once(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def parent() -> list[str]:
        async def tool(name: str, wait: float) -> str:
            await call(step, f"begin {name}")
            await sleep(wait)
            return await call(step, f"end {name}")

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(tool(name, wait)) for name, wait in (("a", 10), ("b", 5), ("c", 10))]
        return [task.result() for task in tasks]

    handle = await parent.enqueue()
    for _ in range(3):
        await kit.run_until_idle()
        await kit.advance(seconds=6)
    await kit.run_until_idle()
    assert await handle.result(60) == ["end a", "end b", "end c"]
    assert set(ran.values()) == {1}


async def test_as_completed_and_shield_see_the_same_order_again(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def parent() -> list[list[str]]:
        async def one(name: str, wait: float) -> str:
            await sleep(wait)
            return await call(step, name)

        order: list[str] = []
        for done in asyncio.as_completed([one("late", 20), asyncio.shield(one("early", 5)), one("middle", 10)]):
            order.append(await done)
        return [order, [await call(step, name) for name in order]]

    handle = await parent.enqueue()
    for _ in range(5):
        await kit.run_until_idle()
        await kit.advance(seconds=6)
    await kit.run_until_idle()
    assert await handle.result(60) == [["early", "middle", "late"]] * 2


async def test_other_code_is_told_by_both_sides_also_in_a_group(app: Plait, kit: Kit) -> None:
    names = iter(["old", "new"])

    @app.job(retries=0)
    async def parent() -> None:
        name = next(names)

        async def lane() -> None:
            await call(step, name, name=name)
            await sleep(10)

        async with asyncio.TaskGroup() as group:
            group.create_task(lane())

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(seconds=11)
    await kit.run_until_idle()
    with pytest.raises(Exception, match=r"recorded as call 'old' #1 in branch 1, .*call 'new' #1 in branch 1"):
        await handle.result(60)


async def test_tasks_that_a_handler_leaves_behind_are_stopped_and_can_do_nothing(app: Plait, kit: Kit) -> None:
    refused: list[type[BaseException]] = []

    @app.job(retries=0)
    async def parent() -> str:
        async def stays() -> None:
            try:
                await sleep(1000)
            finally:
                try:
                    await call(step, "too late")
                except BaseException as error:
                    refused.append(type(error))
                    raise

        asyncio.create_task(stays())  # noqa: RUF006 - left behind is the point
        return await call(step, "done")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(60) == "done"
    assert refused == [NotDurable]
    assert ran == {"done": 1}


async def test_a_timeout_around_a_wait_takes_effect_and_again_on_a_replay(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def parent() -> list[str]:
        said: list[str] = []
        try:
            async with asyncio.timeout(60):
                await wait_for_signal("go")
        except TimeoutError:
            said.append(await call(step, "timed out"))
        await sleep(10)
        try:
            await asyncio.wait_for(wait_for_signal("go"), 30)
        except TimeoutError:
            said.append(await call(step, "again"))
        done, _ = await asyncio.wait([asyncio.create_task(sleep(100))], timeout=20)
        said.append(await call(step, f"done: {len(done)}"))
        await sleep(10)
        return said

    handle = await parent.enqueue()
    for _ in range(8):
        await kit.run_until_idle()
        await kit.advance(seconds=31)
    await kit.run_until_idle()
    assert await handle.result(60) == ["timed out", "again", "done: 0"]
    assert set(ran.values()) == {1}


async def test_a_timeout_that_does_not_come_leaves_nothing_behind(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def parent() -> object:
        async with asyncio.timeout(600):
            told = await wait_for_signal("go")
        await sleep(1000)
        return told

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await handle.signal("go", 1)
    await kit.run_until_idle()
    await kit.advance(seconds=1001)
    await kit.run_until_idle()
    assert await handle.result(60) == 1


async def test_an_error_that_the_handler_catches_is_the_same_on_a_replay(app: Plait, kit: Kit) -> None:
    async def breaks() -> None:
        ran["breaks"] += 1
        raise LookupError("gone", ran["breaks"])

    @app.job(retries=0)
    async def parent() -> list[object]:
        said: tuple[object, ...] = ()
        try:
            await call(breaks)
        except LookupError as error:
            said = error.args
        await sleep(10)
        return [await call(step, "went on"), *said]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(seconds=11)
    await kit.run_until_idle()
    assert await handle.result(60) == ["went on", "gone", 1]
    assert ran == {"breaks": 1, "went on": 1}


async def test_an_error_that_ends_the_attempt_is_tried_again_also_when_it_was_caught_on_the_way(
    app: Plait, kit: Kit
) -> None:
    async def breaks_once() -> str:
        ran["breaks"] += 1
        if ran["breaks"] == 1:
            raise LookupError("gone")
        return "fine"

    @app.job(retries=2)
    async def parent() -> str:
        await call(step, "before")
        try:
            said = await call(breaks_once)
        except LookupError:
            await call(step, "compensated")
            raise
        return said + await call(step, "after")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await handle.result(60) == "fineafter"
    assert ran == {"before": 1, "breaks": 2, "compensated": 1, "after": 1}


async def test_a_timeout_is_replayed_after_all_that_followed_from_the_end_before_it(app: Plait, kit: Kit) -> None:
    """The tasks of a race have ended, but the handler has not continued yet. The timeout must not come first."""

    @app.job(retries=0)
    async def handler() -> str:
        try:
            async with asyncio.timeout(20):
                tasks = [asyncio.create_task(wait_for_signal(name)) for name in ("a", "b")]
                _, losers = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in losers:
                    task.cancel()
                await asyncio.gather(*losers, return_exceptions=True)
                await wait_for_signal("b")
        except TimeoutError:
            await sleep(10)
            return await call(str, "late", name="late")
        return "in time"

    handle = await handler.enqueue()
    await kit.run_until_idle()
    await handle.signal("a", 1)
    for _ in range(4):
        await kit.run_until_idle()
        await kit.advance(seconds=11)
    await kit.run_until_idle()
    assert await handle.result(60) == "late"
