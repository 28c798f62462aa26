"""Artifacts: payloads and results that are too large for the job's row. The job's row stores the hash of the artifact; these routes return its content."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Final
from uuid import UUID

from fastapi import Path, Response
from fastapi.responses import StreamingResponse

from plait.api.authentication import new_router
from plait.api.problems import Refused
from plait.api.redaction import redaction
from plait.api.tenancy import Ask, Asking
from plait.model.errors import NotFound

router = new_router("artifacts")

Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description='SHA-256, as in `{"$artifact": {"sha256": …}}`.')]

PIECE: Final = 262_144
REDACTED_BYTES: Final = 16 * 1024 * 1024
"""Larger artifacts are not redacted. Viewers and operators get 403 for them."""
_IS_JSON: Final = {200: {"content": {"application/json": {"schema": {}}}, "description": "The JSON, as stored."}}


@router.get("/jobs/{job_id:uuid}/artifacts/{sha256}", response_class=Response, responses=_IS_JSON)  # type: ignore[arg-type]
async def get_artifact(ask: Ask, job_id: UUID, sha256: Hash) -> Response:
    """Download the payload or result of a job that is stored as an artifact."""
    return await _send(ask, job_id, sha256)


@router.get("/worker/jobs/{job_id:uuid}/artifacts/{sha256}", response_class=Response, responses=_IS_JSON)  # type: ignore[arg-type]
async def get_payload(ask: Ask, job_id: UUID, sha256: Hash) -> Response:
    """Download the payload of a job that this worker runs."""
    return await _send(ask, job_id, sha256)


def payload_url(job_id: UUID, sha256: str) -> str:
    """The URL where a worker downloads a payload that is an artifact."""
    return f"/api/v1/worker/jobs/{job_id}/artifacts/{sha256}"


async def _send(ask: Asking, job_id: UUID, sha256: str) -> Response:
    """Read the whole artifact and verify its hash before sending the first byte, so that a mismatch is an error and not a partial response."""
    row = await ask.store.artifacts.find_artifact(job_id, sha256, **ask.scope)
    if row is None:
        raise NotFound(f"job {job_id} has no such artifact")
    hiding = redaction()
    if hiding is not None and row.size > REDACTED_BYTES:
        most = f"{REDACTED_BYTES:,} bytes"
        raise Refused(
            403,
            "not-allowed",
            f"artifacts of more than {most} cannot be redacted, so an admin's key is required to download them",
        )
    data = await ask.request.app.state.artifacts.read(row)
    headers = {"Content-Disposition": f'attachment; filename="{job_id}-{row.kind}.json"', "ETag": f'"{sha256}"'}
    if hiding is not None:
        about = (await ask.store.jobs.get_job(job_id, **ask.scope)).definition
        data = (await asyncio.to_thread(hiding.json, data.decode(), about)).encode()
        headers["ETag"] = f'"{sha256}-redacted"'
    headers["Content-Length"] = str(len(data))
    return StreamingResponse(_pieces(data), media_type="application/json", headers=headers)


def _pieces(data: bytes) -> Iterator[bytes]:
    view = memoryview(data)
    for start in range(0, len(view), PIECE):
        yield bytes(view[start : start + PIECE])
