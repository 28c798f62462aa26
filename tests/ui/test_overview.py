"""The overview: numbers that link to jobs, charts, failures and live updates."""

import re

from playwright.async_api import expect

from ..harness import Harness
from ..workflows.worker_calls import open_one
from .browser import Visitor
from .hostile_texts import EVERYTHING, RAN


async def test_each_number_leads_to_the_jobs_that_it_counts(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    await harness.enqueue_many("add", 3)
    await worker.fail(await worker.claim_one(), permanent=True)
    await worker.succeed(await worker.claim_one())
    await harness.enqueue("add", delay_s=60.0)
    await harness.store.leader.roll_up()
    page = await visit("viewer")
    for status, count in {"queued": 1, "scheduled": 1, "running": 0, "waiting": 0, "succeeded": 1, "failed": 1}.items():
        await expect(page.locator(f"[data-card={status}] .number")).to_have_text(str(count))
    await page.locator("[data-card=failed]").click()
    await expect(page).to_have_url(f"{visit.site}/jobs?status=failed")
    await expect(page.locator("[data-key]")).to_have_count(1)
    await expect(page.locator("[data-key] [data-status]")).to_have_text("failed")


async def test_what_is_queued_and_waits_is_told_with_its_age_and_workflows(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    await harness.enqueue("add")
    lease = await worker.claim_one()
    await open_one(harness, worker, lease, 2)
    await harness.advance(seconds=90)
    page = await visit("viewer")
    await expect(page.locator("[data-card=queued]")).to_contain_text("oldest 1 min 30 s")
    await expect(page.locator("[data-card=waiting]")).to_contain_text("1 workflow, 1 fan-out")


async def test_numbers_move_without_a_reload(harness: Harness, visit: Visitor) -> None:
    page = await visit("viewer")
    queued = page.locator("[data-card=queued] .number")
    await expect(queued).to_have_text("0")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    await harness.enqueue_many("add", 5)
    await expect(queued).to_have_text("5")


async def test_what_fails_most_is_told_by_definition_and_kind_of_error(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    for number in range(4):
        await harness.enqueue("add" if number else "other")
        await worker.fail(await worker.claim_one(), f"KeyError: 'order {number}'", permanent=True)
    page = await visit("viewer")
    first = page.locator(".failure").first
    await expect(first.locator(".count")).to_have_text("3")
    await expect(first).to_contain_text("KeyError: 'order 3'")
    await first.get_by_role("link", name="3", exact=True).click()
    await expect(page.locator("[data-key]")).to_have_count(3)
    await expect(page.locator("[data-token^='definition']")).to_be_visible()
    await page.go_back()
    await page.get_by_role("link", name="newest job").first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("add")


async def test_the_time_that_is_shown_is_in_the_address(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    await harness.enqueue("add")
    await worker.succeed(await worker.claim_one())
    await harness.store.leader.roll_up()
    page = await visit("viewer")
    await expect(page.get_by_role("img", name=re.compile(r"per 1 min: 1 in total"))).to_be_visible()
    await page.get_by_role("button", name="7 d").click()
    await expect(page).to_have_url(f"{visit.site}/?span=7d")
    await expect(page.get_by_role("img", name=re.compile(r"per 3 h: 1 in total"))).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("button", name="7 d")).to_have_attribute("aria-pressed", "true")
    await expect(page.get_by_role("img", name="Wait times and run times")).to_be_visible()


async def test_no_error_runs_in_the_overview(harness: Harness, visit: Visitor) -> None:
    await harness.define("<b>x</b>")
    worker = await harness.worker(definitions=["<b>x</b>"])
    await harness.enqueue("<b>x</b>")
    await worker.fail(await worker.claim_one(), EVERYTHING, permanent=True)
    page = await visit("viewer")
    await expect(page.locator(".failure")).to_contain_text("<b>x</b>")
    await expect(page.locator(".failure code")).to_have_text(EVERYTHING.split("\n")[0])
    assert not await page.evaluate(RAN)
