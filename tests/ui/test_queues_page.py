"""The queues page: the number of jobs, and the settings that a super-admin can change."""

from playwright.async_api import Locator, Page, expect

from ..harness import Harness
from .browser import Visitor
from .hostile_texts import CORPUS, RAN


def _row(page: Page, queue: str) -> Locator:
    return page.locator(f"[data-key='{queue}']")


async def test_a_queue_tells_its_depth_age_limits_and_who_serves_it(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker(queues=["mail"], lease_s=3600.0)
    await harness.enqueue_many("add", 4, queue="mail")
    await harness.enqueue("add", queue="mail", delay_s=60.0)
    await worker.claim(1)
    await harness.queue("mail", max_running=5, rate_count=10, rate_period_s=60.0)
    await harness.enqueue("add", queue="alone")
    await harness.advance(seconds=125)
    page = await visit("viewer", "/queues")
    mail = _row(page, "mail")
    for state, count in {"queued": "3", "running": "1 / 5", "scheduled": "1", "waiting": "0"}.items():
        await expect(mail.locator(f"[data-count={state}]")).to_have_text(count)
    await expect(mail).to_contain_text("2 min 5 s")
    await expect(mail).to_contain_text("10 per 1 min")
    await expect(page.get_by_text("Jobs are queued, but no worker serves these queues: alone.")).to_be_visible()
    await mail.locator("[data-count=queued]").click()
    await expect(page).to_have_url(f"{visit.site}/jobs?queue=mail&status=queued")


async def test_depths_move_without_a_reload(harness: Harness, visit: Visitor) -> None:
    await harness.queue("mail")
    page = await visit("viewer", "/queues")
    await expect(_row(page, "mail").locator("[data-count=queued]")).to_have_text("0")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    await harness.enqueue_many("add", 7, queue="mail")
    await expect(_row(page, "mail").locator("[data-count=queued]")).to_have_text("7")


async def test_a_super_admin_pauses_and_resumes_a_queue(harness: Harness, visit: Visitor) -> None:
    await harness.queue("mail")
    page = await visit("super-admin", "/queues")
    await page.get_by_role("button", name="Pause mail").click()
    await page.get_by_role("button", name="Pause queue").click()
    await expect(_row(page, "mail")).to_contain_text("paused")
    assert await harness.sql("select paused from plait.queues where name = 'mail'")
    await page.get_by_role("button", name="Resume mail").click()
    await expect(_row(page, "mail")).not_to_contain_text("paused")
    assert not await harness.sql("select paused from plait.queues where name = 'mail'")
    actions = await harness.rows("select action from plait.audit order by id")
    assert [row["action"] for row in actions] == ["queue.pause", "queue.resume"]


async def test_a_super_admin_sets_limits_and_makes_a_queue_serial(harness: Harness, visit: Visitor) -> None:
    await harness.queue("mail", max_running=9)
    page = await visit("super-admin", "/queues")
    await expect(_row(page, "mail")).to_be_visible()
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Search commands").fill("limits of queue mail")
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Limits of mail")
    await dialog.get_by_label("Concurrency limit").fill("")
    await dialog.get_by_label("Rate limit (starts)").fill("30")
    await expect(dialog.get_by_text("Set both, or neither")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Save")).to_be_disabled()
    await dialog.get_by_label("per (seconds)").fill("60")
    await dialog.get_by_label("Serial").check()
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_be_hidden()
    await expect(_row(page, "mail")).to_contain_text("serial")
    await expect(_row(page, "mail")).to_contain_text("30 per 1 min")
    [row] = await harness.rows("select serial, max_running, rate_count, rate_period_s from plait.queues")
    assert tuple(row.values()) == (True, None, 30, 60.0)


async def test_who_may_not_manage_queues_is_offered_nothing(harness: Harness, visit: Visitor) -> None:
    await harness.queue("mail")
    for role in ("viewer", "operator", "admin"):
        page = await visit(role, "/queues")
        await expect(_row(page, "mail")).to_be_visible()
        await expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)


async def test_a_queue_is_found_by_its_name_and_the_address_keeps_it(harness: Harness, visit: Visitor) -> None:
    for name in ("mail", "images"):
        await harness.queue(name)
    page = await visit("viewer", "/queues")
    queues = page.locator("[data-key]:not([data-key='plait.bulk'])")  # the API's own queue
    await expect(queues).to_have_count(2)
    await page.keyboard.press("/")
    await page.keyboard.type(CORPUS[0])
    await expect(page.get_by_role("heading", name="No matching queues")).to_be_visible()
    await page.get_by_role("searchbox", name="Search queues").fill("ma")
    await expect(queues).to_have_count(2)
    await page.get_by_role("searchbox", name="Search queues").fill("mai")
    await expect(queues).to_have_count(1)
    await page.reload()
    await expect(queues).to_have_count(1)
    assert not await page.evaluate(RAN)
