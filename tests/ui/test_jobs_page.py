"""The jobs page: filter tokens, columns, saved views and bulk actions."""

import json

from playwright.async_api import Locator, Page, expect

from ..harness import Harness
from ..waiting import eventually
from .browser import Visitor
from .hostile_texts import CORPUS, RAN


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Jobs").locator("[data-key]")


async def _filter(page: Page, text: str) -> None:
    await page.get_by_role("combobox", name="Filter").fill(text)
    await page.keyboard.press("Enter")


async def test_jobs_are_listed_newest_first_with_what_is_known_of_them(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    old = await harness.enqueue("add")
    await worker.succeed(await worker.claim_one())
    await harness.advance(seconds=150)
    new = await harness.enqueue("other")
    page = await visit("viewer", "/jobs", at=await harness.now())
    await expect(rows(page)).to_have_count(2)
    assert await rows(page).evaluate_all("all => all.map(one => one.dataset.key)") == [str(new), str(old)]
    head = page.get_by_role("columnheader")
    await expect(head).to_have_text(
        ["Id", "Definition", "Status", "Attempts", "Source", "Enqueued", "Started", "Finished", "Worker"]
    )
    await expect(rows(page).nth(1).get_by_role("cell")).to_have_text(
        [
            "".join((str(old)[:4], "…", str(old)[-8:])),
            "add",
            "succeeded",
            "1 of 5",
            "manual",
            "2 min ago",
            "2 min ago",
            "2 min ago",
            str(worker.id),
        ],
    )
    await expect(rows(page).first.locator("time")).to_have_text(["now"])
    await expect(page.locator("[data-count]")).to_have_text("2 jobs")
    await rows(page).first.click(position={"x": 500, "y": 10})
    await expect(page).to_have_url(f"{visit.site}/jobs/{new}")


async def test_a_list_of_thousands_loads_as_one_scrolls(harness: Harness, visit: Visitor) -> None:
    jobs = await harness.enqueue_many("add", 1500)
    page = await visit("viewer", "/jobs")
    table = page.get_by_role("table", name="Jobs")
    await expect(rows(page).first).to_be_visible()
    assert await rows(page).count() < 60
    await expect(page.locator("[data-count]")).to_have_text("1,000+ jobs")
    oldest = page.locator(f"[data-key='{jobs[0]}']")

    async def there() -> bool:
        await table.evaluate("box => box.scrollTo(0, box.scrollHeight)")
        return await oldest.count() > 0

    await eventually(there, within=120, what="scrolling to the oldest")
    await expect(oldest).to_be_visible()
    assert await rows(page).count() < 60


async def test_filters_are_tokens_in_the_address(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    await harness.enqueue("add", payload={"order": {"id": 42}}, correlation_id="c-1")
    await harness.enqueue("other", payload={"order": {"id": 7}})
    await worker.claim_one()
    page = await visit("viewer", "/jobs")
    await expect(rows(page)).to_have_count(2)
    await page.keyboard.press("/")
    await page.keyboard.type("sta")
    await page.get_by_role("option", name="status:").first.click()
    await page.get_by_role("option", name="status:queued").click()
    await expect(page).to_have_url(f"{visit.site}/jobs?status=queued")
    await expect(rows(page)).to_have_count(1)
    await _filter(page, "status:running")
    await expect(rows(page)).to_have_count(2)
    for token, expected in (
        ("payload:order.id=42", 1),
        ("correlation:c-1", 1),
        (f"worker:{worker.id}", 1),
        ("definition:add", 1),
        ("source:manual", 1),
        ("queue:default", 1),
        ("after:1h", 1),
        ("sub-jobs:no", 1),
        ("sub-jobs:yes", 0),
    ):
        await _filter(page, token)
        await expect(rows(page)).to_have_count(expected)
    await page.get_by_role("button", name="Remove all filters").click()
    await expect(rows(page)).to_have_count(2)
    await _filter(page, "oth")
    await expect(rows(page)).to_have_count(1)
    await page.go_back()
    await expect(rows(page)).to_have_count(2)
    await page.goto("/jobs?status=nonsense&parent=zzz")
    await expect(page.get_by_role("alert")).to_have_text("Ignored invalid filters: status:nonsense, parent:zzz")


async def test_columns_can_be_chosen_and_a_view_kept(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue("add")
    page = await visit("viewer", "/jobs?status=queued")
    await page.get_by_role("button", name="Columns").click()
    await page.get_by_label("Queue", exact=True).check()
    await page.get_by_label("Source").uncheck()
    await page.keyboard.press("Escape")
    head = page.get_by_role("columnheader")
    chosen = ["Id", "Definition", "Status", "Attempts", "Queue", "Enqueued", "Started", "Finished", "Worker"]
    await expect(head).to_have_text(chosen)
    await page.get_by_role("button", name="Views").click()
    await page.get_by_label("View name").fill("my queue")
    await page.get_by_role("button", name="Save view").click()
    await page.goto("/jobs")
    await expect(head).not_to_have_text(chosen)
    await page.get_by_role("button", name="Views").click()
    await page.get_by_role("link", name="my queue").click()
    await expect(head).to_have_text(chosen)
    await expect(page.locator("[data-token='status:queued']")).to_be_visible()


async def test_a_list_moves_without_a_reload(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    page = await visit("viewer", "/jobs")
    await expect(page.get_by_text("No jobs yet")).to_be_visible()
    await expect(page.locator("[data-live=live]")).to_be_visible()
    await harness.enqueue("add")
    await expect(rows(page).locator("[data-status]")).to_have_text("queued")
    lease = await worker.claim_one()
    await expect(rows(page).locator("[data-status]")).to_have_text("running")
    await worker.succeed(lease)
    await expect(rows(page).locator("[data-status]")).to_have_text("succeeded")


async def test_a_long_list_stays_where_it_is_read_and_tells_what_is_new(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    await harness.enqueue_many("add", 300)
    page = await visit("viewer", "/jobs")
    table = page.get_by_role("table", name="Jobs")
    await expect(rows(page).first).to_be_visible()
    await table.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    await expect(table).to_have_attribute("aria-rowcount", "301")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    lease = await worker.claim_one()  # the oldest job, which is in the last row
    await table.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    await expect(page.locator(f"[data-key='{lease.job_id}'] [data-status]")).to_have_text("running")
    new = await harness.enqueue("other")
    await expect(page.get_by_text("1 new job")).to_be_visible()
    await page.get_by_role("button", name="Reload list").click()
    await table.evaluate("box => box.scrollTo(0, 0)")
    await expect(page.locator(f"[data-key='{new}']")).to_be_visible()


async def test_selected_jobs_are_canceled_and_retried_and_what_does_not_fit_is_told(
    harness: Harness, visit: Visitor
) -> None:
    worker = await harness.worker()
    jobs = await harness.enqueue_many("add", 3)
    await worker.succeed(await worker.claim_one())
    page = await visit("operator", "/jobs")
    await page.get_by_label("Select all loaded rows").check()
    await page.get_by_role("button", name="Cancel jobs").click()
    dialog = page.get_by_role("dialog", name="Cancel selected jobs?")
    await expect(dialog).to_contain_text("2 jobs will be canceled. 1 job excluded")
    await dialog.get_by_label("Reason (recorded in the audit log)").fill("not needed")
    await dialog.get_by_role("button", name="Cancel 2 jobs").click()
    await expect(page.get_by_text("2 jobs canceled.")).to_be_visible()
    await expect(rows(page).locator("[data-status=canceled]")).to_have_count(2)
    assert sorted(await harness.statuses(jobs)) == ["canceled", "canceled", "succeeded"]
    assert await harness.sql("select count(*) from plait.audit where detail ->> 'reason' = 'not needed'") == 2
    await rows(page).first.get_by_role("checkbox").check()
    await page.get_by_role("button", name="Retry jobs").click()
    await page.get_by_role("button", name="Retry 1 job").click()
    await expect(page.get_by_text("1 job retried.")).to_be_visible()
    await expect(rows(page).locator("[data-status=queued]")).to_have_count(1)


async def test_all_that_match_are_canceled_in_bulk_after_a_dry_run(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue_many("add", 150)
    await harness.enqueue_many("other", 3)
    page = await visit("operator", "/jobs?definition=add")
    await page.get_by_label("Select all loaded rows").check()
    await page.get_by_role("button", name="Select all matching jobs").click()
    await page.get_by_role("button", name="Cancel jobs").click()
    dialog = page.get_by_role("dialog", name="Cancel all matching jobs?")
    await expect(dialog).to_contain_text("150 jobs will be canceled")
    assert await harness.sql("select count(*) from plait.live") == 153  # so far the jobs were only counted
    await dialog.get_by_role("button", name="Cancel 150 jobs").click()
    await page.get_by_role("link", name="Show progress").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("plait.bulk")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("succeeded")
    assert await harness.sql("select count(*) from plait.live") == 3


async def test_a_viewer_can_select_nothing(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue("add")
    page = await visit("viewer", "/jobs")
    await expect(rows(page)).to_have_count(1)
    await expect(page.get_by_role("checkbox")).to_have_count(0)
    await expect(page.get_by_role("button", name="Cancel")).to_have_count(0)


async def test_rows_are_reached_by_keys(harness: Harness, visit: Visitor) -> None:
    first, _ = await harness.enqueue_many("add", 2)
    page = await visit("operator", "/jobs")
    await expect(rows(page)).to_have_count(2)
    for key in "jjx":
        await page.keyboard.press(key)
    await expect(page.get_by_text("1 selected")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{visit.site}/jobs/{first}")


async def test_a_super_admin_sees_whose_a_job_is(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue("add", tenant="acme")
    await harness.enqueue("add", tenant="globex")
    page = await visit("super-admin", "/jobs")
    await expect(rows(page)).to_have_count(2)
    await expect(rows(page).first).to_contain_text("globex")
    await page.get_by_label("Tenant").select_option("acme")
    await expect(rows(page)).to_have_count(1)
    await page.get_by_label("Tenant").select_option("")
    await expect(rows(page)).to_have_count(2)


async def test_no_name_runs_in_the_list_or_its_filters(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker(definitions=[text for text in CORPUS if text.isprintable()])
    for text in CORPUS:
        await harness.enqueue(text if text.isprintable() else "add", correlation_id=text, payload={text: text})
    lease = await worker.claim_one()
    await worker.fail(lease, CORPUS[0], permanent=True)
    columns = "id,command,status,correlation,error"
    page = await visit("operator", f"/jobs?cols={columns}")
    await expect(rows(page)).to_have_count(len(CORPUS))
    await expect(rows(page).last).to_contain_text(CORPUS[0])
    await _filter(page, CORPUS[1])
    await expect(rows(page)).to_have_count(1)
    await _filter(page, f"payload:{CORPUS[1]}={CORPUS[1]}")
    await page.get_by_role("button", name="Views").click()
    await page.get_by_label("View name").fill(CORPUS[1][:60])
    await page.get_by_role("button", name="Save view").click()
    assert json.loads(await page.evaluate("localStorage['plait.views']"))
    assert not await page.evaluate(RAN)
