"""Streams of one job over HTTP: with an API key, or with a token for that job; a reader can continue where it stopped."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest

from plait.api import job_streams
from plait.store.streams import StreamItem
from plait.store.workflows import Lease

from ..fake_worker import FakeWorker
from ..harness import Harness
from .api_client import ApiClient, new_key
from .api_server import serve_api

Told = tuple[str | None, str, Any]


@pytest.fixture
async def url(harness: Harness) -> AsyncIterator[str]:
    """The URL of an API on a socket: httpx's transport without a socket returns a stream only when it has ended."""
    with serve_api(harness.database.url) as url:
        yield url


class Writer:
    """A running job that writes to its stream."""

    def __init__(self, harness: Harness, worker: FakeWorker, lease: Any) -> None:
        self._world, self._worker, self._lease = harness, worker, lease
        self._position = 0

    @classmethod
    async def start(cls, harness: Harness, tenant: str = "default") -> "Writer":
        await harness.enqueue("add", tenant=tenant)
        worker = await harness.worker()
        return cls(harness, worker, await worker.claim_one())

    @property
    def job_id(self) -> UUID:
        job_id: UUID = self._lease.job_id
        return job_id

    async def write(self, *values: Any, name: str = "tokens") -> None:
        lease, items = Lease(self._worker.id, self._lease.job_id, self._lease.attempt), []
        for value in values:
            self._position += 1
            items.append(StreamItem(lease, name, "", self._position, json.dumps(value)))
        assert all(stored > 0 for stored in await self._world.store.streams.write(items))

    async def end(self) -> None:
        await self._worker.succeed(self._lease)


@asynccontextmanager
async def _reading(
    url: str, job_id: UUID, *, name: str = "tokens", params: dict[str, Any] | None = None, **headers: str
) -> AsyncIterator[AsyncIterator[Told]]:
    async with (
        httpx.AsyncClient(base_url=url, timeout=120) as client,
        client.stream("GET", f"/api/v1/jobs/{job_id}/streams/{name}", params=params, headers=headers) as answer,
    ):
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _events(answer.aiter_lines())


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[Told]:
    said: dict[str, str] = {}
    async for line in lines:
        if line.startswith(("id:", "event:", "data:")):
            name, _, value = line.partition(": ")
            said[name] = value
        elif not line and "data" in said:
            yield said.get("id"), said.get("event", "message"), json.loads(said["data"])
            said = {}


async def _next(events: AsyncIterator[Told]) -> Told:
    async with asyncio.timeout(120):
        return await anext(events)


async def _rest(events: AsyncIterator[Told]) -> list[Told]:
    async with asyncio.timeout(120):
        return [event async for event in events]


async def _token(harness: Harness, url: str, job_id: UUID, role: str = "admin", **body: Any) -> str:
    _, key = await new_key(harness.store, role, await harness.tenant())
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120) as client:
        answer = await client.post(f"/api/v1/jobs/{job_id}/streams/token", json=body)
    assert answer.status_code == 201, answer.text
    token: str = answer.json()["token"]
    return token


async def test_items_arrive_as_they_are_written_and_an_end_is_told(harness: Harness, url: str) -> None:
    writer = await Writer.start(harness)
    _, key = await new_key(harness.store, "viewer", await harness.tenant())
    await writer.write("before")
    async with _reading(url, writer.job_id, Authorization=f"Bearer {key}") as events:
        assert await _next(events) == ("1", "message", "before")
        await writer.write({"n": 2})
        assert await _next(events) == ("2", "message", {"n": 2})
        await writer.write([3])
        await writer.end()
        assert await _rest(events) == [("3", "message", [3]), (None, "end", {"status": "succeeded"})]


async def test_a_reader_continues_where_it_left_off_and_is_told_when_there_is_nothing_more(
    harness: Harness, url: str
) -> None:
    writer = await Writer.start(harness)
    token = await _token(harness, url, writer.job_id)
    await writer.write("a", "b", "c")
    async with _reading(url, writer.job_id, params={"token": token}, **{"Last-Event-ID": "2"}) as events:
        assert await _next(events) == ("3", "message", "c")
    await writer.end()
    async with _reading(url, writer.job_id, params={"token": token, "after": "1"}) as events:
        assert [event[2] for event in await _rest(events)] == ["b", "c", {"status": "succeeded"}]
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        path = f"/api/v1/jobs/{writer.job_id}/streams/tokens"
        again = await client.get(path, params={"token": token}, headers={"Last-Event-ID": "3"})
        assert (again.status_code, again.content) == (204, b""), "after a 204, an EventSource does not reconnect"
        wrong = await client.get(path, params={"token": token}, headers={"Last-Event-ID": "x"})
        assert wrong.status_code == 422
        assert "Last-Event-ID must be the number of an item, got 'x'" in wrong.json()["detail"]


