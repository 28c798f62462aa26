"""The shell of every page: sign-in and sign-out, navigation, theme, keyboard shortcuts, command palette, live updates."""

import asyncio
import re
from datetime import timedelta

import httpx
import pytest
from playwright.async_api import Route, expect

from plait.model.tokens import hash_of, new_token

from ..api.api_client import new_key
from ..harness import Harness
from ..waiting import PATIENCE_S
from .browser import Visitor

PAGES = {
    "/": "Overview", "/jobs": "Jobs", "/dead-letters": "Dead letters", "/definitions": "Definitions", "/triggers": "Triggers",
    "/events": "Events", "/queues": "Queues", "/workers": "Workers and nodes", "/tenants": "Tenants", "/keys": "API keys",
    "/audit": "Audit log",
}  # fmt: skip
OF_SUPER_ADMINS = {"/definitions", "/workers", "/tenants"}
OF_ADMINS = {"/keys", "/audit"}


async def test_who_is_not_signed_in_signs_in_with_a_key_and_comes_back_to_where_they_were(
    harness: Harness, visit: Visitor
) -> None:
    _, key = await new_key(harness.store, "operator", await harness.tenant("acme"))
    visit.forgive("status of 401")
    page = await visit(None, "/queues")
    await page.get_by_label("Key").fill("not a key")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("the API key is unknown")
    await page.get_by_label("Key").fill(key)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Queues")
    await expect(page.get_by_text("operator")).to_be_visible()
    await expect(page.get_by_text("acme")).to_be_visible()


@pytest.mark.parametrize("elsewhere", ["//evil.example", "/\\evil.example", "https://evil.example"])
async def test_signing_in_leads_to_no_other_site(harness: Harness, visit: Visitor, elsewhere: str) -> None:
    _, key = await new_key(harness.store, "viewer", await harness.tenant())
    visit.forgive("status of 401")
    page = await visit(None, f"/login?next={elsewhere}")
    await page.get_by_label("Key").fill(key)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert page.url == f"{visit.site}/"


async def test_a_login_link_opens_the_overview(harness: Harness, visit: Visitor) -> None:
    key, _ = await new_key(harness.store, "super-admin", None)
    link = new_token()
    await harness.store.keys.open_session(key, hash=hash_of(link), csrf="", ttl=timedelta(minutes=10), link=True)
    page = await visit(None, f"/api/v1/session/link?token={link}")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


async def test_signing_out_ends_the_session(harness: Harness, visit: Visitor) -> None:
    visit.forgive("status of 401")
    page = await visit("viewer")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in to plait")).to_be_visible()
    await page.goto("/jobs")
    await expect(page.get_by_role("heading", name="Sign in to plait")).to_be_visible()
    assert await harness.sql("select count(*) from plait.sessions") == 0


@pytest.mark.parametrize(
    ("role", "hidden"),
    [("viewer", OF_SUPER_ADMINS | OF_ADMINS), ("admin", OF_SUPER_ADMINS), ("super-admin", set())],
)
async def test_the_navigation_has_the_pages_that_a_role_may_see(role: str, hidden: set[str], visit: Visitor) -> None:
    page = await visit(role)
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    await expect(links).to_have_text([name for path, name in PAGES.items() if path not in hidden])
    for path, name in PAGES.items():
        if path not in hidden:
            await links.filter(has_text=re.compile(f"^{name}$")).click()
            await expect(page.get_by_role("heading", level=1)).to_have_text(name)
            assert page.url == visit.site + path


async def test_an_address_can_be_opened_directly_and_what_is_none_is_not_there(visit: Visitor) -> None:
    async with httpx.AsyncClient(base_url=visit.site, timeout=PATIENCE_S) as client:
        for path in [*PAGES, "/login", "/jobs/1", "/workflows/1"]:
            answer = await client.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        for path in ("/api/v1/nothing", "/nothing", "/assets/nothing.js", "/assets/../index.html", "/.made-from"):
            answer = await client.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_files_are_kept_for_ever_and_the_page_is_not(visit: Visitor) -> None:
    async with httpx.AsyncClient(base_url=visit.site, timeout=PATIENCE_S) as client:
        page = await client.get("/")
        assert page.headers["cache-control"] == "no-cache"
        assert "unsafe" not in page.headers["content-security-policy"]
        again = await client.get("/", headers={"If-None-Match": page.headers["etag"]})
        assert again.status_code == 304
        [script] = re.findall(r'src="(/assets/[^"]+\.js)"', page.text)
        answer = await client.get(script)
        assert "immutable" in answer.headers["cache-control"]
        assert (await client.get("/api/v1/jobs")).headers["content-security-policy"].startswith("default-src 'none';")


async def test_the_theme_is_the_systems_until_one_is_chosen_and_then_stays(visit: Visitor) -> None:
    page = await visit("viewer", theme="light")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = await page.evaluate(background)
    await page.get_by_role("radio", name="Dark").click()
    dark = await page.evaluate(background)
    assert dark != light
    await page.reload()
    await expect(page.get_by_role("radio", name="Dark")).to_be_checked()
    assert await page.evaluate(background) == dark
    await page.get_by_role("radio", name="System").click()
    assert await page.evaluate(background) == light


