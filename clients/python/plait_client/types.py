"""Generated from the server's OpenAPI document by scripts/client_types.py. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Route = Literal[
    "GET /admin/jobs/definitions",
    "POST /admin/jobs/definitions",
    "GET /admin/jobs/definitions/{definition_key}",
    "PATCH /admin/jobs/definitions/{definition_key}",
    "DELETE /admin/jobs/definitions/{definition_key}/overrides",
    "GET /approvals/{token}",
    "POST /approvals/{token}",
    "GET /audit",
    "GET /cluster",
    "GET /connectors",
    "PUT /connectors/{connector}",
    "DELETE /connectors/{connector}",
    "POST /embeds",
    "POST /embeds/session",
    "GET /endpoints",
    "POST /endpoints",
    "GET /endpoints/{endpoint_id}",
    "PATCH /endpoints/{endpoint_id}",
    "DELETE /endpoints/{endpoint_id}",
    "GET /endpoints/{endpoint_id}/keys",
    "POST /endpoints/{endpoint_id}/rotate",
    "POST /endpoints/{endpoint_id}/test",
    "POST /events",
    "GET /events",
    "GET /events/{event_id}",
    "POST /jobs",
    "GET /jobs",
    "POST /jobs/bulk",
    "GET /jobs/count",
    "GET /jobs/definitions",
    "GET /jobs/failures",
    "GET /jobs/failures/{definition_key}/{fingerprint}",
    "GET /jobs/history",
    "GET /jobs/latency",
    "GET /jobs/summary",
    "GET /jobs/triggers",
    "POST /jobs/triggers",
    "POST /jobs/triggers/preview",
    "POST /jobs/triggers/render",
    "GET /jobs/triggers/{trigger_id}",
    "PATCH /jobs/triggers/{trigger_id}",
    "DELETE /jobs/triggers/{trigger_id}",
    "GET /jobs/triggers/{trigger_id}/fires",
    "GET /jobs/triggers/{trigger_id}/preview",
    "POST /jobs/triggers/{trigger_id}/test",
    "GET /jobs/{job_id}",
    "GET /jobs/{job_id}/artifacts/{sha256}",
    "GET /jobs/{job_id}/attempts",
    "POST /jobs/{job_id}/cancel",
    "GET /jobs/{job_id}/children",
    "GET /jobs/{job_id}/children/times",
    "GET /jobs/{job_id}/earlier-runs",
    "GET /jobs/{job_id}/explain",
    "GET /jobs/{job_id}/load",
    "GET /jobs/{job_id}/logs",
    "GET /jobs/{job_id}/nodes",
    "POST /jobs/{job_id}/reschedule",
    "POST /jobs/{job_id}/retry",
    "POST /jobs/{job_id}/signal",
    "GET /jobs/{job_id}/state",
    "GET /jobs/{job_id}/steps",
    "POST /jobs/{job_id}/streams/token",
    "GET /jobs/{job_id}/tree",
    "GET /keys",
    "POST /keys",
    "DELETE /keys/{key_id}",
    "GET /keys/{key_id}/descendants",
    "GET /queues",
    "PATCH /queues/{name}",
    "POST /queues/{name}/pause",
    "POST /queues/{name}/resume",
    "POST /session",
    "GET /session",
    "DELETE /session",
    "GET /session/link",
    "GET /session/oidc",
    "GET /session/oidc/callback",
    "GET /session/ways",
    "GET /tenants",
    "POST /tenants",
    "GET /tenants/load",
    "PATCH /tenants/{slug}",
    "POST /worker/heartbeat",
    "POST /worker/jobs/claim",
    "POST /worker/jobs/settle",
    "GET /worker/jobs/{job_id}/artifacts/{sha256}",
    "POST /worker/jobs/{job_id}/complete",
    "POST /worker/jobs/{job_id}/fail",
    "POST /worker/jobs/{job_id}/heartbeat",
    "POST /worker/jobs/{job_id}/logs",
    "POST /worker/jobs/{job_id}/release",
    "POST /worker/jobs/{job_id}/skip",
    "POST /worker/leave",
    "GET /workers",
    "GET /workers/history",
    "GET /workers/{worker_id}",
]


class Attempt(TypedDict):
    """One execution of a job, or an operator's action."""

    attempt_no: int
    status: str
    final: Status | None
    worker_id: int | None
    host: str | None
    pid: int | None
    claimed_at: str | None
    started_at: str | None
    finished_at: str
    exit_code: int | None
    reason: str | None
    error_text: str | None
    traceback: str | None
    result: Any
    progress: Any


