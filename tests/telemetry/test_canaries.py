"""No secret is in a metric, a log line or a span (S18). Tables, pages and reports: tests/connectors."""

import json
import re
from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from plait import JobFailed, Plait, call, current
from plait.testing import TestDatabase

from ..cli.cli_runner import call as plait
from ..cli.cli_runner import started, wait_for_line
from ..waiting import PATIENCE_S
from ..worker.conftest import Running

CANARY = "canary-5b1f0e77c9a2"
APP = """
import logging, os
import structlog
from plait import Plait, PermanentError, current

app = Plait()

@app.job(retries=0)
async def leak(password: str, note: str) -> str:
    secret = os.environ["PLAIT_SECRET_API"]
    current().logger.warning("has it", password=password, headers={"Authorization": "Bearer " + secret})
    structlog.get_logger().warning("has it too", text=f"https://user:{secret}@host/", secret=secret)
    logging.getLogger("library").error("Cookie: session=%s", secret)
    raise PermanentError(f"it broke: {secret} password={password} token='{password}'")

@app.job(retries=0, isolation="process")
def leak_apart(password: str) -> str:
    logging.getLogger("library").error("password=%s", password)
    current().logger.warning("apart", secret=os.environ["PLAIT_SECRET_API"])
    raise ValueError("api_key=" + password)
"""


def test_no_metric_and_no_line_of_a_worker_has_one(real_clock_database: TestDatabase, tmp_path: Path) -> None:
    path = tmp_path / "leaky.py"
    path.write_text(APP)
    log = ""
    with started(
        "worker", path, "--url", real_clock_database.url, "--metrics-port", "0",
        PLAIT_SECRET_API=CANARY, PLAIT_LOG_FORMAT="json", PLAIT_LOG_LEVEL="debug",
    ) as process:  # fmt: skip
        log += (line := wait_for_line(process, "metrics listening"))
        [url] = re.findall(r'http://[^"]*/metrics', line)
        plait("enqueue", path, "leak", f"password={CANARY}", "note=x", "--url", real_clock_database.url)
        plait("enqueue", path, "leak_apart", f"password={CANARY}", "--url", real_clock_database.url)
        failed = 0
        while failed < 2:
            log += (line := wait_for_line(process, ""))
            failed += "attempt failed" in line
        metrics = httpx.get(url, timeout=PATIENCE_S).text
        process.terminate()
        _, rest = process.communicate(timeout=180)
        log += rest
    assert CANARY not in metrics
    assert "plait_worker_settled_total" in metrics
    events = [json.loads(line)["event"] for line in log.splitlines() if line.startswith("{")]
    assert {"has it", "has it too", "apart"} <= set(events), "they were told"
    assert events.count("attempt failed") == 2
    assert CANARY not in log


async def test_no_span_has_one(app: Plait, running: Running, spans: InMemorySpanExporter) -> None:
    async def step(password: str) -> str:
        raise ValueError(f"Authorization: Bearer {password}")

    @app.job(retries=0)
    async def leak(password: str) -> str:
        await call(step, password)
        return current().trace_id

    @app.job(retries=0)
    async def returns(password: str) -> str:
        return password

    async with running(app):
        handle = await leak.enqueue(CANARY)
        with pytest.raises(JobFailed):
            await handle.result(timeout=120)
        await (await returns.enqueue(CANARY)).result(timeout=120)
    told = [span.to_json() for span in spans.get_finished_spans()]
    assert len(told) == 3
    assert CANARY not in "".join(told)
