"""The slowest step at a glance: durations in the timeline, in Steps and as columns, sorted children, percentiles, earlier runs."""

import re
from uuid import UUID

from playwright.async_api import Locator, Page, expect

from plait.model.ids import new_id
from plait.store.workers import Claimed
from plait.store.workflows import Checkpoint, Lease, StepKey

from ..fake_worker import FakeWorker
from ..harness import Harness
from ..workflows.worker_calls import CHILDREN, open_one
from .browser import Visitor

TAKES = (4, 1, 7, 2)
"""How long the children with these indexes run, in seconds."""


async def save_call(harness: Harness, worker: FakeWorker, lease: Claimed, name: str, seq: int, took_s: float) -> None:
    held = Lease(worker.id, lease.job_id, lease.attempt)
    step = Checkpoint(held, StepKey("", name, 1, seq), "call", seq, None, '"ok"', None, took_s)
    assert await harness.store.workflows.save_steps(worker.id, [step]) == []


async def slow_workflow(harness: Harness, *, queued: int = 0) -> tuple[UUID, list[UUID], FakeWorker]:
    """A job with two steps and a fan-out, whose children have ended. Returns the ids of its children by index."""
    job = await harness.enqueue("add")
    parent = await harness.worker(lease_s=86_400)
    lease = await parent.claim_one()
    await harness.advance(seconds=5)
    await save_call(harness, parent, lease, "load", 1, 4.5)
    await save_call(harness, parent, lease, "check", 2, 0.25)
    await open_one(harness, parent, lease, len(TAKES) + queued, seq=3)
    await harness.advance(seconds=3)
    worker = await harness.worker(queues=[CHILDREN], lease_s=86_400)
    leases = {one.job_id: one for one in await worker.claim(len(TAKES), queue=CHILDREN)}
    ids = [one.id for one in await harness.store.statistics.list_children(job, all_tenants=True)]
    for second in range(1, max(TAKES) + 1):
        await harness.advance(seconds=1)
        for index, takes in enumerate(TAKES):
            if takes == second:
                await worker.succeed(leases[ids[index]])
    return job, ids, worker


async def shown_children(page: Page) -> list[str]:
    rows = page.locator(".row-child")
    return [await row.get_attribute("data-id") or "" for row in await rows.all()]


def row(page: Page, id_: object) -> Locator:
    return page.locator(f"[data-id='{id_}']")


async def test_children_are_sorted_by_run_time_wait_and_status_from_the_heads_of_the_tree(
    harness: Harness, visit: Visitor
) -> None:
    job, ids, _ = await slow_workflow(harness, queued=1)
    page = await visit("viewer", f"/workflows/{job}")
    await expect(row(page, ids[2])).to_contain_text("7.0 s")
    assert await shown_children(page) == [str(id_) for id_ in ids]
    run_time = page.get_by_role("columnheader", name="Run time")
    await run_time.get_by_role("button").click()
    await expect(run_time).to_have_attribute("aria-sort", "descending")
    await expect(page.locator(".row-child").first).to_have_attribute("data-id", str(ids[2]))
    assert await shown_children(page) == [str(ids[index]) for index in (2, 0, 3, 1, 4)]
    await expect(page).to_have_url(re.compile("sort=-duration"))
    await page.reload()
    await expect(page.locator(".row-child").first).to_have_attribute("data-id", str(ids[2]))
    await page.get_by_role("columnheader", name="Wait").get_by_role("button").click()
    await expect(page.locator(".row-child").first).to_have_attribute("data-id", str(ids[4]))
    await page.get_by_role("columnheader", name="Status").get_by_role("button").click()
    await expect(page.get_by_role("columnheader", name="Status")).to_have_attribute("aria-sort", "ascending")
    await expect(page.locator(".row-child").first).to_contain_text("queued")


async def test_a_child_that_is_expanded_stays_below_its_row_when_the_order_changes(
    harness: Harness, visit: Visitor
) -> None:
    job, ids, worker = await slow_workflow(harness, queued=1)
    lease = await worker.claim_one(queue=CHILDREN)
    await save_call(harness, worker, lease, "parse", 1, 2.0)
    page = await visit("viewer", f"/workflows/{job}")
    await page.get_by_role("button", name="Expand add 4").click()
    step = page.locator(".row-step", has_text="parse")
    await expect(step).to_contain_text("2.0 s")
    await expect(step).to_have_attribute("aria-rowindex", "11")
    await page.get_by_role("columnheader", name="Status").get_by_role("button").click()
    await expect(page.locator(".row-child").first).to_have_attribute("data-id", str(ids[4]))
    await expect(step).to_have_attribute("aria-rowindex", "7")


