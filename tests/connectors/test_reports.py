"""`connector.report.generate`: correct numbers of the tenant's own jobs, in formats without active content (S20)."""

import csv
import io
import json
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest

from plait.connectors.report_forms import Chart, Report, Table, as_csv, as_html, cell, svg

from ..harness import Harness
from .conftest import ConnectorRunner

NewRunner = Callable[..., ConnectorRunner]
NASTY = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1", "|x", "%0A", "<script>alert(1)</script>", '"><svg onload=x>', "{{7*7000}}",
         "{% raw %}", "a,b;c\n=d", "&lt;", "javascript:x", "]]>", "<!--"]  # fmt: skip


async def some_jobs(harness: Harness, tenant: str = "default") -> None:
    worker = await harness.worker(definitions=["add"])
    for n in range(5):
        await harness.enqueue("add", tenant=tenant, max_attempts=1)
        lease = await worker.claim_one()
        await harness.advance(seconds=n)
        await (worker.fail(lease) if n == 0 else worker.succeed(lease, ran_ms=1000 * n))
    await harness.enqueue("other", tenant=tenant)
    await harness.store.leader.roll_up()


async def report(runner: ConnectorRunner, *, tenant: str = "default", **payload: Any) -> Any:
    job = await runner.run("connector.report.generate", tenant=tenant, **payload)
    last = await runner.last(job.id)
    assert job.status == "succeeded", last.error
    return json.loads(last.result or "")["content"]


async def test_how_jobs_went_by_definition_and_over_time(new_runner: NewRunner, harness: Harness) -> None:
    await some_jobs(harness)
    await some_jobs(harness, "b")
    runner = new_runner()
    await harness.advance(minutes=1)
    found = await report(runner, report="jobs")
    assert {name: found["totals"][name] for name in ("jobs", "live", "succeeded", "dead_letter", "attempts")} == {
        "jobs": 6, "live": 1, "succeeded": 4, "dead_letter": 1, "attempts": 5,
    }  # fmt: skip
    kinds = {row["definition"]: row for row in found["tables"][0]["rows"]}
    assert kinds["add"]["run_p50_s"] == pytest.approx(2.0, abs=0.5)
    assert kinds["other"]["live"] == 1
    assert sum(row["succeeded"] for row in found["tables"][1]["rows"]) == 4
    assert found["notes"] == []
    before = await report(runner, report="jobs", end="2029-01-01T00:00:00Z", days=7)
    assert before["totals"]["jobs"] == 0


async def test_what_a_tenant_uses_and_may(new_runner: NewRunner, harness: Harness) -> None:
    await harness.tenant("acme", name="Acme", max_queued=50)
    await harness.trigger("t", tenant="acme", cron="0 2 * * *")
    await some_jobs(harness, "acme")
    found = (await report(new_runner(), tenant="acme", report="usage"))["totals"]
    assert (found["slug"], found["max_queued"], found["triggers"], found["endpoints"]) == ("acme", 50, 1, 0)
    assert (found["enqueued"], found["succeeded"], found["dead_letter"]) == (6, 4, 1)


async def test_a_workflow_as_a_whole_and_only_ones_own(new_runner: NewRunner, harness: Harness) -> None:
    runner = new_runner()

    @runner.app.job
    async def child(n: int) -> int:
        return n

    @runner.app.job
    async def parent() -> int:
        return len(await child.map([(n,) for n in range(3)]))

    handle = await parent.enqueue()
    await runner.kit.run_until_idle()
    found = await report(runner, report="workflow", job_id=str(handle.id))
    assert (found["totals"]["jobs"], found["totals"]["succeeded"]) == (4, 4)
    assert {row["definition"]: row["jobs"] for row in found["tables"][0]["rows"]} == {"parent": 1, "child": 3}
    await harness.tenant("b")
    theirs = await runner.run("connector.report.generate", tenant="b", report="workflow", job_id=str(handle.id))
    assert (theirs.status, (await runner.last(theirs.id)).error) == ("failed", f"there is no job {handle.id}")


@pytest.mark.parametrize("payload", [{"report": "x"}, {"report": "jobs", "days": 91}, {"report": "jobs", "days": 0}, {"report": "workflow"},
                                     {"report": "jobs", "end": "2030-01-01T00:00:00"}, {"report": "jobs", "format": "pdf"}])  # fmt: skip
async def test_a_report_that_there_is_not_fails_for_good(new_runner: NewRunner, payload: dict[str, Any]) -> None:
    assert (await new_runner().run("connector.report.generate", **payload)).status == "failed"


def nasty() -> Report:
    from datetime import UTC, datetime

    at = datetime(2030, 1, 1, tzinfo=UTC)
    rows = [{"definition": text, "error": text, "jobs": n} for n, text in enumerate(NASTY)]
    return Report(
        title=NASTY[9],
        start=at,
        end=at,
        totals={text: text for text in NASTY},
        tables=[Table(NASTY[10], rows)],
        charts=[Chart(NASTY[9], [(row["definition"], 1.0) for row in rows]), Chart(NASTY[10], [(at, -1.0), (at, 5)])],
        notes=NASTY,
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes.update(name for name, _ in attrs)


def test_a_page_has_the_markup_of_its_template_and_no_other() -> None:
    text = as_html(nasty())
    tags = Tags()
    tags.feed(text)
    assert tags.seen <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "tr", "th", "td", "svg", "rect", "text",
    }  # fmt: skip
    assert not any(name.startswith("on") or name in ("href", "src") for name in tags.attributes)
    assert "&lt;script&gt;" in text
    assert "{{7*7000}}" in text
    assert "49000" not in text.replace(",", "")
    assert "script-src" not in text
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text


def test_csv_has_no_formulas_and_reads_back_whole() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(nasty()), newline="")))
    cells = [value for row in rows for value in row]
    assert not [
        value for value in cells if value.lstrip(" ")[:1] in tuple("=+-@\t\r|%") and not value.lstrip("-").isdigit()
    ]
    assert "'=1+1" in cells
    assert "a,b;c\n=d" in cells
    assert (cell(-5), cell(-0.5), cell(None), cell("-5")) == (-5, -0.5, "", "'-5")


def test_charts_of_nothing_and_of_one() -> None:
    from datetime import UTC, datetime

    assert "No data" in svg(Chart("x", []))
    assert svg(Chart("x", [(datetime(2030, 1, 1, tzinfo=UTC), 0)])).count("<rect") == 1
    assert svg(Chart("x", [("a", 0.0)])).count("<rect") == 1


@pytest.mark.parametrize("format_", ["html", "csv"])
async def test_forms_of_a_real_report(new_runner: NewRunner, harness: Harness, format_: str) -> None:
    await harness.define("=HYPERLINK(1)")
    job: UUID = await harness.enqueue("=HYPERLINK(1)")
    await harness.cancel(job)
    await harness.advance(seconds=1)
    found = await report(new_runner(), report="jobs", format=format_)
    assert ("'=HYPERLINK(1)" in found) if format_ == "csv" else ("<svg" in found)
