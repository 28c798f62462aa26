"""A valid request for each route, with objects of a tenant, for tests that cover all routes."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from plait.api.access import PREFIX, ROUTES
from plait.model.ids import new_id
from plait.model.roles import Role

from ..harness import Harness
from .api_client import new_key

HASH = "0123456789abcdef" * 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Things:
    """One object of each type that has an id, all of one tenant."""

    job_id: UUID
    trigger_id: UUID
    event_id: UUID
    key_id: UUID
    endpoint_id: UUID
    worker: int = 0


async def make_things(harness: Harness, tenant: str) -> Things:
    await harness.define("add")
    tenant_id = await harness.tenant(tenant)
    job_id = await harness.enqueue(
        "add", tenant=tenant, payload={"secret": f"of {tenant}"}, correlation_id=f"c-{tenant}"
    )
    trigger_id = await harness.trigger("nightly", tenant=tenant, cron="0 2 * * *")
    event_id = await harness.emit("happened", tenant=tenant, secret=f"of {tenant}")
    await harness.store.artifacts.register_artifact(job_id, "payload", sha256=HASH, size=9, tenant_id=tenant_id)
    key_id, _ = await new_key(harness.store, Role.VIEWER, tenant_id)
    endpoint_id = await harness.store.endpoints.set_endpoint(
        "hook", {"url": f"https://hooks.example.com/of-{tenant}", "statuses": ["failed"]}, tenant_id=tenant_id
    )
    await harness.store.connectors.set_connector(
        "http", f'{{"headers": {{"x-of": "of {tenant}"}}}}', tenant_id=tenant_id
    )
    return Things(job_id=job_id, trigger_id=trigger_id, event_id=event_id, key_id=key_id, endpoint_id=endpoint_id)


BODIES: dict[str, Any] = {
    "POST /jobs": {"definition_key": "add", "payload": {"a": 1}},
    "POST /jobs/bulk": {"action": "cancel", "filter": {"queue": "default"}, "dry_run": False},
    "POST /jobs/{job_id}/cancel": {"reason": "no more"},
    "POST /jobs/{job_id}/retry": {"steps": "keep"},
    "POST /jobs/{job_id}/reschedule": {"max_attempts": 7},
    "POST /jobs/{job_id}/signal": {"name": "go", "payload": 1},
    "POST /jobs/{job_id}/streams/token": {"ttl_seconds": 60},
    "POST /approvals/{token}": None,
    "POST /jobs/triggers": {
        "label": "each hour",
        "trigger_type": "schedule",
        "cron_expr": "0 * * * *",
        "definition_key": "add",
    },
    "POST /jobs/triggers/preview": {"cron_expr": "0 2 * * *", "timezone": "Europe/Berlin"},
    "POST /jobs/triggers/render": {
        "definition_key": "add",
        "payload_template": {"a": "{{event.a}}"},
        "event_name": "x",
        "data": {"a": 1},
    },
    "PATCH /jobs/triggers/{trigger_id}": {"priority": 7},
    "POST /jobs/triggers/{trigger_id}/test": {"run": True},
    "POST /endpoints": {"label": "new", "url": "https://hooks.example.com/new", "statuses": ["succeeded"]},
    "PATCH /endpoints/{endpoint_id}": {"signature": "sha512"},
    "POST /endpoints/{endpoint_id}/rotate": {"overlap_seconds": 60},
    "POST /endpoints/{endpoint_id}/test": {"type": "test"},
    "PUT /connectors/{connector}": {"timeout": 10},
    "POST /events": {"name": "e", "data": {"a": 1}},
    "POST /keys": {"name": "mine", "role": "viewer"},
    "POST /admin/jobs/definitions": {"key": "sub", "max_attempts": 3},
    "PATCH /admin/jobs/definitions/{definition_key}": {"max_attempts": 3},
    "PATCH /queues/{name}": {"max_running": 5},
    "POST /tenants": {"slug": "new"},
    "PATCH /tenants/{slug}": {"weight": 2},
    "POST /session": {"key": "plait_nobody"},
    "POST /embeds": {"role": "viewer"},
    "POST /embeds/session": {"link": "plait_nobody"},
    "POST /worker/jobs/settle": {"worker": 1, "outcomes": [{"id": str(new_id()), "attempt": 1, "outcome": "complete"}]},
    "POST /worker/heartbeat": {"worker": 1},
    "POST /worker/jobs/claim": {"queues": ["default"], "definitions": ["add"]},
    "POST /worker/jobs/{job_id}/heartbeat": {"worker": 1, "attempt": 1},
    "POST /worker/jobs/{job_id}/complete": {"worker": 1, "attempt": 1, "result": 1},
    "POST /worker/jobs/{job_id}/fail": {"worker": 1, "attempt": 1, "error": "no"},
    "POST /worker/jobs/{job_id}/release": {"worker": 1, "attempt": 1},
    "POST /worker/jobs/{job_id}/skip": {"worker": 1, "attempt": 1},
    "POST /worker/jobs/{job_id}/logs": {"worker": 1, "attempt": 1, "stdout": "x"},
    "POST /worker/leave": {"worker": 1},
}

NOT_IN_A_TABLE = {"GET /openapi.json"}


def names() -> list[str]:
    return sorted(ROUTES)


def short(name: str) -> str:
    return name.replace(PREFIX, "")


@dataclass(frozen=True, slots=True)
class Sample:
    """A request that its route accepts."""

    method: str
    path: str
    body: Any

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.body is None else {"json": self.body}


def sample(name: str, things: Things, *, tenant: str = "default") -> Sample:
    """One request for a route, with a tenant's own objects."""
    method, _, path = name.partition(" ")
    filled = path.format(
        job_id=things.job_id,
        trigger_id=things.trigger_id,
        event_id=things.event_id,
        key_id=things.key_id,
        endpoint_id=things.endpoint_id,
        worker_id=2**31 - 1,
        connector="http",
        definition_key="add",
        name="default",
        slug=tenant,
        sha256=HASH,
        fingerprint="0" * 12,
        token="plait_nobodys",
    )
    return Sample(method, filled, BODIES.get(short(name)))


def nobodys() -> Things:
    return Things(job_id=new_id(), trigger_id=new_id(), event_id=new_id(), key_id=new_id(), endpoint_id=new_id())
