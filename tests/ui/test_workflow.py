"""The workflow page: tree, timeline and graph with one selection, actions on the workflow, and live updates."""

import re
from uuid import UUID

from playwright.async_api import Locator, Page, expect

from plait.store.workers import Claimed

from ..fake_worker import FakeWorker
from ..harness import Harness
from ..workflows.worker_calls import CHILDREN, claim_children, open_one
from .browser import Visitor
from .hostile_texts import CORPUS, EVERYTHING, RAN


async def workflow(harness: Harness, children: int, **options: object) -> tuple[UUID, FakeWorker, list[Claimed]]:
    """A job that waits for children, all of them claimed by one worker."""
    job = await harness.enqueue("add", payload={"day": "today"})
    parent = await harness.worker()
    await open_one(harness, parent, await parent.claim_one(), children, **options)  # type: ignore[arg-type]
    worker, leases = await claim_children(harness, children)
    return job, worker, leases


def row(page: Page, id_: object) -> Locator:
    return page.locator(f"[data-id='{id_}']")


async def test_fifty_jobs_end_and_the_bar_reaches_its_end_without_a_reload(harness: Harness, visit: Visitor) -> None:
    job, worker, leases = await workflow(harness, 50)
    page = await visit("viewer", f"/workflows/{job}")
    bar = page.locator(".whole .whole-bar")
    await expect(bar).to_have_attribute("data-ended", "0")
    await page.evaluate("window.notReloaded = true")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    for lease in leases[:20]:
        await worker.succeed(lease)
    await expect(bar).to_have_attribute("data-ended", "20")
    await expect(page.get_by_text("40 % 20 of 50 sub-jobs finished")).to_be_visible()
    await expect(row(page, leases[0].job_id).get_by_text("succeeded")).to_be_visible()
    for lease in leases[20:]:
        await worker.succeed(lease)
    await expect(bar).to_have_attribute("data-ended", "50")
    assert await page.evaluate("window.notReloaded")


async def test_what_is_selected_in_one_view_is_so_in_all_and_in_the_address(harness: Harness, visit: Visitor) -> None:
    job, worker, leases = await workflow(harness, 20, strategy="threshold", needed=15)
    await worker.fail(leases[4], "ValueError: no such region", permanent=True)
    page = await visit("viewer", f"/workflows/{job}")
    await row(page, leases[4].job_id).click()
    side = page.get_by_role("complementary", name="Selected")
    await expect(side).to_contain_text("ValueError: no such region")
    await expect(page).to_have_url(re.compile(f"at={leases[4].job_id}"))
    await page.get_by_role("tab", name="Timeline").click()
    await expect(row(page, leases[4].job_id)).to_have_attribute("aria-selected", "true")
    lane = row(page, leases[4].job_id).locator(".lane")
    await expect(lane).to_have_attribute("aria-label", re.compile("attempt 1: failed"))
    await page.get_by_role("tab", name="Graph").click()
    await page.get_by_role("button", name="Show failed jobs").click()
    await expect(page.locator(f"[data-node='{leases[4].job_id}'].chosen")).to_be_visible()
    await page.get_by_role("button", name=re.compile("fan_out . 20")).click()
    await expect(side).to_contain_text("threshold: 15 of 20 needed")
    await page.get_by_role("tab", name="Tree").click()
    await expect(page.locator(".row-fan-out[aria-selected=true]")).to_be_visible()
    await page.reload()
    await expect(page.locator(".row-fan-out[aria-selected=true]")).to_be_visible()


async def test_a_sub_job_deep_below_is_found_by_its_address(harness: Harness, visit: Visitor) -> None:
    job, worker, leases = await workflow(harness, 700)
    await open_one(harness, worker, leases[0], 3)
    [*_, deep] = await worker.claim(3, queue=CHILDREN)
    page = await visit("viewer", f"/workflows/{deep.job_id}")
    await expect(page).to_have_url(re.compile(f"/workflows/{job}"))
    await expect(row(page, deep.job_id)).to_have_attribute("aria-selected", "true")
    await expect(row(page, deep.job_id)).to_have_attribute("aria-level", "5")
    drawn = await page.locator("[data-row]").count()
    assert drawn < 100
    page = await visit("viewer", f"/workflows/{job}?at={leases[600].job_id}")
    await expect(row(page, leases[600].job_id)).to_be_in_viewport()


async def test_an_address_that_says_nonsense_shows_what_there_is(harness: Harness, visit: Visitor) -> None:
    job, _, _ = await workflow(harness, 2)
    elsewhere = await harness.enqueue()
    page = await visit("viewer", f"/workflows/{job}?view=timeline&zoom=9-2&turned=x.y&turned=.&at={elsewhere}")
    await expect(page.get_by_text("Job not found")).to_be_visible()
    await expect(page.locator(".row-child")).to_have_count(2)
    page = await visit("viewer", f"/workflows/{elsewhere}?at=fan-out:nothing")
    await expect(page.get_by_text("No sub-jobs yet")).to_be_visible()


async def test_the_tree_is_walked_with_the_keyboard(harness: Harness, visit: Visitor) -> None:
    job, _, leases = await workflow(harness, 3)
    page = await visit("viewer", f"/workflows/{job}")
    await expect(row(page, leases[0].job_id)).to_be_visible()
    await page.get_by_role("treegrid", name="Tree").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await expect(row(page, leases[0].job_id)).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowLeft")
    await expect(row(page, leases[0].job_id)).to_be_hidden()
    await page.keyboard.press("ArrowRight")
    await expect(row(page, leases[0].job_id)).to_be_visible()


