"""The dead letters page: jobs grouped by error, and redriven at a limited rate."""

from uuid import UUID

from playwright.async_api import Page, expect

from ..harness import Harness
from .browser import Visitor
from .hostile_texts import EVERYTHING, RAN


async def _bury(
    harness: Harness, error: str, count: int = 1, *, definition: str = "add", tenant: str = "default"
) -> list[UUID]:
    """Create dead letters: jobs whose only attempt failed."""
    worker = await harness.worker()
    jobs = await harness.enqueue_many(definition, count, tenant=tenant, max_attempts=1)
    for number, lease in enumerate(await worker.claim(count)):
        await worker.fail(lease, error.format(n=number))
    await worker.leave()
    assert set(await harness.statuses(jobs)) == {"dead_letter"}
    return jobs


async def _begin(page: Page, group: str, *, rate: str) -> None:
    await page.locator(".error-group", has_text=group).get_by_role("button", name="Redrive…").click()
    dialog = page.get_by_role("dialog", name="Redrive dead letters?")
    await dialog.get_by_label("Rate limit (jobs per second)").fill(rate)
    await dialog.get_by_label("Reason (recorded in the audit log)").fill("the server is back")
    await dialog.get_by_role("button", name="Redrive").click()
    await expect(dialog).to_be_hidden()


async def test_dead_letters_of_one_kind_are_one_group_that_leads_to_them(harness: Harness, visit: Visitor) -> None:
    await _bury(harness, "KeyError: 'order {n}'", 3)
    await _bury(harness, "the mail server is gone", definition="other")
    worker = await harness.worker()
    await harness.enqueue("add")
    await worker.fail(await worker.claim_one(), "only failed", permanent=True)
    page = await visit("viewer", "/dead-letters")
    await expect(page.locator(".error-group")).to_have_count(2)
    first = page.locator(".error-group").first
    await expect(first.locator(".count")).to_have_text("3")
    await expect(first).to_contain_text("KeyError: 'order 2'")
    await expect(page.get_by_role("main").get_by_role("button", name="Redrive")).to_have_count(0)
    await first.get_by_role("link", name="all jobs").click()
    await expect(page.locator("[data-key]")).to_have_count(3)


async def test_a_group_is_counted_then_brought_back_and_seen_to_its_end(harness: Harness, visit: Visitor) -> None:
    broken, other = await _bury(harness, "KeyError: 'order {n}'", 3), await _bury(harness, "something else", 2)
    page = await visit("operator", "/dead-letters")
    await page.locator(".error-group", has_text="KeyError").get_by_role("button", name="Redrive…").click()
    dialog = page.get_by_role("dialog", name="Redrive dead letters?")
    await expect(dialog).to_contain_text("3 jobs will be queued again")
    assert await harness.sql("select count(*) from plait.live") == 0, "a dry run changes nothing"
    await dialog.get_by_role("button", name="Go back").click()
    await _begin(page, "KeyError", rate="100")
    redrive = page.locator("[data-redrive]")
    await expect(redrive).to_have_attribute("data-status", "succeeded")
    await expect(redrive).to_contain_text("3 of 3 queued again")
    await expect(page.locator(".error-group")).to_have_count(1)
    assert set(await harness.statuses(broken)) == {"queued"}
    assert set(await harness.statuses(other)) == {"dead_letter"}
    [entry] = await harness.rows(
        "select distinct actor, detail->>'reason' as reason from plait.audit where action = 'job.retry'"
    )
    assert entry["reason"] == "the server is back"
    await page.reload()
    await expect(redrive).to_contain_text("3 of 3 queued again")
    await page.get_by_role("button", name="Dismiss redrive").click()
    await expect(redrive).to_have_count(0)


async def test_a_slow_redrive_shows_its_progress_and_can_be_stopped(harness: Harness, visit: Visitor) -> None:
    jobs = await _bury(harness, "it broke", 4)
    page = await visit("operator", "/dead-letters")
    await _begin(page, "it broke", rate="0.01")
    redrive = page.locator("[data-redrive]")
    await expect(redrive).to_contain_text("1 of 4 queued again")
    await expect(redrive.get_by_role("img", name="Progress")).to_have_attribute("data-done", "1")
    watcher = await visit("viewer", "/dead-letters")
    await expect(watcher.locator("[data-redrive]")).to_contain_text("1 of 4 queued again")
    await expect(watcher.locator("[data-redrive]").get_by_role("button")).to_have_count(0)
    await redrive.get_by_role("button", name="Stop").click()
    await expect(redrive).to_have_attribute("data-status", "canceled")
    assert sorted(await harness.statuses(jobs)) == ["dead_letter"] * 3 + ["queued"]


async def test_an_error_is_text_wherever_it_is_shown(harness: Harness, visit: Visitor) -> None:
    for line in EVERYTHING.splitlines()[:4]:
        await _bury(harness, line.replace("{", "{{").replace("}", "}}"))
    page = await visit("operator", "/dead-letters")
    await expect(page.locator(".error-group")).to_have_count(4)
    await page.locator(".error-group").first.get_by_role("button", name="Redrive…").click()
    await expect(page.get_by_role("dialog")).to_contain_text("1 job will be queued again")
    assert not await page.evaluate(RAN)


async def test_the_time_that_is_looked_at_is_in_the_address(harness: Harness, visit: Visitor) -> None:
    await harness.advance(days=-3)
    await _bury(harness, "long ago")
    await harness.advance(days=3)
    page = await visit("viewer", "/dead-letters")
    await page.get_by_role("button", name="24 h").click()
    await expect(page.get_by_role("heading", name="No dead letters")).to_be_visible()
    await expect(page).to_have_url(f"{visit.site}/dead-letters?span=24h")
    await page.get_by_role("button", name="30 d").click()
    await expect(page.locator(".error-group")).to_have_count(1)
