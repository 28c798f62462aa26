"""Render a trigger's template before it is saved."""

import threading
from typing import Any

import pytest

from plait.api import triggers

from ..harness import Harness
from .api_client import ApiClient


async def test_a_template_is_filled_in_and_checked_before_it_is_a_trigger(api: ApiClient, harness: Harness) -> None:
    await harness.define("add", schema={"type": "object", "properties": {"x": {"type": "integer"}}})
    await harness.tenant("acme", name="Acme")
    caller = await api.acting("operator", "acme")

    async def tried(template: object, **more: object) -> tuple[object, str | None]:
        body = {"definition_key": "add", "payload_template": template, **more}
        said = await caller.ok("POST", "/jobs/triggers/render", body)
        return said["payload"], said["error"]

    assert await tried({"x": "{{event.n}}"}, event_name="e", data={"n": 3}) == ({"x": 3}, None)
    assert await tried({"t": "{{tenant.slug}}"}, event_name="e") == ({"t": "acme"}, None)
    assert (await tried({"at": "{{schedule.instant}}"}))[1] is None
    _, missing = await tried({"x": "{{event.n}}"}, event_name="e")
    assert missing is not None
    assert "there is no 'n'" in missing
    _, unfit = await tried({"x": "three"}, event_name="e")
    assert unfit is not None
    assert "does not fit the schema" in unfit
    assert await harness.sql("select count(*) from plait.jobs") == 0
    refused = await caller.post("/jobs/triggers/render", json={"definition_key": "nothing"})
    assert refused.status_code == 422
    viewer = await api.acting("viewer", "acme")
    assert (await viewer.post("/jobs/triggers/render", json={"definition_key": "add"})).status_code == 403


async def test_previews_and_renderings_are_bounded_and_worked_out_off_the_loop(
    api: ApiClient, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()

    def watched(name: str) -> None:
        real = getattr(triggers, name)

        def call(*args: Any, **options: Any) -> Any:
            threads.add(threading.get_ident())
            return real(*args, **options)

        monkeypatch.setattr(triggers, name, call)

    watched("previewed")
    watched("rendered")
    await harness.define("add")
    operator = await api.acting("operator")
    asked = {"cron_expr": "0 0 29 2 *"}
    assert (await operator.post("/jobs/triggers/preview?count=101", asked)).status_code == 422
    assert len((await operator.ok("POST", "/jobs/triggers/preview?count=100", asked))["items"]) <= 13
    draft = {
        "definition_key": "add",
        "event_name": "e",
        "payload_template": {"a": "{{event.x}}" * 1000},
        "data": {"x": "x" * 100_000},
    }
    said = await operator.ok("POST", "/jobs/triggers/render", draft)
    assert said["error"] == "a template must render to at most 1,000,000 characters"
    assert threads
    assert threading.get_ident() not in threads
