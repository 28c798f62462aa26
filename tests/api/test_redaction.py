"""Viewers and operators see no secrets: redaction by field name, by the form of a value, and by a definition's list."""

import json
from pathlib import Path
from typing import Any

import pytest

from plait import Plait
from plait.api.access import ROUTES
from plait.api.application import build
from plait.api.change_feed import Event
from plait.api.redaction import Redaction
from plait.model.errors import InvalidDefinition
from plait.model.redaction import HIDDEN
from plait.model.states import AttemptOutcome
from plait.runtime.object_storage import Directory
from plait.runtime.settings import Settings
from plait.store.workers import Settlement

from ..harness import Harness
from .api_client import ApiClient

SECRETS = {
    "password": "canary-password",
    "api_key": "canary-api-key",
    "nested": {"access_token": ["canary-token"], "note": "postgres://app:canary-url@db/x"},
    "card": {"number": "canary-card"},
    "jwt": "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0canary.c2lnbmF0dXJl",
}
OPEN = {"to": "somebody", "max_tokens": 512, "password": "{{secret.DB}}"}
HIDING = ["viewer", "operator"]
SEEING = ["admin", "super-admin"]


@pytest.fixture
async def stored(api: ApiClient, harness: Harness) -> dict[str, str]:
    """The paths of a job, an event and a trigger that have secrets in every field that can contain one."""
    await harness.store.definitions.define(
        [{"name": "pay", "sensitive": ["card.number"], "search_keys": ["to", "pin"]}]
    )
    admin = await api.acting("admin")
    job = (
        await admin.ok("POST", "/jobs", {"definition_key": "pay", "payload": {**SECRETS, "to": "somebody", "pin": 1}})
    )["id"]
    worker = await harness.store.workers.register(
        host="h", pid=1, version="0", queues=["default"], definitions=["pay"], lease_s=600
    )
    [claimed] = await harness.store.workers.claim(worker, "default", 1)
    assert json.loads(claimed.payload)["password"] == SECRETS["password"]  # the worker gets the whole payload
    await harness.store.workers.progress(worker, claimed.job_id, claimed.attempt, json.dumps({"info": SECRETS}))
    detail = json.dumps({"permanent": True, "error": "login failed: password='canary-error'"})
    settled = Settlement(
        claimed.job_id, claimed.attempt, AttemptOutcome.FAILED, result=json.dumps(SECRETS), detail=detail
    )
    assert await harness.store.workers.settle(worker, [settled]) == [True]
    event = (await admin.ok("POST", "/events", {"name": "x", "data": SECRETS}))["ids"][0]
    template = {**SECRETS, "open": OPEN}
    made = {
        "label": "t",
        "trigger_type": "event",
        "event_name": "y",
        "definition_key": "pay",
        "payload_template": template,
    }
    trigger = (await admin.ok("POST", "/jobs/triggers", made))["id"]
    [failure] = (await harness.store.failures.list_failures(all_tenants=True)).rows
    return {
        "error": f"/jobs/failures/pay/{failure.fingerprint}",
        "job": f"/jobs/{job}",
        "attempts": f"/jobs/{job}/attempts",
        "list": "/jobs",
        "tree": f"/jobs/{job}/tree",
        "failures": "/jobs/failures",
        "event": f"/events/{event}",
        "events": "/events",
        "trigger": f"/jobs/triggers/{trigger}",
        "triggers": "/jobs/triggers",
    }


@pytest.mark.parametrize("role", HIDING)
async def test_viewers_and_operators_are_shown_no_secret(api: ApiClient, stored: dict[str, str], role: str) -> None:
    caller = await api.acting(role)
    for name, path in stored.items():
        answer = await caller.get(path)
        assert answer.status_code == 200, (name, answer.text)
        assert "canary" not in answer.text, (name, answer.text)
        if name in ("job", "event", "trigger"):
            assert HIDDEN in answer.text, name
    job = await caller.ok("GET", stored["job"])
    assert job["payload"]["to"] == "somebody"
    assert job["payload"]["card"] == {"number": HIDDEN}
    assert job["payload"]["nested"]["note"] == f"postgres://{HIDDEN}@db/x"
    trigger = await caller.ok("GET", stored["trigger"])
    assert trigger["payload_template"]["open"] == OPEN  # a reference to a secret and a number of tokens are not secrets


