"""Workers in any language, without the database: claim, heartbeat, complete, fail. The same leases and fences as native ones have.

A worker is registered by its first claim, and is known by a number that only the key it came with may use. Everything it sends about
a job names the attempt: what comes from an attempt that has lost its lease is refused (409) and changes nothing, and what comes twice
is recognised. A claim may wait for work; while it does, it renews the worker's lease.
"""

import asyncio
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from plait.api.artifacts import payload_url
from plait.api.guard import new_router
from plait.api.jobs import json_text
from plait.api.problems import Refused
from plait.api.shapes import Json, raw
from plait.api.tenancy import Ask, Asking
from plait.model.errors import LeaseLost, WorkerLost
from plait.model.states import Ending
from plait.model.texts import clean
from plait.sdk.artifacts import hash_in, is_reference
from plait.store.trees import Lease
from plait.store.workers import Claimed, Settlement

router = new_router("worker")

LOOK_S: Final = (0.05, 0.1, 0.2, 0.4)
"""How long a claim waits between two looks; the last goes on."""
TAIL: Final = 65_536

Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
QueueName = Annotated[str, Field(pattern="^[A-Za-z0-9_.:-]{1,100}$")]


class Claim(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"queues": ["default"], "definitions": ["resize"], "limit": 5, "wait_seconds": 20}]
        },
    )

    worker: Number | None = Field(None, description="As the first claim answered; null: register.")
    queues: list[QueueName] = Field(min_length=1, max_length=100)
    definitions: list[Name] = Field(min_length=1, max_length=1000, description="The kinds of job that it can run.")
    limit: int = Field(1, ge=1, le=1000)
    running: Number = Field(0, description="How many it runs now.")
    wait_seconds: float = Field(0, ge=0, le=30, description="How long to wait for work.")
    lease_seconds: float = Field(30, ge=5, le=3600, description="After so long without a word it is declared lost.")
    hostname: str = Field("", max_length=200)
    pid: Number = 0
    version: str = Field("", max_length=100)


class ClaimedJob(BaseModel):
    id: UUID
    attempt: int = Field(description="Name it in all that is said about the job.")
    tries: int
    max_attempts: int
    tenant_id: UUID
    definition_key: str
    queue: str
    payload: Any
    payload_url: str | None = Field(
        description="Where the payload is when it is too large to be here, as its `$artifact` says; null: here."
    )
    timeout_seconds: float | None = Field(description="How long it may run; null where nobody has said so.")
    correlation_id: str | None


class Claims(BaseModel):
    worker: int
    jobs: list[ClaimedJob]


