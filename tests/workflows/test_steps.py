"""Steps: run once, checkpointed, and the same on every replay."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import pytest

from plait import (
    JobDeadLettered,
    JobFailed,
    NotDurable,
    PermanentError,
    Plait,
    Status,
    call,
    fan_out,
    sleep,
    sub,
    transaction,
    version,
)
from plait.testing import Kit

from ..harness import Harness
from .run_to_end import run_to_end


async def one(n: int = 1) -> int:
    return n


@dataclass
class Point:
    x: int
    on: date


async def test_a_result_is_of_the_same_type_on_the_first_run_and_on_a_replay(app: Plait, kit: Kit) -> None:
    """T60: also if the function returns a type that JSON does not have."""
    seen: list[tuple[Any, ...]] = []

    async def typed() -> Point:
        return Point(1, date(2030, 1, 2))

    def untyped():  # type: ignore[no-untyped-def]
        return (1, datetime(2030, 1, 1, tzinfo=UTC))

    @app.job
    async def as_job(on: date) -> date:
        return on

    @app.job
    async def parent() -> None:
        seen.append((await call(typed), await call(untyped), await call(as_job, date(2030, 1, 3))))
        await sleep("1h")

    await run_to_end(kit, await parent.enqueue())
    first, second = seen
    assert first == second
    assert first == (Point(1, date(2030, 1, 2)), [1, "2030-01-01T00:00:00Z"], date(2030, 1, 3))


async def test_a_transient_error_is_not_kept_and_the_step_is_tried_again(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """T61: earlier steps do not run again."""
    tried: list[str] = []

    async def good() -> int:
        tried.append("good")
        return 1

    async def flaky() -> int:
        tried.append("flaky")
        if tried.count("flaky") < 3:
            raise ConnectionError("gone for a moment")
        return 2

    @app.job(retries=4)
    async def parent() -> int:
        return await call(good) + await call(flaky)

    handle = await parent.enqueue()
    await run_to_end(kit, handle, sleeps=3)
    assert await handle.result(120) == 3
    assert tried == ["good", "flaky", "flaky", "flaky"]
    assert await app_harness.outcomes(handle.id) == ["failed", "failed", "succeeded"]


async def test_a_permanent_error_is_kept_and_raised_again_on_a_replay(app: Plait, kit: Kit) -> None:
    tried: list[str] = []

    class Mine(PermanentError):
        """A class that is defined in a function, which a replay can't find."""

    async def refuse() -> None:
        tried.append("x")
        raise Mine("the card was refused")

    @app.job(retries=0)
    async def parent() -> str:
        try:
            await call(refuse)
        except PermanentError as error:
            kind = type(error).__name__
            await sleep("1h")
            return f"{kind}: {error}"
        return "?"

    handle = await parent.enqueue()
    await run_to_end(kit, handle)
    assert await handle.result(120) == "PermanentError: the card was refused"
    assert tried == ["x"]


class Refused(PermanentError):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)


