"""The triggers page: create and edit with a form from the definition's schema, test, pause, and past firings."""

import json
import re
from typing import Any

from playwright.async_api import Page, expect

from ..harness import Harness
from .browser import Visitor
from .hostile_texts import CORPUS, EVERYTHING, RAN

SCHEMA = {
    "type": "object",
    "properties": {
        "provider_id": {"type": "string", "description": "Whose folder it is"},
        "mode": {"enum": ["full", "changes"]},
        "depth": {"type": "integer", "minimum": 1, "maximum": 20},
        "dry_run": {"type": "boolean"},
        "where": {"$ref": "#/$defs/Where"},
        "owners": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["provider_id"],
    "additionalProperties": False,
    "$defs": {"Where": {"type": "object", "properties": {"path": {"type": "string"}}}},
}


async def _defined(harness: Harness) -> None:
    await harness.define("sync-dropbox", schema=SCHEMA, description="Reads a provider's changes.")


async def _payload(harness: Harness, label: str) -> object:
    return json.loads(await harness.sql("select payload::text from plait.triggers where label = $1", label))


async def test_a_schedule_is_made_with_its_payload_from_the_schema_and_shows_when_it_fires(
    harness: Harness, visit: Visitor
) -> None:
    await _defined(harness)
    page = await visit("admin", "/triggers")
    await page.get_by_role("button", name="Create trigger").click()
    await page.get_by_label("Label").fill("Nightly sync")
    await page.get_by_role("textbox", name="Cron").fill("30 2 * * *")
    await page.get_by_label("Time zone").fill("Europe/Berlin")
    await expect(page.get_by_text("At 02:30")).to_be_visible()
    await expect(page.get_by_role("list", name="Next firings").get_by_role("listitem")).to_have_count(5)
    await page.get_by_label("Definition").select_option("sync-dropbox")
    await expect(page.get_by_text("Whose folder it is")).to_be_visible()
    shown = page.get_by_role("status", name="Rendered payload")
    await expect(shown).to_contain_text("provider_id")  # the schema's error names the missing field
    await page.get_by_label("provider_id").fill("p-1")
    await page.get_by_label("mode").select_option("changes")
    await page.get_by_label("depth").fill("7")
    await page.get_by_label("dry_run").select_option("no")
    await page.get_by_label("path").fill("/in")
    save = page.get_by_role("button", name="Create trigger")
    await page.get_by_label("owners").fill('["ada"')  # not valid JSON yet, so the trigger can't be saved
    await expect(save).to_be_disabled()
    await page.get_by_label("owners").fill('["ada"]')
    await expect(save).to_be_enabled()
    await expect(shown).to_contain_text('path: "/in"')
    await page.get_by_role("button", name="Create trigger").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Nightly sync")
    await expect(page.get_by_text("At 02:30, Europe/Berlin")).to_be_visible()
    assert await _payload(harness, "Nightly sync") == {
        "provider_id": "p-1", "mode": "changes", "depth": 7, "dry_run": False, "where": {"path": "/in"}, "owners": ["ada"],
    }  # fmt: skip


async def test_a_change_of_clocks_is_told_beside_the_times_that_it_moves(harness: Harness, visit: Visitor) -> None:
    trigger = await harness.trigger("t", cron="30 2 28-31 3 *", time_zone="Europe/Berlin")
    page = await visit("viewer", f"/triggers/{trigger}")
    times = page.get_by_role("list", name="Next firings")
    await expect(times.get_by_role("listitem")).to_have_count(5)
    await expect(times.locator(".note").first).to_be_visible()


async def test_a_template_is_tried_with_an_event_before_it_is_saved(harness: Harness, visit: Visitor) -> None:
    await _defined(harness)
    page = await visit("admin", "/triggers/new")
    await page.get_by_label("Label").fill("On change")
    await page.get_by_label("Event trigger").check()
    await page.get_by_label("Event name").fill("folder.updated")
    await page.get_by_label("Definition").select_option("sync-dropbox")
    await page.get_by_label("provider_id").fill("{{event.folder.owner}}")
    await page.get_by_label("depth").fill("{{event.depth}}")
    shown = page.get_by_role("status", name="Rendered payload")
    await expect(shown).to_contain_text("there is no 'folder'")
    await page.get_by_label("Sample event data").fill('{"folder": {"owner": "ada"}, "depth": 99}')
    await expect(shown).to_contain_text("99 is greater than the maximum")
    await page.get_by_label("Sample event data").fill('{"folder": {"owner": "ada"}, "depth": 3}')
    await expect(shown).to_contain_text("depth: 3")
    await page.get_by_role("button", name="Create trigger").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("On change")
    await harness.emit("folder.updated", folder={"owner": "grace"}, depth=2)
    await harness.dispatch()
    await page.get_by_role("tab", name="History").click()
    await expect(page.get_by_role("row").filter(has_text="enqueued")).to_have_count(1)


async def test_a_trigger_is_changed_paused_tested_and_deleted(harness: Harness, visit: Visitor) -> None:
    properties: Any = SCHEMA["properties"]
    await harness.define("sync-dropbox", schema={**SCHEMA, "properties": {**properties, "size": {"type": "integer"}}})
    template = {"provider_id": "{{event.id}}"}
    trigger = await harness.trigger("t", definition="sync-dropbox", event_name="e", payload=template, priority=5)
    page = await visit("admin", f"/triggers/{trigger}")
    await page.get_by_role("button", name="Pause trigger").click()
    await expect(page.locator("h1")).to_contain_text("paused")
    await page.get_by_role("button", name="Resume trigger").click()
    await expect(page.locator("h1")).to_contain_text("active")
    await page.get_by_role("button", name="Test trigger").click()
    await page.get_by_role("button", name="Create job").click()
    await expect(page.get_by_text("Created job:")).to_be_visible()
    [job] = await harness.store.jobs.list_jobs(all_tenants=True)
    assert json.loads(job.payload) == {"provider_id": "id"}
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Edit trigger").click()
    await page.get_by_role("tab", name="JSON").click()
    await page.get_by_role("textbox", name="Payload").fill(
        '{"provider_id": "{{event.id}}", "size": 12345678901234567890}'
    )
    await page.get_by_text("More settings").click()
    await page.get_by_label("Priority").fill("")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Trigger saved.")).to_be_visible()
    row = await harness.trigger_row(trigger)
    assert (row.priority, "12345678901234567890" in row.payload) == (None, True)
    await page.get_by_role("button", name="Delete trigger").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete trigger").click()
    await expect(page.get_by_text("No triggers yet")).to_be_visible()


async def test_who_was_slower_is_told_and_undoes_nothing(harness: Harness, visit: Visitor) -> None:
    await harness.define("add")
    trigger = await harness.trigger("t", event_name="e", payload={"a": 1})
    visit.forgive("status of 412|status of 409")
    page = await visit("admin", f"/triggers/{trigger}?edit=1")
    await expect(page.get_by_label("Event name")).to_have_value("e")
    await harness.advance(seconds=1)
    await harness.trigger("t", event_name="another")
    await page.get_by_label("Event name").fill("mine")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("form [role=alert]")).to_contain_text(re.compile("changed", re.I))
    assert (await harness.trigger_row(trigger)).event_name == "another"