@pytest.mark.parametrize("role", SEEING)
async def test_admins_see_what_is_stored(api: ApiClient, stored: dict[str, str], role: str) -> None:
    caller = await api.acting(role)
    job = await caller.ok("GET", stored["job"])
    assert {name: job["payload"][name] for name in SECRETS} == SECRETS
    assert (await caller.ok("GET", stored["event"]))["data"] == SECRETS
    assert (await caller.ok("GET", stored["trigger"]))["payload_template"] == {**SECRETS, "open": OPEN}


async def test_every_route_that_a_viewer_or_operator_reads_hides_secrets(
    api: ApiClient, stored: dict[str, str]
) -> None:
    """Generated from the access table, so that new routes are tested too."""
    job, event, trigger = (stored[name].rpartition("/")[2] for name in ("job", "event", "trigger"))
    ids = {"{job_id}": job, "{event_id}": event, "{trigger_id}": trigger}
    asked = 0
    for role in HIDING:
        caller = await api.acting(role)
        for route, least in ROUTES.items():
            method, _, path = route.partition(" ")
            for name, value in ids.items():
                path = path.replace(name, value)
            if least is None or str(least) not in HIDING or method != "GET" or "{" in path or path.endswith("/stream"):
                continue
            answer = await caller.get(path)
            asked += answer.status_code == 200
            assert "canary" not in answer.text, (route, answer.text)
    assert asked > 30


async def test_trying_a_trigger_shows_an_operator_no_stored_secret(api: ApiClient, stored: dict[str, str]) -> None:
    operator = await api.acting("operator")
    tried = await operator.call("POST", f"{stored['trigger']}/test", json={"data": {}, "run": True})
    assert tried.status_code == 200, tried.text
    assert "canary" not in tried.text
    admin = await api.acting("admin")
    ran = await admin.ok("GET", f"/jobs/{tried.json()['job_id']}")
    assert ran["payload"]["password"] == SECRETS["password"]  # the job gets the stored value


@pytest.mark.parametrize("role", HIDING)
async def test_a_filter_by_a_hidden_field_is_refused_whatever_its_value(
    api: ApiClient, stored: dict[str, str], role: str
) -> None:
    caller, admin = await api.acting(role), await api.acting("admin")
    for key, value in (
        ("password", "canary-password"),
        ("nested.access_token", "canary-token"),
        ("card.number", "canary-card"),
        ("card.number", "nothing"),
        ("credentials.user", "x"),
    ):
        for path in ("/jobs", "/jobs/count"):
            for definition in ({}, {"definition_key": "pay"}):
                params = {"payload": f"{key}={value}", **definition}
                refused = await caller.get(path, params=params)
                assert refused.status_code == 403, (key, path, refused.text)
                assert key in refused.json()["detail"]
                assert (await admin.get(path, params=params)).status_code == 200
    found = await caller.ok("GET", "/jobs", params={"payload": "to=somebody", "definition_key": "pay"})
    assert len(found["items"]) == 1
    if role == "operator":
        body = {"action": "retry", "filter": {"payload": ["password=canary-password"]}}
        assert (await caller.post("/jobs/bulk", body)).status_code == 403


