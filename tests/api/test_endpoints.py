"""Endpoints and connectors over HTTP."""

import pytest
from standardwebhooks import Webhook

from ..harness import Harness
from .api_client import ApiClient

NEW = {"label": "orders", "url": "https://hooks.example.com/plait", "statuses": ["failed"], "definitions": ["add"]}


async def test_an_endpoint_from_its_beginning_to_its_end(api: ApiClient, harness: Harness) -> None:
    admin = await api.acting("admin")
    made = await admin.ok("POST", "/endpoints", NEW)
    assert (made["is_enabled"], made["signature"], made["key_version"]) == (True, "standard", 1)
    assert made["subscribed_at"] is not None
    assert (await admin.post("/endpoints", NEW)).status_code == 409
    read = await admin.get(f"/endpoints/{made['id']}")
    await harness.advance(seconds=1)
    changed = await admin.call(
        "PATCH", f"/endpoints/{made['id']}", json={"statuses": []}, headers={"If-Match": read.headers["ETag"]}
    )
    assert changed.json()["subscribed_at"] is None
    stale = await admin.call(
        "PATCH", f"/endpoints/{made['id']}", json={"is_enabled": False}, headers={"If-Match": read.headers["ETag"]}
    )
    assert stale.status_code == 412
    sent = await admin.ok("POST", f"/endpoints/{made['id']}/test", {"type": "hello", "data": [1]})
    job = await admin.ok("GET", f"/jobs/{sent['job_id']}")
    assert (job["definition_key"], job["payload"]["type"]) == ("connector.webhook.deliver", "hello")
    assert (await admin.call("DELETE", f"/endpoints/{made['id']}")).status_code == 204
    assert (await admin.get(f"/endpoints/{made['id']}")).status_code == 404
    actions = {entry.action for entry in await harness.store.audit.list_audit(tenant_id=await harness.tenant())}
    assert actions >= {"endpoint.create", "endpoint.change", "endpoint.test", "endpoint.delete"}


async def test_keys_are_an_admins_and_looking_at_them_is_written_down(api: ApiClient, harness: Harness) -> None:
    admin, viewer = await api.acting("admin"), await api.acting("viewer")
    made = await admin.ok("POST", "/endpoints", NEW)
    [first] = (await admin.ok("GET", f"/endpoints/{made['id']}/keys"))["items"]
    Webhook(first["key"])
    assert (await viewer.get(f"/endpoints/{made['id']}/keys")).status_code == 403
    assert "whsec" not in (await viewer.get("/endpoints")).text
    rotated = (await admin.ok("POST", f"/endpoints/{made['id']}/rotate", {"overlap_seconds": 60}))["items"]
    assert [key["version"] for key in rotated] == [2, 1]
    assert rotated[1] == first
    await harness.advance(seconds=60)
    [only] = (await admin.ok("GET", f"/endpoints/{made['id']}/keys"))["items"]
    assert only == rotated[0]
    entries = await harness.store.audit.list_audit(tenant_id=await harness.tenant())
    assert [entry.action for entry in entries].count("endpoint.show_keys") == 2
    assert not [entry for entry in entries if "whsec" in entry.detail]


async def test_without_the_operators_secret_there_are_no_keys_to_show(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLAIT_SECRET_WEBHOOKS")
    admin = await api.acting("admin")
    made = await admin.ok("POST", "/endpoints", NEW)
    answer = await admin.get(f"/endpoints/{made['id']}/keys")
    assert (answer.status_code, "PLAIT_SECRET_WEBHOOKS" in answer.text) == (503, True)


@pytest.mark.parametrize(
    "change",
    [{"url": "http://hooks.example.com/"}, {"url": "https://127.0.0.1/"}, {"url": "https://[::1]/"}, {"url": "https://metadata.google.internal/"},
     {"url": "https://u:p@hooks.example.com/"}, {"url": "https://hooks.example.com:22/"}, {"url": "file:///etc/passwd"}, {"url": "https://2130706433/"},
     {"statuses": ["running"]}, {"definitions": []}, {"signature": "md5"}, {"key_version": 9}, {"label": ""}, {"label": "\u0000"}],
)  # fmt: skip
async def test_an_endpoint_that_is_not_valid_is_refused(api: ApiClient, change: dict[str, object]) -> None:
    admin = await api.acting("admin")
    answer = await admin.post("/endpoints", {**NEW, **change})
    assert answer.status_code == 422, answer.text
    assert (await admin.ok("GET", "/endpoints"))["items"] == []


async def test_settings_of_connectors_name_secrets_and_never_have_them(api: ApiClient, harness: Harness) -> None:
    admin = await api.acting("admin")
    settings = {"timeout": 5, "headers": {"Authorization": "Bearer {{secret.CRM}}"}, "hosts": ["*.example.com"]}
    assert (await admin.ok("PUT", "/connectors/http", settings))["settings"] == settings
    for name, bad in (
        ("http", {"headers": {"Authorization": "Bearer xyzzy"}}),
        ("http", {"headers": {"X-Api-Key": "xyzzy"}}),
        ("http", {"timeout": 1000}),
        ("http", {"redirects": 11}),
        ("http", {"hosts": ["http://x"]}),
        ("webhook", {"hosts": []}),
        ("report", {"format": "pdf"}),
        ("report", {"days": 0}),
        ("ftp", {}),
    ):
        answer = await admin.call("PUT", f"/connectors/{name}", json=bad)
        assert answer.status_code == 422, (name, bad)
        assert "xyzzy" not in answer.text
    [row] = (await admin.ok("GET", "/connectors"))["items"]
    assert row["connector"] == "http"
    assert (await admin.call("DELETE", "/connectors/http")).status_code == 204
    assert (await admin.call("DELETE", "/connectors/http")).status_code == 404
    assert "xyzzy" not in str(await harness.rows("select a::text from plait.audit a"))