class Beat(TypedDict):
    cancel: list[str]
    gone: list[str]


class BulkAnswer(TypedDict):
    dry_run: bool
    matched: int
    more: bool
    sample: list[str]
    job_id: str | None


class BulkFilter(TypedDict):
    """The jobs to change: at least one condition is required (T107)."""

    status: NotRequired[list[Status] | None]
    source: NotRequired[str | None]
    queue: NotRequired[str | None]
    definition_key: NotRequired[str | None]
    worker: NotRequired[int | None]
    correlation_id: NotRequired[str | None]
    parent: NotRequired[str | None]
    root: NotRequired[str | None]
    fan_out: NotRequired[str | None]
    has_sub_jobs: NotRequired[bool | None]
    created_after: NotRequired[str | None]
    created_before: NotRequired[str | None]
    search: NotRequired[str | None]
    payload: NotRequired[list[str] | None]
    error: NotRequired[str | None]


class BulkRequest(TypedDict):
    action: Literal["cancel", "retry"]
    filter: BulkFilter
    dry_run: NotRequired[bool]
    reason: NotRequired[str | None]
    rate: NotRequired[float | None]


class Cancel(TypedDict):
    reason: NotRequired[str | None]
    tree: NotRequired[bool]


class Change(TypedDict):
    description: NotRequired[str | None]
    arg_schema: NotRequired[dict[str, Any] | None]
    timeout_seconds: NotRequired[float | None]
    max_attempts: NotRequired[int | None]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    max_running: NotRequired[int | None]
    rate_count: NotRequired[int | None]
    rate_period_seconds: NotRequired[float | None]
    key_max_running: NotRequired[int | None]
    key_rate_count: NotRequired[int | None]
    key_rate_period_seconds: NotRequired[float | None]
    search_keys: NotRequired[list[str] | None]
    sensitive: NotRequired[list[str] | None]
    is_active: NotRequired[bool | None]


class Child(TypedDict):
    """A job of a fan-out, with the times of its attempts."""

    id: str
    fan_out_index: int
    definition_key: str
    queue: str
    status: Status
    attempt_count: int
    created_at: str
    run_at: str | None
    finished_at: str | None
    wait_on: str | None
    node: str | None
    last_error: str | None
    fan_outs: int
    attempts: list[Span]
    steps: bool
    wait_s: float | None
    run_s: float | None


class Children(TypedDict):
    items: list[Child]
    next: NotRequired[int | None]


class Claim(TypedDict):
    worker: NotRequired[int | None]
    queues: list[str]
    definitions: list[str]
    limit: NotRequired[int]
    running: NotRequired[int]
    wait_seconds: NotRequired[float]
    lease_seconds: NotRequired[float]
    hostname: NotRequired[str]
    pid: NotRequired[int]
    version: NotRequired[str]


class ClaimedJob(TypedDict):
    id: str
    attempt: int
    failed_attempts: int
    max_attempts: int
    tenant_id: str
    definition_key: str
    queue: str
    payload: Any
    payload_url: str | None
    timeout_seconds: float | None
    correlation_id: str | None


class Claims(TypedDict):
    worker: int
    jobs: list[ClaimedJob]


class Cluster(TypedDict):
    leader: Leading | None
    nodes: list[ClusterNode]


class ClusterNode(TypedDict):
    name: str
    state: str
    leads: bool
    url: str | None
    version: str | None
    labels: Any
    workers: int
    running_count: int
    open_count: int
    joined_at: str
    last_seen_at: str


class Complete(TypedDict):
    worker: int
    attempt: int
    result: NotRequired[Any]


class Connector(TypedDict):
    tenant_id: str
    connector: Literal["http", "webhook", "report"]
    settings: Any
    updated_at: str
    updated_by: str


class Count(TypedDict):
    count: int
    more: bool


