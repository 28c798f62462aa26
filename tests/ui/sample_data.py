"""Sample data for screenshots: a day of jobs of a small company, some of them unfinished."""

import random
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ..fake_worker import FakeWorker
from ..harness import Harness
from ..workflows.worker_calls import CHILDREN, open_one
from . import sample_workflows
from .sample_settings import add_sample_settings

DEFINITIONS = ("invoice.render", "mail.deliver", "image.thumbnail", "crm.sync", "report.nightly", "search.reindex")
QUEUES = ("default", "mail", "images")
QUEUE_OF = {"mail.deliver": "mail", "image.thumbnail": "images"}
ERRORS = {
    "mail.deliver": "ConnectionError: the mail server at 10.4.0.12:25 answered 421 after 31 s",
    "crm.sync": "KeyError: 'customer_{n}'",
    "invoice.render": "ValueError: invoice {n} has no lines",
    "image.thumbnail": "OSError: cannot identify image file 'upload-{n}.heic'",
}
TRACEBACK = """\
Traceback (most recent call last):
  File "app/mail.py", line 41, in deliver
    await server.send(message)
  File "app/smtp.py", line 118, in send
    raise ConnectionError(f"the mail server at {self.host} answered {code} after {waited} s")
"""
OUTPUT = "fetched 1200 rows\nindexed 400\nindexed 800\n"
STEP = timedelta(minutes=30)


async def add_sample_data(harness: Harness, *, stretches: int = 46, seed: int = 7) -> dict[str, str]:
    """Fill the database. Returns ids for the pages of the screenshots."""
    chance = random.Random(seed)
    await harness.tenant("acme", name="Acme", time_zone="Europe/Berlin")
    await harness.tenant("globex", name="Globex", weight=2)
    for name in DEFINITIONS:
        await harness.define(name, queue=QUEUE_OF.get(name, "default"))
    for queue in QUEUES:
        await harness.queue(queue)
    end = await harness.now()
    await harness.sql("update plait_test.clock set at = $1", end - STEP * stretches)
    worker = await harness.worker(queues=(*QUEUES, CHILDREN), definitions=(*DEFINITIONS, "add"), lease_s=7200)
    for _ in range(stretches):
        await _half_an_hour(harness, worker, chance)
    await harness.sql("update plait_test.clock set at = $1", end - timedelta(minutes=8))
    flow = await sample_workflows.workflow(harness, random.Random(seed))
    await harness.sql("update plait_test.clock set at = $1", end - timedelta(minutes=4))
    await worker.heartbeat()
    found = await _under_way(harness, worker, chance) | {"workflow": flow} | await sample_workflows.makers(harness)
    await harness.sql("update plait_test.clock set at = $1", end)
    # Count as the leader does, but without its wait for other transactions on the same server.
    await harness.sql("select plait._count_minutes($1, $2)", end - STEP * stretches - STEP, end + STEP)
    await harness.count_failures()
    errors = (await harness.store.failures.list_failures(all_tenants=True, limit=1000)).rows
    found["error"] = next(row.fingerprint for row in errors if row.definition == "mail.deliver")
    await add_sample_settings(harness)
    return found


async def _half_an_hour(harness: Harness, worker: FakeWorker, chance: random.Random) -> None:
    count = chance.randint(6, 18)
    for _ in range(count):
        name = chance.choice(DEFINITIONS)
        tenant = chance.choice(("acme", "acme", "globex"))
        source = chance.choice(("manual", "manual", "system"))
        await harness.store.jobs.enqueue_many(
            [
                await harness.new_job(
                    name,
                    id=_id_of(await harness.now(), chance),
                    tenant=tenant,
                    payload=_payload(name, chance),
                    queue=QUEUE_OF.get(name),
                )
            ],
            source=source,
        )
    await harness.advance(seconds=chance.uniform(0.02, 2))
    leases = await worker.claim(count)
    await harness.advance(seconds=chance.uniform(0.1, 4))
    for lease in leases:
        await _end(worker, lease, chance)
    await harness.sql("update plait_test.clock set at = at + $1", STEP)
    await worker.heartbeat()
    await harness.promote()


def _id_of(at: datetime, chance: random.Random) -> UUID:
    """An id with the timestamp `at`: lists and charts use the time in the id."""
    return UUID(
        int=int(at.timestamp() * 1000) << 80 | 7 << 76 | chance.getrandbits(12) << 64 | 2 << 62 | chance.getrandbits(62)
    )


async def _end(worker: FakeWorker, lease: Any, chance: random.Random) -> None:
    error = ERRORS.get(lease.definition)
    if error is not None and chance.random() < 0.12:
        text = error.format(n=chance.randint(100, 999))
        await worker.fail(lease, text, traceback=TRACEBACK + text, permanent=chance.random() < 0.6)
    else:
        await worker.succeed(lease, {"ok": True, "rows": chance.randint(1, 900)})


def _payload(name: str, chance: random.Random) -> dict[str, Any]:
    return {
        "order": {"id": chance.randint(10_000, 99_999), "lines": [{"sku": "A-100", "count": chance.randint(1, 9)}]},
        "customer": chance.choice(("Ada", "Grace", "Edsger", "Barbara")),
        "kind": name,
        "api_key": "not for your eyes",
    }


async def _under_way(harness: Harness, worker: FakeWorker, chance: random.Random) -> dict[str, str]:
    found: dict[str, str] = {}
    # a workflow, half done
    await harness.enqueue("report.nightly", tenant="acme", payload={"day": "2026-11-14", "regions": 40})
    parent = await worker.claim_one(queue="default")
    await open_one(harness, worker, parent, 40, strategy="collect_all", needed=36)
    found["workflow"] = str(parent.job_id)
    children = await worker.claim(28, queue=CHILDREN)
    for number, lease in enumerate(children[:24]):
        if number % 9 == 5:
            await worker.fail(lease, "TimeoutError: region 7 did not answer", permanent=True)
        else:
            await worker.succeed(lease, {"rows": chance.randint(100, 900)})
    # a job that exhausts its attempts
    job = await harness.enqueue(
        "mail.deliver", tenant="acme", queue="mail", max_attempts=2, payload={"to": "ada@example.com", "invoice": 4711}
    )
    for _ in range(2):
        lease = await worker.claim_one(queue="mail")
        await worker.fail(lease, ERRORS["mail.deliver"], traceback=TRACEBACK + ERRORS["mail.deliver"])
        await harness.advance(seconds=40)
        await harness.promote()
    found["failed"] = str(job)
    # a running job with output
    job = await harness.enqueue(
        "search.reindex", tenant="acme", priority=1, payload={"index": "orders", "big": 12345678901234567890}
    )
    lease = await worker.claim_one(queue="default")
    await worker.progress(lease, {"done": 800, "total": 1200, "stdout": OUTPUT, "stderr": "warning: 3 rows skipped\n"})
    found["running"] = str(lease.job_id)
    # queued and scheduled jobs
    for number in range(14):
        await harness.enqueue("crm.sync", tenant=chance.choice(("acme", "globex")), payload={"page": number})
    await harness.enqueue("report.nightly", tenant="acme", delay_s=5400.0, payload={"day": "2026-11-15"})
    await harness.queue("images", paused=True)
    found["queued"] = str(
        await harness.enqueue("image.thumbnail", tenant="acme", queue="images", payload={"file": "a.heic"})
    )
    await harness.trigger(
        "nightly report",
        tenant="acme",
        definition="report.nightly",
        cron="0 2 * * *",
        time_zone="Europe/Berlin",
        payload={"day": "today"},
    )
    return found
