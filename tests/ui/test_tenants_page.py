"""The tenants page: usage and limits."""

from playwright.async_api import Locator, Page, expect

from ..harness import Harness
from .browser import Visitor
from .hostile_texts import EVERYTHING, RAN


def _row(page: Page, tenant: str) -> Locator:
    return page.locator(f"[data-key='{tenant}']")


async def test_a_tenant_tells_its_depth_age_failures_and_share(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    for number in range(4):
        await harness.enqueue("add", tenant="acme")
        lease = await worker.claim_one()
        await (worker.fail(lease, permanent=True) if number == 0 else worker.succeed(lease))
    await harness.store.leader.roll_up()
    await harness.enqueue_many("add", 3, tenant="acme")
    await worker.claim(3)
    await harness.tenant("acme", max_running=8, weight=3)
    await harness.enqueue_many("add", 2, tenant="globex")
    await harness.advance(seconds=75)
    page = await visit("super-admin", "/tenants")
    acme, globex = _row(page, "acme"), _row(page, "globex")
    await expect(acme.locator("[data-count=running]")).to_have_text("3 / 8")
    await expect(acme.locator("[data-count=failing]")).to_have_text("25 %")
    await expect(acme.get_by_role("img", name="Share of slots")).to_have_attribute("data-done", "100")
    await expect(globex.locator("[data-count=queued]")).to_have_text("2")
    await expect(globex).to_contain_text("1 min 15 s")
    await globex.get_by_role("link", name="globex").click()
    await expect(page).to_have_url(f"{visit.site}/?tenant=globex")


async def test_who_takes_more_than_its_share_while_others_wait_is_pointed_out(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    await harness.enqueue_many("add", 9, tenant="loud")
    await worker.claim(9)
    page = await visit("super-admin", "/tenants")
    await expect(_row(page, "loud").locator("[data-count=running]")).to_have_text("9")
    await expect(_row(page, "loud")).not_to_contain_text("slots")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    for tenant in ("b", "c"):
        await harness.enqueue("add", tenant=tenant)
    await expect(_row(page, "loud")).to_contain_text("slots")
    await expect(page.get_by_role("main").get_by_role("status")).to_contain_text(
        "loud runs more than twice its fair share"
    )


async def test_settings_are_edited_and_a_tenant_paused_and_resumed(harness: Harness, visit: Visitor) -> None:
    await harness.tenant("acme", max_queued=10)
    page = await visit("super-admin", "/tenants")
    await page.get_by_role("button", name="Settings of acme").click()
    dialog = page.get_by_role("dialog", name="Settings of acme")
    await dialog.get_by_label("Name").fill(EVERYTHING.splitlines()[0])
    await dialog.get_by_label("Weight").fill("5")
    await dialog.get_by_label("Concurrency limit").fill("20")
    await dialog.get_by_label("Quota of unfinished jobs").fill("")
    await dialog.get_by_label("Time zone").fill("Europe/Berlin")
    await dialog.get_by_role("button", name="Save").click()
    await expect(_row(page, "acme").locator("[data-count=weight]")).to_have_text("5")
    [row] = await harness.rows(
        "select weight, max_running, max_queued, time_zone from plait.tenants where slug = 'acme'"
    )
    assert tuple(row.values()) == (5, 20, None, "Europe/Berlin")
    await page.get_by_role("button", name="Pause acme").click()
    await page.get_by_role("button", name="Pause tenant").click()
    await expect(_row(page, "acme")).to_contain_text("paused")
    await page.get_by_role("button", name="Resume acme").click()
    await expect(_row(page, "acme")).not_to_contain_text("paused")
    assert not await page.evaluate(RAN)


async def test_a_tenant_is_made_by_keyboard(harness: Harness, visit: Visitor) -> None:
    page = await visit("super-admin", "/tenants")
    await expect(_row(page, "default")).to_be_visible()
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Create tenant")
    await dialog.get_by_label("Slug").fill("No Slug")
    await expect(dialog.get_by_role("button", name="Create tenant")).to_be_disabled()
    await dialog.get_by_label("Slug").fill("initech")
    await page.keyboard.press("Enter")
    await expect(_row(page, "initech")).to_be_visible()
    assert await harness.sql("select count(*) from plait.tenants where slug = 'initech'") == 1


async def test_a_setting_that_is_refused_is_told_and_changes_nothing(harness: Harness, visit: Visitor) -> None:
    await harness.tenant("acme")
    visit.forgive("status of 422")
    page = await visit("super-admin", "/tenants")
    await page.get_by_role("button", name="Settings of acme").click()
    await page.get_by_label("Time zone").fill("Mars/Olympus")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("there is no time zone")).to_be_visible()
    assert await harness.sql("select time_zone from plait.tenants where slug = 'acme'") == "UTC"
