"""Log lines of a job over HTTP: by page, redacted, and only for its tenant."""

from uuid import UUID

import pytest

from plait.model.redaction import HIDDEN
from plait.store.logs import LogEntry, LogLine
from plait.store.workflows import Lease

from ..fake_worker import FakeWorker
from ..harness import Harness
from .api_client import ApiClient


async def logged(harness: Harness, *messages: str, fields: str | None = None, definition: str = "add") -> UUID:
    """A running job with these lines."""
    await harness.enqueue(definition)
    worker: FakeWorker = await harness.worker(definitions=[definition])
    claimed = await worker.claim_one()
    lease = Lease(worker.id, claimed.job_id, claimed.attempt)
    lines = [
        LogLine(lease, number, LogEntry(0, "info", "log", "library", message, fields))
        for number, message in enumerate(messages, 1)
    ]
    await harness.store.logs.write(lines, now=0)
    return claimed.job_id


async def test_pages_lead_back_to_the_first_line_and_on_to_new_ones(api: ApiClient, harness: Harness) -> None:
    job = await logged(harness, *(f"line {n}" for n in range(1, 6)))
    viewer = await api.acting("viewer")
    last = await viewer.ok("GET", f"/jobs/{job}/logs?limit=2")
    assert [item["message"] for item in last["items"]] == ["line 4", "line 5"]
    assert (last["before"], last["after"]) == ("1.4", "1.5")
    before = await viewer.ok("GET", f"/jobs/{job}/logs?limit=3&before={last['before']}")
    assert [item["line"] for item in before["items"]] == [1, 2, 3]
    first = await viewer.ok("GET", f"/jobs/{job}/logs?limit=3&before={before['before']}")
    assert first == {"items": [], "before": None, "after": None}
    following = await viewer.ok("GET", f"/jobs/{job}/logs?after={last['after']}")
    assert following == {"items": [], "before": None, "after": "1.5"}
    whole = await viewer.ok("GET", f"/jobs/{job}/logs")
    assert (len(whole["items"]), whole["before"]) == (5, None)
    for query in ("after=x", "before=1.", "after=1.1&before=1.2", "level=loud", "attempt=0"):
        assert (await viewer.get(f"/jobs/{job}/logs?{query}")).status_code == 422, query


@pytest.mark.parametrize(("role", "hidden"), [("viewer", True), ("operator", True), ("admin", False)])
async def test_viewers_and_operators_see_no_secrets_in_log_lines(
    api: ApiClient, harness: Harness, role: str, hidden: bool
) -> None:
    await harness.store.definitions.define([{"name": "pay", "sensitive": ["card.number"]}])
    fields = '{"card":{"number":"canary"},"kept":1}'
    job = await logged(harness, "postgres://app:canary@db/x", fields=fields, definition="pay")
    [line] = (await (await api.acting(role)).ok("GET", f"/jobs/{job}/logs"))["items"]
    assert ("canary" in str(line)) is not hidden
    assert (HIDDEN in line["message"]) is hidden
    assert line["fields"]["kept"] == 1


async def test_log_lines_of_another_tenant_are_those_of_no_job(api: ApiClient, harness: Harness) -> None:
    job = await logged(harness, "line")
    other = await api.acting("admin", "acme")
    assert (await other.get(f"/jobs/{job}/logs")).status_code == 404


async def test_the_change_feed_tells_of_new_log_lines(harness: Harness) -> None:
    tenant, now = await harness.tenant(), await harness.now()
    job = await logged(harness, "one", "two")
    told = [change for change in await harness.store.changes.changes([tenant], now) if change.kind == "log_line"]
    assert [(change.id, change.detail) for change in told] == [(job, '{"attempt" : 1, "line" : 2}')]
    other = await harness.tenant("acme")
    assert [one for one in await harness.store.changes.changes([other], now) if one.kind == "log_line"] == []
    later = await harness.advance(minutes=1)
    assert await harness.store.changes.changes([tenant], later) == []
