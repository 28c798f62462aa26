"""Retries and timeouts of one step: `call(…, retries=, backoff=, timeout=, retry_on=)`."""

import asyncio
import functools
import threading
from typing import Any

import pytest

from plait import Backoff, JobFailed, PermanentError, Plait, Status, call, sleep
from plait.model.errors import InvalidArguments
from plait.testing import Kit

from ..harness import Harness

AT_ONCE = Backoff(base=0.001, jitter=0)


class Flaky(Exception):
    """Defined at module level, so that a replay can import it."""


class Shaky(Exception):
    pass


class Service:
    """Fails a number of times, then succeeds."""

    def __init__(self, failures: int, error: type[Exception] = Flaky) -> None:
        self.left = failures
        self.error = error
        self.calls = 0

    async def ask(self, question: str = "?") -> str:
        self.calls += 1
        if self.left > 0:
            self.left -= 1
            raise self.error(f"call {self.calls}")
        return f"{question} {self.calls}"


async def test_a_step_is_tried_again_within_its_attempt(app: Plait, kit: Kit, app_harness: Harness) -> None:
    service = Service(2)
    runs: list[str] = []

    @app.job(retries=0)
    async def parent() -> str:
        answer = await call(service.ask, "a", retries=3, backoff=AT_ONCE)
        await sleep("1h")
        runs.append(answer)
        return answer

    handle = await parent.enqueue()
    for _ in range(2):
        await kit.run_until_idle()
        await kit.advance(hours=2)
    assert await handle.result(120) == "a 3"
    assert service.calls == 3
    steps = await app_harness.rows(
        "select name, occurrence, error from plait.steps where job_id = $1 order by seq", handle.id
    )
    assert [tuple(step) for step in steps] == [
        ("ask", 1, "call 1"),
        ("ask", 2, "call 2"),
        ("ask", 3, None),
        ("sleep", 1, None),
    ]


async def test_the_last_error_is_the_steps_and_the_handler_may_catch_it(app: Plait, kit: Kit) -> None:
    service = Service(9)
    seen: list[str] = []

    @app.job(retries=0)
    async def parent() -> str:
        try:
            await call(service.ask, retries=2, backoff=AT_ONCE)
        except Flaky as error:
            seen.append(str(error))
        await sleep("1h")
        return "went on"

    handle = await parent.enqueue()
    for _ in range(2):
        await kit.run_until_idle()
        await kit.advance(hours=2)
    assert await handle.result(120) == "went on"
    assert service.calls == 3
    assert seen == ["call 3"] * 2


