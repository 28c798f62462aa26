"""Updates: a caller sends a running job a request, and gets its reply or the validator's error."""

import asyncio
from typing import Any

import pytest

from plait import (
    InvalidArguments,
    JobFailed,
    NotFound,
    Plait,
    SignalTimeout,
    Status,
    Update,
    UpdateRejected,
    approval_url,
    call,
    current,
    sleep,
    wait_for_event,
    wait_for_update,
)
from plait.model.errors import IllegalMove
from plait.model.ids import new_id
from plait.runtime.settings import Settings
from plait.testing import Kit

from ..harness import Harness
from ..waiting import eventually


@pytest.fixture
def shop(app: Plait) -> Any:
    """Replies to prices until one is 0. The validator counts how often it runs."""
    checked: list[int] = []

    async def positive(cents: int) -> None:
        checked.append(cents)
        if cents < 0:
            raise ValueError("a price is not negative")

    @app.job(retries=0)
    async def shop() -> int:
        total = 0
        while True:
            update: Update[int] = await wait_for_update("price", validator=positive, type=int)
            total += update.payload
            await update.reply({"total": total})
            if update.payload == 0:
                return total

    shop.checked = checked  # type: ignore[attr-defined]
    return shop


async def _ask(kit: Kit, asking: "asyncio.Task[Any]", app_harness: Harness, sent: int) -> Any:
    """Run the job once the update was sent."""
    await eventually(lambda: _sent(app_harness, sent), what="the update was sent")
    await kit.run_until_idle()
    return await asking


async def _sent(app_harness: Harness, n: int) -> bool:
    return bool(await app_harness.sql("select count(*) >= $1 from plait.signals", n))


async def test_a_reply_reaches_who_asked_and_a_rejection_too(shop: Any, kit: Kit, app_harness: Harness) -> None:
    handle = await shop.enqueue()
    await kit.run_until_idle()
    assert await _ask(kit, asyncio.create_task(handle.update("price", 5, timeout=120)), app_harness, 1) == {"total": 5}
    with pytest.raises(UpdateRejected, match="a price is not negative"):
        await _ask(kit, asyncio.create_task(handle.update("price", -1, timeout=120)), app_harness, 2)
    with pytest.raises(UpdateRejected, match="the payload does not match the type: Expected `int`, got `str`"):
        await _ask(kit, asyncio.create_task(handle.update("price", "x", timeout=120)), app_harness, 3)
    assert await handle.status() == Status.WAITING
    last = await _ask(
        kit, asyncio.create_task(handle.update("price", 0, timeout=120, type=dict[str, int])), app_harness, 4
    )
    assert last == {"total": 5}
    assert await handle.result(120) == 5
    assert shop.checked == [5, -1, 0], "once each, however often the handler was replayed"
    assert await app_harness.sql("select count(*) from plait.update_replies") == 4


async def test_an_update_that_is_not_answered_times_out_or_ends_with_the_job(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(retries=0)
    async def deaf() -> None:
        await sleep("1h")

    handle = await deaf.enqueue()
    await kit.run_until_idle()
    with pytest.raises(TimeoutError, match=r"did not reply to 'price' within 0\.05 s"):
        await handle.update("price", 1, timeout=0.05)
    asking = asyncio.create_task(handle.update("price", 1, timeout=120))
    await eventually(lambda: _sent(app_harness, 2), what="the update was sent")
    await handle.cancel()
    with pytest.raises(UpdateRejected, match="ended as canceled without a reply to 'price'"):
        await asking
    with pytest.raises(IllegalMove):
        await handle.update("price", 1)
    with pytest.raises(NotFound):
        await app.handle(new_id()).update("price", 1)


async def test_an_update_is_rejected_by_the_handler_and_answered_once(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job(retries=0)
    async def picky() -> str:
        update = await wait_for_update("ask")
        await update.reject("not today")
        try:
            await update.reply(1)
        except InvalidArguments as error:
            return str(error)
        return "answered twice"

    handle = await picky.enqueue()
    with pytest.raises(UpdateRejected, match="not today"):
        await _ask(kit, asyncio.create_task(handle.update("ask", timeout=120)), app_harness, 1)
    assert await handle.result(120) == "the update 'ask' was already answered: an update has one reply"


async def test_no_update_in_time_is_a_signal_timeout_and_a_bad_name_is_refused(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def waits(name: str) -> str:
        try:
            await wait_for_update(name, timeout="1h")
        except SignalTimeout:
            return "nobody asked"
        return "?"

    handle, bad = await waits.enqueue("ask"), await waits.enqueue("x" * 171)
    await kit.run_until_idle()
    await kit.advance(hours=2)
    await kit.run_until_idle()
    assert await handle.result(120) == "nobody asked"
    with pytest.raises(JobFailed, match="an update's name must be text of 1 to 170 characters"):
        await bad.result(120)


async def test_a_stale_attempt_answers_no_update(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    signals, update = harness.store.signals, new_id()
    assert await signals.reply_update(worker.id, lease.job_id, lease.attempt, update, value="1", error=None)
    assert await signals.reply_update(worker.id, lease.job_id, lease.attempt, update, value="2", error=None)
    await harness.lose(worker)
    assert not await signals.reply_update(worker.id, lease.job_id, lease.attempt, new_id(), value="3", error=None)
    assert await harness.rows("select value::text from plait.update_replies") == [("1",)]


async def test_a_history_with_streams_events_updates_and_links_is_replayed_without_a_database(
    app: Plait, kit: Kit, app_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIT_API_URL", "http://plait.test")
    monkeypatch.setenv("PLAIT_SECRET_LINKS", "for-tests-for-tests-for-tests")
    app.settings = Settings()
    urls: list[str] = []

    async def send(url: str) -> None:
        urls.append(url)

    @app.job(retries=0)
    async def shows(n: int) -> list[Any]:
        await current().stream("tokens").write("a")
        current().state("begun")
        await call(send, await approval_url("approved"))
        event = await wait_for_event("paid", match={"n": n})
        update = await wait_for_update("ask", validator=lambda _: None)
        await update.reply("yes")
        await current().stream("tokens").close()
        return [event, update.payload, await wait_for_event("never", timeout="1h")]

    handle = await shows.enqueue(1)
    await kit.run_until_idle()
    await app.emit("paid", {"n": 1})
    assert await _ask(kit, asyncio.create_task(handle.update("ask", 5, timeout=120)), app_harness, 1) == "yes"
    history = await kit.history(handle)
    assert await kit.replay(history, shows) is None, "it waits, as recorded"
    assert len(urls) == 1
