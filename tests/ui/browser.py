"""A real browser that uses the real API, signed in, and monitored for errors."""

import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright, expect

from plait.api.authentication import COOKIE
from plait.model.roles import Role
from plait.model.tokens import hash_of, new_token

from ..api.api_client import new_key
from ..harness import Harness

NAMES: Final = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS: Final = 60_000
"""The timeout of expectations. It detects a broken page and is long enough for a busy machine."""
expect.set_options(timeout=PATIENCE_MS)


class NoBrowser(Exception):
    """Neither Chromium nor Chrome is installed: `scripts/browser` finds or installs one."""


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    executable = os.environ.get("PLAIT_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        raise NoBrowser
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield browser
        await browser.close()


class Visitor:
    """Opens pages with the role that the test names, and records errors in them."""

    def __init__(self, harness: Harness, browser: Browser, site: str) -> None:
        self.harness = harness
        self.site = site
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._faults: list[str] = []
        self._forgiven: list[re.Pattern[str]] = []

    async def __call__(
        self,
        role: Role | str | None = Role.SUPER_ADMIN,
        path: str = "/",
        *,
        tenant: str = "default",
        theme: str = "dark",
        key: UUID | None = None,
        size: tuple[int, int] = (1280, 800),
        at: datetime | None = None,
    ) -> Page:
        """A page of a new browser context at `path`, signed in with this role. With None, it is not signed in. `at`: freeze the browser's clock at this
        time, so that displayed ages do not depend on the speed of the page."""
        context = await self._browser.new_context(
            base_url=self.site,
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": size[0], "height": size[1]},
            permissions=["clipboard-read", "clipboard-write"],
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="UTC",
        )
        self._contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        if at is not None:
            await context.clock.set_fixed_time(at)
        if role is not None:
            cookie = await self.session(role, tenant=tenant, key=key)
            await context.add_cookies([{"name": COOKIE, "value": cookie, "url": self.site}])
        page = await context.new_page()
        self.watch(page)
        await page.goto(path)
        return page

    async def session(self, role: Role | str, *, tenant: str = "default", key: UUID | None = None) -> str:
        """The cookie of a new session, as set by a sign-in."""
        store = self.harness.store
        if key is None:
            key, _ = await new_key(store, role, await self.harness.tenant(tenant))
        token = new_token()
        await store.keys.open_session(key, hash=hash_of(token), csrf=new_token(), ttl=timedelta(hours=1))
        return token

    def watch(self, page: Page) -> None:
        """Record errors: console errors, violations of the content security policy and uncaught exceptions. Any of them fails the test."""

        def said(message: ConsoleMessage) -> None:
            if message.type == "error":
                self._faults.append(f"console: {message.text} ({message.location.get('url', '')})")

        page.on("console", said)
        page.on("pageerror", lambda error: self._faults.append(f"uncaught: {error}"))
        page.on("dialog", lambda dialog: self._faults.append(f"a dialog of the browser's: {dialog.message}"))

    def forgive(self, pattern: str) -> None:
        """Ignore an error that this test provokes: `forgive("status of 401")`."""
        self._forgiven.append(re.compile(pattern))

    @property
    def faults(self) -> list[str]:
        return [fault for fault in self._faults if not any(pattern.search(fault) for pattern in self._forgiven)]

    async def close(self) -> None:
        for context in self._contexts:
            await context.close()