class Definition(TypedDict):
    key: str
    kind: str
    description: str
    arg_schema: Any
    is_active: bool
    queue: str
    priority: int
    max_attempts: int
    timeout_seconds: float
    search_keys: list[str] | None
    sensitive: list[str] | None
    max_running: int | None
    rate_count: int | None
    rate_period_seconds: float | None
    key_max_running: int | None
    key_rate_count: int | None
    key_rate_period_seconds: float | None
    updated_at: str
    overrides: list[Override]


class Delivery(TypedDict):
    job_id: str


class Draft(TypedDict):
    """A template to render, and the data to render it with. The trigger does not need to exist."""

    definition_key: str
    payload_template: NotRequired[dict[str, Any]]
    event_name: NotRequired[str | None]
    data: NotRequired[dict[str, Any]]
    label: NotRequired[str]


class EarlierRuns(TypedDict):
    """Run times of earlier jobs of the same definition, in seconds."""

    runs: int
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    since: str | None
    complete: bool


class Embed(TypedDict):
    url: str
    role: Role
    expires_at: str


class Emitted(TypedDict):
    ids: list[str]


EndState = Literal["lost", "gone"]


class Endpoint(TypedDict):
    id: str
    tenant_id: str
    label: str
    url: str
    is_enabled: bool
    signature: str
    statuses: list[str]
    definitions: list[str] | None
    key_version: int
    old_key_until: str | None
    subscribed_at: str | None
    disabled_at: str | None
    disabled_reason: str | None
    created_by: str
    created_at: str
    updated_at: str


class EndpointSettings(TypedDict):
    """The settings of an endpoint. Omitted settings stay unchanged; for a new endpoint they get their defaults."""

    url: NotRequired[str | None]
    is_enabled: NotRequired[bool | None]
    signature: NotRequired[Literal["standard", "sha256", "sha512"] | None]
    statuses: NotRequired[list[Literal["succeeded", "failed", "dead_letter", "canceled", "skipped"]] | None]
    definitions: NotRequired[list[str] | None]


class EndpointTrial(TypedDict):
    type: NotRequired[str]
    data: NotRequired[Any]


class Enter(TypedDict):
    link: str


class Entered(TypedDict):
    token: str
    role: Role
    tenant_id: str
    tenant: str
    name: str
    csrf: None
    expires_at: str


class Entry(TypedDict):
    id: str
    tenant_id: str | None
    at: str
    actor: str
    action: str
    object: str | None
    request_id: str | None
    detail: Any


class Event(TypedDict):
    id: str
    tenant_id: str
    name: str
    at: str
    dispatched_at: str | None
    jobs: int
    deduplicated: int
    correlation_id: str | None
    error: str | None
    data: Any


class EventPage(TypedDict):
    id: str
    tenant_id: str
    name: str
    at: str
    dispatched_at: str | None
    jobs: int
    deduplicated: int
    correlation_id: str | None
    error: str | None
    data: Any
    fires: list[Fire]


class Explanation(TypedDict):
    id: str
    status: Status
    reasons: list[Reason]


class Fail(TypedDict):
    worker: int
    attempt: int
    error: NotRequired[str]
    traceback: NotRequired[str | None]
    reason: NotRequired[str | None]
    permanent: NotRequired[bool]
    timeout: NotRequired[bool]
    delay_seconds: NotRequired[float | None]
    exit_code: NotRequired[int | None]


class Failure(TypedDict):
    """Failures of one definition with similar errors."""

    definition_key: str
    fingerprint: str
    error: str | None
    jobs: int
    dead_letters: int
    recent: int
    tenants: int
    first_at: str
    last_at: str
    last_job_id: str


class FailureGroup(TypedDict):
    """One error of a definition."""

    definition_key: str
    fingerprint: str
    as_of: str | None
    jobs: int
    dead_letters: int
    failures: int
    first_at: str
    last_at: str
    last_job_id: str
    sample: Attempt | None
    tenants: list[FailureTenant]
    history: list[FailureInterval]
    workers: list[FailureWorker]
    workers_of: int


class FailureInterval(TypedDict):
    """Failures with one error in one interval, including jobs that were retried later."""

    at: str
    failed: int
    dead_letter: int


class FailurePage(TypedDict):
    items: list[Failure]
    next: NotRequired[str | None]
    as_of: str | None
    since: str
    total_errors: int
    total_jobs: int


class FailureTenant(TypedDict):
    """Failures with one error in one tenant."""

    tenant_id: str
    tenant: str
    jobs: int
    dead_letters: int
    failures: int
    last_at: str


