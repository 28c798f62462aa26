"""A call with an invalid value immediately raises one of plait's errors, with the accepted and the given value."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from plait import (
    Backoff,
    Current,
    Handle,
    InvalidArguments,
    InvalidJob,
    Plait,
    RetryLater,
    Snooze,
    fan_out,
    signal,
    sleep_until,
    sub,
    transaction,
    version,
)
from plait.model.errors import InvalidConfiguration, InvalidDefinition

FIVE: Any = 5
TWO: Any = "2"
FAIL_FAST: Any = "fail_fast"
BAD_NAMES: list[Any] = [5, None, "", "x" * 500, "a\0b", b"x"]


@pytest.fixture
def handle() -> Handle[Any]:
    """A handle of an app that never connects."""
    return Plait("postgresql://nowhere.invalid/plait").handle(uuid4())


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_a_wrong_name_of_a_stream_a_signal_or_an_update_is_refused(handle: Handle[Any], name: Any) -> None:
    for read in (handle.stream, handle.stream_items):
        with pytest.raises(InvalidArguments, match=r"a stream's name must be text of 1 to 100 characters, got "):
            read(name)
    with pytest.raises(InvalidArguments, match=r"a signal's name must be text of 1 to 180 characters, got "):
        await handle.signal(name)
    with pytest.raises(InvalidArguments, match=r"an update's name must be text of 1 to 170 characters, got "):
        await handle.update(name)


@pytest.mark.parametrize("after", [-1, 1.5, "1", True, None])
def test_a_stream_is_continued_after_a_number(handle: Handle[Any], after: Any) -> None:
    with pytest.raises(InvalidArguments, match="after must be a whole number of at least 0, got "):
        handle.stream("tokens", after=after)


@pytest.mark.parametrize("reason", [5, b"x", "a\0b"])
async def test_a_reason_is_text(handle: Handle[Any], reason: Any) -> None:
    for cancel in (handle.cancel, handle.cancel_tree):
        with pytest.raises(InvalidArguments, match="reason must be text without NUL, got "):
            await cancel(reason)


async def some(n: int) -> int:
    return n


@pytest.fixture
def app() -> Plait:
    return Plait("postgresql://nowhere.invalid/plait")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda app: app.handle("abc"), "job_id must be a UUID or its text, got 'abc'"),
        (lambda app: app.handle(None), "job_id must be a UUID or its text, got None"),
        (lambda _: sub(FIVE), "job must be a job or its name, got 5"),
        (
            lambda _: sub(""),
            "a job's name must be text of 1 to 200 characters without NUL or surrogate characters, got ''",
        ),
        (lambda _: Snooze(-1), "Snooze: delay must be between 0 and 100 years, got -1"),
        (
            lambda _: RetryLater("x"),
            "RetryLater: delay must be a number of seconds, or text such as '10m' or '1h30m', got 'x'",
        ),
        (
            lambda app: app.job(some).enqueue_many_sync(5),
            "calls must be an iterable with the arguments of each job, got 5",
        ),
    ],
)
def test_a_wrong_argument_is_refused(app: Plait, wrong: Callable[[Plait], Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        wrong(app)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda _: fan_out([], FAIL_FAST),
            "strategy must be fail_fast(), collect_all(), threshold(share) or quorum(count), got 'fail_fast'",
        ),
        (lambda _: fan_out(FIVE), "fan_out arguments must be an iterable of sub(job, …), got 5"),
        (lambda job: job.map(5), "calls must be an iterable with the arguments of each job, got 5"),
        (lambda job: job.enqueue_many(5), "calls must be an iterable with the arguments of each job, got 5"),
        (lambda _: sleep_until(FIVE), "sleep_until: moment must be a datetime with a time zone, got 5"),
        (lambda _: version(FIVE), "change_id must be text of 1 to 180 characters, got 5"),
        (
            lambda _: version("v", TWO),
            "versions must be whole numbers of at least 0, and earliest must not be greater than latest, got earliest 0, latest '2'",
        ),
        (lambda _: transaction(FIVE), "function must be an `async def` function that takes a connection, got 5"),
        (lambda _: signal("abc", "go"), "job_id must be a UUID or its text, got 'abc'"),
    ],
)
async def test_a_wrong_argument_of_a_step_is_refused(app: Plait, wrong: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        await wrong(app.job(some))
    assert str(caught.value) == message


@pytest.mark.parametrize(("done", "total"), [("a", None), (-1, None), (1, -5), (True, None), (float("nan"), None)])
def test_progress_is_a_number_of_at_least_0(done: Any, total: Any) -> None:
    wrong = "done" if total is None else "total"
    with pytest.raises(InvalidArguments, match=f"progress: {wrong} must be a finite number of at least 0, got "):
        Current.progress(None, done, total)  # type: ignore[arg-type]  # refused before it reports


def test_an_option_that_does_not_exist_is_named_with_the_nearest_and_all_others(app: Plait) -> None:
    with pytest.raises(
        InvalidDefinition,
        match=r"@app.job: there is no option 'retry', did you mean 'retries'\? \(options: all.*timeout\)$",
    ):
        app.job(retry=3)  # type: ignore[call-overload]
    with pytest.raises(InvalidJob, match=r"some.options: there is no option 'at' \(options: after, conn, .*timeout\)$"):
        app.job(some).options(at=5)  # type: ignore[call-arg]


def test_each_cause_of_a_wrong_cancel_grace_has_its_own_error(app: Plait) -> None:
    def sync() -> None: ...

    with pytest.raises(InvalidDefinition, match=r"cancel_grace must be more than 0, got 0$"):
        app.job(cancel_grace=0)(some)
    with pytest.raises(InvalidDefinition, match=r"cancel_grace is not supported with isolation='process'$"):
        app.job(cancel_grace=1, isolation="process")(some)
    with pytest.raises(
        InvalidDefinition, match=r"cancel_grace requires an `async def` function, got a `def` function$"
    ):
        app.job(cancel_grace=1)(sync)


def test_the_maximum_of_a_backoff_is_not_below_its_base() -> None:
    with pytest.raises(InvalidDefinition, match=r"^backoff max must be at least backoff base \('1h'\), got '1s'$"):
        Backoff(base="1h", max="1s")


@pytest.mark.parametrize("url", ["http://x", 5, "localhost/plait", "mysql://ada:hunter2@db/plait"])
def test_the_url_of_an_app_is_one_of_postgres(url: Any) -> None:
    with pytest.raises(InvalidConfiguration, match=r"^url must be a Postgres URL, such as .*, got ") as caught:
        Plait(url)
    assert "hunter2" not in str(caught.value)
