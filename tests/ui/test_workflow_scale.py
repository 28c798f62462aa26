"""A workflow of ten thousand sub-jobs opens in every view, and scrolling shows each of them."""

import time

import pytest
from playwright.async_api import expect

from ..harness import Harness
from ..workflows.worker_calls import CHILDREN, open_one
from .browser import Visitor

CHILDREN_OF_ONE = 10_000


@pytest.mark.full
async def test_a_workflow_of_ten_thousand_opens_in_every_view(harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue("add")
    parent = await harness.worker()
    await open_one(harness, parent, await parent.claim_one(), CHILDREN_OF_ONE, strategy="threshold", needed=9000)
    worker = await harness.worker(queues=[CHILDREN])
    for lease in await worker.claim_plainly(100, queue=CHILDREN):
        await worker.succeed(lease)
    took: dict[str, list[float]] = {"tree": [], "timeline": [], "graph": []}
    seen = {"tree": ".row-child .badge", "timeline": ".row-child .phase", "graph": ".graph-node"}
    for _ in range(3):
        for view, times in took.items():
            page = await visit("viewer", "/login")
            begin = time.perf_counter()  # clock: measured for the output, not asserted
            await page.goto(f"/workflows/{job}?view={view}")
            await page.locator(seen[view]).first.wait_for()
            times.append(time.perf_counter() - begin)  # clock: as above
            await page.context.close()
    print({view: f"{min(times):.2f} s" for view, times in took.items()})
    page = await visit("viewer", f"/workflows/{job}")
    await page.get_by_role("treegrid").focus()
    await page.keyboard.press("End")
    await expect(page.locator(f"[data-row$='.{CHILDREN_OF_ONE - 1}'] .badge")).to_be_visible()
    assert await page.locator("[data-row]").count() < 100
