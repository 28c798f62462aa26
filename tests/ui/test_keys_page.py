"""The keys page: create a key, which is shown once, and revoke it."""

import re

import httpx
from playwright.async_api import expect

from ..api.api_client import new_key
from ..harness import Harness
from ..waiting import PATIENCE_S
from .browser import Visitor
from .hostile_texts import CORPUS, RAN


async def test_an_admin_makes_a_key_that_is_shown_once_and_works(harness: Harness, visit: Visitor) -> None:
    page = await visit("admin", "/keys", tenant="acme")
    await page.get_by_role("button", name="Create API key").click()
    dialog = page.get_by_role("dialog", name="Create API key")
    await expect(dialog.get_by_label("Role").get_by_role("option")).to_have_count(3)
    await dialog.get_by_label("Name").fill(CORPUS[1])
    await dialog.get_by_label("Role").select_option("viewer")
    await dialog.get_by_label("Expires after").select_option("30 days")
    await dialog.get_by_role("button", name="Create key").click()
    secret = await page.locator("[data-secret]").inner_text()
    await page.get_by_role("button", name="Copy key").click()
    assert await page.evaluate("navigator.clipboard.readText()") == secret
    async with httpx.AsyncClient(base_url=f"{visit.site}/api/v1", timeout=PATIENCE_S) as client:
        who = (await client.get("/session", headers={"Authorization": f"Bearer {secret}"})).json()
    assert (who["role"], who["tenant"], who["name"]) == ("viewer", "acme", CORPUS[1])
    await page.get_by_role("button", name="I have saved the key").click()
    row = page.locator("[data-key]").first
    await expect(row).to_contain_text(CORPUS[1])
    await expect(row).to_contain_text(re.compile("in (29|30) d"))
    assert secret not in await page.content()
    await page.reload()
    await expect(row).to_contain_text(CORPUS[1])
    assert secret not in await page.content()
    assert not await page.evaluate(RAN)


async def test_a_super_admin_says_for_which_tenant_a_key_is(harness: Harness, visit: Visitor) -> None:
    await harness.tenant("acme")
    page = await visit("super-admin", "/keys")
    await expect(page.locator("[data-key]")).to_have_count(1)
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Create API key")
    await dialog.get_by_label("Name").fill("ci")
    await dialog.get_by_label("For tenant").select_option("acme")
    await dialog.get_by_role("button", name="Create key").click()
    await expect(page.locator("[data-secret]")).to_be_visible()
    await page.get_by_role("button", name="I have saved the key").click()
    await expect(page.locator("[data-key]", has_text="ci")).to_contain_text("acme")
    await page.keyboard.press("n")
    await dialog.get_by_label("Role").select_option("worker")
    await expect(dialog.get_by_label("For tenant")).to_have_count(0)


async def test_a_key_is_revoked_and_then_shown_only_to_who_wants_to_see_it(harness: Harness, visit: Visitor) -> None:
    key, token = await new_key(harness.store, "operator", await harness.tenant())
    await harness.sql("update plait.keys set name = 'old', last_used_at = plait.now() where id = $1", key)
    page = await visit("admin", "/keys")
    await page.get_by_role("button", name="Revoke old").click()
    dialog = page.get_by_role("dialog", name="Revoke old?")
    await expect(dialog).to_contain_text("Last used")
    await dialog.get_by_role("button", name="Revoke key").click()
    row = page.locator(f"[data-key='{key}']")
    await expect(row).to_have_count(0)
    async with httpx.AsyncClient(base_url=f"{visit.site}/api/v1", timeout=PATIENCE_S) as client:
        assert (await client.get("/jobs", headers={"Authorization": f"Bearer {token}"})).status_code == 401
    await page.get_by_label("Show revoked and expired keys").check()
    await expect(row).to_contain_text("revoked")
    await expect(row.get_by_role("button")).to_have_count(0)
    await expect(page).to_have_url(f"{visit.site}/keys?ended=1")