@pytest.mark.parametrize("role", ["operator", "admin"])
async def test_a_mask_that_is_sent_back_is_refused_with_its_field(
    api: ApiClient, stored: dict[str, str], role: str
) -> None:
    caller = await api.acting(role)
    masked: dict[str, Any] = {"to": "x", "list": [{"password": HIDDEN}]}
    partly = {"note": f"postgres://{HIDDEN}@db/x"}
    for path, body, field in (
        ("/jobs", {"definition_key": "pay", "payload": masked}, "payload.list[0].password"),
        ("/jobs", {"definition_key": "pay", "payload": partly}, "payload.note"),
        ("/events", {"name": "x", "data": masked}, "data.list[0].password"),
        (f"{stored['job']}/signal", {"name": "go", "payload": masked}, "payload.list[0].password"),
    ):
        refused = await caller.post(path, body)
        assert refused.status_code == 422, (path, refused.text)
        assert field in refused.json()["detail"]
    quoted = await caller.post("/events", {"name": "x", "data": {"error": f"login failed: password={HIDDEN}"}})
    assert quoted.status_code == 202, quoted.text
    if role == "admin":
        refused = await caller.call("PATCH", stored["trigger"], json={"payload_template": masked})
        assert refused.status_code == 422
        assert "payload_template.list[0].password" in refused.json()["detail"]


async def test_a_job_that_is_run_again_runs_with_what_is_stored(
    api: ApiClient, harness: Harness, stored: dict[str, str]
) -> None:
    operator = await api.acting("operator")
    await operator.ok("POST", f"{stored['job']}/retry")
    worker = await harness.store.workers.register(
        host="h", pid=1, version="0", queues=["default"], definitions=["pay"], lease_s=600
    )
    [claimed] = await harness.store.workers.claim(worker, "default", 1)
    assert json.loads(claimed.payload)["password"] == SECRETS["password"]


async def test_a_super_admin_lists_a_definitions_sensitive_fields(api: ApiClient, harness: Harness) -> None:
    super_admin = await api.acting("super-admin")
    made = await super_admin.ok("POST", "/admin/jobs/definitions", {"key": "mail", "sensitive": ["to"]})
    assert made["sensitive"] == ["to"]
    await harness.store.definitions.define([{"name": "mail"}])  # code without the setting does not change it
    operator = await api.acting("operator")
    job = (await operator.ok("POST", "/jobs", {"definition_key": "mail", "payload": {"to": "ann@example.com"}}))["id"]
    assert (await operator.ok("GET", f"/jobs/{job}"))["payload"] == {"to": HIDDEN}


async def test_a_large_payload_is_redacted_too(api: ApiClient, harness: Harness, tmp_path: Path) -> None:
    api.client._transport.app = build(harness.store, Settings(api_rate=0), objects=Directory(tmp_path))  # type: ignore[attr-defined]
    await harness.define("add")
    admin, viewer = await api.acting("admin"), await api.acting("viewer")
    payload = {"text": "x" * 1_100_000, "password": "canary"}
    job = (await admin.ok("POST", "/jobs", {"definition_key": "add", "payload": payload}))["id"]
    sha256 = (await viewer.ok("GET", f"/jobs/{job}"))["payload"]["$artifact"]["sha256"]
    path = f"/jobs/{job}/artifacts/{sha256}"
    assert (await viewer.ok("GET", path)) == {**payload, "password": HIDDEN}
    assert (await admin.ok("GET", path)) == payload


def test_the_stream_redacts_what_running_attempts_write() -> None:
    event = Event("1.0", "log", None, json.dumps({"progress": {"token": "canary", "stdout": "password=canary-2"}}))
    assert b"canary" in event.encoded()
    assert b"canary" not in event.encoded(Redaction({}))


def test_code_lists_a_jobs_sensitive_fields() -> None:
    app = Plait()

    @app.job(sensitive=["ssn", "card.number"])
    async def pay(ssn: str, card: dict[str, str]) -> None: ...

    assert app.definitions["pay"].row()["sensitive"] == ("ssn", "card.number")
    for wrong in ("ssn", [1], [""], ["x"] * 51):
        with pytest.raises(InvalidDefinition, match="sensitive must be a list"):
            app.job(name="other", sensitive=wrong)(lambda ssn: None)  # type: ignore[arg-type]
