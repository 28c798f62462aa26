"""The API is stopped, restarted and replaced by another build while tabs are open: no page loses its state, and no manual reload is needed."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Request, Route, expect

from plait.testing import TestDatabase

from ..harness import Harness
from .browser import Visitor
from .deployment import Deployment
from .screenshots import settled

ROUTER = Path(__file__).resolve().parents[2] / "ui" / "src" / "router.tsx"
PROVOKED = r"net::ERR_|status of (401|404|502|503)|dynamically imported module|Failed to fetch"


@pytest_asyncio.fixture(loop_scope="session")
async def deployment(ui_database: TestDatabase, tmp_path: Path) -> AsyncIterator[Deployment]:
    deployment = Deployment(ui_database.url, tmp_path)
    await deployment.start()
    yield deployment
    await deployment.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def opened(harness: Harness, browser: Browser, deployment: Deployment) -> AsyncIterator[Visitor]:
    """Like `visit`, for the deployment."""
    visitor = Visitor(harness, browser, deployment.site)
    visitor.forgive(PROVOKED)
    yield visitor
    await visitor.close()
    assert not visitor.faults, "\n".join(visitor.faults)


PLACES = {
    "/": "/?span=24h",
    "/jobs": "/jobs?status=queued",
    "/jobs/new": "/jobs/new?definition=add",
    "/jobs/$jobId": "/jobs/{job}?tab=attempts",
    "/workflows/$jobId": "/workflows/{job}?view=timeline",
    "/triggers": "/triggers?kind=schedule",
    "/triggers/$triggerId": "/triggers/{trigger}?tab=history",
    "/events": "/events",
    "/events/$eventId": "/events/{event}",
    "/definitions": "/definitions?q=add",
    "/definitions/$definitionKey": "/definitions/add",
    "/queues": "/queues",
    "/workers": "/workers",
    "/workers/history": "/workers/history?state=lost",
    "/dead-letters": "/dead-letters?span=30d",
    "/errors/$definitionKey/$fingerprint": "/errors/add/{error}",
    "/tenants": "/tenants",
    "/audit": "/audit",
    "/keys": "/keys",
}
"""A URL of each page, with state that must not be lost."""


def test_these_are_all_pages_of_the_router() -> None:
    assert list(PLACES) == re.findall(r'page\("([^"]+)"', ROUTER.read_text())


async def test_no_page_is_lost_while_the_api_is_stopped_restarted_and_redeployed(
    harness: Harness, opened: Visitor, deployment: Deployment
) -> None:
    await harness.define("add")
    await harness.enqueue("add", max_attempts=1)
    worker = await harness.worker()
    await worker.fail((await worker.claim(1))[0], "ConnectionError: connection reset")
    await worker.leave()
    ids = {
        "error": (await harness.store.failures.list_failures()).rows[0].fingerprint,
        "job": await harness.enqueue("add"),
        "trigger": await harness.trigger("nightly", cron="0 2 * * *"),
        "event": await harness.emit("order.paid", tenant="default"),
    }
    first = await opened("super-admin", "/login")
    tabs: dict[str, Page] = {}
    for name, place in PLACES.items():
        tabs[name] = tab = await first.context.new_page()
        opened.watch(tab)
        await tab.goto(place.format(**ids))
        await settled(tab, pause_ms=0)
    titles = {name: await tab.locator("h1").text_content() or "" for name, tab in tabs.items()}
    addresses = {name: tab.url for name, tab in tabs.items()}

    await deployment.stop()
    for name, tab in tabs.items():
        await expect(banner(tab), name).to_contain_text("The server has been unreachable")
        await expect(banner(tab), name).to_contain_text(re.compile(r"The page shows data from \d\d:\d\d:\d\d"))
        await expect(tab.locator("h1"), name).to_have_text(titles[name])
        # A page that this tab has not loaded yet.
        await tab.get_by_role("navigation", name="Pages").get_by_role("link", name=elsewhere(name)).click()
        await expect(tab.get_by_role("heading", name="Server unreachable"), name).to_be_visible()
        await expect(tab.get_by_role("navigation", name="Pages"), name).to_be_visible()

    await deployment.start()
    for name, tab in tabs.items():
        await expect(tab.locator("h1"), name).to_have_text(elsewhere(name))
        await expect(banner(tab), name).to_have_count(0)
        await tab.go_back()
        await expect(tab.locator("h1"), name).to_have_text(titles[name])
        assert tab.url == addresses[name]

    await deployment.redeploy()
    build = await deployment.build()
    for name, tab in tabs.items():
        await expect(tab.locator(f"meta[name=plait-build][content='{build}']"), name).to_have_count(1)
        await expect(tab.locator("h1"), name).to_have_text(titles[name])
        await expect(banner(tab), name).to_have_count(0)
        assert tab.url == addresses[name]


async def test_signing_in_waits_for_the_api(harness: Harness, opened: Visitor, deployment: Deployment) -> None:
    page = await opened(None, "/login")
    await page.get_by_label("API key").fill("a key")
    await deployment.stop()
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("The server did not respond.")
    await expect(page.get_by_label("API key")).to_have_value("a key")
    await deployment.start()
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("the API key is unknown")


async def test_ages_stand_still_while_the_api_is_away_and_data_is_fresh_afterwards(
    harness: Harness, opened: Visitor, deployment: Deployment
) -> None:
    await harness.advance(minutes=-3)
    job = await harness.enqueue("add")
    await harness.advance(minutes=3)
    page = await opened("viewer", "/jobs")
    await page.clock.install()
    await page.reload()
    age = page.locator("[data-key] time").first
    await expect(age).to_have_text("3 min ago")
    await deployment.stop()
    await expect(banner(page)).to_be_visible()
    await page.clock.fast_forward("05:00")
    await expect(banner(page)).to_contain_text(re.compile(r"for [5-9] min"))
    await expect(age).to_have_text("3 min ago")
    await expect(page.get_by_text("Disconnected")).to_be_visible()
    await harness.cancel(job)
    await deployment.start()
    await expect(banner(page)).to_have_count(0)
    await expect(page.locator("[data-key] [data-status=canceled]")).to_be_visible()
    await expect(age).not_to_have_text("3 min ago")


async def test_a_change_that_gets_no_answer_keeps_its_form(
    harness: Harness, opened: Visitor, deployment: Deployment
) -> None:
    page = await opened("admin", "/events")
    await page.get_by_role("button", name="Send event").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("order.paid")
    await deployment.stop()
    await dialog.get_by_role("button", name="Send event").click()
    await expect(page.get_by_text("Check whether the change was made before you repeat it.")).to_be_visible()
    await expect(dialog.get_by_label("Name")).to_have_value("order.paid")
    await deployment.start()
    await expect(banner(page)).to_have_count(0)
    await dialog.get_by_role("button", name="Send event").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("order.paid")


async def test_unsaved_input_is_not_lost_to_a_reload(harness: Harness, opened: Visitor, deployment: Deployment) -> None:
    page = await opened("admin", "/triggers/new")
    await page.get_by_label("Label").fill("nightly report")
    await deployment.redeploy()
    await expect(banner(page)).to_contain_text("plait was updated")
    await expect(page.get_by_label("Label")).to_have_value("nightly report")
    await page.clock.install()
    await page.clock.run_for(60_000)
    await expect(page.get_by_label("Label")).to_have_value("nightly report")
    await banner(page).get_by_role("button", name="Reload page").click()
    await expect(page.get_by_label("Label")).to_have_value("")
    await expect(banner(page)).to_have_count(0)


async def test_a_new_build_is_noticed_though_the_old_one_answers_while_it_stops(
    harness: Harness, opened: Visitor, deployment: Deployment
) -> None:
    """The old build still answers requests after it has closed the stream, and a reopened stream does not tell the page the server's build."""
    page = await opened("admin", "/triggers/new")
    await page.get_by_label("Label").fill("nightly report")
    old = await deployment.build()
    answered: list[Route] = []

    async def of_the_old_build(route: Route) -> None:
        answered.append(route)
        await route.fulfill(json={}, headers={"plait-build": old})

    await page.route("**/api/v1/session", of_the_old_build, times=1)
    await deployment.redeploy()
    await expect(banner(page)).to_contain_text("plait was updated")
    assert len(answered) == 1


