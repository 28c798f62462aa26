"""Malformed requests are rejected or accepted, never answered with a 5xx, and do not change the server's state."""

import asyncio
import json
from typing import Any

import pytest

from plait.api.body_limits import weight
from plait.model.ids import new_id

from ..harness import Harness
from .api_client import ApiClient

PAYLOADS = [
    "=", "a", "a=", "=a", "a\0=b", "a=\0", "\ud800=a".encode("utf-8", "surrogatepass").decode("latin-1"), "." * 200 + "=1", "a" * 5000 + "=1",
    "a=" + "x" * 5000, "0=1", "$.a=1", "a'; drop table plait.jobs; --=1", "%=%", "{}={}", "a.b.c.0.-1=1", "\\=\\", "a\n=b", "\uff41=\uff11",
]  # fmt: skip


async def test_a_search_in_payloads_is_refused_or_answered(api: ApiClient, harness: Harness) -> None:
    await harness.define("add", search_keys=["a", "a.b.c.0.-1", "$.a"])
    await harness.enqueue("add", payload={"a": {"b": {"c": [[1]]}}, "$.a": 1})
    caller = await api.acting("viewer")
    for text in PAYLOADS:
        for more in ({}, {"definition_key": "add"}, {"definition_key": "add", "status": "failed"}):
            answer = await caller.get("/jobs", params={"payload": text, **more})
            assert answer.status_code in (200, 422), (text, answer.text)