async def test_the_palette_and_the_keys_lead_to_pages(visit: Visitor) -> None:
    page = await visit("super-admin")
    heading = page.get_by_role("heading", level=1)
    await expect(heading).to_have_text("Overview")
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Search commands").fill("dead")
    await page.keyboard.press("Enter")
    await expect(heading).to_have_text("Dead letters")
    await page.keyboard.press("g")
    await page.keyboard.press("w")
    await expect(heading).to_have_text("Workers and nodes")
    await page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(help_).to_contain_text("Dead letters")
    await page.keyboard.press("Escape")
    await expect(help_).to_be_hidden()


async def test_a_super_admin_chooses_a_tenant_and_it_stays_from_page_to_page(harness: Harness, visit: Visitor) -> None:
    await harness.tenant("acme")
    page = await visit("super-admin", "/jobs")
    await page.get_by_label("Tenant").select_option("acme")
    await expect(page).to_have_url(f"{visit.site}/jobs?tenant=acme")
    await page.get_by_role("link", name="Queues").click()
    await expect(page).to_have_url(f"{visit.site}/queues?tenant=acme")
    await page.reload()
    await expect(page.get_by_label("Tenant")).to_have_value("acme")


async def test_all_tabs_of_a_browser_share_one_stream(visit: Visitor) -> None:
    page = await visit("viewer")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    second = await page.context.new_page()
    visit.watch(second)
    streams: list[str] = []
    second.on("request", lambda request: streams.append(request.url) if "/stream" in request.url else None)
    await second.goto(visit.site)
    await expect(second.locator("[data-live=live]")).to_be_visible()
    assert not streams
    await page.close()
    async with second.expect_request("**/stream*"):
        pass


async def test_without_the_stream_pages_ask_every_few_seconds(harness: Harness, visit: Visitor) -> None:
    visit.forgive("net::ERR_FAILED")
    page = await visit(None, "/login")
    await page.route("**/api/v1/stream*", lambda route: route.abort())
    cookie = await visit.session("viewer")
    await page.context.add_cookies([{"name": "plait_session", "value": cookie, "url": visit.site}])
    await page.goto("/")
    await expect(page.locator("[data-live=polling]")).to_be_visible()
    await expect(page.locator("[data-card=queued] .number")).to_have_text("0")
    await harness.enqueue("add")
    await expect(page.locator("[data-card=queued] .number")).to_have_text("1")
    await page.unroute("**/api/v1/stream*")
    await expect(page.locator("[data-live=live]")).to_be_visible()


async def test_a_session_that_ends_leads_to_signing_in_and_back(harness: Harness, visit: Visitor) -> None:
    visit.forgive("status of 401")
    page = await visit("viewer", "/jobs?status=queued")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    await harness.sql("delete from plait.sessions")
    await expect(page.get_by_role("heading", name="Sign in to plait")).to_be_visible()
    assert "next=" in page.url


async def test_a_change_goes_on_after_another_tab_has_signed_in_anew(harness: Harness, visit: Visitor) -> None:
    visit.forgive("status of 403")
    job = await harness.enqueue("add")
    page = await visit("operator", f"/jobs/{job}")
    await page.get_by_role("button", name="Cancel").click()
    cookie = await visit.session("operator")
    await page.context.add_cookies([{"name": "plait_session", "value": cookie, "url": visit.site}])
    await page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    await expect(page.get_by_text("Job canceled.")).to_be_visible()
    assert await harness.status(job) == "canceled"


async def test_a_key_presses_what_has_the_focus_and_not_the_row_of_a_list(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue("add")
    page = await visit("operator", "/jobs")
    await expect(page.locator("[data-key]")).to_have_count(1)
    await page.keyboard.press("j")
    await page.get_by_role("button", name="Views").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name="Running")).to_be_visible()
    assert page.url == f"{visit.site}/jobs"


async def test_a_server_that_is_away_for_a_while_signs_nobody_out(harness: Harness, visit: Visitor) -> None:
    visit.forgive("net::ERR_FAILED")
    page = await visit("viewer", "/jobs")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    await page.route("**/api/v1/**", lambda route: route.abort())
    await page.reload()
    await expect(page.get_by_role("heading", name="Server unreachable")).to_be_visible()
    await page.unroute("**/api/v1/**")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")


async def test_a_page_is_live_when_its_stream_is_open_and_not_before(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue("add")
    page = await visit("viewer", "/jobs")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    opening = asyncio.Event()

    async def later(route: Route) -> None:
        await opening.wait()
        await route.continue_()

    await page.route("**/api/v1/stream*", later)
    await page.reload()
    await expect(page.locator("[data-key]")).to_have_count(1)
    await expect(page.locator("[data-live=live]")).to_have_count(0)
    opening.set()
    await expect(page.locator("[data-live=live]")).to_be_visible()
    await harness.enqueue("add")
    await expect(page.locator("[data-key]")).to_have_count(2)