async def test_a_viewer_is_offered_nothing_and_an_operator_only_a_test(harness: Harness, visit: Visitor) -> None:
    trigger = await harness.trigger("t", event_name="e")
    for role, offered in (("viewer", []), ("operator", ["Fire now", "Test trigger"])):
        page = await visit(role, f"/triggers/{trigger}?edit=1")
        await expect(page.get_by_role("heading", level=1)).to_contain_text("t")
        await expect(page.locator(".page-head .actions button")).to_have_count(0)
        page = await visit(role, f"/triggers/{trigger}")
        await expect(page.get_by_role("tab", name="History")).to_be_visible()
        await expect(page.locator(".page-head .actions button")).to_have_text(offered)
        await page.goto("/triggers")
        await expect(page.get_by_role("link", name="t", exact=True)).to_be_visible()
        await expect(page.get_by_role("button", name="Create trigger")).to_have_count(0)


async def test_events_are_listed_with_what_they_matched_and_what_went_wrong(harness: Harness, visit: Visitor) -> None:
    trigger = await harness.trigger("copy", event_name="order.paid", payload={"id": "{{event.id}}"})
    good = await harness.emit("order.paid", id=1)
    bad = await harness.emit("order.paid", other=1)
    nobodys = await harness.emit("weather.changed")
    await harness.dispatch()
    late = await harness.emit("order.paid", id=2)
    page = await visit("operator", "/events")
    said = {
        good: "1 job", bad: "there is no 'id'", nobodys: "no match", late: "pending",
    }  # fmt: skip
    for event, words in said.items():
        await expect(page.locator(f"[data-key='{event}']")).to_contain_text(words)
    await page.get_by_label("Errors only").check()
    await expect(page.locator("[data-key]")).to_have_count(1)
    await page.locator(f"[data-key='{bad}']").get_by_role("link").first.click()
    await expect(page.get_by_role("row").filter(has_text="copy")).to_contain_text("refused")
    await page.goto("/events")
    await page.get_by_role("button", name="Send event").click()
    await page.get_by_label("Name", exact=True).fill("order.paid")
    await page.get_by_label("Data").fill('{"id": 3}')
    await page.get_by_role("dialog").get_by_role("button", name="Send event").click()
    await expect(page.get_by_text("Waiting for the leader to dispatch this event")).to_be_visible()
    await harness.dispatch()
    await expect(page.get_by_role("row").filter(has_text="copy")).to_contain_text("enqueued")
    assert len(await harness.fired_jobs(trigger)) == 3