async def test_the_timeline_has_the_steps_of_a_job_and_the_duration_of_each_bar(
    harness: Harness, visit: Visitor
) -> None:
    job, ids, _ = await slow_workflow(harness)
    page = await visit("viewer", f"/workflows/{job}?view=timeline")
    load = page.locator(".row-step", has_text="load")
    await expect(load.locator(".lane")).to_have_attribute("aria-label", "call load: done, 4.5 s")
    await expect(load.locator(".took")).to_have_text("4.5 s")
    await expect(load.locator(".ph-step")).to_be_visible()
    await expect(row(page, ids[2]).locator(".took")).to_have_text("7.0 s")
    await expect(page.locator(".row-fan-out .took")).to_have_text("10 s")
    await page.get_by_label("Sort sub-jobs by").select_option("run time, longest first")
    await expect(page.locator(".row-child").first).to_have_attribute("data-id", str(ids[2]))


async def test_a_fan_out_shows_its_percentiles_its_slowest_jobs_and_which_are_not_counted(
    harness: Harness, visit: Visitor
) -> None:
    job, ids, _ = await slow_workflow(harness, queued=2)
    await harness.cancel(ids[5])
    page = await visit("viewer", f"/workflows/{job}")
    await expect(page.get_by_text("5 of 6 sub-jobs finished, 1 canceled")).to_be_visible()
    await page.locator(".row-fan-out").click()
    side = page.get_by_role("complementary", name="Selected")
    times = side.get_by_role("region", name="Times")
    await expect(times).to_contain_text("Run time p503.0 s")
    await expect(times).to_contain_text("Run time p956.5 s")
    await expect(times).to_contain_text("Wait p503.0 s")
    await expect(times).to_contain_text("Run times of 4 finished sub-jobs; not counted: 1 unfinished, 1 never started.")
    slowest = side.get_by_role("region", name="Slowest sub-jobs").get_by_role("listitem")
    await expect(slowest).to_have_text(["add 27.0 s", "add 04.0 s", "add 32.0 s", "add 11.0 s"])
    await slowest.first.get_by_role("button").click()
    await expect(page).to_have_url(re.compile(f"at={ids[2]}"))


async def test_steps_have_durations_and_the_slowest_is_marked(harness: Harness, visit: Visitor) -> None:
    job, _, _ = await slow_workflow(harness)
    page = await visit("viewer", f"/jobs/{job}?tab=steps")
    steps = page.locator(".steps li")
    await expect(steps.locator(".took")).to_have_text(["4.5 s", "250 ms", "10 s"])
    await expect(steps.filter(has_text="slowest").locator("strong")).to_contain_text("fan_out")
    await expect(page.get_by_text("#2")).to_have_count(0)  # each name occurs once


async def test_a_job_is_compared_with_the_average_of_its_definition(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker(lease_s=86_400)
    jobs = []
    for seconds in (2, 4, 9):
        jobs.append(await harness.enqueue("add"))
        lease = await worker.claim_one()
        await harness.advance(seconds=seconds)
        await worker.succeed(lease)
    page = await visit("viewer", f"/jobs/{jobs[2]}")
    compared = page.locator("[data-runs]")
    await expect(compared).to_contain_text(re.compile("3.0 . the average"))
    await expect(compared).to_contain_text("average 3.0 s, p95 3.9 s of the last 2 runs that succeeded, since")
    page = await visit("viewer", f"/jobs/{jobs[0]}")
    await expect(page.get_by_text("no earlier run has succeeded")).to_be_visible()


async def test_a_nursery_without_children_is_no_group(harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    lease = await worker.claim_one()
    await save_call(harness, worker, lease, "load", 1, 1.0)
    await harness.store.nurseries.open_nursery(
        Lease(worker.id, lease.job_id, lease.attempt), StepKey("", "nursery", 1, 2), new_id(), finished=2, serial=False,
        stop=False, nested=False, cancel_on_parent_failure=False,
    )  # fmt: skip
    page = await visit("viewer", f"/workflows/{job}")
    await expect(page.locator(".row-step")).to_have_count(1)
    await expect(page.locator(".row-fan-out")).to_have_count(0)
    page = await visit("viewer", f"/jobs/{job}")
    await expect(page.get_by_role("tab", name="Steps (2)")).to_be_visible()
    await expect(page.get_by_role("tab", name="Sub-jobs")).to_have_count(0)
    await expect(page.locator(".fan-out")).to_have_count(0)
