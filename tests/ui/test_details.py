"""Details that an operator relies on: the error of a failed job, the tenant of each object, links in a reason, and the author of a pause."""

import re

from playwright.async_api import expect

from ..harness import Harness
from .browser import Visitor


async def test_a_failed_job_opens_on_its_error(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add", max_attempts=1)
    await worker.fail(await worker.claim_one(), "ValueError: no such order")
    page = await visit("viewer", f"/jobs/{job}")
    chosen = page.get_by_role("tab", selected=True)
    await expect(chosen).to_have_text("Attempts (1 of 1)")
    await expect(page.get_by_role("region", name="Error of attempt 1")).to_have_text("ValueError: no such order")
    await page.get_by_role("tab", name="Payload and result").click()
    await expect(page.get_by_role("group", name="payload")).to_be_visible()
    await page.reload()
    await expect(chosen).to_have_text("Payload and result")


async def test_all_tenants_shows_the_tenant_of_each_object(harness: Harness, visit: Visitor) -> None:
    trigger = await harness.trigger("copy", event_name="order.paid", tenant="acme")
    event = await harness.emit("order.paid", tenant="acme")
    job = await harness.enqueue("add", tenant="acme")
    page = await visit("super-admin", "/triggers")
    for address, row in (("/triggers", trigger), ("/events", event), ("/jobs", job)):
        await page.goto(address)
        await expect(page.get_by_role("columnheader", name="Tenant")).to_be_visible()
        await expect(page.locator(f"[data-key='{row}']")).to_contain_text("acme")
        await page.goto(f"{address}/{row}")
        await expect(page.locator("dt", has_text="Tenant").locator("xpath=following-sibling::dd[1]")).to_have_text(
            "acme"
        )
        await page.goto(f"{address}?tenant=acme")
        await expect(page.locator(f"[data-key='{row}']")).to_be_visible()
        await expect(page.get_by_role("columnheader", name="Tenant")).to_have_count(0)


async def test_a_reason_links_to_what_it_names(harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue("add", queue="mail", tenant="acme")
    await harness.queue("mail", paused=True, pause_reason="the provider is down")
    await harness.tenant("acme", paused=True)
    page = await visit("super-admin", f"/jobs/{job}")
    why = page.get_by_role("region", name="Why this job is not running")
    await expect(why).to_contain_text("Queue mail is paused: the provider is down.")
    await expect(why.get_by_role("link", name="Tenant acme")).to_have_attribute("href", "/tenants?q=acme")
    await why.get_by_role("link", name="Queue mail").first.click()
    await expect(page).to_have_url(f"{visit.site}/queues?q=mail")
    await expect(page.locator("[data-key=mail]")).to_be_visible()
    await harness.worker(queues=["mail"], definitions=["another"])
    await page.goto(f"/jobs/{job}")
    await expect(why.get_by_role("link", name="add")).to_have_attribute("href", "/definitions/add")


async def test_a_pause_shows_who_and_why(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue("add", queue="mail", tenant="acme")
    page = await visit("super-admin", "/queues")
    await page.get_by_role("button", name="Pause mail").click()
    dialog = page.get_by_role("dialog", name="Pause mail?")
    await dialog.get_by_label("Reason").fill("the provider is down")
    await dialog.get_by_role("button", name="Pause queue").click()
    shown = page.locator("[data-paused=mail]")
    await expect(shown).to_have_text(re.compile(r"^mail was paused .+ by .+: the provider is down$"))
    others = await visit("viewer", "/queues", tenant="acme")
    await expect(others.locator("[data-paused=mail]")).to_have_text(
        re.compile(r"^mail was paused (?!.* by ).+: the provider is down$")
    )
    await page.get_by_role("button", name="Resume mail").click()
    await expect(shown).to_have_count(0)
    await page.goto("/tenants")
    await page.get_by_role("button", name="Pause acme").click()
    dialog = page.get_by_role("dialog", name="Pause acme?")
    await dialog.get_by_label("Reason").fill("unpaid")
    await dialog.get_by_role("button", name="Pause tenant").click()
    await expect(page.locator("[data-paused=acme]")).to_have_text(re.compile(r"by .+: unpaid$"))


async def test_the_number_of_new_jobs_respects_the_filter(harness: Harness, visit: Visitor) -> None:
    await harness.enqueue_many("add", 300)
    page = await visit("viewer", "/jobs?definition=add")
    table = page.get_by_role("table", name="Jobs")
    await expect(page.locator("[data-key]").first).to_be_visible()
    await table.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    await expect(table).to_have_attribute("aria-rowcount", "301")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    await harness.enqueue_many("other", 3)
    new = await harness.enqueue_many("add", 2)
    await expect(page.get_by_text("2 new matching jobs")).to_be_visible()
    await page.get_by_role("button", name="Reload list").click()
    await table.evaluate("box => box.scrollTo(0, 0)")
    await expect(page.locator(f"[data-key='{new[-1]}']")).to_be_visible()


async def test_fire_now_creates_the_job_of_a_schedule(harness: Harness, visit: Visitor) -> None:
    await harness.define("add")
    trigger = await harness.trigger("nightly", cron="0 2 * * *", payload={"a": 1})
    page = await visit("operator", f"/triggers/{trigger}")
    await page.get_by_role("button", name="Fire now").click()
    await page.get_by_role("link", name="Open job").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("add")
    [job] = await harness.store.jobs.list_jobs(all_tenants=True)
    assert page.url == f"{visit.site}/jobs/{job.id}"


async def test_a_deduplicated_event_says_so(harness: Harness, visit: Visitor) -> None:
    await harness.trigger("copy", event_name="order.paid", payload={"id": "{{event.id}}"}, dedupe_window_s=300)
    first = await harness.emit("order.paid", id=1)
    second = await harness.emit("order.paid", id=1)
    await harness.dispatch()
    page = await visit("viewer", "/events")
    await expect(page.locator(f"[data-key='{first}']")).to_contain_text("1 job")
    await expect(page.locator(f"[data-key='{second}']")).to_contain_text("deduplicated")
    await page.goto(f"/events/{second}")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("deduplicated")
    [job] = await harness.store.jobs.list_jobs(all_tenants=True)
    await expect(page.locator(f"a[href='/jobs/{job.id}']")).to_be_visible()
