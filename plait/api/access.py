"""The access table: the minimum role of each route. Requests to a route that is not in the table are rejected, and the application does not start
if a route is missing from it."""

from typing import Final

from plait.model.roles import Role

PREFIX: Final = "/api/v1"

ANYBODY: Final = None
VIEWER, OPERATOR, ADMIN, SUPER_ADMIN, WORKER = (
    Role.VIEWER,
    Role.OPERATOR,
    Role.ADMIN,
    Role.SUPER_ADMIN,
    Role.WORKER,
)

_UNDER_PREFIX: Final[dict[str, Role | None]] = {
    "GET /openapi.json": ANYBODY,
    "POST /session": ANYBODY,
    "GET /session/link": ANYBODY,
    "GET /session/ways": ANYBODY,
    "GET /session/oidc": ANYBODY,
    "GET /session/oidc/callback": ANYBODY,
    "GET /session": VIEWER,
    "DELETE /session": VIEWER,
    "GET /stream": VIEWER,
    "POST /embeds": VIEWER,
    "POST /embeds/session": ANYBODY,
    # The token in the URL is the only credential
    "GET /approvals/{token}": ANYBODY,
    "POST /approvals/{token}": ANYBODY,
    # Jobs
    "GET /jobs": VIEWER,
    "POST /jobs": OPERATOR,
    "GET /jobs/count": VIEWER,
    "GET /jobs/summary": VIEWER,
    "GET /jobs/history": VIEWER,
    "GET /jobs/latency": VIEWER,
    "GET /jobs/failures": VIEWER,
    "GET /jobs/failures/{definition_key}/{fingerprint}": VIEWER,
    "POST /jobs/bulk": OPERATOR,
    "GET /jobs/{job_id}": VIEWER,
    "GET /jobs/{job_id}/attempts": VIEWER,
    "GET /jobs/{job_id}/steps": VIEWER,
    "GET /jobs/{job_id}/logs": VIEWER,
    "GET /jobs/{job_id}/tree": VIEWER,
    "GET /jobs/{job_id}/children": VIEWER,
    "GET /jobs/{job_id}/children/times": VIEWER,
    "GET /jobs/{job_id}/earlier-runs": VIEWER,
    "GET /jobs/{job_id}/load": VIEWER,
    "GET /jobs/{job_id}/explain": VIEWER,
    "GET /jobs/{job_id}/nodes": VIEWER,
    "GET /jobs/{job_id}/artifacts/{sha256}": VIEWER,
    "GET /jobs/{job_id}/state": VIEWER,
    "POST /jobs/{job_id}/streams/token": VIEWER,
    "GET /jobs/{job_id}/streams/{name}": ANYBODY,  # with a token for that job, otherwise VIEWER: checked by the route
    "POST /jobs/{job_id}/cancel": OPERATOR,
    "POST /jobs/{job_id}/retry": OPERATOR,
    "POST /jobs/{job_id}/reschedule": OPERATOR,
    "POST /jobs/{job_id}/signal": OPERATOR,
    # Triggers
    "GET /jobs/triggers": VIEWER,
    "POST /jobs/triggers": ADMIN,
    "POST /jobs/triggers/preview": VIEWER,
    "POST /jobs/triggers/render": OPERATOR,
    "GET /jobs/triggers/{trigger_id}": VIEWER,
    "PATCH /jobs/triggers/{trigger_id}": ADMIN,
    "DELETE /jobs/triggers/{trigger_id}": ADMIN,
    "GET /jobs/triggers/{trigger_id}/preview": VIEWER,
    "GET /jobs/triggers/{trigger_id}/fires": VIEWER,
    "POST /jobs/triggers/{trigger_id}/test": OPERATOR,
    "GET /events": VIEWER,
    "POST /events": OPERATOR,
    "GET /events/{event_id}": VIEWER,
    "GET /jobs/definitions": VIEWER,
    # Webhook endpoints and connectors
    "GET /endpoints": VIEWER,
    "POST /endpoints": ADMIN,
    "GET /endpoints/{endpoint_id}": VIEWER,
    "PATCH /endpoints/{endpoint_id}": ADMIN,
    "DELETE /endpoints/{endpoint_id}": ADMIN,
    "GET /endpoints/{endpoint_id}/keys": ADMIN,
    "POST /endpoints/{endpoint_id}/rotate": ADMIN,
    "POST /endpoints/{endpoint_id}/test": OPERATOR,
    "GET /connectors": VIEWER,
    "PUT /connectors/{connector}": ADMIN,
    "DELETE /connectors/{connector}": ADMIN,
    # Administration of a tenant
    "GET /keys": ADMIN,
    "POST /keys": ADMIN,
    "DELETE /keys/{key_id}": ADMIN,
    "GET /keys/{key_id}/descendants": ADMIN,
    "GET /audit": ADMIN,
    "GET /queues": VIEWER,
    # Administration of the installation
    "GET /admin/jobs/definitions": SUPER_ADMIN,
    "POST /admin/jobs/definitions": SUPER_ADMIN,
    "GET /admin/jobs/definitions/{definition_key}": SUPER_ADMIN,
    "PATCH /admin/jobs/definitions/{definition_key}": SUPER_ADMIN,
    "DELETE /admin/jobs/definitions/{definition_key}/overrides": SUPER_ADMIN,
    "PATCH /queues/{name}": SUPER_ADMIN,
    "POST /queues/{name}/pause": SUPER_ADMIN,
    "POST /queues/{name}/resume": SUPER_ADMIN,
    "GET /workers": SUPER_ADMIN,
    "GET /workers/history": SUPER_ADMIN,
    "GET /workers/{worker_id}": SUPER_ADMIN,
    "GET /cluster": SUPER_ADMIN,
    "GET /tenants": SUPER_ADMIN,
    "GET /tenants/load": SUPER_ADMIN,
    "POST /tenants": SUPER_ADMIN,
    "PATCH /tenants/{slug}": SUPER_ADMIN,
    # Workers in any language
    "POST /worker/jobs/claim": WORKER,
    "POST /worker/jobs/settle": WORKER,
    "POST /worker/heartbeat": WORKER,
    "GET /worker/jobs/{job_id}/artifacts/{sha256}": WORKER,
    "POST /worker/jobs/{job_id}/heartbeat": WORKER,
    "POST /worker/jobs/{job_id}/complete": WORKER,
    "POST /worker/jobs/{job_id}/fail": WORKER,
    "POST /worker/jobs/{job_id}/release": WORKER,
    "POST /worker/jobs/{job_id}/skip": WORKER,
    "POST /worker/jobs/{job_id}/logs": WORKER,
    "POST /worker/leave": WORKER,
}

ROUTES: Final[dict[str, Role | None]] = {
    "GET /healthz": ANYBODY,
    "GET /readyz": ANYBODY,
    "GET /metrics": SUPER_ADMIN,
    **{name.replace(" ", f" {PREFIX}", 1): least for name, least in _UNDER_PREFIX.items()},
}