class FailureWorker(TypedDict):
    """Failures with one error on one worker."""

    worker: int | None
    host: str | None
    failures: int
    last_at: str


class FanOut(TypedDict):
    """A fan-out of a job, with the number of its children by status."""

    id: str
    strategy: str
    total: int
    needed: int
    succeeded: int
    failed: int
    canceled: int
    decision: str | None
    created_at: str
    decided_at: str | None
    timeout_at: str | None
    running: int
    waiting: int
    scheduled: int


class FanOutTimes(TypedDict):
    """How long the sub-jobs of a fan-out waited and ran, in seconds, over all of them."""

    total: int
    children: int
    ran: int
    unfinished: int
    never_ran: int
    started: int
    run_mean_s: float | None
    run_p50_s: float | None
    run_p95_s: float | None
    run_max_s: float | None
    wait_p50_s: float | None
    wait_p95_s: float | None
    wait_max_s: float | None


class Fire(TypedDict):
    id: str
    trigger_id: str
    label: str
    at: str
    instant: str | None
    event_id: str | None
    outcome: str
    job_id: str | None
    error: str | None


class Health(TypedDict):
    status: Literal["ok"]


class Heartbeat(TypedDict):
    worker: int
    attempt: int
    held: NotRequired[list[Held] | None]


class Held(TypedDict):
    id: str
    attempt: int


class Instant(TypedDict):
    instant: str
    local: str
    note: str | None


class JobBrief(TypedDict):
    """A job, without its payload and result."""

    id: str
    tenant_id: str
    definition_key: str
    status: Status
    queue: str
    priority: int
    source: str
    source_ref: str | None
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    created_at: str
    queued_at: str
    scheduled_for: str | None
    run_at: str | None
    started_at: str | None
    claimed_at: str | None
    finished_at: str | None
    attempt_count: int
    attempt_no: int
    failed_attempts: int | None
    max_attempts: int
    timeout_seconds: float | None
    claimed_by_worker: int | None
    last_worker: int | None
    cancel_requested_at: str | None
    reason: str | None
    last_error: str | None
    parent_id: str | None
    root_id: str | None
    fan_out_id: str | None
    fan_out_index: int | None
    depth: int | None
    wait_on: str | None
    wake_at: str | None


class JobNode(TypedDict):
    node: str
    job_id: str
    status: Status | None
    attempt: int
    late: bool
    result: Any
    error: str | None
    finished_at: str | None
    rule: str | None


class JobPage(TypedDict):
    """A job with all its fields and related jobs."""

    id: str
    tenant_id: str
    definition_key: str
    status: Status
    queue: str
    priority: int
    source: str
    source_ref: str | None
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    created_at: str
    queued_at: str
    scheduled_for: str | None
    run_at: str | None
    started_at: str | None
    claimed_at: str | None
    finished_at: str | None
    attempt_count: int
    attempt_no: int
    failed_attempts: int | None
    max_attempts: int
    timeout_seconds: float | None
    claimed_by_worker: int | None
    last_worker: int | None
    cancel_requested_at: str | None
    reason: str | None
    last_error: str | None
    parent_id: str | None
    root_id: str | None
    fan_out_id: str | None
    fan_out_index: int | None
    depth: int | None
    wait_on: str | None
    wake_at: str | None
    idempotency_key: str | None
    forked_from: str | None
    runs: int
    payload: Any
    result: Any
    progress: Any
    lease_expires_at: str | None
    total_s: float | None
    own_s: float | None
    waiting_s: float | None
    unread_signals: list[UnreadSignals]
    parent: JobBrief | None
    fan_outs: list[FanOut]
    steps: list[Step]
    children: PageOfJobBrief


class Jobs(TypedDict):
    items: list[JobBrief]
    next: NotRequired[str | None]
    complete: bool


class Key(TypedDict):
    id: str
    tenant_id: str | None
    hint: str
    name: str
    role: Role
    created_by: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class Kind(TypedDict):
    """A job definition, as shown to callers that enqueue jobs."""

    key: str
    kind: str
    description: str
    arg_schema: Any
    is_active: bool
    queue: str
    priority: int
    max_attempts: int
    timeout_seconds: float
    search_keys: list[str] | None
    sensitive: list[str] | None


