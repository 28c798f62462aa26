"""Progress, info and state: visible while a job waits, readable by the next attempt, and observable by other
processes.
"""

import asyncio
import json
from typing import Any

import pytest

from plait import (
    JobFailed,
    NotFound,
    PermanentError,
    Plait,
    StateNotReached,
    Status,
    call,
    current,
    fan_out,
    sleep,
    sub,
    wait_for_signal,
)
from plait.model.ids import new_id
from plait.runtime.service import Stop
from plait.store.workers import Workers
from plait.testing import Kit, TestDatabase
from plait.worker.worker import Worker

from ..harness import Harness
from ..waiting import eventually


async def test_progress_and_info_said_before_a_wait_are_visible_during_it(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(retries=0)
    async def works() -> None:
        current().progress(1, 3, "asks somebody")
        current().info(asked=1)
        await wait_for_signal("go")
        current().progress(2, 3, "asks again")
        await sleep("1h")

    handle = await works.enqueue()
    await kit.run_until_idle()
    assert await handle.status() == Status.WAITING
    assert json.loads((await handle.info()).progress or "{}") == {
        "done": 1,
        "total": 3,
        "message": "asks somebody",
        "info": {"asked": 1},
    }
    assert await handle.tree_info() == {"asked": 1}
    await handle.signal("go")
    await kit.run_until_idle()
    assert json.loads((await handle.info()).progress or "{}")["message"] == "asks again"


async def test_a_handler_that_waits_in_memory_goes_on_writing_and_its_progress_stays_visible(
    real_clock_database: TestDatabase,
) -> None:
    app = Plait(real_clock_database.url)
    begun = 0

    @app.job(retries=0)
    async def works() -> int:
        nonlocal begun
        begun += 1
        stream = current().stream("tokens")
        await stream.write(1)
        current().progress(message="said once")
        await wait_for_signal("a")
        await stream.write(2)
        await wait_for_signal("b")
        await stream.write(3)
        return begun

    async with app:
        handle = await works.enqueue()
        stop = Stop()
        working = asyncio.create_task(Worker(app, concurrency=2).run(stop))
        for attempt, signal in ((1, "a"), (2, "b")):

            async def waits(attempt: int = attempt) -> bool:
                info = await handle.info()
                return (info.status, info.attempt) == (Status.WAITING, attempt)

            await eventually(waits, what=f"attempt {attempt} waits")
            assert json.loads((await handle.info()).progress or "{}") == {"message": "said once"}, attempt
            await handle.signal(signal)
        assert await handle.result(120) == 1, "it was not replayed"
        assert [item async for item in handle.stream("tokens")] == [1, 2, 3]
        stop.request()
        await working


async def test_neither_a_wait_nor_an_outcome_overtakes_progress_that_is_being_sent(
    app: Plait, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, sending = Workers.progress, asyncio.Event()

    async def slow(self: Workers, *said: Any) -> bool:
        sending.set()
        await asyncio.sleep(0.3)  # sleep: the handler continues meanwhile
        return await send(self, *said)

    monkeypatch.setattr(Workers, "progress", slow)

    @app.job(retries=0)
    async def works(waits: bool) -> None:
        sending.clear()
        current().progress(1)
        await sending.wait()
        if waits:
            await sleep("1h")

    for waits in (True, False):
        handle = await works.enqueue(waits)
        await kit.run_until_idle()
        assert json.loads((await handle.info()).progress or "{}") == {"done": 1}, waits


async def test_progress_said_before_a_fan_out_is_visible_during_it(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def child() -> None:
        await wait_for_signal("go")

    @app.job(retries=0)
    async def parent() -> None:
        current().progress(message="waits for its child")
        current().state("fanned out")
        await fan_out([sub(child)])

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert json.loads((await handle.info()).progress or "{}") == {"message": "waits for its child"}
    assert await handle.state() == "fanned out"


async def test_the_state_of_a_job_is_read_while_it_waits_and_after_it_has_ended(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def order() -> None:
        current().state({"phase": "asked", "items": [1, 2]})
        await wait_for_signal("go")
        current().state({"phase": "done"})

    handle = await order.enqueue()
    assert await handle.state() is None
    await kit.run_until_idle()
    assert await handle.state() == {"phase": "asked", "items": [1, 2]}
    assert await handle.state(type=dict[str, Any]) == {"phase": "asked", "items": [1, 2]}
    await handle.signal("go")
    await kit.run_until_idle()
    assert await handle.state() == {"phase": "done"}
    with pytest.raises(NotFound):
        await app.handle(new_id()).state()


async def test_a_state_is_waited_for_by_its_value_or_by_a_function(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def order() -> None:
        current().state({"phase": "asked", "n": 1})
        await wait_for_signal("go")
        current().state({"phase": "done", "n": 2})
        await wait_for_signal("end")

    handle = await order.enqueue()
    by_value = asyncio.create_task(handle.state(wait_for={"phase": "asked", "n": 1}, timeout=120))
    by_function = asyncio.create_task(handle.state(wait_for=lambda state: state["n"] > 1, timeout=120))
    await kit.run_until_idle()
    assert (await by_value)["phase"] == "asked"
    assert not by_function.done()
    await handle.signal("go")
    await kit.run_until_idle()
    assert (await by_function)["phase"] == "done"
    assert await handle.state(wait_for=lambda state: state["n"] > 1) == {"phase": "done", "n": 2}
    with pytest.raises(TimeoutError, match=r"did not reach the expected state within 0\.01 s"):
        await handle.state(wait_for="never", timeout=0.01)
    never = asyncio.create_task(handle.state(wait_for="never"))
    await handle.signal("end")
    await kit.run_until_idle()
    with pytest.raises(StateNotReached, match="ended as succeeded; its last state was"):
        await never


async def test_the_next_attempt_reads_what_the_one_before_said_last(app: Plait, kit: Kit) -> None:
    @app.job(retries=1)
    async def resumes() -> Any:
        before = await current().last_progress()
        if before is None:
            current().progress(40, 100)
            current().state("half")
            raise RuntimeError("try again")
        return [before, await current().last_state()]

    handle = await resumes.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await handle.result(120) == [{"done": 40, "total": 100}, "half"]


async def test_a_state_that_is_set_again_to_the_same_is_no_change(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """A replay sets the same state again."""

    @app.job(retries=0)
    async def order() -> None:
        current().state("asked")
        await sleep("1h")
        await sleep("1h")

    await order.enqueue()
    for _ in range(3):
        await kit.run_until_idle()
        await kit.advance(hours=1)
    assert await app_harness.sql("select version from plait.job_states") == 1


async def test_a_state_that_is_too_large_or_has_no_json_form_is_refused(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def says(large: bool) -> None:
        current().state("x" * 65_536 if large else object())

    large, odd = await says.enqueue(True), await says.enqueue(False)
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="must be JSON of at most 65,536 bytes, got 65,538"):
        await large.result(120)
    with pytest.raises(JobFailed, match="the job's state cannot be stored"):
        await odd.result(120)


async def test_a_def_handler_and_a_step_set_the_state_too(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    def plain() -> None:
        current().state([1])

    async def inside() -> None:
        current().state("inside")

    @app.job(retries=0)
    async def durable() -> None:
        await call(inside)
        raise PermanentError("no")

    handles = [await plain.enqueue(), await durable.enqueue()]
    await kit.run_until_idle()
    assert [await handle.state() for handle in handles] == [[1], "inside"]
    assert await asyncio.to_thread(handles[0].state_sync) == [1]


async def test_a_stale_attempt_sets_no_state(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    workers = harness.store.workers
    assert await workers.progress(worker.id, lease.job_id, lease.attempt, None, '"mine"')
    await harness.lose(worker)
    assert not await workers.progress(worker.id, lease.job_id, lease.attempt, None, '"late"')
    assert await workers.last_report(worker.id, lease.job_id, lease.attempt) == (None, None)
    other = await harness.worker()
    again = await other.claim_one()
    assert not await workers.progress(worker.id, again.job_id, again.attempt, None, '"anothers"')
    assert await workers.last_report(other.id, again.job_id, again.attempt) == (None, '"mine"')