async def test_each_attempt_of_the_job_has_all_tries(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """Also if a long backoff, and so a replay, was between the retries."""
    service = Service(7)

    @app.job(retries=3, backoff=Backoff(base=0, jitter=0))
    async def parent() -> str:
        return await call(service.ask, retries=2, backoff=Backoff(base=1000, factor=1))

    handle = await parent.enqueue()
    for _ in range(10):
        await kit.run_until_idle()
        await kit.advance(hours=1)
    assert await handle.result(120) == "? 8"
    assert service.calls == 8
    failed = [row for row in await app_harness.attempts(handle.id) if row.status == "failed"]
    assert len(failed) == 2


async def test_a_long_pause_is_a_durable_sleep_and_holds_no_slot(app: Plait, kit: Kit, app_harness: Harness) -> None:
    service = Service(2)

    @app.job(retries=0)
    async def parent() -> str:
        return await call(service.ask, retries=5, backoff=Backoff(base="30s", factor=2))

    handle = await parent.enqueue()
    await kit.run_until_idle()
    row = await app_harness.job(handle.id)
    assert (row.status, row.wait_on) == (Status.WAITING, "sleep")
    assert row.wake_at is not None
    assert 24 <= (row.wake_at - await app_harness.now()).total_seconds() <= 36, "30 s, with jitter"
    assert service.calls == 1
    await kit.advance(seconds=37)
    await kit.run_until_idle()
    assert service.calls == 2
    await kit.advance(seconds=73)
    await kit.run_until_idle()
    assert await handle.result(120) == "? 3"
    assert service.calls == 3


async def test_only_what_retry_on_names_is_tried_again(app: Plait, kit: Kit) -> None:
    services = [Service(1, Flaky), Service(1, Shaky), Service(1, PermanentError), Service(1, ValueError)]

    @app.job(retries=0)
    async def parent() -> list[str]:
        seen = []
        for service in services:
            try:
                seen.append(
                    await call(service.ask, retries=3, backoff=AT_ONCE, retry_on=(Flaky, ValueError, PermanentError))
                )
            except Exception as error:
                seen.append(type(error).__name__)
        return seen

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == ["? 2", "Shaky", "PermanentError", "? 2"]


async def test_tries_go_on_after_a_lost_worker_where_they_were(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """A worker is lost in the third run: the first two are recorded."""
    service = Service(2)
    lost = False

    async def third() -> None:
        nonlocal lost
        if service.calls == 2 and not lost:
            lost = True
            await app_harness.sql("update plait.workers set expires_at = plait.now() - interval '1 minute'")
            for _ in range(2):
                await app_harness.rescue()
            await asyncio.sleep(60)  # sleep: until the worker notices that its lease is lost

    async def ask() -> str:
        await third()
        return await service.ask()

    @app.job(retries=0)
    async def parent() -> str:
        return await call(ask, retries=2, backoff=AT_ONCE)

    handle = await parent.enqueue()
    for _ in range(2):
        await kit.run_until_idle()
        await kit.advance(minutes=2)
    await kit.run_until_idle()
    assert await handle.result(120) == "? 3"
    assert service.calls == 3


async def test_a_step_that_takes_too_long_is_a_timeout_error(app: Plait, kit: Kit) -> None:
    calls: list[str] = []
    gate = threading.Event()

    async def hangs() -> str:
        calls.append("hangs")
        if len(calls) < 3:
            await asyncio.sleep(600)  # sleep: longer than any test, until the timeout
        return "answered"

    def blocks() -> None:
        gate.wait(600)

    @app.job(retries=0)
    async def parent() -> str:
        answer = await call(hangs, timeout=0.05, retries=2, backoff=AT_ONCE)
        with pytest.raises(TimeoutError, match=r"step 'blocks' took longer than 0\.05 s"):
            await call(blocks, timeout=0.05)
        return answer

    handle = await parent.enqueue()
    try:
        await kit.run_until_idle()
        assert await handle.result(120) == "answered"
    finally:
        gate.set()
    assert len(calls) == 3


async def test_a_timeout_of_the_functions_own_stays_its_own(app: Plait, kit: Kit) -> None:
    async def raises() -> None:
        raise TimeoutError("mine")

    @app.job(retries=0)
    async def parent() -> str:
        with pytest.raises(TimeoutError, match="mine"):
            await call(raises, timeout=60)
        return "ok"

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == "ok"


async def test_steps_side_by_side_are_tried_again_each_for_itself(app: Plait, kit: Kit) -> None:
    services = [Service(n) for n in range(4)]

    @app.job(retries=0)
    async def parent() -> list[str]:
        answers = await asyncio.gather(
            *(
                call(service.ask, str(n), retries=3, backoff=Backoff(base=60, factor=1))
                for n, service in enumerate(services)
            )
        )
        return list(answers)

    handle = await parent.enqueue()
    for _ in range(6):
        await kit.run_until_idle()
        await kit.advance(minutes=5)
    assert await handle.result(120) == ["0 1", "1 2", "2 3", "3 4"]
    assert [service.calls for service in services] == [1, 2, 3, 4]


async def test_an_option_that_is_an_argument_too_is_refused(app: Plait, kit: Kit) -> None:
    async def fetch(url: str, timeout: float = 1) -> str:
        return f"{url} {timeout}"

    @app.job(retries=0)
    async def parent() -> list[str]:
        with pytest.raises(
            InvalidArguments, match=r"call\(fetch, timeout=…\) is ambiguous: timeout is an option of call"
        ):
            await call(fetch, "a", timeout=5)
        return [
            await call(functools.partial(fetch, timeout=5), "a"),
            await call(functools.partial(fetch, "b"), timeout=60),
            await call(functools.partial(functools.partial(fetch, "c"), timeout=7), timeout=60),
        ]

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == ["a 5", "b 1", "c 7"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retries": -1}, "retries must be a whole number from 0 to 9999, got -1"),
        ({"retries": True}, "retries must be a whole number"),
        ({"retries": 1, "backoff": 5}, "backoff must be a Backoff, such as"),
        ({"retries": 1, "retry_on": "x"}, "retry_on must be an exception type or a tuple of them, got 'x'"),
        ({"retries": 1, "retry_on": asyncio.CancelledError}, "retry_on must be an exception type"),
        ({"retries": 1, "retry_on": ()}, "retry_on must be an exception type"),
        ({"backoff": Backoff()}, "backoff and retry_on require retries="),
        ({"timeout": 0}, "timeout must be more than 0, got 0"),
        ({"timeout": "soon"}, "timeout must be a number of seconds"),
    ],
)
async def test_bad_options_are_refused_before_the_step_runs(
    app: Plait, kit: Kit, options: dict[str, Any], message: str
) -> None:
    service = Service(0)

    @app.job(retries=0)
    async def parent() -> None:
        await call(service.ask, **options)

    handle = await parent.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match=message):
        await handle.result(120)
    assert service.calls == 0