class Unprintable(PermanentError):
    """An error whose message needs an attribute that is missing on a replay."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"refused: {self.text}"


@pytest.mark.parametrize(
    ("error", "kind"), [(Refused(51, "no money"), "Refused"), (Unprintable("no money"), "PermanentError")]
)
@pytest.mark.parametrize("step", [call, transaction])
async def test_a_permanent_error_has_the_same_type_in_the_first_run_and_on_a_replay(
    app: Plait, kit: Kit, error: PermanentError, kind: str, step: Any
) -> None:
    seen: list[tuple[str, str]] = []

    async def refuse(*_: Any) -> None:
        raise error

    @app.job(retries=0)
    async def parent() -> str:
        try:
            await step(refuse)
        except PermanentError as caught:
            seen.append((type(caught).__name__, str(caught)))
            await sleep("1h")
        return "done"

    handle = await parent.enqueue()
    await run_to_end(kit, handle)
    assert await handle.result(120) == "done"
    assert seen == [(kind, str(error))] * len(seen)
    assert len(seen) >= 2


async def test_an_uncaught_permanent_error_of_a_step_names_its_own_type(app: Plait, kit: Kit) -> None:
    async def refuse() -> None:
        raise Refused(51, "no money") from KeyError("card")

    @app.job
    async def parent() -> None:
        await call(refuse)

    handle = await parent.enqueue()
    await run_to_end(kit, handle)
    with pytest.raises(JobFailed) as raised:
        await handle.result(120)
    assert raised.value.error_type == f"{__name__}.Refused"
    assert raised.value.cause is not None
    assert raised.value.cause.type == "KeyError"


async def test_two_steps_of_one_name_are_two_steps(app: Plait, kit: Kit) -> None:
    """T62."""
    ran: list[int] = []

    async def step(n: int) -> int:
        ran.append(n)
        return n * 10

    @app.job
    async def parent() -> list[int]:
        out = [await call(step, 1), await call(step, 1), await call(step, 2, name="other")]
        await sleep("1h")
        return out

    handle = await parent.enqueue()
    await run_to_end(kit, handle)
    assert await handle.result(120) == [10, 10, 20]
    assert ran == [1, 1, 2]


async def test_a_checkpoint_is_kept_when_the_deadline_comes_as_the_step_returns(app: Plait, kit: Kit) -> None:
    """T64: the job is stopped while the checkpoint is being saved."""
    ran: list[int] = []

    async def last() -> int:
        ran.append(1)
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)  # arrives while the checkpoint is awaited
        return 5

    @app.job(retries=2)
    async def parent() -> int:
        return await call(last)

    handle = await parent.enqueue()
    await run_to_end(kit, handle)
    assert await handle.result(120) == 5
    assert ran == [1]


async def test_a_result_that_cannot_be_stored_fails_the_job_with_that_reason(app: Plait, kit: Kit) -> None:
    """T65, T66: results that are not serializable, and results that are too large."""

    async def alive() -> Any:
        return object()

    async def huge() -> str:
        return "x" * 2_000_000

    @app.job(retries=5)
    async def parent(which: str) -> None:
        await call(alive if which == "object" else huge)

    for which, said in (("object", "cannot be stored as JSON"), ("huge", "the limit is 1,048,576")):
        handle = await parent.enqueue(which)
        await kit.run_until_idle()
        row = await handle.info()
        assert (row.status, row.reason) == (Status.FAILED, "bad_result")
        assert said in (row.error or "")


async def test_a_sync_function_and_a_job_by_its_name_can_be_called(app: Plait, kit: Kit) -> None:
    def plain(n: int) -> int:
        return n + 1

    @app.job
    def in_a_thread(n: int) -> int:
        return n + 2

    @app.job
    async def parent() -> list[int]:
        return [await call(plain, 1), await call("in_a_thread", n=1), await call(in_a_thread, 2)]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == [2, 3, 4]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (lambda: call(lambda: 1), "the step has no name"),
        (lambda: call("nobody"), "has no job called 'nobody'"),
        (lambda: call(7), "requires a function, a job or a job's name"),  # type: ignore[call-overload]
        (lambda: call(one, name="x" * 300), "1 to 200 characters"),
        (lambda: call(one, name="\0"), "1 to 200 characters"),
        (lambda: sleep(-1), "between 0 and 100 years"),
        (lambda: version("v", 1, earliest=2), "earliest must not be greater than latest"),
    ],
)
async def test_nonsense_is_refused_with_a_sentence(app: Plait, kit: Kit, bad: Any, said: str) -> None:
    @app.job(retries=0)
    async def parent() -> None:
        await bad()

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match=said):
        await handle.result(120)


async def test_outside_of_a_handler_there_are_no_steps(app: Plait, kit: Kit) -> None:
    with pytest.raises(NotDurable):
        await call(one)

    @app.job(retries=0)
    def threaded() -> None:
        asyncio.run(call(one))

    handle = await threaded.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobDeadLettered, match="only inside an `async def` handler"):
        await handle.result(120)


async def test_a_wait_inside_of_a_task_group_or_a_broad_except_is_a_wait(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    """The job waits, no matter how the handler treats the exception that suspends it."""

    @app.job(retries=0)
    async def grouped() -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(sleep("1h"))
            group.create_task(call(one))
        return "grouped"

    @app.job(retries=0)
    async def swallows() -> str:
        try:
            await sleep("1h")
        except BaseException:
            return "swallowed"
        return "slept"

    @app.job(retries=0)
    async def leaves_a_task() -> str:
        async def slow() -> int:
            await asyncio.sleep(0.05)
            return 1

        left = asyncio.ensure_future(call(slow))
        await asyncio.sleep(0.01)
        try:
            await sleep("1h")
        finally:
            left.add_done_callback(lambda done: done.cancelled() or done.exception())
        return "left"

    handles = [await grouped.enqueue(), await swallows.enqueue(), await leaves_a_task.enqueue()]
    await kit.run_until_idle()
    assert [await handle.status() for handle in handles] == [Status.WAITING] * 3
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert [await handle.result(120) for handle in handles] == ["grouped", "slept", "left"]
    for handle in handles:
        assert await app_harness.outcomes(handle.id) == ["suspended", "succeeded"]


async def test_a_sub_job_takes_no_option_that_would_be_dropped(app: Plait, kit: Kit) -> None:
    """T90."""

    @app.job(retries=0)
    async def leaf() -> None: ...

    @app.job(retries=0)
    async def parent() -> None:
        await fan_out([sub(leaf.options(delay="1h"))])

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="do not support the option delay"):
        await handle.result(120)


async def test_a_partial_is_a_step_with_the_name_and_the_types_of_the_function_inside(app: Plait, kit: Kit) -> None:
    async def point(x: int, *, day: int) -> Point:
        return Point(x, date(2030, 1, day))

    def plain(x: int) -> int:
        return x

    @app.job
    async def other(n: int) -> int:
        return n + 1

    async def stored(conn: Any, n: int) -> int:
        return n + int(await conn.fetchval("select 1"))

    @app.job
    async def parent() -> str:
        found = await call(partial(partial(point, 1), day=2))
        assert found == Point(1, date(2030, 1, 2))
        assert await call(partial(plain, 4)) == 4
        assert await call(partial(other, 4)) == 5
        assert await transaction(partial(stored, n=1)) == 2
        await sleep("1h")
        return "done"

    handle = await parent.enqueue()
    await run_to_end(kit, handle)
    assert await handle.result(timeout=120) == "done"
    steps = await (await app.store()).jobs.list_steps(handle.id)
    assert [step.name for step in steps] == ["point", "plain", "other", "stored", "sleep"]


async def test_the_arguments_inside_a_partial_are_compared_on_a_replay(app: Plait, kit: Kit) -> None:
    given = [1]

    @app.job(retries=0)
    async def parent() -> None:
        await call(partial(one, given[0]))
        await sleep("1h")

    handle = await parent.enqueue()
    await kit.run_until_idle()
    given[0] = 2
    await run_to_end(kit, handle)
    assert "was recorded with other arguments" in str((await handle.info()).error)
