"""The tab "Logs" of the job page."""

from playwright.async_api import Page, expect

from plait.store.logs import Level, LogEntry, LogLine
from plait.store.workflows import Lease

from ..harness import Harness
from .browser import Visitor
from .hostile_texts import EVERYTHING


class Handler:
    """A running job that logs."""

    def __init__(self, harness: Harness, lease: Lease) -> None:
        self.harness, self.lease, self.lines = harness, lease, 0

    async def log(self, *messages: str, level: Level = "info", fields: str | None = None) -> None:
        entries = [LogEntry(0, level, "log", "library", message, fields) for message in messages]
        lines = [LogLine(self.lease, self.lines + n, entry) for n, entry in enumerate(entries, 1)]
        self.lines += len(lines)
        assert await self.harness.store.logs.write(lines, now=0) == [1] * len(lines)


async def started(harness: Harness) -> Handler:
    await harness.enqueue("add")
    worker = await harness.worker()
    claimed = await worker.claim_one()
    return Handler(harness, Lease(worker.id, claimed.job_id, claimed.attempt))


async def opened(handler: Handler, visit: Visitor) -> Page:
    page = await visit("viewer", f"/jobs/{handler.lease.job_id}")
    await page.get_by_role("tab", name="Logs").click()
    return page


async def test_log_lines_appear_while_the_job_runs_and_can_be_filtered(harness: Harness, visit: Visitor) -> None:
    handler = await started(harness)
    page = await opened(handler, visit)
    await expect(page.get_by_text("No log lines yet")).to_be_visible()
    await handler.log("hello", fields='{"order":7,"password":"canary"}')
    shown = page.get_by_role("region", name="Log lines")
    await expect(shown.get_by_role("listitem")).to_have_count(1)
    await expect(shown).to_contain_text("hello order=7 password=")
    await expect(shown).not_to_contain_text("canary")
    await handler.log("careful", level="warning")
    await expect(shown.get_by_role("listitem")).to_have_count(2)
    await page.get_by_role("combobox", name="Level").select_option("warning")
    await expect(shown.get_by_role("listitem")).to_have_count(1)
    await expect(page).to_have_url(f"{visit.site}/jobs/{handler.lease.job_id}?tab=logs&level=warning")
    await page.get_by_role("spinbutton", name="Attempt").fill("2")
    await expect(page.get_by_text("No matching log lines")).to_be_visible()
    await page.get_by_role("spinbutton", name="Attempt").fill("1")
    await expect(shown).to_contain_text("careful")


async def test_a_long_log_shows_its_end_and_says_that_earlier_lines_are_not_loaded(
    harness: Harness, visit: Visitor
) -> None:
    handler = await started(harness)
    await handler.log(*(f"line {n}" for n in range(1, 602)))
    page = await opened(handler, visit)
    await expect(page.get_by_text("The last 500 lines; earlier lines are not loaded")).to_be_visible()
    await page.wait_for_function(
        "() => { const box = document.querySelector('.log'); return box.scrollTop > 0 && box.scrollHeight - box.scrollTop - box.clientHeight < 20 }"
    )
    await page.get_by_role("button", name="Load earlier lines").click()
    await expect(page.get_by_text("601 lines", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Load earlier lines")).to_be_hidden()
    await handler.log("line 602")
    await expect(page.get_by_text("602 lines", exact=True)).to_be_visible()


async def test_hostile_log_lines_are_shown_as_text(harness: Harness, visit: Visitor) -> None:
    handler = await started(harness)
    await handler.log(EVERYTHING.replace("\0", ""))
    page = await opened(handler, visit)
    await expect(page.get_by_role("region", name="Log lines").get_by_role("listitem")).to_have_count(1)
