"""A workload of two tenants with jobs in every state, which an open transaction of tenant a could block.

The transaction may lock `a_…`; `free_…` are jobs of tenant a that it does not lock; `b_…` belong to tenant b.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from plait.leader.dispatch import Dispatch
from plait.leader.fire import Fire
from plait.model.ids import new_id
from plait.model.states import AttemptOutcome
from plait.store.new_jobs import NewJob
from plait.store.workers import Claimed
from plait.store.workflows import Checkpoint, Lease, NewFanOut, StepKey

from ..fake_worker import FakeWorker, outcome
from ..harness import Harness
from ..workflows.worker_calls import wait_for

KEY = "sync"
"""The dedupe key that a job, a schedule, an event and a follow-up of tenant a have."""
LEASE_S = 86_400.0


@dataclass
class Workload:
    harness: Harness
    a: UUID
    b: UUID
    worker: FakeWorker
    dying: FakeWorker
    jobs: dict[str, UUID] = field(default_factory=dict)
    running: dict[str, Claimed] = field(default_factory=dict)
    triggers: dict[str, UUID] = field(default_factory=dict)

    def __getitem__(self, name: str) -> UUID:
        return self.jobs[name]

    async def queued(self, name: str, *, tenant: str = "a", **options: Any) -> UUID:
        self.jobs[name] = await self.harness.enqueue(tenant=tenant, queue=f"q_{name}", **options)
        return self.jobs[name]

    async def run(self, name: str, *, tenant: str = "a", by: FakeWorker | None = None, **options: Any) -> Claimed:
        await self.queued(name, tenant=tenant, **options)
        worker = by or self.worker
        [self.running[name]] = await worker.claim_plainly(1, queue=f"q_{name}")
        return self.running[name]

    async def fan_out(
        self, parent: str, children: dict[str, FakeWorker | None], *, tenant: str = "a", **options: Any
    ) -> None:
        """A parent that waits, and its children by name: queued, or running in a worker's hands."""
        lease = self.running.pop(parent, None) or await self.run(parent, tenant=tenant)
        self.running.pop(parent, None)
        ids = {name: new_id() for name in children}
        settings: dict[str, Any] = {"timeout_s": None, "streamed": False, "strategy": "collect_all", **options}
        assert await self.harness.store.workflows.open_fan_out(
            Lease(self.worker.id, lease.job_id, lease.attempt),
            NewFanOut(
                id=new_id(), key=StepKey("", "fan_out", 1, 1), hash="0", needed=0, early=False,
                cancel_remaining=True, cancel_on_parent_failure=False, nested=True, **settings,
            ),
            [NewJob(id=id_, definition="add", payload="{}", queue=f"q_{name}") for name, id_ in ids.items()],
        ) == "suspended"  # fmt: skip
        self.jobs |= ids
        for name, worker in children.items():
            if worker is not None:
                [self.running[name]] = await worker.claim_plainly(1, queue=f"q_{name}")

    async def settle_all(self) -> set[str]:
        """Settle all running jobs in one round trip; returns the names of those that could not be recorded yet."""
        names = list(self.running)
        cycle = await self.worker.cycle(0, *(outcome(self.running[name]) for name in names))
        busy = {names[position] for position in cycle.busy}
        assert not cycle.stale, [names[position] for position in cycle.stale]
        self.running = {name: self.running[name] for name in busy}
        return busy

    async def settled(self, *names: str) -> bool:
        final = "select count(*) from plait.attempts where job_id = any($1) and final = 'succeeded'"
        return int(await self.harness.sql(final, [self.jobs[name] for name in names])) == len(names)

    async def state(self, name: str) -> str:
        return (await self.harness.status(self.jobs[name])).value

    async def fire_and_dispatch(self) -> None:
        await Fire().run(self.harness.store)
        await Dispatch().run(self.harness.store)

    async def made(self, trigger: str) -> int:
        """How many jobs a trigger has made."""
        sql = "select count(*) from plait.fires where trigger_id = $1 and outcome = 'enqueued'"
        return int(await self.harness.sql(sql, self.triggers[trigger]))

    def checkpoint(self, name: str) -> Checkpoint:
        claimed = self.running[name]
        lease = Lease(self.worker.id, claimed.job_id, claimed.attempt)
        return Checkpoint(lease, StepKey("", "later", 1, 9), "call", 9, None, "1", None)