async def test_a_token_opens_its_own_job_and_nothing_else(harness: Harness, url: str) -> None:
    mine, other = await Writer.start(harness), await Writer.start(harness)
    await mine.write(1)
    await mine.end()
    token = await _token(harness, url, mine.job_id)
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:

        async def status(path: str, *, by: str = "query") -> int:
            where = {"params": {"token": token}} if by == "query" else {"headers": {"Authorization": f"Bearer {token}"}}
            return (await client.get(f"/api/v1{path}", **where)).status_code  # type: ignore[arg-type]

        for by in ("query", "header"):
            assert await status(f"/jobs/{mine.job_id}/streams/tokens", by=by) == 200
            assert await status(f"/jobs/{other.job_id}/streams/tokens", by=by) == 401
            for path in ("/jobs", f"/jobs/{mine.job_id}", f"/jobs/{mine.job_id}/steps", "/session", "/stream"):
                assert await status(path, by=by) == 401, path
        without = await client.get(f"/api/v1/jobs/{mine.job_id}/streams/tokens")
        assert without.status_code == 401


async def test_a_token_expires_also_for_who_reads_already(
    harness: Harness, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_streams, "QUIET_S", 0.2)
    writer = await Writer.start(harness)
    token = await _token(harness, url, writer.job_id, ttl_seconds=60)
    async with _reading(url, writer.job_id, params={"token": token}) as events:
        await writer.write(1)
        assert (await _next(events))[2] == 1
        await harness.advance(seconds=61)
        assert await _rest(events) == []
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        late = await client.get(f"/api/v1/jobs/{writer.job_id}/streams/tokens", params={"token": token})
        assert late.status_code == 401


async def test_a_token_of_who_is_not_shown_secrets_shows_none(harness: Harness, url: str) -> None:
    writer = await Writer.start(harness)
    await writer.write({"password": "hunter22", "said": "hello"})
    await writer.end()
    for role, shown in (("viewer", False), ("operator", False), ("admin", True)):
        token = await _token(harness, url, writer.job_id, role=role)
        async with _reading(url, writer.job_id, params={"token": token}) as events:
            first = await _next(events)
        assert first[2]["said"] == "hello"
        assert (first[2]["password"] == "hunter22") is shown, role


async def test_a_token_is_written_down_and_of_no_job_there_is_none(api: ApiClient, harness: Harness) -> None:
    mine, theirs = await harness.enqueue("add"), await harness.enqueue("add", tenant="b")
    caller = await api.acting("viewer")
    made = await caller.ok("POST", f"/jobs/{mine}/streams/token")
    assert made["token"].startswith("plait_")
    [entry] = await harness.store.audit.list_audit(tenant_id=await harness.tenant(), action="stream.token")
    assert entry.object == str(mine)
    assert (await caller.post(f"/jobs/{theirs}/streams/token")).status_code == 404
    assert made["token"] not in str(await harness.rows("select * from plait.job_tokens"))


async def test_the_state_of_a_job_is_shown_without_secrets_to_whom_they_are_not_shown(
    api: ApiClient, harness: Harness
) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    viewer, admin = await api.acting("viewer"), await api.acting("admin")
    assert await viewer.ok("GET", f"/jobs/{job}/state") == {"state": None, "version": 0}
    for value in ('{"phase": "asked"}', '{"phase": "done", "password": "hunter22"}'):
        assert await harness.store.workers.progress(worker.id, job, lease.attempt, None, value)
    assert await admin.ok("GET", f"/jobs/{job}/state") == {
        "state": {"phase": "done", "password": "hunter22"},
        "version": 2,
    }
    assert "hunter22" not in (await viewer.get(f"/jobs/{job}/state")).text
