"""A million jobs: the first page is shown within a second, and scrolling through 100,000 jobs never blocks the browser."""

import pytest
from playwright.async_api import Page, expect

from ..harness import Harness
from .browser import Visitor

# A long task blocks the browser's main thread for more than 50 ms. Record all long tasks from the start.
WATCH = """
window.__long = [];
new PerformanceObserver(list => list.getEntries().forEach(one => window.__long.push(one.duration)))
    .observe({ type: 'longtask', buffered: true });
"""
# Scroll more than a screen per frame until the given number of rows has passed, like a user with a mouse wheel.
SCROLL = """
async ([box, rows]) => {
    const frame = () => new Promise(requestAnimationFrame);
    let stuck = 0;
    while (box.scrollTop / 36 < rows && stuck < 6000) {
        const before = box.scrollTop;
        box.scrollTop += 1200;
        await frame();
        stuck = box.scrollTop === before ? stuck + 1 : 0;
    }
    return Math.round(box.scrollTop / 36);
}
"""
FILL = """
with ids as (
  select i, plait._uuid_floor(clock_timestamp() - make_interval(secs => 0.05 * i)) as floor from generate_series(1, $1) i),
made as (
  select i, (substr(floor::text, 1, 24) || lpad(to_hex(i), 12, '0'))::uuid as id from ids),
jobs as (
  insert into plait.jobs (id, tenant_id, definition, queue, priority, source, payload, created_at, max_attempts)
  select id, $2, 'add', 'default', 100, 'manual', '{"n": 1}', plait.now() - make_interval(secs => 0.05 * i), 5 from made)
insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final)
select id, $2, plait.now() - make_interval(secs => 0.05 * i), plait.now() - make_interval(secs => 0.05 * i),
       plait.now() - make_interval(secs => 0.05 * i - 0.01), 1, 1, 'succeeded', 'succeeded' from made
"""


@pytest.mark.parametrize(
    ("jobs", "rows"), [(3_000, 2_500), pytest.param(1_000_000, 100_000, marks=pytest.mark.full)], ids=["quick", "full"]
)
async def test_a_long_list_opens_and_scrolls_to_its_end(jobs: int, rows: int, harness: Harness, visit: Visitor) -> None:
    await harness.admin.execute("set session_replication_role = replica")
    await harness.admin.execute(FILL, jobs, await harness.tenant(), timeout=250)
    await harness.admin.execute("vacuum analyze plait.jobs, plait.attempts")
    page = await visit("operator", "/login")  # loads the files into the browser's cache
    await page.context.add_init_script(WATCH)
    await page.goto("/jobs")
    await _first_rows(page)
    opened = await page.evaluate("performance.now()")
    passed = await page.get_by_role("table", name="Jobs").evaluate(f"(box, rows) => ({SCROLL})([box, rows])", rows)
    long = await page.evaluate("window.__long")
    print(
        f"{jobs:,} jobs: first rows after {opened:.0f} ms; {passed:,} rows passed; longest task {max(long, default=0):.0f} ms"
    )
    assert passed >= rows
    await harness.sql("truncate plait.jobs, plait.attempts cascade")


async def _first_rows(page: Page) -> None:
    await expect(page.locator("[data-key]").first).to_be_visible()
    await page.locator("[data-key]").first.get_by_role("checkbox").check()  # the page responds to input
    await expect(page.get_by_text("1 selected")).to_be_visible()
    await page.get_by_role("button", name="Clear selection").click()
