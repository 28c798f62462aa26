"""Callers that wait for a job get its handler's exception: the type, the message and the cause."""

from typing import Any

import pytest

from plait import (
    ErrorInfo,
    JobDeadLettered,
    JobFailed,
    PermanentError,
    Plait,
    call,
    collect_all,
    fan_out,
    sleep,
    spawn,
    sub,
)
from plait.testing import Kit

from ..fake_worker import FakeWorker
from ..harness import Harness

MINE = f"{__name__}.Declined"


class Declined(Exception):
    pass


async def decline() -> None:
    try:
        dict[str, int]()["card"]
    except KeyError as error:
        raise Declined("no money") from error


async def test_the_caller_gets_the_type_the_message_and_the_cause(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def parent() -> None:
        await decline()

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobDeadLettered) as raised:
        await handle.result(120)
    error = raised.value
    assert (error.error_type, error.error_message) == (MINE, "no money")
    assert error.cause == ErrorInfo("KeyError", "'card'")


async def test_a_failed_fan_out_names_its_first_failure_and_has_it_as_its_cause(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def child(n: int) -> None:
        await sleep("1h" if n == 0 else 0)
        await decline()

    @app.job(retries=0)
    async def parent() -> None:
        await fan_out([sub(child, 0), sub(child, 1)])

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed) as raised:
        await handle.result(120)
    first = "sub-job 1 dead_letter: Declined: no money"
    error = raised.value
    assert error.error_type == "plait.model.errors.FanOutError"
    assert error.error_message == f"fan-out failed: 1/2 sub-jobs failed; {first}"
    declined = ErrorInfo(MINE, "no money", ErrorInfo("KeyError", "'card'"))
    assert error.cause == ErrorInfo("plait.model.errors.SubJobFailure", first, declined)


async def test_an_error_of_a_step_and_one_that_is_permanent_are_told_too(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def of_a_step() -> None:
        await call(decline)

    @app.job(retries=0)
    async def permanent() -> None:
        try:
            await call(decline)
        except Declined as error:
            raise PermanentError("give up") from error

    first, second = await of_a_step.enqueue(), await permanent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed) as raised:
        await first.result(120)
    assert (raised.value.error_type, raised.value.cause) == (MINE, ErrorInfo("KeyError", "'card'"))
    with pytest.raises(JobFailed) as raised:
        await second.result(120)
    assert raised.value.error_type == "plait.model.errors.PermanentError"
    assert raised.value.cause == ErrorInfo(MINE, "no money", ErrorInfo("KeyError", "'card'"))


async def test_a_sub_jobs_failure_tells_what_it_raised(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def child() -> None:
        await decline()

    @app.job(retries=0)
    async def parent() -> list[Any]:
        [result] = await fan_out([sub(child)], collect_all())
        assert result.error is not None
        assert result.error.cause is not None
        return [result.error.error_type, result.error.error_message, result.error.cause.type]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == [MINE, "no money", "KeyError"]


async def test_a_job_that_fails_before_its_children_have_ended_tells_it_in_the_end(app: Plait, kit: Kit) -> None:
    @app.job
    async def child() -> None: ...

    @app.job(retries=0)
    async def parent() -> None:
        await spawn(child)
        await decline()

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed) as raised:
        await handle.result(120)
    assert (raised.value.error_type, raised.value.cause) == (MINE, ErrorInfo("KeyError", "'card'"))


async def test_what_was_raised_by_nobody_has_no_type(app: Plait, kit: Kit) -> None:
    @app.job(queue="elsewhere")
    async def job() -> None: ...

    handle = await job.enqueue()
    await handle.cancel()
    with pytest.raises(JobFailed) as raised:
        await handle.result(120)
    assert (raised.value.error_type, raised.value.error_message, raised.value.cause) == (None, None, None)


async def test_errors_that_go_in_circles_or_on_and_on_are_told_so_far(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def circle() -> None:
        first, second = ValueError("first"), ValueError("second")
        first.__cause__, second.__cause__ = second, first
        raise first

    @app.job(retries=0)
    async def long() -> None:
        error: Exception = ValueError("x" * 100_000)
        for _ in range(50):
            outer = ValueError("x" * 100_000)
            outer.__cause__ = error
            error = outer
        raise error

    handles = [await circle.enqueue(), await long.enqueue()]
    await kit.run_until_idle()
    depths = []
    for handle in handles:
        with pytest.raises(JobFailed) as raised:
            await handle.result(120)
        cause, depth = raised.value.cause, 0
        while cause is not None:
            assert len(cause.message) < 1100
            cause, depth = cause.cause, depth + 1
        depths.append(depth)
    assert depths == [1, 4]


@pytest.mark.parametrize("failure", [7, [], {"type": 5}, {"type": "X", "message": "a\0b", "cause": {"type": "Y"}}])
async def test_what_a_worker_says_of_an_error_in_another_form_is_stored_and_left_out(
    harness: Harness, failure: Any
) -> None:
    job = await harness.enqueue(max_attempts=1)
    worker: FakeWorker = await harness.worker()
    assert await worker.fail(await worker.claim_one(), "it broke", failure=failure)
    [outcome] = await harness.store.jobs.get_outcomes([(job, await harness.tenant())])
    assert outcome.error == "it broke"
