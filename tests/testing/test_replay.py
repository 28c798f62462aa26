"""`kit.replay`: a stored history against a handler, to test changed code of running jobs."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from plait import (
    DeterminismError,
    FanOutError,
    InvalidArguments,
    PermanentError,
    Plait,
    Status,
    call,
    current,
    dependencies,
    fan_out,
    fan_out_stream,
    nursery,
    sleep,
    spawn,
    sub,
    values,
    version,
    wait_for_signal,
)
from plait.testing import Kit, replay

effects: list[str] = []


@pytest.fixture
def plait_app() -> Plait:
    effects.clear()
    return Plait()


async def charge(order: int) -> int:
    effects.append(f"charge {order}")
    return order * 10


async def ship(order: int) -> str:
    effects.append(f"ship {order}")
    return f"shipped {order}"


async def _recorded(plait: Kit, job: Any, *args: Any, hours: int = 1) -> dict[str, Any]:
    """The history of a job that has run, and has slept for some hours."""
    handle = await job.enqueue(*args)
    await plait.run_until_idle()
    for _ in range(hours):
        await plait.advance(hours=1)
        await plait.run_until_idle()
    effects.clear()
    return json.loads(json.dumps(await plait.history(handle)))  # type: ignore[no-any-return]


async def test_a_history_is_replayed_without_a_worker_and_without_effects(plait: Kit) -> None:
    @plait.app.job
    async def order(n: int) -> str:
        assert await call(charge, n) == n * 10
        await sleep("1h")
        current().progress(1, 2)
        return await call(ship, n)

    history = await _recorded(plait, order, 7)
    assert history["status"] == "succeeded"
    assert await plait.replay(history, order) == "shipped 7"
    assert await replay(json.dumps(history), order) == "shipped 7"  # as text, and without the kit
    assert effects == []


async def test_a_history_is_read_from_a_file_and_replayed_on_a_plain_function(plait: Kit, tmp_path: Path) -> None:
    @plait.app.job
    async def order(n: int) -> int:
        return await call(charge, n)

    async def new_code(n: int, express: bool = False) -> int:
        return await call(charge, n) + 1

    path = tmp_path / "order.json"
    path.write_text(json.dumps(await _recorded(plait, order, 1, hours=0)))
    assert await replay(path, new_code) == 11


async def test_another_step_than_is_on_record_fails_the_replay_and_names_both(plait: Kit) -> None:
    @plait.app.job
    async def order(n: int) -> None:
        await call(charge, n)
        await sleep("1h")

    async def other_step(n: int) -> None:
        await call(ship, n)
        await sleep("1h")

    async def other_arguments(n: int) -> None:
        await call(charge, n + 1)
        await sleep("1h")

    async def fewer(n: int) -> None:
        await call(charge, n)

    async def more(n: int) -> None:
        await call(charge, n)
        await sleep("1h")
        await call(ship, n)

    async def guarded(n: int) -> None:
        if await version("ship first") >= 1:
            await call(ship, n)
        await call(charge, n)
        await sleep("1h")

    async def in_a_group(n: int) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(call(charge, n))

    history = await _recorded(plait, order, 1)
    for code, found in (
        (other_step, "step 1 of this job was recorded as call 'charge' #1, but the code now has call 'ship' #1"),
        (other_arguments, "call 'charge' #1, was recorded with other arguments"),
        (fewer, "was recorded as sleep 'sleep' #1, but the code now returns without it"),
        (more, "this job was recorded as succeeded, but the code now has call 'ship' #1 after its last step"),
        (in_a_group, "call 'charge' #1"),
    ):
        with pytest.raises(DeterminismError) as caught:
            await plait.replay(history, code)
        assert found in str(caught.value), code.__name__
    assert await plait.replay(history, guarded) is None
    assert effects == []


async def test_a_history_of_a_job_that_waits_is_replayed_as_far_as_it_goes(plait: Kit) -> None:
    reached: list[str] = []

    @plait.app.job
    async def order(n: int) -> None:
        await call(charge, n)
        await wait_for_signal("paid")

    async def goes_on(n: int) -> None:
        await call(charge, n)
        reached.append("charged")
        await wait_for_signal("paid")
        reached.append("paid")
        await call(ship, n)

    async def another_signal(n: int) -> None:
        await call(charge, n)
        await wait_for_signal("settled")

    history = await _recorded(plait, order, 1, hours=0)
    assert history["status"] == "waiting"
    assert await plait.replay(history, goes_on) is None
    assert reached == ["charged"]
    with pytest.raises(DeterminismError, match=r"recorded as signal 'signal paid' #1, .*has signal 'signal settled'"):
        await plait.replay(history, another_signal)


async def test_whatever_runs_at_once_is_replayed_in_the_recorded_order(plait: Kit) -> None:
    @plait.app.job
    async def square(n: int) -> int:
        return n * n

    @plait.app.job
    async def busy(n: int) -> dict[str, Any]:
        async def raced() -> str:
            try:
                async with asyncio.timeout(60):
                    return str(await wait_for_signal("never"))
            except TimeoutError:
                return "timeout"

        async with asyncio.TaskGroup() as group:
            squares = group.create_task(fan_out([sub(square, i) for i in range(n)]))
            charged = group.create_task(call(charge, n))
            late = group.create_task(raced())
        streamed = [one.value async for one in fan_out_stream(sub(square, i) for i in range(n))]
        async with nursery() as children:
            await children.spawn(square, 5)
        await spawn(square, 6)
        return {
            "squares": values(squares.result()), "charged": charged.result(), "late": late.result(),
            "streamed": sorted(one or 0 for one in streamed), "nursery": values(children.results),
        }  # fmt: skip

    history = await _recorded(plait, busy, 3)
    assert history["status"] == "succeeded"
    expected = {"squares": [0, 1, 4], "charged": 30, "late": "timeout", "streamed": [0, 1, 4], "nursery": [25]}
    assert await plait.replay(history, busy) == expected
    assert await replay(history, busy) == expected
    assert effects == []


async def test_failures_dependencies_and_links_of_a_chain_are_part_of_a_history(plait: Kit) -> None:
    @plait.app.job
    async def first() -> int:
        return 4

    @plait.app.job(retries=0)
    async def bad(n: int) -> int:
        raise PermanentError("no")

    @plait.app.job
    async def last(n: int) -> str:
        try:
            await fan_out([sub(bad, n)])
        except FanOutError as error:
            [before] = await dependencies()
            return f"{n} {before.value} {error.failures[0].error}"
        return "?"

    *_, handle = await plait.app.chain(sub(first), sub(last))
    await plait.run_until_idle()
    history = await plait.history(handle)
    assert await handle.result(timeout=120) == await replay(history, last) == "4 4 no"
    failed = await bad.enqueue(1)
    await plait.run_until_idle()
    assert await plait.replay(await plait.history(failed), bad) is None  # it fails, as recorded


async def test_what_a_replay_can_not_do_is_refused(plait: Kit) -> None:
    @plait.app.job
    async def order(n: int) -> int:
        await call(charge, n)
        return n

    history = await _recorded(plait, order, 1, hours=0)
    with pytest.raises(InvalidArguments, match="must be a job or an `async def` function"):
        await plait.replay(history, lambda n: n)
    with pytest.raises(InvalidArguments, match="history must be a document from `plait jobs history`"):
        await plait.replay({"steps": []}, order)
    with pytest.raises(InvalidArguments, match="format must be 1, got 2"):
        await plait.replay({**history, "format": 2}, order)

    @plait.app.job
    async def other(n: int) -> int:
        return n

    with pytest.raises(InvalidArguments, match="handler must be the job of the history, 'order', got the job 'other'"):
        await plait.replay(history, other)

    async def broken(n: int) -> None:
        await call(charge, n)
        raise ValueError("a bug of the new code")

    with pytest.raises(ValueError, match="a bug of the new code"):
        await plait.replay(history, broken)

    async def hangs(n: int) -> None:
        await call(charge, n)
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError, match="the replay did not end"):
        await replay(history, hangs, timeout=0.2)


async def test_jobs_of_queues_and_definitions_that_are_left_out_do_not_run(plait: Kit) -> None:
    ran: list[str] = []

    @plait.app.job(queue="mail")
    async def mail() -> None:
        ran.append("mail")

    @plait.app.job
    async def other() -> None:
        ran.append("other")
        await mail.enqueue()

    handles = [await mail.enqueue(), await other.enqueue()]
    await plait.run_until_idle(except_queues=["default", "mail"])
    assert ran == []
    await plait.run_until_idle(except_queues=["mail"])
    assert ran == ["other"]
    await plait.run_until_idle(except_jobs=[mail])
    assert [await handle.status() for handle in handles] == [Status.QUEUED, Status.SUCCEEDED]
    await plait.run_until_idle()
    assert ran == ["other", "mail", "mail"]
    with pytest.raises(InvalidArguments, match="except_queues must be a list, got 'mail'"):
        await plait.run_until_idle(except_queues="mail")


@pytest.mark.parametrize("queue", ["default", "elsewhere", "serial"])
async def test_sub_jobs_are_ended_by_hand_whichever_queue_their_definition_names(plait: Kit, queue: str) -> None:
    await (await plait.app.store()).queues.set_queue("serial", {"serial": True})

    @plait.app.job(queue=queue, max_running=1)
    async def resize(n: int) -> int:
        raise AssertionError("it is ended by hand")

    @plait.app.job(queue="serial" if queue == "serial" else "default")
    async def album() -> int:
        return sum(values(await fan_out([sub(resize, n) for n in range(3)])))

    handle = await album.enqueue()
    await plait.run_until_idle(except_jobs=["resize"])
    for child in await plait.sub_jobs(handle):
        assert child.queue == queue
        await plait.complete_sub_job(child.id, child.fan_out_index)
    assert await plait.wait_for_fan_out(handle) == "succeeded"
    await plait.run_until_idle(except_jobs=["resize"])
    assert await handle.result(timeout=120) == 3


async def test_a_cancellation_that_the_handler_received_is_part_of_its_history(plait: Kit) -> None:
    @plait.app.job(cancel_grace="1h")
    async def order(n: int) -> None:
        await call(charge, n)
        try:
            await sleep("1d")
        finally:
            await call(ship, n)

    handle = await order.enqueue(1)
    await plait.run_until_idle()
    await handle.cancel()
    await plait.run_until_idle()
    history = await plait.history(handle)
    assert history["status"] == "canceled"
    effects.clear()
    assert await plait.replay(history, order) is None
    assert effects == []