class LastJob(TypedDict):
    job_id: str
    tenant_id: str | None
    definition_key: str | None
    status: Status | None


class Latency(TypedDict):
    """Wait and run times, in seconds, of a sample of the jobs enqueued in one interval."""

    at: str
    jobs: int
    wait_p50: float | None
    wait_p95: float | None
    run_p50: float | None
    run_p95: float | None


class Leading(TypedDict):
    holder: str
    term: int
    since: str
    expires_at: str
    node: str | None
    url: str | None


class Leave(TypedDict):
    worker: int


class Load(TypedDict):
    """How many sub-jobs of a fan-out ran in one interval."""

    at: str
    running: int
    failed: int


class LogLine(TypedDict):
    attempt_no: int
    line: int
    at: str
    level: Literal["debug", "info", "warning", "error", "critical"]
    source: Literal["log", "stdout", "stderr", "plait"]
    logger: str | None
    message: str
    fields: Any


class LogPage(TypedDict):
    items: list[LogLine]
    before: str | None
    after: str | None


class Logs(TypedDict):
    worker: int
    attempt: int
    stdout: NotRequired[str]
    stderr: NotRequired[str]
    progress: NotRequired[dict[str, Any] | None]


class MadeKey(TypedDict):
    id: str
    tenant_id: str | None
    hint: str
    name: str
    role: Role
    created_by: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    key: str


class Moved(TypedDict):
    """The effect of an operation on a job."""

    id: str
    status: Status
    jobs: NotRequired[int]


class NewDefinition(TypedDict):
    description: NotRequired[str | None]
    arg_schema: NotRequired[dict[str, Any] | None]
    timeout_seconds: NotRequired[float | None]
    max_attempts: NotRequired[int | None]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    max_running: NotRequired[int | None]
    rate_count: NotRequired[int | None]
    rate_period_seconds: NotRequired[float | None]
    key_max_running: NotRequired[int | None]
    key_rate_count: NotRequired[int | None]
    key_rate_period_seconds: NotRequired[float | None]
    search_keys: NotRequired[list[str] | None]
    sensitive: NotRequired[list[str] | None]
    key: str


class NewEmbed(TypedDict):
    role: NotRequired[Literal["viewer", "operator"]]
    ttl_seconds: NotRequired[int]


class NewEndpoint(TypedDict):
    url: str
    is_enabled: NotRequired[bool | None]
    signature: NotRequired[Literal["standard", "sha256", "sha512"] | None]
    statuses: NotRequired[list[Literal["succeeded", "failed", "dead_letter", "canceled", "skipped"]] | None]
    definitions: NotRequired[list[str] | None]
    label: str


class NewJobAnswer(TypedDict):
    id: str
    tenant_id: str
    status: Status
    definition_key: str
    queued_at: str
    deduplicated: bool


class NewJobRequest(TypedDict):
    definition_key: str
    payload: NotRequired[dict[str, Any]]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    max_attempts: NotRequired[int | None]
    scheduled_for: NotRequired[str | None]
    delay_seconds: NotRequired[float | None]
    timeout_seconds: NotRequired[float | None]
    dedupe_key: NotRequired[str | None]
    limit_key: NotRequired[str | None]
    correlation_id: NotRequired[str | None]
    id: NotRequired[str | None]


class NewKey(TypedDict):
    name: str
    role: Role
    expires_at: NotRequired[str | None]


class NewStreamToken(TypedDict):
    ttl_seconds: NotRequired[int]


class NewTenant(TypedDict):
    name: NotRequired[str | None]
    time_zone: NotRequired[str | None]
    paused: NotRequired[bool | None]
    pause_reason: NotRequired[str | None]
    weight: NotRequired[int | None]
    max_running: NotRequired[int | None]
    max_queued: NotRequired[int | None]
    slug: str


class NewTrigger(TypedDict):
    is_enabled: NotRequired[bool | None]
    event_name: NotRequired[str | None]
    cron_expr: NotRequired[str | None]
    every_seconds: NotRequired[float | None]
    timezone: NotRequired[str | None]
    definition_key: str
    payload_template: NotRequired[dict[str, Any] | None]
    dedupe_window_seconds: NotRequired[int | None]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    max_attempts: NotRequired[int | None]
    timeout_seconds: NotRequired[float | None]
    correlation_id: NotRequired[str | None]
    dedupe_key: NotRequired[str | None]
    limit_key: NotRequired[str | None]
    catch_up: NotRequired[Literal["none", "one", "all", "window"] | None]
    catch_up_window_seconds: NotRequired[float | None]
    overlap: NotRequired[Literal["allow", "skip", "queue"] | None]
    jitter_seconds: NotRequired[float | None]
    label: str
    trigger_type: Literal["event", "schedule"]


