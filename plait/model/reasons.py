"""What would let a job run, for each reason that `plait.explain_job` gives. A test compares the codes with the function's."""

from typing import Final

REMEDIES: Final[dict[str, str | None]] = {
    "scheduled": "wait, or reschedule it to run at once",
    "retrying": "mend what fails; its next try comes by itself",
    "no_leader": "start a worker, or `plait leader`",
    "running": None,
    "cancel_requested": "its handler must end; past a grace the leader ends it",
    "waiting": "what it waits for must end: look at its children, send the signal, or cancel it",
    "tenant_paused": "resume the tenant",
    "queue_paused": "resume the queue",
    "no_worker": "start a worker that serves this queue",
    "unknown_definition": "start a worker whose code has this definition",
    "serial_queue": "the tree before it must end: finish it or cancel it",
    "serial_deadlock": "cancel one of the two trees",
    "node_away": "start a worker on that node, or cancel the job",
    "leader_runs_no_such_job": "let the process that leads run this job's app and queue, or stop it so that another leads",
    "nodes_not_asked": "start workers on more nodes",
    "queue_full": "wait for a running job of the queue to end, or raise the queue's max_running",
    "tenant_full": "wait for a running job of the tenant to end, or raise the tenant's max_running",
    "definition_full": "wait for a running job of its kind to end, or raise the definition's max_running",
    "key_full": "wait for a running job with its key to end, or raise the definition's limit for each key",
    "rate_limited": "wait, or raise the rate",
    "suspect": "wait for a worker that runs no suspects of another group, or start one",
    "behind": "wait, start more workers, or give it a lower priority number",
    "next": None,
    "succeeded": None,
    "failed": "retry it when the cause is mended",
    "dead_letter": "retry it when the cause is mended",
    "canceled": "retry it",
    "skipped": "retry it",
}