@pytest.mark.parametrize(
    "keys", [["a\0"], ["\ud800"], ["a", "a"], ["a", 1], [None], "a", {"a": 1}, [["a"]], ["é" * 200] * 5]
)
async def test_search_keys_of_any_kind_are_refused_or_taken(api: ApiClient, harness: Harness, keys: Any) -> None:
    boss = await api.acting("super-admin")
    body = json.dumps({"key": "sync", "search_keys": keys})  # with escapes, so that lone surrogates are sent too
    answer = await boss.call(
        "POST", "/admin/jobs/definitions", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == (201 if keys == ["a", "a"] else 422), answer.text
    if answer.status_code == 201:
        await harness.enqueue("sync", payload={"a": 1})


async def test_the_longest_names_keys_and_values_are_taken(harness: Harness) -> None:
    """The size of an index row is limited. No allowed value may reach that limit."""
    name, key, value = "\N{GRINNING FACE}" * 200, "\N{GRINNING FACE}" * 240, "\N{GRINNING FACE}" * 1000
    await harness.define(name, search_keys=[key])
    job = await harness.enqueue(name, payload={key: value})
    found = await harness.store.jobs.list_jobs(definition=name, payload=json.dumps({key: value}))
    assert [one.id for one in found] == [job]
    assert await harness.sql("select count(*) from plait.search_values") == 1


@pytest.mark.parametrize("wait", ["nan", "inf", "-1", "31", "1e400", "x", ""])
async def test_nobody_waits_for_ever(api: ApiClient, harness: Harness, wait: str) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("super-admin")
    assert (await caller.get(f"/jobs/{job}", params={"wait_seconds": wait})).status_code == 422
    claim = f'{{"queues": ["default"], "definitions": ["add"], "wait_seconds": {wait or "null"}}}'
    sent = await caller.call("POST", "/worker/jobs/claim", content=claim, headers={"Content-Type": "application/json"})
    assert sent.status_code == 422


async def test_many_who_wait_for_one_job_are_all_answered_by_one_question(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("viewer")
    waiting = [asyncio.ensure_future(caller.get(f"/jobs/{job}", params={"wait_seconds": 20})) for _ in range(200)]
    await asyncio.sleep(0)  # sleep: only lets the requests start
    for one in waiting[:50]:
        one.cancel()
    await harness.cancel(job)
    answers = await asyncio.wait_for(asyncio.gather(*waiting[50:]), 60)
    assert {answer.json()["status"] for answer in answers} == {"canceled"}
    await asyncio.gather(*waiting[:50], return_exceptions=True)


async def test_outcomes_that_contradict_each_other_change_a_job_once(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("worker")
    got = await caller.ok(
        "POST", "/worker/jobs/claim", {"queues": ["default", "default"], "definitions": ["add"], "limit": 9}
    )
    assert len(got["jobs"]) == 1
    said = {"id": str(job), "attempt": 1}
    outcomes = [{**said, "outcome": "complete"}, {**said, "outcome": "fail"}, {**said, "outcome": "release"}]
    answer = await caller.post("/worker/jobs/settle", {"worker": got["worker"], "outcomes": outcomes})
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 200:
        assert [one["accepted"] for one in answer.json()["settled"]].count(True) == 1
    assert len(await harness.attempts(job)) <= 1


@pytest.mark.parametrize(
    "outcome",
    [
        {"attempt": -1}, {"attempt": 2**40}, {"id": "x"}, {"outcome": "canceled"}, {"outcome": None}, {"delay_seconds": -1},
        {"delay_seconds": "NaN"}, {"exit_code": 2**40}, {"error": "x" * 100_001}, {"tenant_id": str(new_id())},
    ],
)  # fmt: skip
async def test_an_outcome_that_is_none_is_refused(api: ApiClient, harness: Harness, outcome: dict[str, Any]) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("worker")
    got = await caller.ok("POST", "/worker/jobs/claim", {"queues": ["default"], "definitions": ["add"]})
    one = {"id": str(job), "attempt": 1, "outcome": "fail", **outcome}
    before = await harness.snapshot()
    answer = await caller.post("/worker/jobs/settle", {"worker": got["worker"], "outcomes": [one]})
    assert answer.status_code == 422, answer.text
    assert await harness.snapshot() == before


async def test_a_key_of_a_tenant_can_declare_nothing_and_make_nothing_of_the_installation(
    api: ApiClient, harness: Harness
) -> None:
    await harness.define("add")
    for role in ("viewer", "operator", "admin", "worker"):
        caller = await api.acting(role)
        for method, path, body in (
            ("PATCH", "/admin/jobs/definitions/add", {"search_keys": ["a"]}),
            ("POST", "/admin/jobs/definitions", {"key": "mine"}),
            ("POST", "/tenants", {"slug": "mine"}),
        ):
            assert (await caller.call(method, path, json=body)).status_code == 403


HALF_A_MILLION = {
    "numbers": "[" + "1," * 500_000 + "1]",
    "lists": "[" + "[]," * 500_000 + "1]",
    "objects": "[" + '{"a":1},' * 200_000 + "1]",
    "keys": "{" + ",".join(f'"{n}":0' for n in range(180_000)) + "}",
}


@pytest.mark.parametrize("kind", HALF_A_MILLION)
async def test_json_of_too_many_values_is_refused_before_it_is_parsed(
    api: ApiClient, harness: Harness, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Half a million lists take a second to parse, and all other requests would wait."""
    await harness.define("add")
    operator = await api.acting("operator")
    parsed: list[int] = []
    loads = json.loads

    def watched(text: str, **options: Any) -> Any:
        parsed.append(len(text))
        return loads(text, **options)

    monkeypatch.setattr(json, "loads", watched)
    body = f'{{"definition_key": "add", "payload": {{"a": {HALF_A_MILLION[kind]}}}}}'
    refused = await operator.call("POST", "/jobs", content=body, headers={"content-type": "application/json"})
    assert (refused.status_code, parsed) == (413, [])
    assert "must have at most 250,000 values" in refused.text


async def test_text_with_many_signs_is_no_json_of_many_values(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    operator = await api.acting("operator")
    text = '{"a": [1, "b"]},\\' * 30_000
    await operator.ok("POST", "/jobs", {"definition_key": "add", "payload": {"a": text}})
    assert await harness.sql("select payload ->> 'a' from plait.jobs") == text


@pytest.mark.parametrize("end", ["", "\\", '\\"'])
def test_signs_in_a_string_that_does_not_end_are_not_counted(end: str) -> None:
    assert weight(('"' + ',\\"' * 300_000 + end).encode()) == 0


@pytest.mark.parametrize("path", ["/session", "/embeds/session"])
async def test_who_has_no_key_sends_little(api: ApiClient, path: str) -> None:
    refused = await api.post(path, {"key": "x" * 20_000})
    assert refused.status_code == 413
    assert "a request without an API key must have at most 16,384 bytes" in refused.text
