"""Artifacts over HTTP: readable only with access to their job, and returned whole or as an error."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from plait.api.application import build
from plait.runtime.object_storage import Directory
from plait.runtime.settings import Settings
from plait.sdk.codec import MAX_BYTES

from ..harness import Harness
from .api_client import ApiClient

LARGE = {"text": "x" * MAX_BYTES}


@pytest.fixture
async def kept(api: ApiClient, harness: Harness, tmp_path: Path) -> ApiClient:
    """An API that stores artifacts in a directory."""
    api.client._transport.app = build(harness.store, Settings(api_rate=0), objects=Directory(tmp_path))  # type: ignore[attr-defined]
    await harness.define("add")
    return api


async def _made(caller: ApiClient) -> tuple[UUID, str]:
    job = await caller.ok("POST", "/jobs", {"definition_key": "add", "payload": LARGE})
    page = await caller.ok("GET", f"/jobs/{job['id']}")
    return UUID(job["id"]), page["payload"]["$artifact"]["sha256"]


async def test_a_large_payload_is_kept_and_can_be_read(kept: ApiClient) -> None:
    operator = await kept.acting("operator")
    job, sha256 = await _made(operator)
    answer = await (await kept.acting("viewer")).get(f"/jobs/{job}/artifacts/{sha256}")
    assert answer.status_code == 200
    assert answer.json() == LARGE
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-disposition"] == f'attachment; filename="{job}-payload.json"'
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_another_tenant_another_job_and_another_hash_lead_nowhere(kept: ApiClient, harness: Harness) -> None:
    job, sha256 = await _made(await kept.acting("operator"))
    mine = await harness.enqueue("add", tenant="b")
    other = await kept.acting("admin", "b")
    for path in (f"/jobs/{job}/artifacts/{sha256}", f"/jobs/{mine}/artifacts/{sha256}"):
        assert (await other.get(path)).status_code == 404
    viewer = await kept.acting("viewer")
    assert (await viewer.get(f"/jobs/{await harness.enqueue()}/artifacts/{sha256}")).status_code == 404
    assert (await viewer.get(f"/jobs/{job}/artifacts/{'0' * 64}")).status_code == 404
    assert (await viewer.get(f"/jobs/{job}/artifacts/..%2f..%2fetc")).status_code in (404, 422)


async def test_what_is_missing_or_altered_is_told_and_not_sent(kept: ApiClient, tmp_path: Path) -> None:
    operator = await kept.acting("operator")
    job, sha256 = await _made(operator)
    [path] = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(path.read_bytes().replace(b"x", b"y", 1))
    altered = await operator.get(f"/jobs/{job}/artifacts/{sha256}")
    assert (altered.status_code, altered.json()["type"]) == (502, "urn:plait:problem:artifact-altered")
    path.unlink()
    gone = await operator.get(f"/jobs/{job}/artifacts/{sha256}")
    assert (gone.status_code, gone.json()["type"]) == (410, "urn:plait:problem:artifact-missing")


async def test_a_worker_in_any_language_gets_a_reference_and_a_url(kept: ApiClient) -> None:
    job, sha256 = await _made(await kept.acting("operator"))
    worker = await kept.acting("worker")
    claim: dict[str, Any] = {"queues": ["default"], "definitions": ["add"]}
    [claimed] = (await worker.ok("POST", "/worker/jobs/claim", claim))["jobs"]
    assert claimed["payload"] == {"$artifact": {"sha256": sha256, "size": len(json.dumps(LARGE))}}
    assert (await worker.get(claimed["payload_url"])).json() == LARGE
    assert (await worker.get(f"/jobs/{job}/artifacts/{sha256}")).status_code == 403


async def test_without_a_store_a_large_payload_is_refused(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    answer = await (await api.acting()).post("/jobs", {"definition_key": "add", "payload": LARGE})
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:plait:problem:too-large")


async def test_a_large_signal_is_kept_for_the_job_that_gets_it(kept: ApiClient, harness: Harness) -> None:
    operator = await kept.acting("operator")
    job = await operator.ok("POST", "/jobs", {"definition_key": "add"})
    await operator.ok("POST", f"/jobs/{job['id']}/signal", {"name": "go", "payload": LARGE})
    [row] = await harness.rows(
        "select s.payload::text, a.sha256, a.job_id from plait.signals s cross join plait.artifacts a"
    )
    assert json.loads(row["payload"])["$artifact"]["sha256"] == row["sha256"]
    assert row["job_id"] == UUID(job["id"])
    assert (await operator.get(f"/jobs/{job['id']}/artifacts/{row['sha256']}")).json() == LARGE
