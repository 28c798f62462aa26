"""Workers in any language, over HTTP: claim, heartbeat, complete, fail. They have the same leases and fencing as Python workers.

A worker's first claim registers it and returns its number, which only the same key may use. Every request about a job includes the
attempt. A request from an attempt that has lost its lease is rejected with 409 and changes nothing, and a repeated request is
recognised. A claim that waits for jobs renews the worker's lease.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from fastapi import Request, Response

from plait.api import names
from plait.api.artifacts import payload_url
from plait.api.authentication import new_router
from plait.api.jobs import json_text
from plait.api.problems import Refused
from plait.api.shapes import Json, raw
from plait.api.tenancy import Ask, Asking
from plait.api.waiting_claims import WaitingClaims
from plait.api.worker_shapes import (
    Beat,
    Claim,
    Claims,
    Complete,
    Fail,
    Heartbeat,
    Held,
    Leave,
    Logs,
    OfAttempt,
    Release,
    Settle,
    Settled,
    SettledMany,
    SkipIt,
    WorkerHeartbeat,
)
from plait.model.errors import LeaseLost, WorkerLost
from plait.model.states import AttemptOutcome
from plait.model.texts import clean
from plait.sdk.artifacts import hash_in, is_reference
from plait.sdk.dependencies import complete_link, is_link
from plait.store.workers import Beat as Beaten
from plait.store.workers import Claimed, Settlement
from plait.store.workflows import Lease

router = new_router("worker")

TAIL: Final = 65_536


@router.post("/worker/jobs/claim", response_model=Claims)
async def claim(request: Request, ask: Ask, body: Claim) -> Response:
    """Claim jobs to run. With `wait_seconds`, wait for jobs if there are none."""
    worker = await _register(ask, body) if body.worker is None else await _own(ask, body.worker)
    claims: WaitingClaims = request.app.state.waiting_claims
    loop = asyncio.get_running_loop()
    began = renewed = loop.time()
    if body.worker is not None:
        await ask.store.workers.heartbeat(worker, running=body.running)
    with claims.waiting(body.queues) as waiting:
        while True:
            left = body.wait_seconds - (loop.time() - began)
            jobs = await _claim(ask, worker, body, sleep=claims.listening and left > 0)
            if jobs or left <= 0 or request.app.state.stopping.is_set() or await request.is_disconnected():
                return Json({"worker": worker, "jobs": [await _claimed(ask, job) for job in jobs]})
            if loop.time() - renewed > body.lease_seconds / 3:
                await ask.store.workers.heartbeat(worker, running=body.running)
                renewed = loop.time()
            await waiting.wait(left)


@router.post("/worker/heartbeat", response_model=Beat)
async def heartbeat(ask: Ask, body: WorkerHeartbeat) -> Response:
    """Renew the lease of the worker and all its jobs. Returns the jobs to stop."""
    beat = await _beat(ask, await _own(ask, body.worker), body.held, body.running)
    return Json({"cancel": [job for job, _ in beat.cancels], "gone": sorted(beat.gone)})


@router.post("/worker/jobs/{job_id:uuid}/heartbeat", response_model=Beat)
async def heartbeat_of_job(ask: Ask, job_id: UUID, body: Heartbeat) -> Response:
    """Renew the lease, and check that this job still belongs to the worker."""
    worker = await _own(ask, body.worker)
    beat = await _beat(ask, worker, body.held, 1)
    gone = set(beat.gone)
    if await ask.store.workflows.resume_steps(Lease(worker, job_id, body.attempt)) is None:
        gone.add(job_id)
    return Json({"cancel": [job for job, _ in beat.cancels], "gone": sorted(gone)})


@router.post("/worker/jobs/settle", response_model=SettledMany)
async def settle(ask: Ask, body: Settle) -> Response:
    """Record the outcomes of several attempts. An attempt that has lost its lease, or whose job is locked by another transaction, does not
    delay the others."""
    worker = await _own(ask, body.worker)
    settlements = [_settlement(one.id, one.attempt, one.outcome, one.model_dump()) for one in body.outcomes]
    accepted = await ask.store.workers.settle_free(worker, settlements)
    return Json(
        {
            "settled": [
                {"id": one.job_id, "attempt": one.attempt, "accepted": bool(ok), "busy": ok is None}
                for one, ok in zip(settlements, accepted, strict=True)
            ]
        }
    )


@router.post("/worker/jobs/{job_id:uuid}/complete", response_model=Settled)
async def complete(ask: Ask, job_id: UUID, body: Complete) -> Response:
    """Record that the job succeeded."""
    return await _settle(ask, job_id, body, "complete")


@router.post("/worker/jobs/{job_id:uuid}/fail", response_model=Settled)
async def fail(ask: Ask, job_id: UUID, body: Fail) -> Response:
    """Record that the attempt failed; the database decides whether to retry."""
    return await _settle(ask, job_id, body, "fail")


@router.post("/worker/jobs/{job_id:uuid}/release", response_model=Settled)
async def release(ask: Ask, job_id: UUID, body: Release) -> Response:
    """Release the job, optionally with a delay. Does not count against `max_attempts`."""
    return await _settle(ask, job_id, body, "release")


@router.post("/worker/jobs/{job_id:uuid}/skip", response_model=Settled)
async def skip(ask: Ask, job_id: UUID, body: SkipIt) -> Response:
    """Skip the job, because there is nothing to do."""
    return await _settle(ask, job_id, body, "skip")


@router.post("/worker/jobs/{job_id:uuid}/logs", status_code=204)
async def logs(ask: Ask, job_id: UUID, body: Logs) -> Response:
    """Store output of the attempt. Only the last 64 KiB of each stream are kept."""
    worker = await _own(ask, body.worker)
    progress = None if body.progress is None else json_text(body.progress)
    if not await ask.store.workers.log_attempt(
        worker,
        job_id,
        body.attempt,
        stdout=clean(body.stdout, TAIL),
        stderr=clean(body.stderr, TAIL),
        progress=progress,
    ):
        raise LeaseLost
    return Response(status_code=204)


@router.post("/worker/leave", status_code=204)
async def leave(request: Request, ask: Ask, body: Leave) -> Response:
    """Deregister the worker: its remaining jobs are requeued immediately."""
    await ask.store.workers.leave(await _own(ask, body.worker))
    request.app.state.workers.pop(body.worker, None)
    return Response(status_code=204)


async def _register(ask: Asking, body: Claim) -> int:
    known = {row.name for row in await ask.store.definitions.list_definitions()}
    if unknown := sorted(set(body.definitions) - known):
        changing = ask.changing("definition.create", None, names=unknown)
        await changing.definitions.define_unknown(ask.caller.key_id, unknown)
    return await ask.store.workers.register(
        host=body.hostname,
        pid=body.pid,
        version=body.version,
        queues=body.queues,
        definitions=body.definitions,
        lease_s=body.lease_seconds,
        metadata={"key": str(ask.caller.key_id), "protocol": "http"},
    )


async def _own(ask: Asking, worker: int) -> int:
    """The worker, if this key registered it. A worker of another key is reported as lost, so that guessing numbers reveals nothing."""
    owners: dict[int, UUID] = ask.request.app.state.workers
    if worker not in owners:
        key_id = await ask.store.workers.worker_key(worker)
        if key_id is None:
            raise WorkerLost
        if len(owners) > 10_000:
            owners.clear()
        owners[worker] = key_id
    if owners[worker] != ask.caller.key_id:
        raise WorkerLost
    return worker


async def _claim(ask: Asking, worker: int, body: Claim, *, sleep: bool) -> list[Claimed]:
    jobs: list[Claimed] = []
    for queue in body.queues:
        if len(jobs) < body.limit:
            jobs += await ask.store.workers.claim(worker, queue, body.limit - len(jobs), sleep=sleep and not jobs)
    return jobs


async def _beat(ask: Asking, worker: int, held: list[Held] | None, running: int) -> Beaten:
    pairs = None if held is None else [(one.id, one.attempt) for one in held]
    return await ask.store.workers.heartbeat(worker, running=running if held is None else len(held), held=pairs)


async def _claimed(ask: Asking, job: Claimed) -> dict[str, Any]:
    payload = job.payload
    if is_link(payload):
        artifacts = ask.request.app.state.artifacts
        owner = {"job_id": job.job_id, "tenant_id": job.tenant_id}
        payload = await complete_link(ask.store, artifacts, payload, **owner) or payload
    sha256 = hash_in(payload) if is_reference(payload) else None
    claimed = {
        "job_id": job.job_id,
        "attempt": job.attempt,
        "failed_attempts": job.failed_attempts,
        "max_attempts": job.max_attempts,
        "tenant_id": job.tenant_id,
        "definition": job.definition,
        "queue": job.queue,
        "payload": raw(payload),
        "payload_url": payload_url(job.job_id, sha256) if sha256 else None,
        "timeout_s": job.timeout_s,
        "correlation_id": job.correlation_id,
    }
    return names.http_names(names.CLAIMED_JOB, claimed)


async def _settle(ask: Asking, job_id: UUID, said: OfAttempt, verb: str) -> Response:
    worker = await _own(ask, said.worker)
    settlement = _settlement(job_id, said.attempt, verb, said.model_dump())
    [accepted] = await ask.store.workers.settle(worker, [settlement])
    if not accepted:
        raise Refused(
            409, "lease-lost", "the lease is lost: another worker may run this job. Stop, and report no outcome"
        )
    return Json({"id": job_id, "attempt": said.attempt})


def _settlement(job_id: UUID, attempt: int, verb: str, said: Mapping[str, Any]) -> Settlement:
    """The settlement for a verb of the worker protocol."""
    result: str | None = None
    detail: dict[str, Any] = {}
    match verb:
        case "complete":
            outcome = AttemptOutcome.SUCCEEDED
            result = None if said["result"] is None else json_text(said["result"])
        case "fail":
            outcome = AttemptOutcome.TIMEOUT if said["timeout"] else AttemptOutcome.FAILED
            detail = {
                "error": clean(said["error"], TAIL),
                "traceback": None if said["traceback"] is None else clean(said["traceback"], TAIL),
                "reason": said["reason"],
                "permanent": said["permanent"] or None,
                "delay_s": said["delay_seconds"],
                "exit_code": said["exit_code"],
            }
        case "release":
            outcome = AttemptOutcome.RELEASED if said["delay_seconds"] is None else AttemptOutcome.SNOOZED
            detail = {"delay_s": said["delay_seconds"]}
        case _:
            outcome = AttemptOutcome.SKIPPED
            detail = {"error": clean(said["reason"] or "", TAIL)}
    given = {name: value for name, value in detail.items() if value is not None}
    return Settlement(job_id, attempt, outcome, result=result, detail=json_text(given) if given else None)