async def test_a_page_whose_file_is_gone_is_loaded_from_the_new_build(
    harness: Harness, opened: Visitor, deployment: Deployment
) -> None:
    page = await opened("super-admin", "/jobs")
    await page.get_by_role("combobox", name="Filter").fill("unfinished text")
    loads = documents(page)
    await deployment.redeploy()
    await expect(banner(page)).to_contain_text("plait was updated")
    await page.get_by_role("link", name="Workers and nodes").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Workers and nodes")
    await expect(banner(page)).to_have_count(0)
    assert [request.url for request in loads] == [f"{deployment.site}/workers"]


async def test_servers_of_two_builds_behind_one_address_cause_one_reload(harness: Harness, visit: Visitor) -> None:
    page = await visit("viewer", "/queues")
    await page.clock.install()
    loads = documents(page)

    async def of_another_build(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, headers={**answer.headers, "plait-build": "another"})

    await page.route(re.compile(r"/api/v1/(?!stream)"), of_another_build)
    await page.reload()
    for _ in range(2):
        await expect(banner(page)).to_contain_text("plait was updated")
        await page.clock.run_for(60_000)
    await expect(banner(page).get_by_role("button", name="Reload page")).to_be_visible()
    assert len(loads) == 2  # the reload by the test, and the page's automatic reload
    await page.unroute_all(behavior="wait")


async def test_an_error_of_a_page_leaves_the_navigation_and_can_be_retried(harness: Harness, visit: Visitor) -> None:
    visit.forgive("TypeError|reading|items")
    page = await visit("viewer", "/triggers")
    await page.route("**/api/v1/queues*", lambda route: route.fulfill(json={"items": [None]}))
    await page.get_by_role("link", name="Queues").click()
    await expect(page.get_by_role("heading", name="This page can't be displayed")).to_be_visible()
    await page.get_by_role("link", name="Triggers").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Triggers")
    await page.get_by_role("link", name="Queues").click()
    await expect(page.get_by_role("heading", name="This page can't be displayed")).to_be_visible()
    await page.unroute("**/api/v1/queues*")
    await page.get_by_role("button", name="Retry").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Queues")


async def test_an_unknown_address_shows_the_not_found_page_in_the_shell(visit: Visitor) -> None:
    visit.forgive("status of 404")
    for address in ("/nothing", "/nothing/at/all"):
        page = await visit("viewer", address)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
        await expect(page.get_by_role("main")).to_contain_text(address)
        await page.get_by_role("list", name="All pages").get_by_role("link", name="Queues").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Queues")


def banner(page: Page) -> Locator:
    return page.locator("[data-banner]")


def elsewhere(name: str) -> str:
    """The name of a page that this tab has not loaded yet."""
    return "Audit log" if name == "/keys" else "API keys"


def documents(page: Page) -> list[Request]:
    """The document requests of the page from now on."""
    found: list[Request] = []
    page.on("request", lambda request: found.append(request) if request.resource_type == "document" else None)
    return found
