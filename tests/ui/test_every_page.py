"""Every page is accessible with a screen reader and a keyboard, and its bundle is small."""

import gzip
import re
from pathlib import Path

from playwright.async_api import Page

from plait.api.site import BUILT

from ..harness import Harness
from .browser import Visitor
from .sample_data import add_sample_data
from .screenshots import PLACES, settled

AXE = Path(__file__).resolve().parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
MAIN = 150_000


async def test_no_page_has_a_serious_fault_for_who_can_not_see_or_has_no_mouse(
    harness: Harness, visit: Visitor
) -> None:
    ids = await add_sample_data(harness, stretches=2)
    page = await visit("super-admin", size=(1280, 480))  # with fewer visible rows, the check is faster
    found: list[str] = []
    for name, place in PLACES.items():
        await page.goto(place.format(**ids))
        await settled(page, pause_ms=100)
        found += [f"{name}: {fault}" for fault in await _faults(page, "{}")]
        await page.evaluate("document.documentElement.dataset.theme = 'light'")
        found += [f"{name}, light: {fault}" for fault in await _faults(page, "{runOnly: ['color-contrast']}")]
    assert not found, "\n".join(found)


async def _faults(page: Page, options: str) -> list[str]:
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text())
    violations = await page.evaluate(f"axe.run({options}).then(result => result.violations)")
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:5]}"
        for one in violations
        if one["impact"] in ("serious", "critical")
    ]


def test_what_every_visitor_loads_first_is_small() -> None:
    page = (BUILT / "index.html").read_text()
    first = re.findall(r'(?:src|href)="/(assets/[^"]+\.(?:js|css))"', page)
    assert first
    assert sum(len(gzip.compress((BUILT / name).read_bytes())) for name in first) <= MAIN
    pages = {path.name.partition("-")[0] for path in (BUILT / "assets").glob("*.js")}
    assert {"overview", "jobs", "job", "workflow"} <= pages, "each page has its own file, loaded on first use"
