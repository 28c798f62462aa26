"""`first`: the first wait that ends wins, and the others are canceled. Also tests abandoned sub-jobs."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from plait import InvalidArguments, Plait, call, fan_out, fan_out_stream, first, quorum, sleep, sub, wait_for_signal
from plait.runtime.service import Stop
from plait.store.workflows import Workflows
from plait.testing import Kit
from plait.worker.worker import Worker

ran: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    ran.clear()


async def step(name: str) -> str:
    ran[name] += 1
    return name


async def run_default(app: Plait) -> None:
    """Run only the queue `default`."""
    await Worker(app, queues={"default": 10}, once=True).run(Stop())


async def test_a_signal_beats_a_timer_and_a_timer_a_signal(app: Plait, kit: Kit) -> None:
    @app.job
    async def approval() -> list[object]:
        winner = await first(answer=wait_for_signal("answer"), late=sleep("1d"))
        return [winner.name, winner.index, winner.value]

    answered, ignored = await approval.enqueue(), await approval.enqueue()
    await kit.run_until_idle()
    await answered.signal("answer", "yes")
    await kit.run_until_idle()
    assert await answered.result(60) == ["answer", 0, "yes"]
    await kit.advance(days=1)
    await kit.run_until_idle()
    assert await ignored.result(60) == ["late", 1, None]


async def test_the_winner_stays_the_winner_in_a_replay(app: Plait, kit: Kit) -> None:
    @app.job
    async def race() -> list[object]:
        winner = await first(wait_for_signal("a"), wait_for_signal("b"))
        await call(step, f"won {winner.value}")
        await sleep(60)
        return [winner.index, winner.name, winner.value]

    handle = await race.enqueue()
    await kit.run_until_idle()
    await handle.signal("b", "b")
    await kit.run_until_idle()
    await handle.signal("a", "a")
    await kit.advance(minutes=2)
    await kit.run_until_idle()
    assert await handle.result(60) == [1, None, "b"]
    assert ran == {"won b": 1}


async def test_sub_jobs_of_a_loser_are_canceled(app: Plait, kit: Kit) -> None:
    @app.job(queue="elsewhere")
    async def slow() -> None: ...

    @app.job
    async def race(*, keep: bool) -> str | None:
        fan = fan_out([sub(slow), sub(slow)], cancel_remaining=False if keep else None)
        return (await first(fan=fan, stop=wait_for_signal("stop"))).name

    canceled, kept = await race.enqueue(keep=False), await race.enqueue(keep=True)
    await run_default(app)
    for handle in (canceled, kept):
        await handle.signal("stop")
    await run_default(app)
    assert await canceled.result(60) == await kept.result(60) == "stop"
    await (await app.store()).leader.resume()
    assert [node.status for node in await kit.sub_jobs(canceled)] == ["canceled"] * 2
    assert [node.status for node in await kit.sub_jobs(kept)] == ["queued"] * 2


async def test_an_error_that_comes_first_is_raised(app: Plait, kit: Kit) -> None:
    async def fails() -> None:
        raise LookupError("nothing there")

    @app.job(retries=0)
    async def race() -> str:
        try:
            await first(sleep("1d"), call(fails))
        except LookupError as error:
            return str(error)
        return "?"

    handle = await race.enqueue()
    await kit.run_until_idle()
    assert await handle.result(60) == "nothing there"


async def test_a_loser_may_clean_up(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def race() -> str | None:
        async def guarded() -> None:
            try:
                await wait_for_signal("go")
            finally:
                await call(step, "release")

        return (await first(guarded=guarded(), time=sleep(60))).name

    handle = await race.enqueue()
    await kit.run_until_idle()
    assert not ran
    await kit.advance(minutes=1)
    await kit.run_until_idle()
    assert await handle.result(60) == "time"
    assert ran == {"release": 1}


async def test_first_works_without_a_job() -> None:
    winner = await first(asyncio.sleep(3600), asyncio.sleep(0, "now"))
    assert (winner.index, winner.value) == (1, "now")
    with pytest.raises(InvalidArguments, match="at least one"):
        await first()


@pytest.mark.parametrize(("cancel_remaining", "status"), [(None, "queued"), (True, "canceled"), (False, "queued")])
async def test_a_fan_out_that_succeeds_early_cancels_the_rest_where_it_is_told_to(
    app: Plait, kit: Kit, cancel_remaining: bool | None, status: str
) -> None:
    @app.job
    async def quick() -> int:
        return 1

    @app.job(queue="elsewhere")
    async def slow() -> int:
        return 2

    @app.job
    async def parent() -> int:
        results = await fan_out([sub(quick), sub(slow)], quorum(1), cancel_remaining=cancel_remaining)
        return len(results)

    handle = await parent.enqueue()
    await run_default(app)
    assert await handle.result(60) == 1
    assert [node.status for node in await kit.sub_jobs(handle)] == ["succeeded", status]


async def test_leaving_a_stream_leaves_its_sub_jobs_running(app: Plait, kit: Kit) -> None:
    @app.job
    async def child(n: int) -> int:
        ran[f"{n}"] += 1
        return n

    @app.job
    async def parent() -> int:
        async for result in fan_out_stream([sub(child, n) for n in range(4)]):
            return result.value or 0
        return -1

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(60) in range(4)
    assert {node.status for node in await kit.sub_jobs(handle)} == {"succeeded"}
    assert sum(ran.values()) == 4


async def test_a_fan_out_that_loses_while_it_is_being_opened_leaves_no_sub_jobs(
    app: Plait, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Workflows.open_fan_out

    async def open_fan_out(*args: Any, **options: Any) -> Any:
        await real(*args, **options)
        await asyncio.Event().wait()  # the reply is late

    monkeypatch.setattr(Workflows, "open_fan_out", open_fan_out)

    @app.job(queue="elsewhere")
    async def child() -> None: ...

    @app.job
    async def race() -> int:
        return (await first(fan_out([sub(child)]), wait_for_signal("go"))).index

    handle = await race.enqueue()
    await handle.signal("go")
    await run_default(app)
    assert await handle.result(60) == 1
    await (await app.store()).leader.resume()
    assert [node.status for node in await kit.sub_jobs(handle)] == ["canceled"]
