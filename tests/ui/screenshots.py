"""`make screenshots`: take a screenshot of each page, dark and light, with sample data, in docs/images/ui.

.venv/bin/python -m tests.ui.screenshots                  all pages
.venv/bin/python -m tests.ui.screenshots jobs job         only these pages; --to DIR sets another directory
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from playwright.async_api import Page

from plait.testing import TestServer

from ..api.api_client import new_key
from ..api.api_server import serve_api
from ..harness import Harness
from .browser import Visitor, browsing
from .png_palette import with_palette
from .sample_data import add_sample_data

TARGET = Path(__file__).resolve().parents[2] / "docs" / "images" / "ui"
SIZE = (1280, 800)

# The pages by name; {name} is an id of the sample data.
PLACES = {
    "login": "/login",
    "overview": "/?span=24h",
    "jobs": "/jobs",
    "job": "/jobs/{failed}?tab=attempts",
    "job-running": "/jobs/{running}",
    "job-waiting": "/jobs/{queued}",
    "workflow": "/workflows/{workflow}",
    "workflow-timeline": "/workflows/{workflow}?view=timeline",
    "workflow-graph": "/workflows/{workflow}?view=graph",
    "triggers": "/triggers",
    "trigger": "/triggers/{schedule}",
    "trigger-edit": "/triggers/{trigger}?edit=1",
    "events": "/events",
    "event": "/events/{event}",
    "definitions": "/definitions",
    "definition": "/definitions/{definition}",
    "queues": "/queues",
    "workers": "/workers",
    "dead-letters": "/dead-letters",
    "error": "/errors/mail.deliver/{error}",
    "tenants": "/tenants",
    "audit": "/audit",
    "keys": "/keys",
}


async def main(names: Sequence[str], target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    server = TestServer()
    database = await server.create_database()
    try:
        with serve_api(database.url) as site:
            harness = await Harness.open(database)
            await harness.sql(
                "update plait_test.clock set at = clock_timestamp()"
            )  # clock: the browser uses the machine's clock
            ids = await add_sample_data(harness)
            async with browsing() as browser:
                visit = Visitor(harness, browser, site)
                key, _ = await new_key(harness.store, "super-admin", None)
                await harness.sql("update plait.keys set name = 'Grace' where id = $1", key)
                for theme in ("dark", "light"):
                    for name in names or PLACES:
                        role = None if name == "login" else "super-admin"
                        page = await visit(role, PLACES[name].format(**ids), theme=theme, size=SIZE, key=key)
                        await settled(page)
                        picture = with_palette(await page.screenshot())
                        (target / f"{name}-{theme}.png").write_bytes(picture)
                        await page.context.close()
                for fault in visit.faults:
                    print(fault)
            await harness.close()
    finally:
        await server.drop_database(database)
        server.close()


async def settled(page: Page, *, pause_ms: float = 300) -> None:
    """Wait until the page has loaded and settled."""
    await page.locator("h1").first.wait_for()
    await page.locator(".spinner").first.wait_for(state="hidden")
    await page.wait_for_timeout(pause_ms)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--to", type=Path, default=TARGET)
    chosen = parser.parse_args()
    asyncio.run(main(chosen.names, chosen.to))
