"""The page of one error: the same count as on every other page, its history, the affected tenants, and retry or cancel for all its jobs."""

import re
from uuid import UUID

from playwright.async_api import expect

from ..harness import Harness
from .browser import Visitor
from .hostile_texts import EVERYTHING, RAN

ERROR = "ConnectionError: connection reset by 10.0.0.{n}"


async def _fail(
    harness: Harness,
    count: int,
    *,
    definition: str = "add",
    tenant: str = "default",
    error: str = ERROR,
    **detail: object,
) -> list[UUID]:
    worker = await harness.worker()
    jobs = await harness.enqueue_many(definition, count, tenant=tenant, max_attempts=1)
    for number, lease in enumerate(await worker.claim(count)):
        await worker.fail(lease, error.format(n=number), traceback="Traceback: line 7 of mail.py", **detail)
    await worker.leave()
    return jobs


async def test_an_error_has_the_same_number_on_every_page(harness: Harness, visit: Visitor) -> None:
    await _fail(harness, 5)
    await _fail(harness, 2, permanent=True)
    await harness.count_failures()
    await _fail(harness, 4)
    assert (await harness.store.failures.list_failures()).all_jobs == 11
    page = await visit("viewer")
    await expect(page.locator("[data-card=dead_letter] .number")).to_have_text("9")
    await expect(page.locator("[data-card=failed] .number")).to_have_text("2")
    row = page.locator(".failure")
    await expect(row.locator(".count")).to_have_text("11")
    await expect(row).to_contain_text("11 failures since")
    await page.goto(f"{visit.site}/dead-letters")
    await expect(page.locator(".error-group .count")).to_have_text("9")
    await expect(page.get_by_role("heading", name="9 jobs by error")).to_be_visible()
    await page.locator(".error-group").get_by_role("link", name="add").click()
    await expect(page).to_have_url(re.compile(r"/errors/add/[0-9a-f]{12}$"))
    await expect(page.locator("[data-count=jobs]")).to_have_text("11")
    await expect(page.locator("[data-count=dead-letters]")).to_have_text("9")
    await expect(page.locator("[data-as-of]")).to_contain_text("as of")
    await page.get_by_role("link", name="Show jobs").click()
    await expect(page.locator("[data-key]")).to_have_count(11)


async def test_an_error_shows_its_history_its_traceback_and_whom_it_affects(harness: Harness, visit: Visitor) -> None:
    await harness.advance(days=-3)
    await _fail(harness, 3, tenant="a")
    await harness.advance(days=3)
    await _fail(harness, 2, tenant="b")
    await harness.count_failures()
    [found] = (await harness.store.failures.list_failures(all_tenants=True)).rows
    page = await visit("super-admin", f"/errors/add/{found.fingerprint}")
    await expect(page.get_by_role("heading", level=1)).to_have_text("ConnectionError: connection reset by 10.0.0.1")
    await expect(page.get_by_role("img", name="Failures in 24 h: 2 in total")).to_be_visible()
    await page.get_by_role("button", name="7 d").click()
    await expect(page.get_by_role("img", name="Failures in 7 d: 5 in total")).to_be_visible()
    await expect(page).to_have_url(re.compile(r"\?span=7d$"))
    await expect(page.get_by_label("Traceback of the newest failure", exact=True)).to_contain_text("line 7 of mail.py")
    tenants = page.get_by_label("Affected tenants")
    await expect(tenants).to_contain_text("a")
    await expect(tenants.locator("[data-key]")).to_have_count(2)
    await expect(page.get_by_role("heading", name="Workers of the newest 5 failures")).to_be_visible()
    await expect(page.get_by_label("Workers", exact=True).locator("[data-key]")).to_have_count(2)
    other = await visit("viewer", f"/errors/add/{found.fingerprint}", tenant="b")
    await expect(other.locator("[data-count=jobs]")).to_have_text("2")
    await expect(other.get_by_label("Affected tenants")).to_have_count(0)


async def test_all_jobs_of_an_error_are_retried_and_unfinished_ones_canceled(harness: Harness, visit: Visitor) -> None:
    broken = await _fail(harness, 3)
    others = await _fail(harness, 2, error="something else")
    worker = await harness.worker()
    waiting = await harness.enqueue("add", max_attempts=5)
    await worker.fail(await worker.claim_one(), ERROR.format(n=9))
    found = next(row for row in (await harness.store.failures.list_failures()).rows if row.jobs == 3)
    page = await visit("operator", f"/errors/add/{found.fingerprint}")
    await page.get_by_role("button", name="Cancel unfinished…").click()
    dialog = page.get_by_role("dialog", name="Cancel all matching jobs?")
    await expect(dialog).to_contain_text("1 job will be canceled")
    await dialog.get_by_role("button", name="Cancel 1 job").click()
    await expect(dialog).to_be_hidden()
    await page.get_by_role("button", name="Retry all…").click()
    dialog = page.get_by_role("dialog", name="Retry failed jobs?")
    await expect(dialog).to_contain_text("3 jobs will be queued again")
    await dialog.get_by_label("Rate limit (jobs per second)").fill("100")
    await dialog.get_by_role("button", name="Retry 3 jobs").click()
    await expect(page.locator("[data-count=jobs]")).to_have_text("0")
    await expect(page.locator("[data-count=failures]")).to_have_text("3")
    assert set(await harness.statuses(broken)) == {"queued"}
    assert set(await harness.statuses(others)) == {"dead_letter"}
    await expect(page.get_by_role("button", name="Retry all…")).to_be_disabled()
    await page.goto(f"{visit.site}/jobs/{waiting}")
    await expect(page.locator("h1 [data-status=canceled]")).to_be_visible()


async def test_the_page_of_an_error_runs_nothing_and_an_unknown_one_is_not_found(
    harness: Harness, visit: Visitor
) -> None:
    await _fail(harness, 1, error=EVERYTHING.replace("{", "{{").replace("}", "}}"))
    [found] = (await harness.store.failures.list_failures()).rows
    page = await visit("viewer", f"/errors/add/{found.fingerprint}")
    await expect(page.get_by_role("heading", level=1)).to_have_text(EVERYTHING.split("\n")[0])
    await expect(page.get_by_role("button", name="Retry all…")).to_have_count(0)
    assert not await page.evaluate(RAN)
    visit.forgive(r"404")
    await page.goto(f"{visit.site}/errors/add/000000000000")
    await expect(page.get_by_role("heading", name="Error not found")).to_be_visible()