async def start_workload(harness: Harness, *, quota: bool = False) -> Workload:
    await harness.define("add", backoff_base_s=0)
    a = await harness.tenant("a", **({"max_queued": 10_000} if quota else {}))
    worker, dying = [await harness.worker(definitions=["add"], lease_s=LEASE_S) for _ in range(2)]
    workload = Workload(harness, a, await harness.tenant("b"), worker, dying)

    # Fan-outs: of one level, of two, a stream, and one that its children's dead letters keep open.
    await workload.fan_out(
        "a_parent", {"a_child": worker, "a_child_queued": None, "a_child_lost": dying, "a_child_dead": worker}
    )
    await workload.fan_out("a_top", {"a_middle": worker, "a_middle_other": worker})
    await workload.fan_out("a_middle", {"a_leaf": worker, "a_leaf_queued": None}, timeout_s=60)
    await workload.fan_out("a_stream", {"a_streamed": worker, "a_streamed_queued": None}, streamed=True)
    await worker.fail(workload.running.pop("a_child_dead"), permanent=True)
    await harness.cancel(workload["a_child_lost"], tenant="a")
    # A nursery: its parent has returned.
    parent = await workload.run("a_nursery")
    for name in ("a_spawned", "a_spawned_queued"):
        workload.jobs[name] = await harness.sql(
            "select plait.spawn('add', parent => $1, tenant => 'a', queue => $2)", workload["a_nursery"], f"q_{name}"
        )
    [workload.running["a_spawned"]] = await worker.claim_plainly(1, queue="q_a_spawned")
    await worker.succeed(parent)
    del workload.running["a_nursery"]
    # Jobs that others follow, by a key, or wait for.
    await workload.run("a_followed")
    await harness.sql("select plait.after($1, 'add', tenant => 'a', dedupe_key => $2)", workload["a_followed"], KEY)
    await workload.run("a_needed")
    workload.jobs["a_dependent"] = await harness.sql(
        "select plait.enqueue('add', tenant => 'a', after => array[$1::uuid])", workload["a_needed"]
    )
    # Plain ones.
    await workload.run("a_running")
    await workload.queued("a_queued")
    await workload.queued("a_scheduled", delay_s=3600)
    await worker.fail(await workload.run("a_dead"), permanent=True)
    del workload.running["a_dead"]
    lease = await workload.run("a_signaled")
    await wait_for(harness, _lease(worker, lease), "signal go", "signal", delay_s=1e6)
    del workload.running["a_signaled"]

    for of, tenant in (("free", "a"), ("b", "b")):
        await workload.run(f"{of}_running", tenant=tenant)
        await workload.run(f"{of}_lost", tenant=tenant, by=dying)
        del workload.running[f"{of}_lost"]
        await workload.queued(f"{of}_queued", tenant=tenant)
        await workload.queued(f"{of}_canceled", tenant=tenant)
        await workload.fan_out(f"{of}_parent", {f"{of}_child": worker}, tenant=tenant, timeout_s=None)
        await workload.fan_out(f"{of}_late", {f"{of}_open": None}, tenant=tenant, timeout_s=60)
        lease = await workload.run(f"{of}_sleeper", tenant=tenant)
        await wait_for(harness, _lease(worker, lease), "s", "sleep", delay_s=60)
        del workload.running[f"{of}_sleeper"]
        workload.triggers[f"{of}_schedule"] = await harness.trigger(f"{of} schedule", tenant=tenant, every_s=60)
        workload.triggers[f"{of}_event"] = await harness.trigger(f"{of} event", tenant=tenant, event_name=of)
    workload.triggers["a_schedule"] = await harness.trigger("a schedule", tenant="a", every_s=60, dedupe_key=KEY)
    workload.triggers["a_event"] = await harness.trigger("a event", tenant="a", event_name="a", dedupe_key=KEY)
    del workload.running["a_child_lost"]
    return workload


def _lease(worker: FakeWorker, claimed: Claimed) -> Lease:
    return Lease(worker.id, claimed.job_id, claimed.attempt)


async def finish_workload(workload: Workload) -> None:
    """All that the leader and the worker do, until nothing is held up any more."""
    harness = workload.harness
    for _ in range(5):
        busy = await workload.settle_all()
        await harness.rescue()
        await harness.promote()
        await harness.store.leader.resume()
        await workload.fire_and_dispatch()
        if not busy:
            return
    raise AssertionError(f"still busy: {sorted(workload.running)}")


__all__ = ["KEY", "AttemptOutcome", "Workload", "finish_workload", "start_workload"]
