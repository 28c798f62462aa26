"""Triggers, events and definitions over HTTP, with the field names of the API contract."""

from typing import Any

import pytest

from ..harness import Harness
from .api_client import ApiClient

EVENT = {
    "label": "Resync on folder change",
    "trigger_type": "event",
    "event_name": "provider.folder.updated",
    "definition_key": "add",
    "payload_template": {"provider_id": "{{event.provider_id}}", "path_prefix": "{{event.folder_path}}"},
    "dedupe_window_seconds": 120,
}
SCHEDULE = {
    "label": "Nightly provider sync",
    "trigger_type": "schedule",
    "cron_expr": "0 2 * * *",
    "timezone": "America/New_York",
    "definition_key": "add",
    "payload_template": {"path_prefix": "/"},
}


async def test_a_trigger_is_made_read_changed_tried_and_deleted(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    admin = await api.acting("admin")
    made = await admin.post("/jobs/triggers", SCHEDULE)
    assert made.status_code == 201, made.text
    trigger = made.json()
    assert {name: trigger[name] for name in SCHEDULE} == SCHEDULE
    path = f"/jobs/triggers/{trigger['id']}"
    assert (await admin.post("/jobs/triggers", SCHEDULE)).status_code == 409

    previews = (await admin.ok("GET", f"{path}/preview", params={"count": 3}))["items"]
    assert len(previews) == 3
    assert all("T02:00:00" in one["local"] for one in previews)
    tried = await admin.ok("POST", f"{path}/test", {"run": True})
    assert tried["payload"] == {"path_prefix": "/"}
    assert (await admin.ok("GET", f"/jobs/{tried['job_id']}"))["definition_key"] == "add"

    tag = made.headers["etag"]
    await harness.advance(seconds=1)
    changed = await admin.call("PATCH", path, json={"is_enabled": False}, headers={"If-Match": tag})
    assert changed.status_code == 200
    assert changed.json()["is_enabled"] is False
    assert changed.headers["etag"] != tag
    assert (await admin.call("PATCH", path, json={"priority": 1}, headers={"If-Match": tag})).status_code == 412
    assert (await admin.call("DELETE", path, headers={"If-Match": tag})).status_code == 412
    assert (await admin.call("DELETE", path)).status_code == 204
    assert (await admin.get(path)).status_code == 404
    assert (await admin.ok("GET", "/jobs/triggers"))["items"] == []


async def test_an_event_that_is_posted_makes_the_triggers_job(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    admin = await api.acting("admin", "a")
    trigger = await admin.ok("POST", "/jobs/triggers", EVENT)
    data = {"provider_id": 7, "folder_path": "/in"}
    told = await admin.ok("POST", "/events", {"name": "provider.folder.updated", "data": data, "correlation_id": "c"})
    await harness.dispatch()
    event = await admin.ok("GET", f"/events/{told['ids'][0]}")
    [fire] = event["fires"]
    assert (event["jobs"], fire["outcome"]) == (1, "enqueued")
    job = await admin.ok("GET", f"/jobs/{fire['job_id']}")
    assert job["payload"] == {"provider_id": 7, "path_prefix": "/in"}
    assert (job["source"], job["correlation_id"]) == ("event", "c")
    assert (await admin.ok("GET", f"/jobs/triggers/{trigger['id']}/fires"))["items"][0]["job_id"] == fire["job_id"]
    assert [one["id"] for one in (await admin.ok("GET", "/events"))["items"]] == told["ids"]


CLOUD = {"specversion": "1.0", "id": "17", "source": "/shop", "type": "order.paid", "data": {"cents": 4200}}


async def test_a_page_of_events_has_a_bounded_size_and_says_where_to_go_on(api: ApiClient, harness: Harness) -> None:
    """A thousand events could contain 256 MB of data."""
    await harness.sql("select count(plait.emit('e')) from generate_series(1, 150)")
    viewer = await api.acting("viewer")
    first = await viewer.ok("GET", "/events", params={"limit": 1000})
    rest = await viewer.ok("GET", "/events", params={"limit": 1000, "cursor": first["next"]})
    assert [len(page["items"]) for page in (first, rest)] == [100, 50]
    assert rest["next"] is None


async def test_a_cloud_event_is_taken_once_in_each_of_its_modes(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("operator")

    async def send(kind: str, body: Any, **headers: str) -> Any:
        answer = await caller.call(
            "POST", "/events", json=body, headers={"Content-Type": f"application/{kind}", **headers}
        )
        assert answer.status_code == 202, answer.text
        return answer.json()["ids"]

    [structured] = await send("cloudevents+json; charset=utf-8", CLOUD)
    assert await send("cloudevents+json", CLOUD) == [structured]
    assert await send("cloudevents-batch+json", [CLOUD, {**CLOUD, "id": "18"}]) != [structured]
    binary = {"ce-specversion": "1.0", "ce-id": "17", "ce-source": "/shop", "ce-type": "order.paid"}
    assert await send("json", {"cents": 4200}, **binary) == [structured]
    event = await caller.ok("GET", f"/events/{structured}")
    assert event["name"] == "order.paid"
    assert event["data"]["cents"] == 4200
    assert event["data"]["cloudevent"]["id"] == "17"
    assert len((await caller.ok("GET", "/events"))["items"]) == 2


@pytest.mark.parametrize("broken", [{"specversion": "0.3"}, {"id": ""}, {"source": None}, {"type": "no spaces"}])
async def test_a_cloud_event_that_is_none_is_refused(api: ApiClient, broken: dict[str, Any]) -> None:
    caller = await api.acting("operator")
    answer = await caller.call(
        "POST", "/events", json={**CLOUD, **broken}, headers={"Content-Type": "application/cloudevents+json"}
    )
    assert answer.status_code == 422


async def test_another_media_type_is_refused(api: ApiClient) -> None:
    caller = await api.acting("operator")
    answer = await caller.call("POST", "/events", content=b"<e/>", headers={"Content-Type": "text/xml"})
    assert answer.status_code == 415


async def test_a_definition_is_made_and_changed_with_its_etag(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("super-admin")
    body = {
        "key": "sync-dropbox",
        "description": "Sync provider updates for tenant",
        "arg_schema": {
            "type": "object",
            "properties": {"provider_id": {"type": "string"}},
            "additionalProperties": False,
        },
        "timeout_seconds": 3600,
        "max_attempts": 3,
    }
    made = await caller.post("/admin/jobs/definitions", body)
    assert made.status_code == 201, made.text
    assert {name: made.json()[name] for name in body} == body
    assert (await caller.post("/admin/jobs/definitions", body)).status_code == 409
    path = "/admin/jobs/definitions/sync-dropbox"
    tag = {"If-Match": made.headers["etag"]}
    await harness.advance(seconds=1)
    assert (await caller.call("PATCH", path, json={"is_active": False}, headers=tag)).json()["is_active"] is False
    assert (await caller.call("PATCH", path, json={"is_active": True}, headers=tag)).status_code == 412
    refused = await caller.post("/jobs", {"definition_key": "sync-dropbox", "payload": {"provider_id": "x"}})
    assert refused.status_code == 409
    bomb = {"key": "bomb", "arg_schema": {"$ref": "http://elsewhere.example/s.json"}}
    assert (await caller.post("/admin/jobs/definitions", bomb)).status_code == 422
    kinds = (await (await api.acting("viewer")).ok("GET", "/jobs/definitions"))["items"]
    assert [kind["key"] for kind in kinds] == ["sync-dropbox"]


async def test_a_queue_is_paused_limited_and_resumed(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("super-admin")
    assert (await caller.ok("POST", "/queues/mail/pause"))["paused"] is True
    limited = await caller.ok("PATCH", "/queues/mail", {"max_running": 3, "mode": "serial"})
    assert (limited["max_running"], limited["mode"], limited["paused"]) == (3, "serial", True)
    assert (await caller.ok("POST", "/queues/mail/resume"))["paused"] is False
    assert (await caller.ok("PATCH", "/queues/mail", {"max_running": None}))["max_running"] is None
    entries = await harness.store.audit.list_audit(all_tenants=True)
    assert [entry.action for entry in entries] == ["queue.change", "queue.resume", "queue.change", "queue.pause"]


async def test_a_viewer_sees_its_own_depth_of_a_queue(api: ApiClient, harness: Harness) -> None:
    await harness.enqueue_many("add", 3, tenant="a")
    await harness.enqueue_many("add", 4, tenant="b")
    for tenant, depth in (("a", 3), ("b", 4)):
        [queue] = (await (await api.acting("viewer", tenant)).ok("GET", "/queues"))["items"]
        assert queue["queued"] == depth
    [queue] = (await (await api.acting("super-admin")).ok("GET", "/queues"))["items"]
    assert queue["queued"] == 7


async def test_tenants_and_workers_are_the_super_admins(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("super-admin")
    made = await caller.ok("POST", "/tenants", {"slug": "acme", "name": "Acme", "max_queued": 10})
    assert (made["slug"], made["max_queued"]) == ("acme", 10)
    assert (await caller.post("/tenants", {"slug": "acme"})).status_code == 409
    assert (await caller.ok("PATCH", "/tenants/acme", {"paused": True}))["paused"] is True
    assert (await caller.call("PATCH", "/tenants/nobody", json={"weight": 2})).status_code == 404
    assert [one["slug"] for one in (await caller.ok("GET", "/tenants"))["items"]] == ["acme", "default"]
    worker = await harness.worker()
    [shown] = (await caller.ok("GET", "/workers"))["items"]
    assert (shown["worker_id"], shown["state"], shown["stale"]) == (worker.id, "alive", False)


async def test_a_trigger_whose_jobs_can_never_match_the_schema_is_refused(api: ApiClient, harness: Harness) -> None:
    schema = {"type": "object", "properties": {"depth": {"type": "integer", "minimum": 1}}, "required": ["depth"]}
    await harness.define("sync", schema=schema)
    caller = await api.acting("admin")
    body = {"label": "t", "trigger_type": "schedule", "every_seconds": 60, "definition_key": "sync"}
    for payload in ({}, {"depth": "x"}, {"depth": 0}):
        answer = await caller.post("/jobs/triggers", {**body, "payload_template": payload})
        assert answer.status_code == 422
        assert "depth" in answer.json()["detail"]
    made = await caller.ok("POST", "/jobs/triggers", {**body, "payload_template": {"depth": 1}})
    answer = await caller.call("PATCH", f"/jobs/triggers/{made['id']}", json={"payload_template": {"depth": 0}})
    assert (answer.status_code, "depth" in answer.json()["detail"]) == (422, True)
