"""The workers page: alive and lost workers, nodes, and the leader."""

import re

from playwright.async_api import Locator, Page, expect

from ..harness import Harness
from .browser import Visitor
from .hostile_texts import EVERYTHING, RAN


def _row(page: Page, worker: int) -> Locator:
    return page.get_by_role("table", name="Workers", exact=True).locator(f"[data-key='{worker}']")


async def _register(harness: Harness, host: str = "here", **more: object) -> int:
    return await harness.store.workers.register(
        host=host,
        pid=7,
        version="1.2",
        queues=["default"],
        definitions=["add"],
        lease_s=30,
        metadata={"concurrency": 4, **more},
    )


async def test_a_worker_tells_its_slots_version_and_what_it_runs(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker(node="n1")
    other = await _register(harness)
    await harness.enqueue_many("add", 2)
    leases = await worker.claim(2)
    await worker.heartbeat(holding=leases)
    page = await visit("super-admin", "/workers")
    await expect(_row(page, worker.id)).to_contain_text("alive")
    await expect(_row(page, other)).to_contain_text("0 / 4")
    await expect(_row(page, other)).to_contain_text("1.2")
    await expect(page.get_by_text("2 versions")).to_be_visible()
    await _row(page, worker.id).click()
    await expect(page).to_have_url(f"{visit.site}/workers?worker={worker.id}")
    running = page.locator(".now li")
    await expect(running).to_have_count(2)
    await expect(page.locator("[data-live=live]")).to_be_visible()
    await worker.succeed(leases[0])
    await expect(running).to_have_count(1)
    await running.get_by_role("link", name="add").click()
    await expect(page).to_have_url(f"{visit.site}/jobs/{leases[1].job_id}")


async def test_a_worker_that_falls_silent_is_warned_of_without_a_reload(harness: Harness, visit: Visitor) -> None:
    worker = await _register(harness, host="quiet-host")
    page = await visit("super-admin", "/workers")
    await expect(_row(page, worker)).to_contain_text("alive")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await harness.advance(seconds=20)
    await expect(page.get_by_role("alert")).to_contain_text(f"{worker} on quiet-host")
    await expect(_row(page, worker)).to_contain_text("stale")


async def test_a_worker_whose_event_loop_is_blocked_is_warned_of_with_its_job(harness: Harness, visit: Visitor) -> None:
    worker, other = await _register(harness, host="busy-host"), await _register(harness)
    job_id = await harness.enqueue("add")
    page = await visit("super-admin", "/workers")
    await expect(_row(page, worker)).to_contain_text("alive")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await harness.store.workers.heartbeat(worker, running=1, blocked_s=12.0, blocked_job=job_id)
    await expect(page.get_by_role("alert")).to_contain_text(f"worker {worker} on busy-host")
    await expect(_row(page, worker)).to_contain_text("blocked")
    await expect(_row(page, other)).to_contain_text("alive")
    await page.get_by_role("alert").get_by_role("link", name="show job").click()
    await expect(page).to_have_url(f"{visit.site}/jobs/{job_id}")


async def test_who_leads_since_when_and_what_each_node_has_is_told(harness: Harness, visit: Visitor) -> None:
    page = await visit("super-admin", "/workers")
    await expect(page.get_by_text("no leader")).to_be_visible()
    await harness.worker(node="n1")
    second = await harness.worker(node="n2")
    await harness.lead("n1", lease_s=3600)
    nodes = page.get_by_role("table", name="Nodes")
    await expect(nodes.locator("[data-key=n1]")).to_contain_text("leader")
    await expect(page.locator("[data-term]")).to_have_attribute("data-term", "1")
    await harness.store.workers.drain(second.id)
    await expect(nodes.locator("[data-key=n2]")).to_contain_text("draining")
    await expect(_row(page, second.id)).to_contain_text("draining")


async def test_workers_that_left_are_shown_when_one_wants_to_see_them(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    await worker.leave()
    page = await visit("super-admin", "/workers")
    left = page.get_by_label(re.compile(r"Show \d+ stopped in the last hour"))
    await expect(left).not_to_be_checked()
    await expect(_row(page, worker.id)).to_have_count(0)
    await left.check()
    await expect(_row(page, worker.id)).to_contain_text("stopped")
    await page.reload()
    await expect(_row(page, worker.id)).to_contain_text("stopped")


async def test_what_a_worker_says_of_itself_is_text(harness: Harness, visit: Visitor) -> None:
    worker = await _register(harness, host=EVERYTHING, note=EVERYTHING)
    page = await visit("super-admin", f"/workers?worker={worker}")
    await expect(page.get_by_role("heading", name=f"Worker {worker}")).to_be_visible()
    assert not await page.evaluate(RAN)


async def test_a_lost_worker_stays_visible_apart_from_those_that_are_alive(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue_many("add", 2)
    worker = await harness.worker()
    await _register(harness)
    await worker.claim(2)
    page = await visit("super-admin", "/workers")
    await expect(_row(page, worker.id)).to_contain_text("alive")
    await expect(page.get_by_role("table", name="Lost workers")).to_have_count(0)
    await harness.lose(worker)
    await harness.rescue()
    lost = page.get_by_role("table", name="Lost workers").locator(f"[data-key='{worker.id}']")
    await expect(lost).to_contain_text("lease expired")
    await expect(lost).to_contain_text("2 held: 2 requeued")
    await expect(page.get_by_role("heading", name="Lost workers (1 in the last hour)")).to_be_visible()
    await expect(_row(page, worker.id)).to_have_count(0)


async def test_a_worker_whose_lease_expired_does_not_count_as_alive(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    page = await visit("super-admin", "/workers")
    await expect(page.get_by_role("heading", name=re.compile(r"^Workers \(\d+ alive\)$"))).to_be_visible()
    await harness.expire(worker)
    await expect(page.get_by_role("heading", name=re.compile(r"^Workers \(\d+ alive, 1 stale\)$"))).to_be_visible()
    await expect(_row(page, worker.id)).to_contain_text("expired")


async def test_the_history_shows_how_workers_ended_and_leads_to_their_last_jobs(
    harness: Harness, visit: Visitor
) -> None:
    job = await harness.enqueue("add")
    lost, gone = await harness.worker(build="b7"), await harness.worker()
    await lost.claim_one()
    await harness.lose(lost)
    await harness.rescue()
    await gone.leave()
    page = await visit("super-admin", "/workers")
    await page.get_by_role("link", name="Worker history").click()
    await expect(page).to_have_url(f"{visit.site}/workers/history")
    rows = page.get_by_role("table", name="Worker history")
    await expect(rows.locator(f"[data-key='{gone.id}']")).to_contain_text("graceful shutdown")
    await expect(rows.locator(f"[data-key='{lost.id}']")).to_contain_text("1 held: 1 requeued")
    await expect(rows.locator(f"[data-key='{lost.id}']")).to_contain_text("b7")
    await page.get_by_role("combobox").last.fill("state:lost")
    await page.keyboard.press("Enter")
    await expect(rows.locator(f"[data-key='{gone.id}']")).to_have_count(0)
    await expect(page).to_have_url(re.compile("state=lost"))
    await rows.locator(f"[data-key='{lost.id}']").click()
    await expect(page.get_by_role("heading", name=f"Worker {lost.id}")).to_be_visible()
    await page.locator(".now.ended").get_by_role("link", name="add").click()
    await expect(page).to_have_url(f"{visit.site}/jobs/{job}")
