"""Jobs over HTTP: filters, pages, verbs, and keys that make repeated requests safe."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from plait.model.ids import new_id
from plait.model.reasons import REMEDIES
from plait.model.states import Status

from ..access.logins import fan_out
from ..harness import Harness
from ..project.source_files import ROOT
from .api_client import ApiClient


async def _ids(caller: ApiClient, **query: Any) -> list[str]:
    return [one["id"] for one in (await caller.ok("GET", "/jobs", params=query))["items"]]


async def test_every_filter_finds_what_it_says(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    first = str(await harness.enqueue("add", queue="mail", correlation_id="c", payload={"to": "a", "n": 7}))
    await harness.advance(minutes=1)
    middle = await harness.now()
    second = str(await harness.enqueue("other", dedupe_key="d"))
    third = str(await harness.enqueue("add"))
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert str(lease.job_id) == second
    caller = await api.acting("viewer")
    assert await _ids(caller) == [third, second, first]
    assert await _ids(caller, status="running") == [second]
    assert await _ids(caller, status=["running", "queued"]) == [third, second, first]
    assert await _ids(caller, queue="mail") == [first]
    assert await _ids(caller, definition_key="other") == [second]
    assert await _ids(caller, source="event") == []
    assert await _ids(caller, source="manual") == [third, second, first]
    assert await _ids(caller, worker=worker.id) == [second]
    assert await _ids(caller, correlation_id="c") == [first]
    assert await _ids(caller, has_sub_jobs="false") == [third, second, first]
    assert await _ids(caller, has_sub_jobs="true") == []
    assert await _ids(caller, created_before=middle.isoformat()) == [first]
    assert await _ids(caller, created_after=middle.isoformat()) == [third, second]
    assert await _ids(caller, search="oth") == [second]
    assert await _ids(caller, search="%") == []
    assert await _ids(caller, search=first) == [first]
    assert await _ids(caller, payload="to=a") == [first]
    assert await _ids(caller, payload=["to=a", "n=7"]) == [first]
    assert await _ids(caller, payload=["to=a", "n=8"]) == []
    assert await _ids(caller, limit=1, offset=1) == [second]
    await worker.fail(lease, permanent=True)
    assert await _ids(caller, status="failed") == [second]
    assert await _ids(caller, status="failed", worker=worker.id) == [second]
    await harness.cancel(lease.job_id)
    await caller.get("/jobs")


async def test_pages_have_no_gap_and_no_row_twice(api: ApiClient, harness: Harness) -> None:
    """T112."""
    await harness.enqueue_many("add", 25)
    caller = await api.acting("viewer")
    everything = await _ids(caller, limit=100)
    for query in ({}, {"status": "queued"}, {"queue": "default"}, {"payload": "a=b"}):
        read: list[str] = []
        cursor: str | None = None
        while True:
            listed = await caller.ok(
                "GET", "/jobs", params={"limit": 7, **query, **({"cursor": cursor} if cursor else {})}
            )
            read += [one["id"] for one in listed["items"]]
            cursor = listed["next"]
            if cursor is None:
                break
        assert read == ([] if "payload" in query else everything)


async def test_a_search_that_no_index_serves_is_bounded_and_says_so(harness: Harness) -> None:
    jobs = await harness.enqueue_many("add", 250, payload={"k": "v"})
    rows = await harness.rows("select (job).id, stopped from plait.search_jobs(p_search => 'nothing', p_scan => 100)")
    assert [tuple(row) for row in rows] == [(None, sorted(jobs)[-101])]
    rows = await harness.rows(
        "select (job).id, stopped from plait.search_jobs(p_search => 'nothing', p_scan => 100, p_before => $1)",
        sorted(jobs)[50],
    )
    assert rows == []


async def test_a_job_is_shown_with_what_is_around_it(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add", payload={"a": 1})
    worker = await harness.worker()
    await worker.claim_one()
    shown = await (await api.acting("viewer")).ok("GET", f"/jobs/{job}")
    assert shown["status"] == "running"
    assert shown["claimed_by_worker"] == worker.id
    assert shown["lease_expires_at"] is not None
    assert (shown["parent"], shown["fan_outs"], shown["steps"], shown["children"]["items"]) == (None, [], [], [])


async def test_a_tree_is_shown_with_its_fan_outs_steps_and_children(api: ApiClient, harness: Harness) -> None:
    tenant = await harness.tenant("a")
    await fan_out(harness.store, tenant)
    caller = await api.acting("viewer", "a")
    [child, parent] = (await caller.ok("GET", "/jobs"))["items"]
    shown = await caller.ok("GET", f"/jobs/{parent['id']}")
    [group] = shown["fan_outs"]
    assert (group["strategy"], group["total"], group["succeeded"], group["decision"]) == (
        "collect_all",
        1,
        1,
        "succeeded",
    )
    assert [step["kind"] for step in shown["steps"]] == ["stream"]
    assert [one["id"] for one in shown["children"]["items"]] == [child["id"]]
    assert (await caller.ok("GET", f"/jobs/{child['id']}"))["parent"]["id"] == parent["id"]
    for query in ({"parent": parent["id"]}, {"root": parent["id"]}, {"fan_out": group["id"]}):
        assert await _ids(caller, **query) == [child["id"]]
    assert await _ids(caller, has_sub_jobs="true") == [parent["id"]]
    read: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        listed = await caller.ok("GET", f"/jobs/{child['id']}/tree", params={"limit": 1, **cursor})
        read += [one["id"] for one in listed["items"]]
        if listed["next"] is None:
            break
        cursor = {"cursor": listed["next"]}
    assert read == [parent["id"], child["id"]]
    assert (await caller.get(f"/jobs/{child['id']}/tree", params={"cursor": "nonsense"})).status_code == 422
    summed = await caller.ok("GET", "/jobs/summary")
    assert (summed["active_fan_outs"], summed["active_workflows"]) == (0, 0)


async def test_what_only_carries_numbers_and_depth_is_not_hurt_by_them(api: ApiClient, harness: Harness) -> None:
    """T101: JSON that Python could not parse is returned as it is stored."""
    nasty = '{"digits": ' + "7" * 5000 + ', "deep": ' + "[" * 3000 + "]" * 3000 + "}"
    job = await harness.enqueue("add", payload=nasty)
    caller = await api.acting("viewer")
    shown = await caller.get(f"/jobs/{job}")
    assert shown.status_code == 200
    assert nasty in shown.text
    assert (await caller.get("/jobs", params={"payload": "digits=7"})).status_code == 200


@pytest.mark.parametrize(
    "payload", ['{"a": 1e400}', '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}", '{"a": ' + "7" * 5000 + "}", "[]", "{"]
)
async def test_a_payload_that_is_no_json_object_is_refused(api: ApiClient, harness: Harness, payload: str) -> None:
    await harness.define("add")
    caller = await api.acting("operator")
    body = f'{{"definition_key": "add", "payload": {payload}}}'
    answer = await caller.call("POST", "/jobs", content=body.encode(), headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_payload_is_checked_before_the_job_is_asked_for(api: ApiClient, harness: Harness) -> None:
    await harness.define("add", schema={"type": "object", "required": ["a"]})
    caller = await api.acting("operator")
    refused = await caller.post("/jobs", {"definition_key": "add", "payload": {}})
    assert refused.status_code == 422
    assert "required" in refused.json()["detail"]
    unknown = await caller.post("/jobs", {"definition_key": "typo", "payload": {}})
    assert unknown.status_code == 422
    assert "typo" in unknown.json()["detail"]
    assert await _ids(caller) == []
    half = b'{"definition_key": "add", "payload": {"a": "\\ud800", "n": 99999999999999999999999999}}'
    answer = await caller.call("POST", "/jobs", content=half, headers={"Content-Type": "application/json"})
    assert answer.status_code in (201, 422), answer.text


async def test_an_idempotency_key_is_the_jobs_own(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    caller = await api.acting("operator")
    body = {"definition_key": "add", "payload": {"a": 1}}
    first = await caller.post("/jobs", body, headers={"Idempotency-Key": "k"})
    again = await caller.post("/jobs", body, headers={"Idempotency-Key": "k"})
    other = await caller.post("/jobs", {**body, "payload": {"a": 2}}, headers={"Idempotency-Key": "k"})
    assert [first.status_code, again.status_code, other.status_code] == [201, 200, 409]
    assert first.json()["id"] == again.json()["id"]
    elsewhere = await api.acting("operator", "b")
    assert (await elsewhere.post("/jobs", body, headers={"Idempotency-Key": "k"})).status_code == 201


async def test_elsewhere_an_answer_is_given_again(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("operator")
    key = {"Idempotency-Key": "k"}
    first = await caller.post(f"/jobs/{job}/cancel", {"reason": "r"}, headers=key)
    assert first.json()["status"] == "canceled"
    await harness.retry(job)
    again = await caller.post(f"/jobs/{job}/cancel", {"reason": "r"}, headers=key)
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert await harness.status(job) == "queued"
    assert (await caller.post(f"/jobs/{job}/cancel", {"reason": "x"}, headers=key)).status_code == 409
    refused = [await caller.post(f"/jobs/{new_id()}/cancel", headers={"Idempotency-Key": "n"}) for _ in range(1)]
    assert refused[0].status_code == 404
    await harness.advance(hours=25)
    assert (await caller.post(f"/jobs/{job}/cancel", {"reason": "x"}, headers=key)).json()["status"] == "canceled"


@pytest.mark.parametrize(("role", "path"), [("viewer", "preview"), ("operator", "render")])
async def test_a_request_that_only_reads_stores_no_answer(
    api: ApiClient, harness: Harness, role: str, path: str
) -> None:
    caller = await api.acting(role)
    bodies = {
        "preview": {"cron": "0 2 * * *", "count": 1},
        "render": {"template": {"a": "{{event.a}}"}, "event": {"a": 1}},
    }
    answers = [
        await caller.post(f"/jobs/triggers/{path}", bodies[path], headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]
    assert all("idempotent-replayed" not in answer.headers for answer in answers)
    assert answers[0].status_code == answers[1].status_code
    assert await harness.sql("select count(*) from plait.replies") == 0


async def test_a_quota_is_a_429_that_says_when(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    await harness.tenant("small", max_queued=1)
    caller = await api.acting("operator", "small")
    await caller.ok("POST", "/jobs", {"definition_key": "add"})
    full = await caller.post("/jobs", {"definition_key": "add"})
    assert full.status_code == 429
    assert int(full.headers["retry-after"]) > 0


async def test_an_operator_cancels_retries_reschedules_and_signals(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("operator")
    later = (await harness.now() + timedelta(hours=1)).isoformat()
    moved = await caller.ok("POST", f"/jobs/{job}/reschedule", {"scheduled_for": later, "max_attempts": 9})
    assert moved["status"] == "scheduled"
    assert (await caller.ok("POST", f"/jobs/{job}/signal", {"name": "go", "payload": {"x": 1}}))[
        "status"
    ] == "scheduled"
    assert (await caller.ok("POST", f"/jobs/{job}/cancel"))["status"] == "canceled"
    assert (await caller.ok("POST", f"/jobs/{job}/retry", {"max_attempts": 2}))["status"] == "queued"
    assert (await caller.ok("GET", f"/jobs/{job}"))["max_attempts"] == 2
    assert (await caller.post(f"/jobs/{job}/retry")).status_code == 409
    assert (await caller.ok("POST", f"/jobs/{job}/cancel", {"tree": True}))["jobs"] == 1
    assert (await caller.ok("POST", f"/jobs/{job}/retry", {"tree": "failed"}))["status"] == "queued"
    forked = await caller.ok("POST", f"/jobs/{job}/retry", {"tree": "all"})
    assert forked["id"] != str(job)
    attempts = (await caller.ok("GET", f"/jobs/{job}/attempts"))["items"]
    assert [one["status"] for one in attempts][:1] == ["canceled"]
    entries = await harness.store.audit.list_audit(tenant_id=await harness.tenant())
    assert [entry.action for entry in reversed(entries)] == [
        "job.reschedule", "job.signal", "job.cancel", "job.retry", "job.cancel", "job.retry", "job.retry",
    ]  # fmt: skip
    assert json.loads(entries[-1].detail)["max_attempts"] == 9


async def test_a_super_admin_acts_in_the_jobs_own_tenant(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add", tenant="b")
    caller = await api.acting("super-admin")
    assert (await caller.ok("POST", f"/jobs/{job}/cancel"))["status"] == "canceled"
    [entry] = await harness.store.audit.list_audit(tenant_id=await harness.tenant("b"))
    assert entry.action == "job.cancel"
    assert (await caller.get(f"/jobs/{job}", params={"tenant": "default"})).status_code == 404


async def test_why_a_job_does_not_run_and_what_would_let_it(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add")
    await harness.queue(paused=True)
    told = await (await api.acting("viewer")).ok("GET", f"/jobs/{job}/explain")
    assert told["status"] == "queued"
    assert [one["code"] for one in told["reasons"]] == ["queue_paused", "no_worker", "next"]
    assert told["reasons"][0]["remedy"] == "resume the queue"


def test_every_reason_says_what_would_let_the_job_run() -> None:
    import re

    text = (ROOT / "plait/sql/functions/read/explain_job.sql").read_text()
    codes = set(re.findall(r"return query\s+select '(\w+)'", text)) | {str(status) for status in Status if status.final}
    assert codes == set(REMEDIES)


async def test_the_summary_has_what_is_live_and_what_failed(api: ApiClient, harness: Harness) -> None:
    await harness.enqueue_many("add", 3)
    await harness.advance(seconds=30)
    worker = await harness.worker()
    await worker.fail(await worker.claim_one(), permanent=True)
    await worker.claim_one()
    told = await (await api.acting("viewer")).ok("GET", "/jobs/summary")
    assert told["counts"] == {
        "scheduled": 0, "queued": 1, "running": 1, "waiting": 0, "failed": 1, "dead_letter": 0,
    }  # fmt: skip
    assert (told["running"], told["total_waiting"], told["active_fan_outs"]) == (1, 0, 0)
    assert told["oldest_queued_age_seconds"] == 30
    other = await (await api.acting("viewer", "b")).ok("GET", "/jobs/summary")
    assert set(other["counts"].values()) == {0}


async def test_the_leaders_count_is_what_a_reader_gets_when_there_is_much(harness: Harness) -> None:
    """T113."""
    await harness.enqueue_many("add", 3)
    assert (await harness.store.leader.count_live())[0] == 3
    rows = await harness.rows("select queue, state::text, jobs from plait.depths")
    assert [tuple(row) for row in rows] == [("default", "queued", 3)]


async def test_who_waits_for_a_job_is_answered_when_it_is_final(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add")
    caller = await api.acting("viewer")
    waiting = asyncio.ensure_future(caller.ok("GET", f"/jobs/{job}", params={"wait_seconds": 20}))
    worker = await harness.worker()
    lease = await worker.claim_one()
    assert not waiting.done()
    await worker.succeed(lease, 3)
    shown = await asyncio.wait_for(waiting, 60)
    assert (shown["status"], shown["result"]) == ("succeeded", 3)
    assert (await caller.ok("GET", f"/jobs/{job}", params={"wait_seconds": 20}))["status"] == "succeeded"


async def test_who_waits_is_answered_in_time_and_when_the_server_stops(api: ApiClient, harness: Harness) -> None:
    job = await harness.enqueue("add", tenant="a")
    caller = await api.acting("viewer", "a")
    assert (await caller.ok("GET", f"/jobs/{job}", params={"wait_seconds": 0.05}))["status"] == "queued"
    stranger = await api.acting("viewer", "b")
    assert (await stranger.get(f"/jobs/{job}", params={"wait_seconds": 20})).status_code == 404
    assert (await caller.get(f"/jobs/{job}", params={"wait_seconds": 31})).status_code == 422
    waiting = asyncio.ensure_future(caller.ok("GET", f"/jobs/{job}", params={"wait_seconds": 30}))
    api.app.state.stopping.set()
    assert (await asyncio.wait_for(waiting, 25))["status"] == "queued"  # before the wait times out


async def test_search_keys_are_declared_and_used_through_the_api(api: ApiClient, harness: Harness) -> None:
    boss = await api.acting("super-admin")
    made = await boss.ok("POST", "/admin/jobs/definitions", {"key": "sync", "search_keys": ["customer"]})
    assert made["search_keys"] == ["customer"]
    wanted = await harness.enqueue("sync", payload={"customer": 7, "order": {"id": 3}})
    await harness.enqueue("sync", payload={"customer": 8})
    caller = await api.acting("viewer")
    for query in ("customer=7", "order.id=3"):
        assert await _ids(caller, definition_key="sync", payload=query) == [str(wanted)]
    changed = await boss.ok("PATCH", "/admin/jobs/definitions/sync", {"search_keys": None})
    assert changed["search_keys"] is None
    for wrong in ([""], ["a"] * 11, ["x" * 201]):
        refused = await boss.call("PATCH", "/admin/jobs/definitions/sync", json={"search_keys": wrong})
        assert refused.status_code == 422


@pytest.mark.parametrize(
    ("path", "body"), [("/tenants", {"slug": "new"}), ("/admin/jobs/definitions", {"key": "new", "max_attempts": 3})]
)
async def test_of_many_who_make_the_same_at_once_one_does(
    api: ApiClient, harness: Harness, path: str, body: dict[str, Any]
) -> None:
    boss = await api.acting("super-admin")
    answers = await asyncio.gather(*(boss.post(path, body) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 7]
    assert {answer.json().get("type") for answer in answers} == {None, "urn:plait:problem:already-exists"}
    entries = await harness.store.audit.list_audit(all_tenants=True)
    assert len([entry for entry in entries if entry.action.endswith(".create")]) == 1


async def test_a_key_that_an_open_transaction_holds_is_answered_in_time(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    caller = await api.acting("operator")
    body = {"definition_key": "add", "payload": {}, "dedupe_key": "k"}
    async with harness.connection() as user, user.transaction():
        await user.fetchval("select plait.enqueue('add', tenant => 'default', dedupe_key => 'k')")
        answer = await caller.post("/jobs", json=body)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        assert answer.json()["type"] == "urn:plait:problem:busy"
        assert "another open transaction holds the dedupe key 'k'" in answer.json()["detail"]
    assert (await caller.post("/jobs", json=body)).json()["deduplicated"]
