"""Fan-outs and waits without handlers: the store calls that a worker makes for a durable job."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from plait.model.ids import new_id
from plait.store.new_jobs import NewJob
from plait.store.workers import Claimed
from plait.store.workflows import Lease, NewFanOut, StepKey, StepKind, Suspension, Wait

from ..fake_worker import FakeWorker
from ..harness import Harness

PARENT, CHILDREN = "default", "children"


async def open_fan_outs(
    harness: Harness, parents: int, children: int, *, strategy: str = "collect_all", needed: int = 0, **options: Any
) -> list[UUID]:
    """Open fan-outs: each parent waits for its children, which are in the queue `children`."""
    jobs = await harness.enqueue_many("add", parents)
    worker = await harness.worker()
    leases = await worker.claim_plainly(parents)
    assert len(leases) == parents
    for lease in leases:
        assert (
            await open_one(harness, worker, lease, children, strategy=strategy, needed=needed, **options) == "suspended"
        )
    await worker.leave()
    return jobs


async def open_one(
    harness: Harness,
    worker: FakeWorker,
    lease: Claimed,
    children: int,
    *,
    strategy: str = "collect_all",
    needed: int = 0,
    step: str = "fan_out",
    seq: int = 1,
    fan_out: UUID | None = None,
    **options: Any,
) -> Suspension:
    settings: dict[str, Any] = {
        "early": False,
        "timeout_s": None,
        "cancel_remaining": True,
        "cancel_on_parent_failure": False,
        "nested": True,
        "streamed": False,
        **options,
    }
    return await harness.store.workflows.open_fan_out(
        Lease(worker.id, lease.job_id, lease.attempt),
        NewFanOut(
            id=fan_out or new_id(),
            key=StepKey("", step, 1, seq),
            hash="0",
            strategy=strategy,
            needed=needed,
            **settings,
        ),
        [NewJob(id=new_id(), definition="add", payload="{}", queue=CHILDREN) for _ in range(children)],
    )


async def wait_for(
    harness: Harness, lease: Lease, name: str, kind: StepKind, *, occurrence: int = 1, **what: Any
) -> tuple[Suspension, str | None]:
    """Suspend a durable job on one wait. Returns its status, and the value if the wait has already ended."""
    wait = Wait("", name, occurrence, occurrence, kind, **what)
    status, ends, _ = await harness.store.workflows.await_steps(lease, [wait], [], next_number=occurrence, suspend=True)
    return status, bytes(ends[0].value).decode() if ends else None


async def claim_children(harness: Harness, count: int) -> tuple[FakeWorker, list[Claimed]]:
    """Claim all queued children with one worker."""
    worker = await harness.worker(queues=[CHILDREN])
    leases: list[Claimed] = []
    while len(leases) < count and (more := await worker.claim_plainly(1000, queue=CHILDREN)):
        leases += more
    assert len(leases) == count
    return worker, leases


async def by_parent(harness: Harness, leases: Sequence[Claimed]) -> dict[UUID, list[Claimed]]:
    rows = await harness.rows(
        "select id, parent_id from plait.jobs where id = any($1)", [lease.job_id for lease in leases]
    )
    parents = dict(map(tuple, rows))
    found: dict[UUID, list[Claimed]] = {}
    for lease in leases:
        found.setdefault(parents[lease.job_id], []).append(lease)
    return found


async def suspend(harness: Harness, worker: FakeWorker, lease: Claimed, seconds: float) -> None:
    """Let the attempt sleep for this number of seconds of the harness's clock. Then the job is queued again."""
    held = Lease(worker.id, lease.job_id, lease.attempt)
    await harness.store.workflows.resume_steps(held)  # ends the previous sleep
    wait = Wait("", "sleep", lease.attempt, lease.attempt, "sleep", delay_s=seconds)
    status, _, _ = await harness.store.workflows.await_steps(
        held, [wait], [], next_number=lease.attempt * 10, suspend=True
    )
    assert status == "suspended"
    await harness.advance(seconds=seconds)
    await harness.store.leader.resume()
