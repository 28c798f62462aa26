"""The job page: its contents, its actions and live updates."""

import json
import re
import shlex
from uuid import UUID

import pytest
from playwright.async_api import Locator, Page, expect

from plait.model.states import AttemptOutcome
from plait.store.workflows import Lease

from ..fake_worker import outcome
from ..harness import Harness
from ..workflows.worker_calls import CHILDREN, open_one, suspend
from .browser import Visitor
from .hostile_texts import EVERYTHING, RAN

BIG = 123456789012345678901234567890


def status(page: Page) -> Locator:
    return page.get_by_role("heading", level=1).locator("[data-status]")


async def test_a_job_that_waits_says_why(harness: Harness, visit: Visitor) -> None:
    await harness.queue("default", paused=True)
    await harness.worker()
    job = await harness.enqueue("add")
    page = await visit("viewer", f"/jobs/{job}")
    await expect(status(page)).to_have_text("queued")
    reason = page.locator("[data-reason=queue_paused]")
    await expect(reason).to_contain_text("Resume the queue")
    await harness.queue("default", paused=False)
    await expect(reason).to_be_hidden()


async def test_numbers_are_shown_and_sent_again_as_they_are_written(harness: Harness, visit: Visitor) -> None:
    payload = f'{{"big": {BIG}, "precise": 0.12345678901234567890, "list": [1, 1e400], "__proto__": {{"x": 1}}}}'
    await harness.define("add")
    job = await harness.enqueue("add", payload=payload)
    page = await visit("operator", f"/jobs/{job}")
    shown = page.get_by_role("group", name="payload")
    for text in (f"big: {BIG}", "precise: 0.12345678901234567890", "1e400", "__proto__: {"):
        await expect(shown).to_contain_text(text)
    await page.get_by_role("button", name="Enqueue again").click()
    dialog = page.get_by_role("dialog")
    typed = dialog.get_by_role("textbox", name="Payload")
    await typed.fill("[1]")
    await expect(dialog.get_by_role("alert")).to_have_text("Payload must be a JSON object")
    await typed.fill("{")
    await expect(dialog.get_by_role("alert")).to_contain_text("Not valid JSON")
    await typed.fill(f'{{"big": {BIG + 1}}}')
    await dialog.get_by_role("button", name="Enqueue").click()
    await expect(page).not_to_have_url(f"{visit.site}/jobs/{job}")
    await expect(page.get_by_role("group", name="payload")).to_contain_text(f"big: {BIG + 1}")
    assert json.loads((await harness.job(page_id(page))).payload) == {"big": BIG + 1}


def page_id(page: Page) -> UUID:
    return UUID(page.url.rpartition("/")[2])


