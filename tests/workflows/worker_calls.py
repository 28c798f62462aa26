"""Fan-outs without handlers: opened, claimed and settled by the calls that a worker makes."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from plait.model.ids import new_id
from plait.store.workers import Claimed
from plait.store.workflows import Lease, NewChild, NewFanOut, StepKey, StepKind, Suspension, Wait

from ..fake_worker import FakeWorker
from ..harness import World

PARENT, CHILDREN = "default", "children"


async def open_fan_outs(
    world: World, parents: int, children: int, *, strategy: str = "collect_all", needed: int = 0, **options: Any
) -> list[UUID]:
    """So many parents that wait for so many children each, which are queued on a queue of their own."""
    jobs = await world.enqueue_many("add", parents)
    worker = await world.worker()
    leases = await worker.claim_plainly(parents)
    assert len(leases) == parents
    for lease in leases:
        assert (
            await open_one(world, worker, lease, children, strategy=strategy, needed=needed, **options) == "suspended"
        )
    await worker.leave()
    return jobs


async def open_one(
    world: World,
    worker: FakeWorker,
    lease: Claimed,
    children: int,
    *,
    strategy: str = "collect_all",
    needed: int = 0,
    step: str = "fan_out",
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
    return await world.store.workflows.open_fan_out(
        Lease(worker.id, lease.job_id, lease.attempt),
        NewFanOut(
            id=fan_out or new_id(),
            key=StepKey("", step, 1, 1),
            hash="0",
            strategy=strategy,
            needed=needed,
            **settings,
        ),
        [NewChild(id=new_id(), definition="add", payload="{}", queue=CHILDREN) for _ in range(children)],
    )


async def wait_for(
    world: World, lease: Lease, name: str, kind: StepKind, *, occurrence: int = 1, **what: Any
) -> tuple[Suspension, str | None]:
    """What a durable job sends when it has nothing else to do: its status, and the value of what has come."""
    wait = Wait("", name, occurrence, occurrence, kind, **what)
    status, ends, _ = await world.store.workflows.await_steps(lease, [wait], [], next_number=occurrence, suspend=True)
    return status, bytes(ends[0].value).decode() if ends else None


async def claim_children(world: World, count: int) -> tuple[FakeWorker, list[Claimed]]:
    """All children that are queued, in the hands of one worker."""
    worker = await world.worker(queues=[CHILDREN])
    leases: list[Claimed] = []
    while len(leases) < count and (more := await worker.claim_plainly(1000, queue=CHILDREN)):
        leases += more
    assert len(leases) == count
    return worker, leases


async def by_parent(world: World, leases: Sequence[Claimed]) -> dict[UUID, list[Claimed]]:
    rows = await world.rows(
        "select id, parent_id from plait.jobs where id = any($1)", [lease.job_id for lease in leases]
    )
    parents = dict(map(tuple, rows))
    found: dict[UUID, list[Claimed]] = {}
    for lease in leases:
        found.setdefault(parents[lease.job_id], []).append(lease)
    return found


async def suspend(world: World, worker: FakeWorker, lease: Claimed, seconds: float) -> None:
    """The attempt sleeps for so long by the world's clock; then the job is queued again."""
    held = Lease(worker.id, lease.job_id, lease.attempt)
    await world.store.workflows.resume_steps(held)  # ends the sleep before
    wait = Wait("", "sleep", lease.attempt, lease.attempt, "sleep", delay_s=seconds)
    status, _, _ = await world.store.workflows.await_steps(
        held, [wait], [], next_number=lease.attempt * 10, suspend=True
    )
    assert status == "suspended"
    await world.advance(seconds=seconds)
    await world.store.leader.resume()
