"""Fixtures of the web UI's tests. The browser, Postgres and the API are real.

    async def test_an_operator_cancels_a_job(harness, visit):
        job = await harness.enqueue()
        page = await visit("operator", f"/jobs/{job}")            # a new browser context, signed in; role None: not signed in
        await page.get_by_role("button", name="Cancel job").click()
        await expect(page.get_by_text("canceled")).to_be_visible()

- `harness` is the shared harness (tests/harness.py), over a separate database. Its clock is frozen at the time when the test began, so
  that it agrees with the browser's clock. `harness.advance` advances it.
- `visit(role, path, tenant=…, theme="dark" | "light")` returns a Playwright page. An error in the console, a violation of the content
  security policy, an uncaught exception or a browser dialog fails the test at its end. `visit.forgive(pattern)` ignores an error that
  the test provokes.
- `site` is the URL of the API and the UI. No leader and no worker is running: call `harness.worker()` and `harness.promote()` instead.
- Live updates arrive through the real stream within half a second. `expect(…)` waits for them, so never reload or sleep.
- All tests in this folder share one event loop and one browser. No markers are needed.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from plait.testing import TestDatabase, TestServer

from ..api.api_server import serve_api
from ..conftest import run_in_thread
from ..harness import Harness
from .browser import Visitor, browsing

T = TypeVar("T")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def ui_database(server: TestServer) -> Iterator[TestDatabase]:
    """A separate database for the UI tests, because their API uses it all the time."""
    database = run_in_thread(server.create_database())
    yield database
    run_in_thread(server.drop_database(database))


@pytest.fixture(scope="session")
def site(ui_database: TestDatabase) -> Iterator[str]:
    with serve_api(ui_database.url) as url:
        yield url


@pytest_asyncio.fixture(loop_scope="session")
async def harness(ui_database: TestDatabase) -> AsyncIterator[Harness]:
    harness = await Harness.open(ui_database)
    await harness.empty()
    await harness.sql("update plait_test.clock set at = clock_timestamp()")  # clock: as in the browser
    yield harness
    await harness.check()
    await harness.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with browsing() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def visit(harness: Harness, browser: Browser, site: str) -> AsyncIterator[Visitor]:
    visitor = Visitor(harness, browser, site)
    yield visitor
    await visitor.close()
    assert not visitor.faults, "\n".join(visitor.faults)
