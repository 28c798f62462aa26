"""Sample data for screenshots: a large workflow, definitions with schemas, triggers and events."""

import random
from typing import Any
from uuid import UUID

from plait.model.ids import new_id
from plait.store.new_jobs import NewJob
from plait.store.workflows import Checkpoint, Lease, NewFanOut, StepKey

from ..fake_worker import FakeWorker
from ..harness import Harness

REGION, INVOICE = "report.region", "report.invoice"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "provider_id": {"type": "string", "description": "Whose folder it is"},
        "path_prefix": {"type": "string", "default": "/"},
        "mode": {"enum": ["full", "changes"], "description": "full reads everything again"},
        "depth": {"type": "integer", "minimum": 1, "maximum": 20},
        "dry_run": {"type": "boolean"},
        "owners": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["provider_id"],
    "additionalProperties": False,
}


async def workflow(harness: Harness, chance: random.Random) -> str:
    """A report workflow: some steps, forty regions of which some fail or are in backoff, and invoices as children of one region. The last regions still run."""
    for name in (REGION, INVOICE):
        await harness.define(name, queue="regions")
    worker = await harness.worker(
        queues=("reports", "regions"), definitions=("report.nightly", REGION, INVOICE), lease_s=7200
    )
    job = await harness.enqueue(
        "report.nightly", tenant="acme", queue="reports", payload={"day": "2026-11-14", "regions": 40}
    )
    await harness.advance(seconds=2)
    root = await worker.claim_one(queue="reports")
    await harness.advance(seconds=6)
    lease = Lease(worker.id, root.job_id, root.attempt)
    steps = [
        Checkpoint(
            lease=lease,
            key=StepKey("", name, 1, seq),
            kind="call",
            finished=seq,
            hash="0",
            value='"ok"',
            error=None,
            took_s=took_s,
        )
        for seq, (name, took_s) in enumerate((("check_period", 0.8), ("list_regions", 4.6)), 1)
    ]
    await harness.store.workflows.save_steps(worker.id, steps)
    await _open(harness, worker, root, "regions", 40, needed=34, seq=3, definition=REGION)
    running: list[Any] = []
    ended = 0
    for _ in range(58):
        running += await worker.claim(4 - len(running), queue="regions") if len(running) < 4 else []
        await harness.advance(seconds=chance.uniform(3, 9))
        await harness.promote()
        for one in [one for one in running if chance.random() < 0.16]:
            running.remove(one)
            ended += 1
            if ended in (3, 14):
                await worker.fail(one, "TimeoutError: the archive of 2026-11-14 did not answer within 30 s")
            elif ended in (8, 17, 26):
                await worker.fail(one, f"ValueError: region {ended} has no currency", permanent=True)
            elif ended == 6:
                await _open(
                    harness, worker, one, "invoices", 6, needed=6, seq=1, definition=INVOICE, strategy="fail_fast"
                )
            else:
                await worker.succeed(one, {"rows": chance.randint(100, 900)})
    return str(job)


async def _open(
    harness: Harness, worker: FakeWorker, lease: Any, name: str, count: int, *, needed: int, seq: int, definition: str,
    strategy: str = "threshold",
) -> None:  # fmt: skip
    await harness.store.workflows.open_fan_out(
        Lease(worker.id, lease.job_id, lease.attempt),
        NewFanOut(
            id=new_id(), key=StepKey("", name, 1, seq), hash="0", strategy=strategy, needed=needed, early=False,
            timeout_s=None, cancel_remaining=True, cancel_on_parent_failure=False, nested=True, streamed=False,
        ),
        [NewJob(id=new_id(), definition=definition, payload=f'{{"number": {n}}}', queue="regions") for n in range(count)],
    )  # fmt: skip


async def makers(harness: Harness) -> dict[str, str]:
    """Triggers and events, and their jobs."""
    await harness.define(
        "sync-dropbox", schema=SCHEMA, description="Read a provider's changes into the archive.", max_running=4
    )
    template = {"provider_id": "{{event.provider_id}}", "path_prefix": "{{event.folder_path}}", "mode": "changes"}
    event = await harness.trigger(
        "Resync on folder change",
        tenant="acme",
        definition="sync-dropbox",
        event_name="provider.folder.updated",
        payload=template,
    )
    night = await harness.trigger(
        "Nightly report", tenant="acme", definition="report.nightly", cron="30 2 * * *", time_zone="Europe/Berlin", payload={"day": "yesterday"},
        overlap="skip", catch_up="one",
    )  # fmt: skip
    await harness.trigger(
        "Every quarter of an hour", tenant="acme", definition="crm.sync", every_s=900, payload={"page": 1}
    )
    await harness.trigger(
        "Welcome mail",
        tenant="globex",
        definition="mail.deliver",
        event_name="user.created",
        payload={"to": "{{event.mail}}"},
        enabled=False,
    )
    events: list[UUID] = []
    for number in range(9):
        folder = {"folder_path": f"/in/{number}"} if number % 4 != 3 else {}
        events.append(await harness.emit("provider.folder.updated", tenant="acme", provider_id=f"p-{number}", **folder))
        if number % 3 == 0:
            await harness.emit("user.created", tenant="globex", mail="ada@example.com", called="Ada")
    await harness.dispatch()
    return {"trigger": str(event), "schedule": str(night), "event": str(events[3]), "definition": "sync-dropbox"}
