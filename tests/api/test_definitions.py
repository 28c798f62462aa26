"""Overrides over HTTP: set, shown with the code's value and their author, and cleared; each with an audit log entry."""

from plait.model.roles import Role

from ..harness import Harness
from .api_client import ApiClient

PATH = "/admin/jobs/definitions/add"


async def test_an_override_is_set_shown_and_cleared_over_http(api: ApiClient, harness: Harness) -> None:
    code = {"queue": "coded", "timeout_s": 60, "max_running": 4}
    await harness.define("add", **code)
    admin = await api.acting(Role.SUPER_ADMIN)
    told = await admin.call("PATCH", PATH, json={"queue": "moved", "timeout_seconds": 5, "max_running": None})
    assert told.status_code == 200
    await harness.define("add", **code)  # a worker starts
    got = await admin.ok("GET", PATH)
    assert (got["queue"], got["timeout_seconds"], got["max_running"]) == ("moved", 5, None)
    assert [(one["setting"], one["value"], one["code_value"]) for one in got["overrides"]] == [
        ("max_running", None, 4), ("queue", "moved", "coded"), ("timeout_seconds", 5, 60),
    ]  # fmt: skip
    assert all(one["author"] and one["set_at"] for one in got["overrides"])
    listed = (await admin.ok("GET", "/admin/jobs/definitions"))["items"]
    assert [one["overrides"] for one in listed if one["key"] == "add"] == [got["overrides"]]
    job = await admin.ok("POST", "/jobs", {"definition_key": "add"}, params={"tenant": "default"})
    assert (await admin.ok("GET", f"/jobs/{job['id']}"))["queue"] == "moved"

    cleared = await admin.ok("DELETE", f"{PATH}/overrides", params={"setting": "timeout_seconds"})
    assert (cleared["timeout_seconds"], cleared["queue"]) == (60, "moved")
    cleared = await admin.ok("DELETE", f"{PATH}/overrides")
    assert (cleared["queue"], cleared["max_running"], cleared["overrides"]) == ("coded", 4, [])
    refused = await admin.call("DELETE", f"{PATH}/overrides", params={"setting": "queue"})
    assert (refused.status_code, "not overridden" in refused.json()["detail"]) == (422, True)
    entries = await harness.store.audit.list_audit(all_tenants=True, object="add")
    assert [entry.action for entry in entries] == ["definition.clear", "definition.clear", "definition.change"]


async def test_what_is_created_over_http_is_not_reverted_by_a_workers_start(api: ApiClient, harness: Harness) -> None:
    admin = await api.acting(Role.SUPER_ADMIN)
    await admin.ok("POST", "/admin/jobs/definitions", {"key": "add", "max_attempts": 2, "queue": "mine"})
    await harness.define("add", max_attempts=7, priority=4)
    got = await admin.ok("GET", PATH)
    assert (got["max_attempts"], got["queue"], got["priority"]) == (2, "mine", 4)


async def test_an_override_is_not_cleared_over_a_change_that_was_not_seen(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    admin = await api.acting(Role.SUPER_ADMIN)
    tag = (await admin.call("PATCH", PATH, json={"queue": "moved"})).headers["ETag"]
    await harness.advance(seconds=1)
    await admin.call("PATCH", PATH, json={"priority": 3})
    refused = await admin.call("DELETE", f"{PATH}/overrides", headers={"If-Match": tag})
    assert refused.status_code == 412


async def test_nothing_is_refused_for_a_schema_that_a_newer_worker_has_replaced(
    api: ApiClient, harness: Harness
) -> None:
    """The API caches definitions briefly. After a deployment that allows more payloads, the cached schema must not reject them."""
    strict = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    await harness.define("add", schema=strict)
    admin = await api.acting(Role.ADMIN)
    await admin.ok("POST", "/jobs", {"definition_key": "add", "payload": {"a": 1}})
    trigger = {"label": "t", "trigger_type": "event", "event_name": "e", "definition_key": "add"}
    made = await admin.ok("POST", "/jobs/triggers", {**trigger, "payload_template": {"a": 1}})
    await harness.define("add", schema={**strict, "properties": {"a": {"type": "string"}}})
    await admin.ok("POST", "/jobs", {"definition_key": "add", "payload": {"a": "x"}})
    changed = await admin.call("PATCH", f"/jobs/triggers/{made['id']}", json={"payload_template": {"a": "x"}})
    assert changed.status_code == 200, changed.text
    drafted = {"label": "d", "event_name": "e", "definition_key": "add", "payload_template": {"a": "x"}, "data": {}}
    assert (await admin.ok("POST", "/jobs/triggers/render", drafted))["error"] is None
    refused = await admin.call("POST", "/jobs", json={"definition_key": "add", "payload": {"a": 1}})
    assert refused.status_code == 422