class Node(TypedDict):
    """One job of a workflow."""

    id: str
    parent_id: str | None
    fan_out_id: str | None
    fan_out_index: int | None
    depth: int
    definition_key: str
    queue: str
    status: Status
    attempt_count: int
    wait_on: str | None
    last_error: str | None
    created_at: str
    finished_at: str | None
    own_s: float | None
    total_s: float | None


class Outcome(TypedDict):
    """The outcome of one attempt, with the fields of the route that `outcome` names."""

    id: str
    attempt: int
    outcome: Literal["complete", "fail", "release", "skip"]
    result: NotRequired[Any]
    error: NotRequired[str]
    traceback: NotRequired[str | None]
    reason: NotRequired[str | None]
    permanent: NotRequired[bool]
    timeout: NotRequired[bool]
    delay_seconds: NotRequired[float | None]
    exit_code: NotRequired[int | None]


class Override(TypedDict):
    """A setting that an operator has overridden. It takes precedence over the code until it is cleared, even when workers register the definition again."""

    setting: str
    value: Any
    code_value: Any
    author: str
    set_at: str


class PageOfAttempt(TypedDict):
    items: list[Attempt]
    next: NotRequired[str | None]


class PageOfConnector(TypedDict):
    items: list[Connector]
    next: NotRequired[str | None]


class PageOfDefinition(TypedDict):
    items: list[Definition]
    next: NotRequired[str | None]


class PageOfEndpoint(TypedDict):
    items: list[Endpoint]
    next: NotRequired[str | None]


class PageOfEntry(TypedDict):
    items: list[Entry]
    next: NotRequired[str | None]


class PageOfEvent(TypedDict):
    items: list[Event]
    next: NotRequired[str | None]


class PageOfFire(TypedDict):
    items: list[Fire]
    next: NotRequired[str | None]


class PageOfInstant(TypedDict):
    items: list[Instant]
    next: NotRequired[str | None]


class PageOfJobBrief(TypedDict):
    items: list[JobBrief]
    next: NotRequired[str | None]


class PageOfJobNode(TypedDict):
    items: list[JobNode]
    next: NotRequired[str | None]


class PageOfKey(TypedDict):
    items: list[Key]
    next: NotRequired[str | None]


class PageOfKind(TypedDict):
    items: list[Kind]
    next: NotRequired[str | None]


class PageOfLatency(TypedDict):
    items: list[Latency]
    next: NotRequired[str | None]


class PageOfLoad(TypedDict):
    items: list[Load]
    next: NotRequired[str | None]


class PageOfNode(TypedDict):
    items: list[Node]
    next: NotRequired[str | None]


class PageOfQueue(TypedDict):
    items: list[Queue]
    next: NotRequired[str | None]


class PageOfSigningKey(TypedDict):
    items: list[SigningKey]
    next: NotRequired[str | None]


class PageOfStep(TypedDict):
    items: list[Step]
    next: NotRequired[str | None]


class PageOfStretch(TypedDict):
    items: list[Stretch]
    next: NotRequired[str | None]


class PageOfTenantLoad(TypedDict):
    items: list[TenantLoad]
    next: NotRequired[str | None]


class PageOfTenant(TypedDict):
    items: list[Tenant]
    next: NotRequired[str | None]


class PageOfTrigger(TypedDict):
    items: list[Trigger]
    next: NotRequired[str | None]


class PageOfWorker(TypedDict):
    items: list[Worker]
    next: NotRequired[str | None]


class Pause(TypedDict):
    reason: NotRequired[str | None]


class Problem(TypedDict):
    """An error, as defined in RFC 9457."""

    type: str
    title: str
    status: int
    detail: NotRequired[str | None]
    instance: NotRequired[str | None]
    request_id: NotRequired[str | None]
    errors: NotRequired[list[dict[str, Any]] | None]
    leader_url: NotRequired[str | None]