async def test_what_bears_a_secrets_name_is_covered(harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue("add", payload={"api_key": "canary", "user": "ada"})
    page = await visit("operator", f"/jobs/{job}")
    shown = page.get_by_role("group", name="payload")
    await expect(shown).to_contain_text("ada")
    await shown.get_by_role("button", name="reveal").click()
    await expect(shown).to_contain_text("[redacted]")  # the API never sends the value to an operator
    page = await visit("admin", f"/jobs/{job}")
    shown = page.get_by_role("group", name="payload")
    await expect(shown).to_contain_text("ada")
    await expect(shown).not_to_contain_text("canary")
    await shown.get_by_role("button", name="reveal").click()
    await expect(shown).to_contain_text("canary")


async def test_run_time_own_time_and_waiting_time_are_apart_and_only_attempts_that_count_are_shown(
    harness: Harness, visit: Visitor
) -> None:
    worker = await harness.worker(lease_s=86_400)
    job = await harness.enqueue("add", max_attempts=3)
    lease = await worker.claim_one()
    await harness.advance(seconds=2)
    await suspend(harness, worker, lease, 60)
    await worker.succeed(await worker.claim_one())
    page = await visit("viewer", f"/jobs/{job}")
    for name, value in (
        ("Run time", "1 min 2 s"),
        ("Handler time", "2.0 s"),
        ("Waiting time", "1 min"),
        ("Attempts", "1 of 3 used"),
    ):
        fact = page.locator("dt", has_text=re.compile(f"^{name}$")).locator("xpath=following-sibling::dd[1]")
        await expect(fact).to_contain_text(value)


async def test_unread_signals_and_runs_are_shown(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add")
    for name in ("paid", "paid", "approved"):
        await harness.store.jobs.signal(job, name, "1")
    lease = await worker.claim_one()
    await harness.store.workflows.continue_as_new(Lease(worker.id, job, lease.attempt), "{}")
    page = await visit("viewer", f"/jobs/{job}")
    for name, value in (("Unread signals", "1 approved, 2 paid"), ("Runs", "2")):
        fact = page.locator("dt", has_text=re.compile(f"^{name}$")).locator("xpath=following-sibling::dd[1]")
        await expect(fact).to_have_text(value)


async def test_a_job_is_followed_from_its_start_to_its_end(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add")
    page = await visit("viewer", f"/jobs/{job}?tab=attempts")
    await expect(page.get_by_text("No attempts yet")).to_be_visible()
    await expect(page.locator("[data-live=live]")).to_be_visible()
    lease = await worker.claim_one()
    await expect(status(page)).to_have_text("running")
    await harness.advance(seconds=1)
    await worker.progress(lease, {"stdout": "one\n", "percent": 10})
    await expect(page.get_by_role("region", name="stdout")).to_have_text("one\n")
    await harness.advance(seconds=1)
    await worker.progress(lease, {"stdout": "one\ntwo\n", "stderr": "\x1b[31mbad\x1b[0m\n", "percent": 50})
    await expect(page.get_by_role("region", name="stdout")).to_have_text("one\ntwo\n")
    await expect(page.get_by_role("region", name="stderr")).to_have_text("bad\n")
    await worker.succeed(lease, {"answer": 42})
    await expect(status(page)).to_have_text("succeeded")
    await expect(page.locator("[data-attempt='1']")).to_contain_text("succeeded")
    await page.get_by_role("tab", name="Payload and result").click()
    await expect(page.get_by_role("group", name="result")).to_contain_text("answer: 42")


async def test_attempts_tell_errors_tracebacks_and_where_they_ran(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add", max_attempts=2)
    for number in (1, 2):
        await worker.fail(
            await worker.claim_one(), f"it broke {number}", traceback=f"Traceback {number}", reason="broken"
        )
        await harness.advance(minutes=10)
        await harness.promote()
    page = await visit("viewer", f"/jobs/{job}")
    await expect(status(page)).to_have_text("dead letter")
    await expect(page.get_by_role("region", name="Error", exact=True)).to_contain_text("it broke 2")
    await page.get_by_role("tab", name="Attempts (2 of 2)").click()
    last = page.locator("[data-attempt='2']")
    await expect(last).to_contain_text(f"worker {worker.id}, here, pid 1")
    await expect(page.get_by_role("region", name="Traceback of attempt 2")).to_have_text("Traceback 2")
    first = page.locator("[data-attempt='1']")
    await expect(page.get_by_role("region", name="Error of attempt 1")).to_be_hidden()
    await first.locator("summary").click()
    await expect(page.get_by_role("region", name="Error of attempt 1")).to_have_text("it broke 1")


async def test_an_operator_cancels_retries_and_runs_now(harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue("add", delay_s=3600.0)
    page = await visit("operator", f"/jobs/{job}")
    await expect(status(page)).to_have_text("scheduled")
    await page.get_by_role("button", name="Run now").click()
    await expect(status(page)).to_have_text("queued")
    await page.get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog", name="Cancel this job?")
    await dialog.get_by_role("button", name="Go back").click()
    await expect(dialog).to_be_hidden()
    assert await harness.status(job) == "queued"
    await page.get_by_role("button", name="Cancel").click()
    await dialog.get_by_label("Reason (recorded in the audit log)").fill("a try")
    await dialog.get_by_role("button", name="Cancel job").click()
    await expect(status(page)).to_have_text("canceled")
    await expect(page.get_by_text("Job canceled.")).to_be_visible()
    await page.get_by_role("button", name="Retry").click()
    await page.get_by_role("dialog").get_by_role("button", name="Retry job").click()
    await expect(status(page)).to_have_text("queued")
    assert await harness.sql("select array_agg(action order by id) from plait.audit") == [
        "job.reschedule",
        "job.cancel",
        "job.retry",
    ]


async def test_a_running_job_is_asked_to_stop(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add")
    lease = await worker.claim_one()
    page = await visit("operator", f"/jobs/{job}")
    await page.get_by_role("button", name="Cancel").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    await expect(page.get_by_text("cancel requested", exact=True)).to_be_visible()
    await worker.report_canceled(lease)
    await expect(status(page)).to_have_text("canceled")


async def test_a_refusal_is_told_in_the_servers_words(harness: Harness, visit: Visitor) -> None:
    visit.forgive("status of 4")
    await harness.define("strict", schema={"type": "object", "required": ["wanted"]})
    job = await harness.enqueue("strict", payload={"wanted": 1})
    page = await visit("operator", f"/jobs/{job}")
    await page.get_by_role("button", name="Enqueue again").click()
    await page.get_by_role("textbox", name="Payload").fill("{}")
    await page.get_by_role("dialog").get_by_role("button", name="Enqueue").click()
    await expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("wanted")
    await expect(page.get_by_role("dialog")).to_be_visible()


async def test_a_waiting_job_gets_a_signal(harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue("add")
    page = await visit("operator", f"/jobs/{job}")
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Send signal…").click()
    dialog = page.get_by_role("dialog", name="Send signal")
    await dialog.get_by_label("Name").fill("approved")
    await dialog.get_by_label("Payload (JSON)").fill(f'{{"by": {BIG}}}')
    await dialog.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("Signal sent.")).to_be_visible()
    assert json.loads(await harness.sql("select payload::text from plait.signals")) == {"by": BIG}


async def test_a_job_is_copied_as_a_command_and_as_curl(harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue("add", payload={"text": "it's; rm -rf $HOME `x`", "n": BIG})
    page = await visit("viewer", f"/jobs/{job}")
    copied = []
    for name in ("Copy as command line", "Copy as curl"):
        await page.get_by_role("button", name="More").click()
        await page.get_by_role("button", name=name).click()
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied.append(await page.evaluate("navigator.clipboard.readText()"))
        await expect(page.get_by_role("button", name="Copied")).to_be_hidden()
    command, curl = copied
    words = shlex.split(command)
    assert words[:3] == ["plait", "enqueue", "--payload"]
    assert json.loads(words[3]) == {"text": "it's; rm -rf $HOME `x`", "n": BIG}
    assert words[-2:] == ["--", "add"]
    body = json.loads(shlex.split(curl.replace("\\\n", " "))[-1])
    assert body["payload"]["n"] == BIG
    assert body["definition_key"] == "add"


async def test_the_bar_of_fifty_sub_jobs_reaches_its_end_without_a_reload(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker(queues=["default", CHILDREN])
    job = await harness.enqueue("add")
    lease = await worker.claim_one(queue="default")
    page = await visit("viewer", f"/jobs/{job}?tab=sub-jobs")
    await expect(page.locator("[data-live=live]")).to_be_visible()
    await open_one(harness, worker, lease, 50, needed=40)
    bar = page.locator("[data-fan-out] .bar")
    await expect(bar).to_have_attribute("data-total", "50")
    await expect(status(page)).to_have_text("waiting")
    leases = await worker.claim(50, queue=CHILDREN)
    for begin in range(0, 50, 10):
        await harness.advance(seconds=1)
        settled = [outcome(one, AttemptOutcome.SUCCEEDED) for one in leases[begin : begin + 10]]
        await worker.settle(*settled)
        await expect(bar).to_have_attribute("data-done", str(begin + 10))
    await expect(page.locator("[data-fan-out]")).to_contain_text("succeeded")
    await expect(page.locator("[data-key] [data-status=succeeded]").first).to_be_visible()
    await page.locator("[data-key]").first.get_by_role("link").first.click()
    await expect(page.get_by_role("link", name="add", exact=True)).to_be_visible()
    await expect(page.get_by_role("link", name="Show workflow", exact=True)).to_be_visible()


async def test_steps_are_told_in_order(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add")
    await open_one(harness, worker, await worker.claim_one(), 2, step="split")
    page = await visit("viewer", f"/jobs/{job}?tab=steps")
    await expect(page.get_by_role("tab", name="Steps (1)")).to_have_attribute("aria-selected", "true")
    await expect(page.locator(".steps li")).to_contain_text("split")


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_only_who_may_act_is_offered_to(role: str, harness: Harness, visit: Visitor) -> None:
    job = await harness.enqueue("add")
    page = await visit(role, f"/jobs/{job}")
    await expect(status(page)).to_have_text("queued")
    count = 0 if role == "viewer" else 1
    for name in ("Cancel", "Enqueue again"):
        await expect(page.get_by_role("button", name=name)).to_have_count(count)
    await page.get_by_role("button", name="More").click()
    await expect(page.get_by_role("button", name="Copy as curl")).to_be_visible()
    await expect(page.get_by_role("button", name="Send signal")).to_have_count(count)
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("option", name="Cancel this job")).to_have_count(count)


async def test_anothers_job_is_not_there(harness: Harness, visit: Visitor) -> None:
    visit.forgive("status of 404")
    job = await harness.enqueue("add", tenant="globex")
    page = await visit("viewer", f"/jobs/{job}", tenant="acme")
    await expect(page.get_by_role("heading", name="Job not found")).to_be_visible()


async def test_nothing_of_a_job_runs_in_its_page(harness: Harness, visit: Visitor) -> None:
    worker = await harness.worker(definitions=["<i>x</i>"])
    job = await harness.enqueue(
        "<i>x</i>",
        payload={EVERYTHING: EVERYTHING, "url": "javascript:window.__ran = true"},
        correlation_id="<script>window.__ran = true</script>",
        dedupe_key="<img src=x onerror='window.__ran = true'>",
    )
    lease = await worker.claim_one()
    await worker.progress(lease, {"stdout": EVERYTHING, "stderr": EVERYTHING, EVERYTHING: EVERYTHING})
    page = await visit("operator", f"/jobs/{job}")
    await expect(page.get_by_role("region", name="stdout")).to_contain_text("<iframe srcdoc")
    await worker.fail(lease, EVERYTHING, traceback=EVERYTHING, reason="<b>why</b>", permanent=True)
    await expect(page.get_by_role("region", name="Error", exact=True)).to_contain_text("<svg onload")
    await page.get_by_role("tab", name=re.compile(r"^Attempts \(1 of")).click()
    await expect(page.get_by_role("region", name="Traceback of attempt 1")).to_contain_text("<script>")
    assert not await page.evaluate(RAN)
