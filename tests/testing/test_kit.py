"""The test kit, used as applications use it."""

import pytest

from plait import Backoff, Handle, JobDeadLettered, Plait, Status
from plait.testing import Kit

app = Plait()
ran: list[str] = []


@app.job
async def greet(name: str) -> str:
    ran.append(name)
    return f"hello {name}"


@app.job(retries=2, backoff=Backoff(base="1m", jitter=0))
async def flaky() -> None:
    raise ValueError("not yet")


@app.job
async def chain(n: int) -> None:
    if n > 0:
        await chain.enqueue(n - 1)


@pytest.fixture
def plait_app() -> Plait:
    ran.clear()
    return app


async def test_a_job_is_asserted_and_run(plait: Kit) -> None:
    handle: Handle[str] = await greet.enqueue("ada")
    await plait.assert_enqueued(greet, name="ada", count=1)
    await plait.run_until_idle()
    assert ran == ["ada"]
    assert await handle.result(timeout=120) == "hello ada"
    assert await plait.enqueued() == []


async def test_an_assertion_tells_what_is_there(plait: Kit) -> None:
    await greet.enqueue("ada")
    with pytest.raises(AssertionError, match="ada"):
        await plait.assert_enqueued(greet, name="grace")


async def test_a_delayed_job_waits_for_the_clock(plait: Kit) -> None:
    handle = await greet.options(delay="1h").enqueue("later")
    await plait.run_until_idle()
    assert await handle.status() == Status.SCHEDULED
    await plait.advance(minutes=59)
    await plait.run_until_idle()
    assert ran == []
    await plait.advance(minutes=1)
    await plait.run_until_idle()
    assert ran == ["later"]


async def test_retries_follow_the_backoff_without_waiting(plait: Kit) -> None:
    handle = await flaky.enqueue()
    for minutes in (1, 2):
        await plait.run_until_idle()
        assert await handle.status() == Status.SCHEDULED
        await plait.advance(minutes=minutes)
    await plait.run_until_idle()
    with pytest.raises(JobDeadLettered, match="not yet"):
        await handle.result(timeout=120)


async def test_jobs_that_enqueue_jobs_are_run_to_the_end(plait: Kit) -> None:
    await chain.enqueue(5)
    await plait.run_until_idle()
    assert await plait.enqueued() == []
    store = await app.store()
    assert len(await store.jobs.list_jobs(definition="chain")) == 6


def test_sync_tests_have_sync_forms(plait: Kit) -> None:
    greet.enqueue_sync("sync")
    plait.assert_enqueued_sync(greet, name="sync")
    plait.run_until_idle_sync()
    assert ran == ["sync"]