async def test_the_timeline_tells_queue_run_backoff_and_waiting_apart_and_is_zoomed(
    harness: Harness, visit: Visitor
) -> None:
    job, worker, leases = await workflow(harness, 2)
    await worker.fail(leases[0], "not yet")
    await harness.advance(seconds=90)
    await harness.promote()
    [again] = await worker.claim(1, queue=CHILDREN)
    await worker.heartbeat()
    await harness.advance(seconds=10)
    await worker.succeed(again)
    page = await visit("viewer", f"/workflows/{job}?view=timeline&zoom=0-120000")
    lane = row(page, leases[0].job_id).locator(".lane")
    await expect(lane.locator(".ph-backoff")).to_be_visible()
    await expect(lane.locator(".ph-run.s-succeeded")).to_be_visible()
    await expect(row(page, job).locator(".ph-wait")).to_be_visible()
    await expect(page.locator(".row-fan-out .lane")).to_have_attribute("aria-label", re.compile("max concurrency 2"))
    width = await _width(lane.locator(".ph-run.s-succeeded"))
    await page.get_by_role("button", name="Zoom out").click()
    await expect(page).to_have_url(re.compile(r"zoom=0-240000"))
    assert await _width(lane.locator(".ph-run.s-succeeded")) < width
    await page.get_by_role("button", name="Fit to width").click()
    await expect(page).not_to_have_url(re.compile("zoom"))


async def test_a_tree_is_canceled_what_failed_retried_and_all_of_it_begun_anew(
    harness: Harness, visit: Visitor
) -> None:
    job, worker, leases = await workflow(harness, 4, strategy="fail_fast", needed=4)
    page = await visit("operator", f"/workflows/{job}")
    await page.get_by_role("button", name="Cancel workflow").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel workflow").click()
    await expect(page.get_by_text("5 jobs canceled or asked to stop.")).to_be_visible()
    for lease in leases:
        await worker.report_canceled(lease)
    await expect(page.locator("h1").get_by_text("canceled")).to_be_visible()
    await page.get_by_role("button", name="Retry failed jobs").click()
    await page.get_by_role("dialog").get_by_role("button", name="Retry failed jobs").click()
    await expect(page.get_by_text(re.compile(r"jobs? queued again\."))).to_be_visible()
    await expect(page.get_by_role("button", name="Cancel workflow")).to_be_visible()
    await harness.store.jobs.cancel_tree(job)
    await expect(page.locator("h1").get_by_text("canceled")).to_be_visible()
    await page.get_by_role("button", name="Rerun workflow").click()
    await page.get_by_role("button", name="Start new workflow").click()
    await expect(page).not_to_have_url(re.compile(str(job)))


async def test_a_viewer_is_offered_nothing_that_it_may_not_do(harness: Harness, visit: Visitor) -> None:
    job, worker, leases = await workflow(harness, 3)
    await worker.fail(leases[0], permanent=True)
    page = await visit("viewer", f"/workflows/{job}?at={leases[0].job_id}")
    await expect(page.get_by_role("complementary", name="Selected")).to_contain_text("it broke")
    await expect(page.get_by_role("button", name=re.compile("Cancel|Retry"))).to_have_count(0)


async def test_what_is_in_a_workflow_is_text_and_nothing_else(harness: Harness, visit: Visitor) -> None:
    name = CORPUS[1]
    await harness.define(name)
    job = await harness.enqueue(name, payload={EVERYTHING: EVERYTHING})
    parent = await harness.worker(definitions=(name, "add"))
    await open_one(harness, parent, await parent.claim_one(), 2, step=CORPUS[2])
    worker, leases = await claim_children(harness, 2)
    await worker.fail(leases[0], EVERYTHING, permanent=True)
    page = await visit("viewer", f"/workflows/{job}?at={leases[0].job_id}")
    await expect(page.get_by_role("complementary", name="Selected")).to_contain_text(CORPUS[0])
    for view in ("Timeline", "Graph", "Tree"):
        await page.get_by_role("tab", name=view).click()
        await expect(page.get_by_text(CORPUS[2]).first).to_be_visible()
    await page.get_by_role("tab", name="Graph").click()
    await page.get_by_role("button", name="Show jobs").click()
    await expect(page.locator(f"[data-node='{leases[0].job_id}']")).to_be_visible()
    assert not await page.evaluate(RAN)


async def test_the_graph_is_loaded_only_where_it_is_used(harness: Harness, visit: Visitor) -> None:
    job, _, _ = await workflow(harness, 2)
    loaded: list[str] = []
    page = await visit("viewer", "/jobs")
    page.on("request", lambda request: loaded.append(request.url))
    await page.goto(f"/workflows/{job}")
    await expect(page.get_by_role("treegrid")).to_be_visible()
    assert not [url for url in loaded if "workflow-graph" in url]
    await page.get_by_role("tab", name="Graph").click()
    await expect(page.locator(".graph-node").first).to_be_visible()
    assert [url for url in loaded if "workflow-graph" in url]


async def _width(part: Locator) -> float:
    box = await part.bounding_box()
    assert box is not None
    return box["width"]
