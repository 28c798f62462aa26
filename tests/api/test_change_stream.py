"""The change stream: each tenant gets its own changes, once per poll, and missed changes after a reconnect."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from plait.api.change_feed import QUEUED, Event, Watch, Watcher
from plait.store.workflows import Lease

from ..harness import Harness
from ..workflows.worker_calls import wait_for
from .api_client import new_key
from .api_server import serve_api

Told = tuple[str, str, Any]


@pytest.fixture
async def url(harness: Harness) -> AsyncIterator[str]:
    """The URL of an API on a socket: httpx's transport without a socket returns a stream only when it has ended."""
    with serve_api(harness.database.url) as url:
        yield url


@asynccontextmanager
async def _watching(url: str, token: str, **headers: str) -> AsyncIterator[AsyncIterator[Told]]:
    """The events of one watcher: (id, kind, data). The block starts when the server has registered the watcher."""
    async with (
        httpx.AsyncClient(base_url=url, timeout=120) as client,
        client.stream("GET", "/api/v1/stream", headers={"Authorization": f"Bearer {token}", **headers}) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        async for line in lines:
            if line == ": hello":
                break
        yield _events(lines)


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[Told]:
    said: dict[str, str] = {}
    async for line in lines:
        if line.startswith(("id:", "event:", "data:")):
            name, _, value = line.partition(": ")
            said[name] = value
        elif not line and "data" in said:
            yield said["id"], said["event"], json.loads(said["data"])
            said = {}


async def _next(events: AsyncIterator[Told], kind: str, **wanted: Any) -> Told:
    """The next event of this kind with these values. Other events are skipped."""
    async with asyncio.timeout(120):
        async for told in events:
            if told[1] == kind and all(told[2].get(name) == value for name, value in wanted.items()):
                return told
    raise AssertionError("the stream ended")


async def _key(harness: Harness, role: str, tenant: str = "default") -> str:
    return (await new_key(harness.store, role, await harness.tenant(tenant)))[1]


async def test_a_job_is_told_when_it_comes_runs_and_ends(harness: Harness, url: str) -> None:
    token = await _key(harness, "viewer")
    async with _watching(url, token) as events:
        job = str(await harness.enqueue("add"))
        assert (await _next(events, "job", id=job))[2]["status"] == "queued"
        worker = await harness.worker()
        lease = await worker.claim_one()
        assert (await _next(events, "job", id=job, status="running"))[2]["attempt"] == 1
        await harness.store.workers.log_attempt(
            worker.id, lease.job_id, lease.attempt, stdout="a line\n", stderr="", progress=None
        )
        assert (await _next(events, "log", id=job))[2]["progress"]["stdout"] == "a line\n"
        await worker.succeed(lease)
        await _next(events, "job", id=job, status="succeeded")


async def test_a_job_that_becomes_due_or_goes_on_is_told(harness: Harness, url: str) -> None:
    """Promoted and resumed jobs: they were not enqueued, started or finished."""
    late = str(await harness.enqueue("add", delay_s=60, priority=7))
    keyed = str(await harness.enqueue("add", delay_s=60, limit_key="k"))
    parent = await harness.enqueue("add", queue="nightly")
    worker = await harness.worker(queues=["nightly"])
    lease = await worker.claim_one()
    fence = Lease(worker.id, lease.job_id, lease.attempt)
    assert (await wait_for(harness, fence, "sleep", "sleep", delay_s=50))[0] == "suspended"
    await harness.advance(seconds=55)
    async with _watching(url, await _key(harness, "viewer")) as events:
        await harness.store.leader.resume()
        await _next(events, "job", id=str(parent), status="queued")
        await harness.advance(seconds=10)
        assert await harness.promote() == 2
        for job in (late, keyed):
            await _next(events, "job", id=job, status="queued")


async def test_an_answer_begins_when_all_that_moves_from_there_on_is_told(
    harness: Harness, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser treats the stream as open when the headers arrive. It can't wait for a comment."""
    token, begin, go_on = await _key(harness, "viewer"), Watch._begin, threading.Event()

    async def slow(self: Watch) -> None:
        await asyncio.to_thread(go_on.wait, 120)
        await begin(self)

    monkeypatch.setattr(Watch, "_begin", slow)
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        stream = client.stream("GET", "/api/v1/stream", headers={"Authorization": f"Bearer {token}"})
        opening = asyncio.ensure_future(stream.__aenter__())
        assert await asyncio.wait({opening}, timeout=0.5) == (set(), {opening}), "the first poll has not ended yet"
        go_on.set()
        await opening
        await stream.__aexit__(None, None, None)


async def test_nobody_is_told_of_another_tenants_job(harness: Harness, url: str) -> None:
    a, b, boss = [
        await _key(harness, role, tenant) for role, tenant in (("viewer", "a"), ("viewer", "b"), ("super-admin", "a"))
    ]
    async with _watching(url, a) as of_a, _watching(url, b) as of_b, _watching(url, boss) as of_all:
        mine, theirs = str(await harness.enqueue("add", tenant="a")), str(await harness.enqueue("add", tenant="b"))
        last = str(await harness.enqueue("add", tenant="a"))
        seen = []
        async for _, kind, data in of_a:
            seen.append((kind, data.get("id")))
            if ("job", last) in seen:
                break
        assert ("job", mine) in seen
        assert ("job", theirs) not in seen
        await _next(of_b, "job", id=theirs)
        await _next(of_all, "job", id=theirs)
        await harness.queue("mail", paused=True)
        assert (await _next(of_b, "queue", name="mail"))[2]["paused"] is True
        worker = await harness.worker()
        await _next(of_all, "worker", worker_id=worker.id)


async def test_who_comes_back_is_told_what_it_missed(harness: Harness, url: str) -> None:
    token = await _key(harness, "viewer")
    async with _watching(url, token) as events:
        first = str(await harness.enqueue("add"))
        last, _, _ = await _next(events, "job", id=first)
    missed = str(await harness.enqueue("add"))
    async with _watching(url, token, **{"Last-Event-ID": last}) as events:
        await _next(events, "job", id=missed)
    await harness.advance(minutes=5)
    async with _watching(url, token, **{"Last-Event-ID": last}) as events:
        await _next(events, "reset")
    async with _watching(url, token, **{"Last-Event-ID": "nonsense"}) as events:
        await _next(events, "reset")


async def test_too_much_at_once_is_told_as_one_event(harness: Harness, url: str) -> None:
    async with _watching(url, await _key(harness, "viewer")) as events:
        await harness.enqueue_many("add", 2500)
        await _next(events, "reset")


async def test_a_revoked_key_loses_its_stream(harness: Harness, url: str) -> None:
    key_id, token = await new_key(harness.store, "viewer", await harness.tenant())
    async with _watching(url, token) as events, asyncio.timeout(120):
        await harness.store.keys.revoke_key(key_id, all_tenants=True)
        assert [told async for told in events] == []


async def test_looking_begins_with_the_first_watcher_and_ends_with_the_last(harness: Harness) -> None:
    watch = Watch(harness.store)
    async with watch.watching(None, None):
        assert watch.looking
        async with watch.watching(await harness.tenant(), None):
            assert watch.looking
        assert watch.looking
    assert not watch.looking


async def test_a_watcher_that_reads_too_slowly_is_told_to_read_everything_again() -> None:
    watcher = Watcher(None)
    for number in range(QUEUED + 5):
        watcher.give(Event(f"1.{number}", "job", None, "{}"))
    assert watcher.events.qsize() == 6
    assert watcher.events.get_nowait().kind == "reset"
