"""Approval links: a person confirms once; opening a link changes nothing, and afterwards the page shows the result."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from plait import JobFailed, Plait, SignalTimeout, Status, approval_url, call, sleep, wait_for_signal
from plait.runtime.settings import Settings
from plait.store.workflows import Lease
from plait.testing import Kit

from ..api.api_client import ApiClient
from ..harness import Harness

URL = re.compile(r"http://plait\.test/api/v1/approvals/plait_[\w-]{43}")


@pytest.fixture
def plait_app(monkeypatch: pytest.MonkeyPatch) -> Plait:
    monkeypatch.setenv("PLAIT_SECRET_LINKS", "for-tests-for-tests-for-tests")
    return Plait(settings=Settings(api_url="http://plait.test/"))


@pytest.fixture
def order(app: Plait) -> Any:
    """A job that sends its link in a step, so that a test can read it, and waits."""
    sent: list[str] = []

    async def send(url: str) -> None:
        sent.append(url)

    @app.job(retries=0)
    async def order(message: str | None = None) -> Any:
        url = await approval_url("approved", payload={"by": "link"}, expires="2d", message=message, button="Approve")
        await call(send, url)
        try:
            return await wait_for_signal("approved", timeout="3d")
        except SignalTimeout:
            return "nobody approved"

    order.sent = sent  # type: ignore[attr-defined]
    return order


async def test_pressing_the_button_completes_the_wait_and_opening_the_page_does_not(
    order: Any, kit: Kit, app_harness: Harness
) -> None:
    handle = await order.enqueue("Ship order <17>?")
    await kit.run_until_idle()
    [url] = order.sent
    assert URL.fullmatch(url)
    async with ApiClient.over(app_harness) as api:
        for _ in range(3):
            page = await api.client.get(url)
            assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
            assert "<p>Ship order &lt;17&gt;?</p>" in page.text
            assert '<form method="post"><button type="submit">Approve</button></form>' in page.text
            assert page.headers["cache-control"] == "no-store"
            assert "form-action 'self'" in page.headers["content-security-policy"]
            assert (await api.client.head(url)).status_code in (200, 405)
        await kit.run_until_idle()
        assert await handle.status() == Status.WAITING
        done = await api.client.post(url)
        assert (done.status_code, "Confirmed" in done.text) == (200, True)
        await kit.run_until_idle()
        assert await handle.result(120) == {"by": "link"}
        for again in (await api.client.get(url), await api.client.post(url)):
            assert again.status_code == 409
            assert "This link was already used" in again.text
            assert "<button" not in again.text
    assert order.sent == [url], "a replay sends nothing again"
    [entry] = await app_harness.store.audit.list_audit(all_tenants=True, action="approval.use")
    assert (entry.object, entry.actor) == (str(handle.id), "approval link")


async def test_of_many_who_press_it_at_once_one_sends_the_signal(order: Any, kit: Kit, app_harness: Harness) -> None:
    await order.enqueue()
    await kit.run_until_idle()
    async with ApiClient.over(app_harness) as api:
        answers = await asyncio.gather(*(api.client.post(order.sent[0]) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert await app_harness.sql("select count(*) from plait.signals") == 1


async def test_a_link_expires_and_one_of_a_job_that_has_ended_says_so(
    order: Any, kit: Kit, app_harness: Harness
) -> None:
    _, canceled = await order.enqueue(), await order.enqueue()
    await kit.run_until_idle()
    await canceled.cancel()
    async with ApiClient.over(app_harness) as api:
        pages = [await api.client.post(url) for url in order.sent]
        ended = [page for page in pages if page.status_code == 409]
        assert len(ended) == 1
        assert "The job has ended" in ended[0].text
        await kit.run_until_idle()
        await kit.advance(days=2, minutes=1)
        third = await order.enqueue()
        await kit.run_until_idle()
        await kit.advance(days=2, minutes=1)
        expired = await api.client.post(order.sent[2])
        assert (expired.status_code, "This link has expired" in expired.text) == (410, True)
    await kit.advance(days=2)
    await kit.run_until_idle()
    assert await third.result(120) == "nobody approved"


async def test_the_database_has_no_token_and_a_guess_is_counted(order: Any, kit: Kit, app_harness: Harness) -> None:
    handle = await order.enqueue()
    await kit.run_until_idle()
    token = order.sent[0].rpartition("/")[2]
    everything = str(
        [await app_harness.rows(f"select * from plait.{table}") for table in ("job_tokens", "steps", "attempts")]
    )
    assert token not in everything
    assert token not in str(await app_harness.store.jobs.list_steps(handle.id, all_tenants=True))
    async with ApiClient.over(app_harness) as api:
        answers = []
        for n in range(30):
            answers.append((await api.client.get(f"/api/v1/approvals/plait_{n}")).status_code)
        assert answers[0] == 404
        assert answers[-1] == 429
        other: httpx.Response = await api.client.get("/api/v1/jobs", headers={"Authorization": f"Bearer {token}"})
        assert other.status_code in (401, 429), "it is no key"


async def test_two_links_are_two_and_a_replay_returns_the_same(app: Plait, kit: Kit) -> None:
    seen: list[tuple[str, str]] = []

    @app.job(retries=0)
    async def asks() -> Any:
        yes = await approval_url("answer", payload="yes")
        no = await approval_url("answer", payload="no")
        seen.append((yes, no))
        await sleep("1h")
        return None

    await asks.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=2)
    await kit.run_until_idle()
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 2


async def test_what_is_missing_or_wrong_is_named(app: Plait, kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    @app.job(retries=0)
    async def asks(options: dict[str, Any]) -> str:
        return await approval_url(**{"signal": "s", **options})

    async def fault(**options: Any) -> str:
        handle = await asks.enqueue(options)
        await kit.run_until_idle()
        with pytest.raises(JobFailed) as raised:
            await handle.result(120)
        return str(raised.value)

    assert "expires must be more than 0 seconds, got 0" in await fault(expires=0)
    assert "signal must be text of 1 to 180 characters, got ''" in await fault(signal="")
    assert "button must be text of 1 to 100 characters, got" in await fault(button="x" * 101)
    monkeypatch.setenv("PLAIT_SECRET_LINKS", "short")
    assert "PLAIT_SECRET_LINKS must have at least 24 characters" in await fault()
    monkeypatch.delenv("PLAIT_SECRET_LINKS")
    assert "set PLAIT_SECRET_LINKS" in await fault()
    monkeypatch.setattr(app, "settings", app.settings.model_copy(update={"api_url": None}))
    assert "set PLAIT_API_URL on workers" in await fault()


async def test_a_stale_attempt_makes_no_link(harness: Harness) -> None:
    await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await harness.lose(worker)
    held = Lease(worker.id, lease.job_id, lease.attempt)
    options: dict[str, Any] = {"signal": "s", "payload": "1", "expires_s": 60, "message": "m", "button": "b"}
    assert not await harness.store.approvals.open_link(held, hash="h", **options)
    assert await harness.sql("select count(*) from plait.job_tokens") == 0
