"""Run a job by hand: a form from the payload schema of a typed function, also if it has never run."""

import json
from datetime import datetime
from typing import Annotated, Literal

import pydantic
from msgspec import Meta
from playwright.async_api import expect

from plait import Plait

from ..harness import Harness
from .browser import Visitor

app = Plait("postgresql://")


class Crop(pydantic.BaseModel):
    left: int = pydantic.Field(ge=0, description="Pixels from the left edge")
    top: int = 0


@app.job(name="images/resize", queue="images", retries=2)
def resize(
    path: str,
    width: Annotated[int, Meta(ge=1, le=5000, description="In pixels")] = 200,
    fit: Literal["cover", "contain"] = "cover",
    crop: Crop | None = None,
    not_before: datetime | None = None,
    tags: list[str] | None = None,
    *,
    dry_run: bool = False,
) -> None: ...


@app.job
def tidy() -> None: ...


async def _registered(harness: Harness) -> None:
    """As a worker does when it starts."""
    await harness.store.definitions.define([job.definition.row() for job in (resize, tidy)])


async def test_a_definition_that_has_never_run_is_run_from_its_page(harness: Harness, visit: Visitor) -> None:
    await _registered(harness)
    page = await visit("super-admin", "/definitions/images%2Fresize")
    await page.get_by_role("link", name="Run job").click()
    await expect(page.get_by_label("Definition")).to_have_value("images/resize")
    await expect(page.get_by_text("The job will belong to the tenant default.")).to_be_visible()
    await expect(page.get_by_label("width")).to_have_attribute("placeholder", "Default: 200")
    named = page.get_by_role("tabpanel").locator("[name]")
    names = [await one.get_attribute("name") for one in await named.all()]
    assert names == ["/path", "/width", "/fit", "/crop/left", "/crop/top", "/not_before", "/dry_run"]  # as in the code
    await page.get_by_label("path").fill("a.png")
    await page.get_by_label("width").fill("640")
    await page.get_by_label("fit").select_option("contain")
    await page.get_by_label("left").fill("7")
    await page.get_by_label("tags").fill('["x"]')
    await page.get_by_label("dry_run").select_option("yes")
    await page.get_by_text("Options", exact=True).click()
    await expect(page.get_by_label("Max attempts")).to_have_attribute("placeholder", "Default: 3")
    await expect(page.get_by_label("Queue")).to_have_attribute("placeholder", "Default: images")
    await page.get_by_label("Priority").fill("5")
    await page.get_by_label("Correlation id").fill("by hand")
    await page.get_by_role("button", name="Run job").click()
    await expect(page.get_by_text("Job enqueued.")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("images/resize")
    [job] = await harness.store.jobs.list_jobs(all_tenants=True)
    assert json.loads(job.payload) == {
        "path": "a.png", "width": 640, "fit": "contain", "crop": {"left": 7}, "tags": ["x"], "dry_run": True,
    }  # fmt: skip
    assert (job.queue, job.priority, job.max_attempts, job.correlation_id) == ("images", 5, 3, "by hand")


async def test_each_wrong_field_shows_its_error_until_it_is_changed(harness: Harness, visit: Visitor) -> None:
    await _registered(harness)
    visit.forgive("422")
    page = await visit("operator", "/jobs")
    await page.get_by_role("button", name="Run job").click()
    await page.get_by_label("Definition").select_option("images/resize")
    await page.get_by_label("path").fill("a.png")
    await page.get_by_label("width").fill("9000")
    await page.get_by_label("top").fill("3")
    await page.get_by_label("not_before").fill("tomorrow")
    await page.get_by_label("tags").fill('["x", 1]')
    run = page.get_by_role("button", name="Run job")
    await page.get_by_label("left").fill("-1")
    await run.click()
    width, left = page.get_by_label("width"), page.get_by_label("left")
    await expect(width).to_have_attribute("aria-invalid", "true")
    for said in (
        "9000 is greater than the maximum",
        "-1 is less than the minimum",
        "'tomorrow' is not valid",
        "1: 1 is not of type",
    ):
        await expect(page.get_by_role("tabpanel").get_by_text(said)).to_be_visible()
    await width.fill("640")
    await expect(width).not_to_have_attribute("aria-invalid", "true")
    await left.fill("1")
    await page.get_by_label("not_before").fill("2030-01-01T00:00:00Z")
    await page.get_by_label("tags").fill('["x"]')
    await run.click()
    await expect(page.get_by_text("Job enqueued.")).to_be_visible()


async def test_a_payload_is_written_as_json_and_its_errors_name_the_fields(harness: Harness, visit: Visitor) -> None:
    await _registered(harness)
    visit.forgive("422")
    page = await visit("operator", "/jobs/new?definition=images%2Fresize")
    await page.get_by_role("tab", name="JSON").click()
    payload = page.get_by_role("textbox", name="Payload")
    await payload.fill('{"width": 1, "hight": 2}')
    await page.get_by_role("button", name="Run job").click()
    alert = page.get_by_role("tabpanel").get_by_role("alert")
    await expect(alert).to_contain_text("path: is required")
    await expect(alert).to_contain_text("hight: is not in the schema")
    await payload.fill('{"path": "a", "width": 1}')
    await page.get_by_role("button", name="Run job").click()
    await expect(page.get_by_text("Job enqueued.")).to_be_visible()


async def test_a_job_without_arguments_and_one_without_a_schema_are_run(harness: Harness, visit: Visitor) -> None:
    await _registered(harness)
    await harness.define("loose")
    page = await visit("operator", "/jobs/new?definition=tidy")
    await expect(page.get_by_text("This definition has no arguments.")).to_be_visible()
    await page.get_by_role("button", name="Run job").click()
    await expect(page.get_by_text("Job enqueued.")).to_be_visible()
    page = await visit("operator", "/jobs/new?definition=loose")
    await page.get_by_role("textbox", name="Payload").fill('{"any": 12345678901234567890}')
    await page.get_by_role("button", name="Run job").click()
    await expect(page.get_by_text("Job enqueued.")).to_be_visible()
    jobs = await harness.store.jobs.list_jobs(all_tenants=True)
    assert sorted((job.definition, job.payload) for job in jobs) == [
        ("loose", '{"any": 12345678901234567890}'), ("tidy", "{}"),
    ]  # fmt: skip


async def test_an_inactive_or_unknown_definition_and_a_viewer_cannot_run_jobs(harness: Harness, visit: Visitor) -> None:
    await _registered(harness)
    await harness.store.definitions.set_definition("tidy", {"active": False})
    page = await visit("super-admin", "/definitions/tidy")
    await expect(page.get_by_role("button", name="Activate definition")).to_be_visible()
    await expect(page.get_by_role("link", name="Run job")).to_have_count(0)
    page = await visit("operator", "/jobs/new?definition=tidy")
    await expect(page.get_by_text("tidy can't be run: it is inactive or reserved.")).to_be_visible()
    page = await visit("operator", "/jobs/new?definition=%3Cb%3Ex")
    await expect(page.get_by_text("There is no definition <b>x.")).to_be_visible()
    page = await visit("viewer", "/jobs")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.get_by_role("button", name="Run job")).to_have_count(0)
    page = await visit("viewer", "/jobs/new")
    await expect(page.get_by_text("Your role can't run jobs")).to_be_visible()