class Queue(TypedDict):
    name: str
    paused: bool
    mode: Literal["parallel", "serial"]
    queued: int
    scheduled: int
    running: int
    waiting: int
    oldest_queued_age_seconds: float | None
    workers: int
    max_running: int | None
    rate_count: int | None
    rate_period_seconds: float | None
    root_id: str | None
    paused_at: str | None
    paused_by: str | None
    pause_reason: str | None


class Reason(TypedDict):
    code: str
    explanation: str
    remedy: str | None


class Release(TypedDict):
    worker: int
    attempt: int
    delay_seconds: NotRequired[float | None]


class Rendered(TypedDict):
    """The rendered payload, or `error` if the template or the payload is not valid."""

    payload: Any
    error: str | None


class Reschedule(TypedDict):
    scheduled_for: NotRequired[str | None]
    max_attempts: NotRequired[int | None]


class Retry(TypedDict):
    tree: NotRequired[Literal["failed", "all"] | None]
    steps: NotRequired[Literal["keep", "drop"]]
    scheduled_for: NotRequired[str | None]
    max_attempts: NotRequired[int | None]


Role = Literal["viewer", "operator", "admin", "super-admin", "worker"]


class Rotation(TypedDict):
    overlap_seconds: NotRequired[float]


class Session(TypedDict):
    role: Role
    tenant_id: str | None
    tenant: str | None
    name: str
    csrf: str | None
    expires_at: NotRequired[str | None]
    logout_url: NotRequired[str | None]


class Settle(TypedDict):
    worker: int
    outcomes: list[Outcome]


class Settled(TypedDict):
    id: str
    attempt: int


class SettledMany(TypedDict):
    settled: list[SettledOne]


class SettledOne(TypedDict):
    id: str
    attempt: int
    accepted: bool
    busy: NotRequired[bool]


class SignIn(TypedDict):
    key: str


class Signal(TypedDict):
    name: str
    payload: NotRequired[Any]
    id: NotRequired[str | None]


class SigningKey(TypedDict):
    version: int
    key: str


class SkipIt(TypedDict):
    worker: int
    attempt: int
    reason: NotRequired[str]


class Span(TypedDict):
    """The times of one attempt."""

    attempt_no: int
    status: str
    worker_id: int | None
    claimed_at: str | None
    started_at: str | None
    finished_at: str


class StateShown(TypedDict):
    state: Any
    version: int


Status = Literal[
    "scheduled", "queued", "running", "waiting", "succeeded", "failed", "dead_letter", "canceled", "skipped"
]


class Step(TypedDict):
    """A step of a durable function."""

    seq: int
    name: str
    occurrence: int
    kind: str
    attempt: int
    at: str
    started_at: str | None
    took_s: float | None
    done: bool
    due_at: str | None
    value: Any
    error: str | None
    fan_out_id: str | None


class StreamTokenMade(TypedDict):
    token: str
    expires_at: str


class Stretch(TypedDict):
    """Outcomes of attempts in one interval."""

    at: str
    enqueued: int
    succeeded: int
    failed: int
    dead_letter: int
    canceled: int
    skipped: int
    retried: int
    lost: int
    run_s: float


class Summary(TypedDict):
    at: str
    counts: dict[Status, int]
    failures_as_of: str | None
    total_waiting: int
    running: int
    oldest_queued_age_seconds: float | None
    active_fan_outs: int
    active_workflows: int


class Tenant(TypedDict):
    id: str
    slug: str
    name: str
    time_zone: str
    created_at: str
    paused: bool
    weight: int
    max_running: int | None
    max_queued: int | None
    queued: int
    running: int
    paused_at: str | None
    paused_by: str | None
    pause_reason: str | None


class TenantLoad(TypedDict):
    """The load of one tenant."""

    tenant_id: str
    scheduled: int
    queued: int
    running: int
    waiting: int
    oldest_queued_age_seconds: float | None
    ended: int
    failure_rate: float | None
    run_seconds: float
    share: float | None
    fair_share: float | None
    noisy: list[Literal["slots", "backlog", "failures"]]


class Timetable(TypedDict):
    """A schedule to preview. It does not need to exist."""

    cron_expr: NotRequired[str | None]
    every_seconds: NotRequired[float | None]
    timezone: NotRequired[str]