async def test_a_super_admin_changes_a_definitions_limits_and_whether_it_is_active(
    harness: Harness, visit: Visitor
) -> None:
    await harness.define("mail/deliver", max_running=5, schema=SCHEMA)
    page = await visit("super-admin", "/definitions")
    await page.get_by_role("link", name="mail/deliver").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("mail/deliver")
    await page.get_by_label("Concurrency limit", exact=True).fill("")
    await page.get_by_label("Rate limit", exact=True).fill("10")
    await page.get_by_label("Rate period (seconds)", exact=True).fill("60")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Limits saved.")).to_be_visible()
    [row] = [one for one in await harness.store.definitions.list_definitions() if one.name == "mail/deliver"]
    assert (row.max_running, row.rate_count, row.rate_period_s) == (None, 10, 60)
    await page.get_by_role("button", name="Deactivate definition").click()
    await page.get_by_role("dialog").get_by_role("button", name="Deactivate definition").click()
    await expect(page.locator("h1")).to_contain_text("inactive")
    await page.get_by_role("button", name="Activate definition", exact=True).click()
    await expect(page.locator("h1").get_by_text("active", exact=True)).to_be_visible()


async def test_an_override_is_shown_beside_the_codes_value_and_cleared(harness: Harness, visit: Visitor) -> None:
    await harness.define("mail", queue="coded")
    await harness.store.definitions.set_definition("mail", {"queue": "moved"}, author="ada")
    page = await visit("super-admin", "/definitions/mail")
    row = page.get_by_role("table", name="Overrides").get_by_role("row").filter(has_text="queue")
    for text in ("moved", "coded", "ada"):
        await expect(row).to_contain_text(text)
    await page.get_by_role("button", name="Clear queue").click()
    await expect(page.get_by_role("table", name="Overrides")).to_have_count(0)
    [one] = [one for one in await harness.store.definitions.list_definitions() if one.name == "mail"]
    assert one.queue == "coded"


async def test_what_is_in_triggers_events_and_definitions_is_text_and_nothing_else(
    harness: Harness, visit: Visitor
) -> None:
    schema = {
        "type": "object",
        "properties": {CORPUS[0]: {"type": "string", "title": CORPUS[1], "description": EVERYTHING}},
    }
    await harness.define(CORPUS[2], schema=schema, description=EVERYTHING)
    trigger = await harness.trigger(
        CORPUS[1], definition=CORPUS[2], event_name="e", payload={EVERYTHING: EVERYTHING, "x": "{{event.x}}"}
    )
    event = await harness.emit("e", **{EVERYTHING: EVERYTHING})
    await harness.dispatch()
    page = await visit("super-admin", "/triggers")
    for path, seen in (
        ("/triggers", CORPUS[1]),
        (f"/triggers/{trigger}", CORPUS[1]),
        (f"/triggers/{trigger}?edit=1", CORPUS[1]),
        (f"/triggers/{trigger}?tab=history", "refused"),
        ("/events", "error"),
        (f"/events/{event}", CORPUS[1]),
        ("/definitions", CORPUS[2]),
    ):
        await _shows(page, path, seen)
    await page.get_by_role("link", name=CORPUS[2]).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text(CORPUS[2])
    assert not await page.evaluate(RAN)


async def _shows(page: Page, path: str, seen: str) -> None:
    await page.goto(path)
    await expect(page.get_by_text(seen).first).to_be_visible()
    assert not await page.evaluate(RAN)
