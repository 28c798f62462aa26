"""A typed function publishes the JSON Schema of its payloads. The API rejects a wrong payload with 422 and the field."""

from typing import Any

from plait import Plait
from plait.model.roles import Role

from ..harness import Harness
from .api_client import ApiClient

app = Plait("postgresql://")


@app.job
def resize(path: str, width: int = 200) -> None: ...


@app.job
def rename(path: str, to: str) -> None: ...


async def publish(harness: Harness) -> None:
    """As a worker does when it starts."""
    await harness.store.definitions.define([job.definition.row() for job in (resize, rename)])


async def test_a_definition_that_has_never_run_has_the_schema_of_its_function(api: ApiClient, harness: Harness) -> None:
    await publish(harness)
    viewer = await api.acting(Role.VIEWER)
    [found] = [one for one in (await viewer.ok("GET", "/jobs/definitions"))["items"] if one["key"] == "resize"]
    assert found["arg_schema"]["properties"] == {
        "path": {"type": "string"}, "width": {"type": "integer", "default": 200},
    }  # fmt: skip
    assert (found["arg_schema"]["required"], found["arg_schema"]["x-order"]) == (["path"], ["path", "width"])


async def test_a_wrong_payload_is_rejected_with_every_wrong_field(api: ApiClient, harness: Harness) -> None:
    await publish(harness)
    operator = await api.acting(Role.OPERATOR)
    wrong = {"definition_key": "resize", "payload": {"width": "wide", "hight": 3}}
    refused = await operator.call("POST", "/jobs", json=wrong)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:plait:problem:invalid-arguments")
    assert sorted((one["pointer"], one["message"]) for one in refused.json()["errors"]) == [
        ("/payload/hight", "is not in the schema"),
        ("/payload/path", "is required"),
        ("/payload/width", '"wide" is not of type "integer"'),
    ]
    assert await harness.store.jobs.list_jobs(definition="resize") == []
    await operator.ok("POST", "/jobs", {"definition_key": "resize", "payload": {"path": "a.png"}})


async def test_a_trigger_whose_payload_can_never_fit_is_refused_with_the_field(
    api: ApiClient, harness: Harness
) -> None:
    await publish(harness)
    admin = await api.acting(Role.ADMIN)
    trigger: dict[str, Any] = {
        "label": "t", "trigger_type": "event", "event_name": "e", "definition_key": "resize",
    }  # fmt: skip
    refused = await admin.call(
        "POST", "/jobs/triggers", json={**trigger, "payload_template": {"path": "{{event.path}}", "width": "wide"}}
    )
    assert (refused.status_code, [one["pointer"] for one in refused.json()["errors"]]) == (
        422,
        ["/payload_template/width"],
    )
    fits = {"path": "{{event.path}}", "width": "{{event.width}}"}
    made = await admin.ok("POST", "/jobs/triggers", {**trigger, "payload_template": fits})
    moved = await admin.call("PATCH", f"/jobs/triggers/{made['id']}", json={"definition_key": "rename"})
    assert (moved.status_code, "can match the schema of rename" in moved.json()["detail"]) == (422, True)


async def test_a_schema_that_newer_code_no_longer_has_is_removed_but_not_an_operators(
    api: ApiClient, harness: Harness
) -> None:
    await publish(harness)
    row = {**resize.definition.row(), "schema": None}
    await harness.store.definitions.define([row])
    admin = await api.acting(Role.SUPER_ADMIN)
    path = "/admin/jobs/definitions/resize"
    assert (await admin.ok("GET", path))["arg_schema"] is None
    await admin.call("PATCH", path, json={"arg_schema": {"type": "object"}})
    await publish(harness)
    assert (await admin.ok("GET", path))["arg_schema"] == {"type": "object"}
    cleared = await admin.ok("DELETE", f"{path}/overrides", params={"setting": "arg_schema"})
    assert cleared["arg_schema"]["required"] == ["path"]