class Trial(TypedDict):
    data: NotRequired[dict[str, Any]]
    run: NotRequired[bool]


class Tried(TypedDict):
    definition_key: str
    payload: Any
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    job_id: str | None


class Trigger(TypedDict):
    id: str
    tenant_id: str
    label: str
    trigger_type: str
    origin: str
    is_enabled: bool
    event_name: str | None
    cron_expr: str | None
    every_seconds: float | None
    timezone: str | None
    definition_key: str
    payload_template: Any
    dedupe_window_seconds: int
    queue: str | None
    priority: int | None
    max_attempts: int | None
    timeout_seconds: float | None
    correlation_id: str | None
    dedupe_key: str | None
    limit_key: str | None
    catch_up: str
    catch_up_window_seconds: float | None
    overlap: str
    jitter_seconds: float
    next_at: str | None
    last_at: str | None
    last_job_id: str | None
    fired: int
    missed: int
    skipped: int
    held: int
    error: str | None
    created_by: str
    created_at: str
    updated_at: str


class UnreadSignals(TypedDict):
    """Unread signals with one name."""

    name: str
    signals: int
    first_sent_at: str


class Ways(TypedDict):
    oidc: bool


class Worker(TypedDict):
    worker_id: int
    state: str
    stale: bool
    lease_expired: bool
    hostname: str
    pid: int
    version: str
    build: str | None
    queues: list[str]
    definitions: list[str]
    running_count: int
    prefetched_count: int
    metadata: Any
    started_at: str
    last_seen_at: str
    lease_expires_at: str
    node: str | None
    draining: bool
    leads: bool
    blocked_since: str | None
    blocked_job_id: str | None
    ended_at: str | None
    end_reason: str | None
    clearing: bool
    held_count: int
    requeued_count: int
    dead_lettered_count: int
    canceled_count: int
    released_count: int


WorkerFilter = Literal["alive", "stale", "lost", "gone"]


class WorkerHeartbeat(TypedDict):
    worker: int
    running: NotRequired[int]
    held: NotRequired[list[Held] | None]


class WorkerPage(TypedDict):
    worker_id: int
    state: str
    stale: bool
    lease_expired: bool
    hostname: str
    pid: int
    version: str
    build: str | None
    queues: list[str]
    definitions: list[str]
    running_count: int
    prefetched_count: int
    metadata: Any
    started_at: str
    last_seen_at: str
    lease_expires_at: str
    node: str | None
    draining: bool
    leads: bool
    blocked_since: str | None
    blocked_job_id: str | None
    ended_at: str | None
    end_reason: str | None
    clearing: bool
    held_count: int
    requeued_count: int
    dead_lettered_count: int
    canceled_count: int
    released_count: int
    last_jobs: list[LastJob]


class QueuesSettings(TypedDict):
    mode: NotRequired[Literal["parallel", "serial"] | None]
    max_running: NotRequired[int | None]
    rate_count: NotRequired[int | None]
    rate_period_seconds: NotRequired[float | None]


class TenantsSettings(TypedDict):
    name: NotRequired[str | None]
    time_zone: NotRequired[str | None]
    paused: NotRequired[bool | None]
    pause_reason: NotRequired[str | None]
    weight: NotRequired[int | None]
    max_running: NotRequired[int | None]
    max_queued: NotRequired[int | None]


class TriggersSettings(TypedDict):
    """The settings of a trigger. Omitted settings stay unchanged; for a new trigger they get their defaults."""

    is_enabled: NotRequired[bool | None]
    event_name: NotRequired[str | None]
    cron_expr: NotRequired[str | None]
    every_seconds: NotRequired[float | None]
    timezone: NotRequired[str | None]
    definition_key: NotRequired[str | None]
    payload_template: NotRequired[dict[str, Any] | None]
    dedupe_window_seconds: NotRequired[int | None]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    max_attempts: NotRequired[int | None]
    timeout_seconds: NotRequired[float | None]
    correlation_id: NotRequired[str | None]
    dedupe_key: NotRequired[str | None]
    limit_key: NotRequired[str | None]
    catch_up: NotRequired[Literal["none", "one", "all", "window"] | None]
    catch_up_window_seconds: NotRequired[float | None]
    overlap: NotRequired[Literal["allow", "skip", "queue"] | None]
    jitter_seconds: NotRequired[float | None]
