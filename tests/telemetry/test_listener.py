"""`/metrics`: on the API with a key, and on a separate listener without one."""

import re
from pathlib import Path

import httpx
import pytest

from plait.runtime.listening import AddressTaken
from plait.telemetry.exposition import Exposition
from plait.telemetry.server import MetricsServer
from plait.testing import TestDatabase

from ..api.api_client import ApiClient
from ..cli.cli_runner import started, wait_for_line
from ..cli.conftest import SHOP
from ..harness import Harness
from ..waiting import PATIENCE_S
from .scraping import Scraped


async def test_the_api_tells_the_installations_numbers_to_its_operators_alone(api: ApiClient, harness: Harness) -> None:
    await harness.enqueue("add", tenant="acme")
    assert (await api.get("/metrics")).status_code == 401
    assert (await (await api.acting("admin", "acme")).get("/metrics")).status_code == 403
    answer = await (await api.acting("super-admin")).get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert Scraped(answer.text)("plait_jobs", tenant="acme", status="queued") == 1
    other = await (await api.acting("super-admin")).get(
        "/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"}
    )
    assert other.headers["content-type"].startswith("application/openmetrics-text")
    assert other.text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("command", "names"), [("worker", "plait_worker_slots"), ("leader", "plait_leading"), ("api", "plait_jobs")]
)
def test_a_process_serves_its_metrics_without_a_key(
    real_clock_database: TestDatabase, tmp_path: Path, command: str, names: str
) -> None:
    app = tmp_path / "shop.py"
    app.write_text(SHOP)
    port = ["--port", "0"] if command == "api" else []
    with started(
        command, app, "--url", real_clock_database.url, "--metrics-port", "0", *port, PLAIT_LOG_FORMAT="json"
    ) as process:
        line = wait_for_line(process, "metrics listening")
        [url] = re.findall(r'http://[^"]*/metrics', line)
        if command != "api":
            wait_for_line(process, "leading")
        told = Scraped(httpx.get(url, timeout=PATIENCE_S).text)
        assert "plait_database_up" in told.names, "an API does, and so does who leads"
        assert any(name.startswith(names) for name in {*told.names, *told.text.split()})
        assert httpx.get(url.removesuffix("/metrics") + "/else", timeout=PATIENCE_S).status_code == 404
        assert httpx.head(url).content == b""
        process.terminate()
        assert process.wait(180) == 143


def test_an_address_that_is_taken_is_told_at_once() -> None:
    first = MetricsServer(Exposition(), host="127.0.0.1", port=0)
    try:
        with pytest.raises(AddressTaken, match="cannot listen"):
            MetricsServer(Exposition(), host="127.0.0.1", port=int(first.url.rpartition(":")[2]))
    finally:
        first._socket.close()
