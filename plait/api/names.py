"""Field names of the HTTP contract that differ from plait's own names, each as {HTTP name: own name}.

The contract is older than plait's vocabulary, and clients depend on it. SQL, Python, the command line and the web UI use plait's own
names. Responses and settings are translated by these tables. A route that converts the values of a request itself (a new job, a filter, an
outcome) uses the same names. docs/reference/api.md lists the tables.
"""

from collections.abc import Mapping
from typing import Any, Final

JOB: Final = {
    "definition_key": "definition",
    "queued_at": "created_at",
    "attempt_count": "attempts_used",
    "attempt_no": "attempt",
    "claimed_by_worker": "worker",
    "cancel_requested_at": "cancel_requested",
    "last_error": "error",
    "timeout_seconds": "timeout_s",
    "delay_seconds": "delay_s",
}
JOB_FILTER: Final = {"definition_key": "definition", "status": "statuses", "has_sub_jobs": "has_children"}
WORKFLOW_JOB: Final = {"definition_key": "definition", "attempt_count": "attempt", "last_error": "error"}
ATTEMPT: Final = {"attempt_no": "attempt", "worker_id": "worker", "error_text": "error"}
CLAIMED_JOB: Final = {"id": "job_id", "definition_key": "definition", "timeout_seconds": "timeout_s"}
OUTCOME: Final = {"delay_seconds": "delay_s"}
FAILURE: Final = {"definition_key": "definition", "last_job_id": "last_job"}
DEFINITION: Final = {
    "key": "name",
    "arg_schema": "schema",
    "timeout_seconds": "timeout_s",
    "is_active": "active",
    "rate_period_seconds": "rate_period_s",
    "key_rate_period_seconds": "key_rate_period_s",
}
TRIGGER: Final = {
    "trigger_type": "kind",
    "definition_key": "definition",
    "is_enabled": "enabled",
    "cron_expr": "cron",
    "every_seconds": "every_s",
    "timezone": "time_zone",
    "payload_template": "payload",
    "dedupe_window_seconds": "dedupe_window_s",
    "timeout_seconds": "timeout_s",
    "catch_up_window_seconds": "catch_up_window_s",
    "jitter_seconds": "jitter_s",
}
QUEUE: Final = {"oldest_queued_age_seconds": "oldest_s", "rate_period_seconds": "rate_period_s"}
SUMMARY: Final = {
    "oldest_queued_age_seconds": "oldest_queued_s",
    "active_fan_outs": "fan_outs",
    "active_workflows": "workflows",
}
TENANT_LOAD: Final = {"oldest_queued_age_seconds": "oldest_s", "run_seconds": "run_s"}
WORKER: Final = {
    "worker_id": "id",
    "hostname": "host",
    "running_count": "running",
    "prefetched_count": "prefetched",
    "blocked_job_id": "blocked_job",
    "last_seen_at": "seen_at",
    "lease_expires_at": "expires_at",
    "lease_expired": "expired",
    "held_count": "held",
    "requeued_count": "requeued",
    "dead_lettered_count": "dead_lettered",
    "canceled_count": "canceled",
    "released_count": "released",
}
WORKER_JOB: Final = {"definition_key": "definition"}
NODE: Final = {"running_count": "running", "open_count": "open", "last_seen_at": "seen_at"}
ENDPOINT: Final = {"is_enabled": "enabled"}
CONNECTOR: Final = {"connector": "type"}

TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "job": JOB,
    "filter of jobs": JOB_FILTER,
    "job of a workflow, child of a fan-out": WORKFLOW_JOB,
    "attempt": ATTEMPT,
    "claimed job": CLAIMED_JOB,
    "outcome": OUTCOME,
    "failure": FAILURE,
    "job definition": DEFINITION,
    "trigger": TRIGGER,
    "queue": QUEUE,
    "summary": SUMMARY,
    "tenant load": TENANT_LOAD,
    "worker": WORKER,
    "last job of a worker": WORKER_JOB,
    "node": NODE,
    "webhook endpoint": ENDPOINT,
    "connector": CONNECTOR,
}
"""All tables, by resource."""


def own_names(names: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the names in a request to plait's own names."""
    return {names.get(name, name): value for name, value in given.items()}


def http_names(names: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Translate plait's own names to the names of the contract, for a response."""
    back = {own: name for name, own in names.items()}
    return {back.get(name, name): value for name, value in values.items()}
