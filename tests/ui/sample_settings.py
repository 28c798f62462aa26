"""Sample data besides jobs, for `add_sample_data`: workers, keys, limits, an audit log, and dead letters."""

import json
from datetime import timedelta

from plait.model.roles import OF_A_TENANT, Role
from plait.model.tokens import hash_of, hint_of, new_token
from plait.store.audit import Entry

from ..harness import Harness

DEATHS = (
    ("mail.deliver", "mail", "ConnectionError: the mail server at 10.4.0.{n}:25 answered 421 after {n} s", 14),
    ("crm.sync", "default", "KeyError: 'customer_{n}'", 6),
    ("invoice.render", "default", "ValueError: invoice {n} has no lines", 3),
    ("report.nightly", "default", "worker lost 3 times while this job ran: it may be what kills it", 1),
)
MACHINES = (
    ("batch-1", 40, "1.4.2", 0),
    ("batch-2", 40, "1.4.2", 0),
    ("batch-3", 40, "1.4.1", 22),
    ("edge-1", 8, "1.4.2", 1),
)
KEYS = (
    ("storefront, production", "operator", "acme", 80),
    ("grafana", "viewer", "acme", None),
    ("Ada's laptop", "admin", "globex", 5),
)
CHANGES: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("queue.pause", "images", {}),
    ("queue.change", "mail", {"max_running": 20, "rate_count": 100, "rate_period_s": 60}),
    ("key.create", "grafana", {"role": "viewer"}),
    ("tenant.change", "globex", {"weight": 2}),
    ("job.cancel", "0199c1a0-5f6e-7b2a-9a3c-8f1d2e3c4b5a", {"reason": "wrong customer"}),
    ("trigger.change", "nightly report", {"cron": "0 2 * * *"}),
)


async def add_sample_settings(harness: Harness) -> None:
    for name, slots, version, silent in MACHINES:
        await harness.advance(seconds=-silent)
        worker = await harness.store.workers.register(
            host=f"{name}.internal",
            pid=4000 + slots,
            version=version,
            queues=["default", "mail"],
            definitions=["invoice.render", "mail.deliver", "crm.sync"],
            lease_s=30,
            metadata={"concurrency": slots},
            node=name,
            holder=name,
            url=f"https://{name}.internal:8717",
        )
        await harness.store.workers.heartbeat(worker, running=slots * 3 // 5)
        await harness.advance(seconds=silent)
    await harness.lead("batch-1", lease_s=3600)
    await harness.queue("mail", max_running=20, rate_count=100, rate_period_s=60.0)
    await harness.queue("reports", serial=True)
    await _bury(harness)
    await _take_too_much(harness)
    await _let_in(harness)
    await harness.sql(
        "update plait.workers set host = 'app-1.internal', version = '1.4.2', running = 27, metadata = '{\"concurrency\": 40}',"
        " seen_at = plait.now() where host = 'here'"
    )


async def _bury(harness: Harness) -> None:
    worker = await harness.worker(queues=("deaths",), definitions=[name for name, *_ in DEATHS], lease_s=3600)
    for name, _, error, count in DEATHS:
        for number in range(count):
            await harness.enqueue(name, queue="deaths", tenant="acme" if number % 3 else "globex", max_attempts=1)
            await worker.fail(await worker.claim_one(), error.format(n=10 + number))
    await worker.leave()


async def _take_too_much(harness: Harness) -> None:
    """A tenant whose jobs fill the workers while other tenants wait."""
    worker = await harness.worker(queues=("exports",), definitions=("crm.sync",), lease_s=3600)
    await harness.enqueue_many("crm.sync", 24, queue="exports", tenant="umbrella")
    leases = await worker.claim(24)
    await worker.heartbeat(holding=leases)


async def _let_in(harness: Harness) -> None:
    made = []
    for name, role, tenant, days in KEYS:
        token = new_token()
        now = await harness.now()
        tenant_id = await harness.tenant(tenant) if Role(role) in OF_A_TENANT else None
        made.append(
            await harness.store.keys.create_key(
                hash=hash_of(token),
                hint=hint_of(token),
                name=name,
                role=Role(role),
                tenant_id=tenant_id,
                expires_at=None if days is None else now + timedelta(days=days),
                created_by="filled",
            )
        )
    await harness.sql("update plait.keys set last_used_at = plait.now() - interval '3 minutes' where id = $1", made[0])
    for number, (action, what, detail) in enumerate(CHANGES):
        actor = f"key {made[number % len(made)]}"
        tenant_id = await harness.tenant("acme") if action.startswith(("job", "key", "trigger")) else None
        entry = Entry(
            tenant_id=tenant_id, actor=actor, action=action, object=what, request_id=None, detail=json.dumps(detail)
        )
        await harness.advance(seconds=-60 * (len(CHANGES) - number))
        await harness.store.audit.record(entry)
        await harness.advance(seconds=60 * (len(CHANGES) - number))