class Held(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: UUID
    attempt: Number


class OfAttempt(BaseModel):
    """Who says it, of which attempt."""

    model_config = ConfigDict(extra="forbid")

    worker: Number
    attempt: Number


class Heartbeat(OfAttempt):
    held: list[Held] | None = Field(
        None,
        max_length=10_000,
        description="All that it runs: what it does not name is given back, for a reply that was lost.",
    )


class Beat(BaseModel):
    cancel: list[UUID] = Field(description="Jobs of this worker that shall stop.")
    gone: list[UUID] = Field(description="Jobs that are others' now: stop them, and report nothing.")


class Complete(OfAttempt):
    result: Any = None


class Fail(OfAttempt):
    error: str = Field("", max_length=100_000)
    traceback: str | None = Field(None, max_length=100_000)
    reason: str | None = Field(None, max_length=200, description="A word for machines.")
    permanent: bool = Field(False, description="It will fail again: no further try.")
    timeout: bool = Field(False, description="It ran for longer than it may.")
    delay_seconds: float | None = Field(
        None, ge=0, le=3.2e9, description="When the next try begins; else its backoff says."
    )
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None


class Release(OfAttempt):
    delay_seconds: float | None = Field(None, ge=0, le=3.2e9, description="Not before; null: at once. It burns no try.")


class SkipIt(OfAttempt):
    reason: str = Field("", max_length=10_000)


class Logs(OfAttempt):
    stdout: str = Field("", max_length=1_000_000)
    stderr: str = Field("", max_length=1_000_000)
    progress: dict[str, Any] | None = None


class Leave(BaseModel):
    model_config = ConfigDict(extra="forbid")

    worker: Number


class Settled(BaseModel):
    id: UUID
    attempt: int


@router.post("/worker/jobs/claim", response_model=Claims)
async def claim(request: Request, ask: Ask, body: Claim) -> Response:
    """Take jobs to run. Waits for some where there are none, if asked to."""
    worker = await _register(ask, body) if body.worker is None else await _own(ask, body.worker)
    loop = asyncio.get_running_loop()
    began = loop.time()
    renewed = began
    looks = iter(LOOK_S)
    pause = LOOK_S[0]
    if body.worker is not None:
        await ask.store.workers.heartbeat(worker, running=body.running)
    while True:
        jobs = await _claim(ask, worker, body)
        left = body.wait_seconds - (loop.time() - began)
        if jobs or left <= 0 or request.app.state.stopping.is_set() or await request.is_disconnected():
            return Json({"worker": worker, "jobs": [_claimed(job) for job in jobs]})
        if loop.time() - renewed > body.lease_seconds / 3:
            await ask.store.workers.heartbeat(worker, running=body.running)
            renewed = loop.time()
        pause = next(looks, pause)
        await asyncio.sleep(min(pause, left))


@router.post("/worker/jobs/{job_id:uuid}/heartbeat", response_model=Beat)
async def heartbeat(ask: Ask, job_id: UUID, body: Heartbeat) -> Response:
    """Renew the worker's lease, and with it that of all its jobs; learn what shall stop."""
    worker = await _own(ask, body.worker)
    held = None if body.held is None else [(one.id, one.attempt) for one in body.held]
    beat = await ask.store.workers.heartbeat(worker, running=len(held or ()), held=held)
    gone = set(beat.gone)
    if await ask.store.trees.load_steps(Lease(worker, job_id, body.attempt)) is None:
        gone.add(job_id)
    return Json({"cancel": [job for job, _ in beat.cancels], "gone": sorted(gone)})


@router.post("/worker/jobs/{job_id:uuid}/complete", response_model=Settled)
async def complete(ask: Ask, job_id: UUID, body: Complete) -> Response:
    """The job has succeeded."""
    result = None if body.result is None else json_text(body.result)
    return await _settle(ask, job_id, body, Ending.SUCCEEDED, result=result)


@router.post("/worker/jobs/{job_id:uuid}/fail", response_model=Settled)
async def fail(ask: Ask, job_id: UUID, body: Fail) -> Response:
    """The attempt has failed: the database decides whether there is another."""
    detail: dict[str, Any] = {
        "error": clean(body.error, TAIL),
        "traceback": None if body.traceback is None else clean(body.traceback, TAIL),
        "reason": body.reason,
        "permanent": body.permanent or None,
        "delay_s": body.delay_seconds,
        "exit_code": body.exit_code,
    }
    return await _settle(ask, job_id, body, Ending.TIMEOUT if body.timeout else Ending.FAILED, **detail)


@router.post("/worker/jobs/{job_id:uuid}/release", response_model=Settled)
async def release(ask: Ask, job_id: UUID, body: Release) -> Response:
    """Give the job back, without burning a try; with a delay, for later."""
    if body.delay_seconds is None:
        return await _settle(ask, job_id, body, Ending.RELEASED)
    return await _settle(ask, job_id, body, Ending.SNOOZED, delay_s=body.delay_seconds)


@router.post("/worker/jobs/{job_id:uuid}/skip", response_model=Settled)
async def skip(ask: Ask, job_id: UUID, body: SkipIt) -> Response:
    """There was nothing to do."""
    return await _settle(ask, job_id, body, Ending.SKIPPED, error=clean(body.reason, TAIL))


@router.post("/worker/jobs/{job_id:uuid}/logs", status_code=204)
async def logs(ask: Ask, job_id: UUID, body: Logs) -> Response:
    """What the attempt has written: the last 64 KiB of each stream are kept."""
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
    """The worker ends: what it still holds goes back at once."""
    await ask.store.workers.leave(await _own(ask, body.worker))
    request.app.state.workers.pop(body.worker, None)
    return Response(status_code=204)


async def _register(ask: Asking, body: Claim) -> int:
    known = {row.name for row in await ask.store.definitions.list_definitions()}
    if unknown := sorted(set(body.definitions) - known):
        changing = ask.changing("definition.create", None, names=unknown)
        await changing.definitions.define([{"name": name} for name in unknown])
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
    """The worker, if this key registered it: numbers can be guessed. Another's is lost to who asks."""
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


async def _claim(ask: Asking, worker: int, body: Claim) -> list[Claimed]:
    jobs: list[Claimed] = []
    for queue in body.queues:
        if len(jobs) < body.limit:
            jobs += await ask.store.workers.claim(worker, queue, body.limit - len(jobs))
    return jobs


def _claimed(job: Claimed) -> dict[str, Any]:
    sha256 = hash_in(job.payload) if is_reference(job.payload) else None
    return {
        "id": job.job_id,
        "attempt": job.attempt,
        "tries": job.tries,
        "max_attempts": job.max_attempts,
        "tenant_id": job.tenant_id,
        "definition_key": job.definition,
        "queue": job.queue,
        "payload": raw(job.payload),
        "payload_url": payload_url(job.job_id, sha256) if sha256 else None,
        "timeout_seconds": job.timeout_s,
        "correlation_id": job.correlation_id,
    }


async def _settle(
    ask: Asking, job_id: UUID, said: OfAttempt, ending: Ending, *, result: str | None = None, **detail: Any
) -> Response:
    worker = await _own(ask, said.worker)
    given = {name: value for name, value in detail.items() if value is not None}
    settlement = Settlement(job_id, said.attempt, ending, result=result, detail=json_text(given) if given else None)
    [accepted] = await ask.store.workers.settle(worker, [settlement])
    if not accepted:
        raise Refused(409, "lease-lost", "another worker holds this job now: stop, and report no outcome")
    return Json({"id": job_id, "attempt": said.attempt})
