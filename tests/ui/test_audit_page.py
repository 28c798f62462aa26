"""The audit page: who changed what, with filters, and older entries on scrolling."""

import json

from playwright.async_api import expect

from plait.model.ids import new_id
from plait.store.audit import Entry

from ..api.api_client import new_key
from ..harness import Harness
from .browser import Visitor
from .hostile_texts import EVERYTHING, RAN


async def _record(
    harness: Harness, action: str, object_: str, *, actor: str = "key x", tenant: str = "default", **detail: str
) -> None:
    await harness.store.audit.record(
        Entry(
            tenant_id=await harness.tenant(tenant),
            actor=actor,
            action=action,
            object=object_,
            request_id="r-1",
            detail=json.dumps(detail),
        )
    )


async def test_entries_are_found_by_actor_action_and_object(harness: Harness, visit: Visitor) -> None:
    key, _ = await new_key(harness.store, "operator", await harness.tenant())
    await _record(harness, "queue.pause", "mail", actor=f"key {key}")
    await _record(harness, "queue.resume", "mail")
    await _record(harness, "trigger.change", "t-1")
    await _record(harness, "queue.pause", "mail", tenant="b")
    page = await visit("admin", "/audit")
    rows = page.locator("[data-key]")
    await expect(rows).to_have_count(3)
    await expect(rows.filter(has_text="a test's (plait_")).to_have_count(1)
    filter_ = page.get_by_role("combobox", name="Filter")
    await filter_.fill("action:queue.p")
    await page.get_by_role("option", name="action:queue.pause").click()
    await expect(rows).to_have_count(1)
    await expect(page).to_have_url(f"{visit.site}/audit?action=queue.pause")
    await page.get_by_role("button", name="Remove all filters").click()
    await filter_.fill("t-1")
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("trigger.change")
    await page.goto(f"/audit?actor=key+{key}")
    await expect(rows).to_have_count(1)
    await expect(page.locator("[data-token^='actor:a test']")).to_be_visible()


async def test_a_long_audit_goes_on_as_one_scrolls(harness: Harness, visit: Visitor) -> None:
    await harness.sql(  # ids from new_id(): ids from plait.uuidv7() have no order within a millisecond
        "insert into plait.audit (id, tenant_id, at, actor, action, object, detail)"
        " select id, $1, plait.now(), 'key x', 'job.cancel', 'n ' || n, '{}' from unnest($2::uuid[]) with ordinality as t (id, n)",
        await harness.tenant(),
        [new_id() for _ in range(250)],
    )
    page = await visit("admin", "/audit")
    table = page.get_by_role("table", name="Audit log")
    await expect(table).to_have_attribute("aria-rowcount", "101")
    await table.evaluate("table => table.scrollTo(0, table.scrollHeight)")
    await expect(table).to_have_attribute("aria-rowcount", "201")
    await table.evaluate("table => table.scrollTo(0, table.scrollHeight)")
    await expect(table).to_have_attribute("aria-rowcount", "251")
    await table.evaluate("table => table.scrollTo(0, table.scrollHeight)")
    await expect(page.get_by_text("n 1", exact=True)).to_be_visible()


async def test_an_entry_opens_whole_and_is_text(harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue()
    await _record(harness, "job.cancel", str(job), reason=EVERYTHING)
    await _record(harness, EVERYTHING[:60], EVERYTHING, actor=EVERYTHING)
    page = await visit("super-admin", "/audit")
    await expect(page.locator("[data-key]")).to_have_count(2)
    await page.get_by_text("job.cancel", exact=True).click()
    dialog = page.get_by_role("dialog", name="job.cancel")
    await expect(dialog).to_contain_text("r-1")
    await expect(dialog).to_contain_text("<script>")
    await page.keyboard.press("Escape")
    await page.get_by_title(str(job)).first.click()
    await expect(page).to_have_url(f"{visit.site}/jobs/{job}")
    assert not await page.evaluate(RAN)
