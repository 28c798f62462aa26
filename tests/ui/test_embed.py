"""A tenant's embedded view: a real page on another origin shows it in a frame."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import FrameLocator, Page, expect

from plait.api.authentication import COOKIE
from plait.testing import TestDatabase

from ..api.api_client import new_key
from ..api.api_server import serve_api
from ..harness import Harness
from ..waiting import PATIENCE_S
from .browser import Visitor

HOST = b"""<!doctype html><title>another application</title><h1>Shop</h1>
<script>
  window.told = [];
  addEventListener("message", (event) => told.push([event.origin, event.data]));
</script>"""


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[str]:
    """Another application's page, on another origin and another site."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(HOST)

        def log_message(self, *_: Any) -> None:
            """Don't log."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def embedding(ui_database: TestDatabase, elsewhere: str) -> Iterator[str]:
    """The URL of a plait API that allows `elsewhere` to embed it."""
    with serve_api(ui_database.url, api_embed=elsewhere) as url:
        yield url


async def _link(
    harness: Harness, site: str, role: str = "viewer", *, tenant: str = "acme", ttl_seconds: int = 3600
) -> str:
    """A link to an embedded view, requested by the other application's server with its key."""
    _, key = await new_key(harness.store, "operator", await harness.tenant(tenant))
    async with httpx.AsyncClient(
        base_url=f"{site}/api/v1", headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S
    ) as client:
        answer = await client.post("/embeds", json={"role": role, "ttl_seconds": ttl_seconds})
    url: str = answer.json()["url"]
    assert url.startswith(f"{site}/embed#plait_")
    return url


async def _framed(page: Page, url: str) -> FrameLocator:
    await page.evaluate(
        """url => {
          const frame = document.createElement("iframe");
          Object.assign(frame, { id: "view", src: url, width: 1100, height: 640 });
          document.getElementById("view")?.remove();
          document.body.append(frame);
        }""",
        url,
    )
    return page.frame_locator("#view")


async def test_a_tenants_pages_live_in_a_frame_and_nothing_leads_out_of_it(
    harness: Harness, visit: Visitor, elsewhere: str, embedding: str
) -> None:
    visit.forgive("status of 401")
    mine, theirs = await harness.enqueue("add", tenant="acme"), await harness.enqueue("other", tenant="globex")
    page = await visit(None, elsewhere)
    view = await _framed(page, await _link(harness, embedding))
    links = view.get_by_role("navigation", name="Pages").get_by_role("link")
    await expect(links).to_have_text(["Overview", "Jobs", "Dead letters", "Triggers", "Events", "Queues"])
    await expect(view.locator("[data-card=queued] .number")).to_have_text("1")
    await expect(view.get_by_role("button", name="Sign out")).to_have_count(0)
    await expect(view.locator("[data-live=live]")).to_be_visible()
    await harness.enqueue_many("add", 2, tenant="acme")
    await expect(view.locator("[data-card=queued] .number")).to_have_text("3")
    for name in ("Jobs", "Queues", "Dead letters", "Overview", "Jobs"):
        await links.get_by_text(name, exact=True).click()
        await expect(view.get_by_role("heading", level=1)).to_have_text(name)
    await expect(view.locator("[data-key]")).to_have_count(3)
    await view.locator(f"[data-key='{mine}']").click()
    await expect(view.get_by_role("heading", level=1)).to_contain_text("add")
    await expect(view.get_by_role("button", name="Cancel")).to_have_count(0)
    frame = page.frames[1]
    assert frame.url == f"{embedding}/embed/jobs/{mine}"
    assert not await page.context.cookies(embedding)
    assert await frame.evaluate(f"fetch('/api/v1/jobs/{theirs}').then(answer => answer.status)") == 401, "no cookie"
    assert "plait_" not in await frame.evaluate("document.URL")


async def test_an_operators_view_acts_and_whoever_is_signed_in_beside_it_is_somebody_else(
    harness: Harness, visit: Visitor, elsewhere: str, embedding: str
) -> None:
    job = await harness.enqueue("add", tenant="acme")
    await harness.enqueue("add", tenant="globex")
    page = await visit(None, elsewhere)
    await page.context.add_cookies([{"name": COOKIE, "value": await visit.session("super-admin"), "url": embedding}])
    view = await _framed(page, await _link(harness, embedding, "operator"))
    await view.get_by_role("link", name="Jobs", exact=True).click()
    await expect(view.locator("[data-key]")).to_have_count(1)
    await view.locator(f"[data-key='{job}']").click()
    await view.get_by_role("button", name="Cancel").click()
    await view.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    await expect(view.locator("h1 [data-status]")).to_have_text("canceled")
    assert await harness.status(job) == "canceled"


async def test_no_site_that_was_not_named_can_frame_it_and_none_anything_but_the_view(
    harness: Harness, visit: Visitor, site: str, elsewhere: str, embedding: str
) -> None:
    visit.forgive("frame-ancestors|Refused to frame|Framing")
    stranger = elsewhere.replace("localhost", "127.0.0.1")
    for host, url in (
        (elsewhere, await _link(harness, site)),  # this site allows no embedding
        (stranger, await _link(harness, embedding)),  # another origin
        (elsewhere, f"{embedding}/jobs"),
        (elsewhere, f"{embedding}/login"),
    ):
        page = await visit(None, host)
        async with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
            view = await _framed(page, url)
        await expect(view.get_by_role("heading")).to_have_count(0)


async def test_a_link_that_was_used_or_has_ended_shows_nothing_and_tells_the_page_around_it(
    harness: Harness, visit: Visitor, elsewhere: str, embedding: str
) -> None:
    visit.forgive("status of 401")
    page = await visit(None, elsewhere)
    link = await _link(harness, embedding, ttl_seconds=60)
    view = await _framed(page, link)
    await expect(view.get_by_role("heading", level=1)).to_have_text("Overview")
    again = await _framed(page, link)
    await expect(again.get_by_role("heading", name="This session has ended")).to_be_visible()
    assert await page.evaluate("told") == [[embedding, "plait:ended"]]
    view = await _framed(page, await _link(harness, embedding, ttl_seconds=60))
    await expect(view.get_by_role("heading", level=1)).to_have_text("Overview")
    await harness.advance(seconds=61)
    await expect(view.get_by_role("heading", name="This session has ended")).to_be_visible()
    await expect(view.locator("[data-card]")).to_have_count(0)


async def test_the_view_fits_what_is_around_it(
    harness: Harness, visit: Visitor, elsewhere: str, embedding: str
) -> None:
    page = await visit(None, elsewhere, theme="dark")
    url = (await _link(harness, embedding)).replace("/embed#", "/embed?theme=light#")
    view = await _framed(page, url)
    await expect(view.get_by_role("heading", level=1)).to_have_text("Overview")
    assert await page.frames[1].evaluate("document.documentElement.dataset.theme") == "light"


async def test_only_the_view_names_who_may_frame_it(site: str, elsewhere: str, embedding: str) -> None:
    for url, policy in (
        (f"{embedding}/embed", f"frame-ancestors {elsewhere}"),
        (f"{embedding}/embed/jobs", f"frame-ancestors {elsewhere}"),
        (f"{embedding}/jobs", "frame-ancestors 'none'"),
        (f"{embedding}/api/v1/jobs", "frame-ancestors 'none'"),
        (f"{site}/embed", "frame-ancestors 'none'"),
    ):
        async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
            assert policy in (await client.get(url)).headers["content-security-policy"].split("; "), url
