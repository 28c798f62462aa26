// Generated from the server's OpenAPI document by scripts/client_types.py. Do not edit.

/** One execution of a job, or an operator's action. */
export interface Attempt {
  attempt_no: number;
  status: string;
  /** The job's final status; null if the job was not final after this attempt. */
  final: Status | null;
  worker_id: number | null;
  host: string | null;
  pid: number | null;
  claimed_at: string | null;
  started_at: string | null;
  finished_at: string;
  exit_code: number | null;
  reason: string | null;
  error_text: string | null;
  traceback: string | null;
  result: unknown;
  /** Includes `stdout` and `stderr`: the last output of a command or worker. */
  progress: unknown;
}

export interface Beat {
  /** Jobs of this worker that must stop. */
  cancel: string[];
  /** Jobs whose lease is lost: stop them, and report no outcome. */
  gone: string[];
}

export interface BulkAnswer {
  dry_run: boolean;
  /** Number of matching jobs, up to 10,000. */
  matched: number;
  /** Whether there may be more, because the count reached its limit or not all jobs were scanned. */
  more: boolean;
  sample: string[];
  /** The bulk job; see its progress. */
  job_id: string | null;
}

/** The jobs to change: at least one condition is required (T107). */
export interface BulkFilter {
  /** Can be repeated. */
  status?: Status[] | null;
  source?: string | null;
  queue?: string | null;
  definition_key?: string | null;
  /** The worker that runs the job, or ran it last. */
  worker?: number | null;
  correlation_id?: string | null;
  parent?: string | null;
  root?: string | null;
  fan_out?: string | null;
  has_sub_jobs?: boolean | null;
  created_after?: string | null;
  created_before?: string | null;
  /** Text in the definition, correlation id or dedupe key; or an id. */
  search?: string | null;
  /** `key=value`, with payload keys or paths (`order.customer=7`); can be repeated. With `definition_key` and one of its search keys, an index is used. */
  payload?: string[] | null;
  /** A fingerprint from `GET /jobs/failures`: jobs that failed with similar errors. */
  error?: string | null;
}

export interface BulkRequest {
  action: "cancel" | "retry";
  filter: BulkFilter;
  /** Only count the matching jobs. */
  dry_run?: boolean;
  reason?: string | null;
  /** Maximum jobs per second. Default: no limit. */
  rate?: number | null;
}

export interface Cancel {
  reason?: string | null;
  /** Also cancel all its descendants. */
  tree?: boolean;
}

export interface Change {
  description?: string | null;
  /** JSON Schema of its payloads; null: any payload. */
  arg_schema?: Record<string, unknown> | null;
  timeout_seconds?: number | null;
  max_attempts?: number | null;
  queue?: string | null;
  priority?: number | null;
  max_running?: number | null;
  rate_count?: number | null;
  rate_period_seconds?: number | null;
  key_max_running?: number | null;
  key_rate_count?: number | null;
  key_rate_period_seconds?: number | null;
  /** Payload keys or paths (`order.customer`) that jobs can be searched by, with an index. */
  search_keys?: string[] | null;
  /** Fields that are hidden from viewers and operators, in addition to those with names of secrets: names, or ends of paths (`customer.ssn`). */
  sensitive?: string[] | null;
  /** False rejects new jobs and triggers; existing jobs still run. */
  is_active?: boolean | null;
}

/** A job of a fan-out, with the times of its attempts. */
export interface Child {
  id: string;
  fan_out_index: number;
  definition_key: string;
  queue: string;
  status: Status;
  /** Attempts that count against max_attempts. */
  attempt_count: number;
  created_at: string;
  /** When the job is due, or when it got its status; null if it is final. */
  run_at: string | null;
  finished_at: string | null;
  wait_on: string | null;
  /** The only node that may run the job. */
  node: string | null;
  /** The beginning of the error. */
  last_error: string | null;
  /** Number of its own fan-outs. */
  fan_outs: number;
  /** The last 100 ended attempts. */
  attempts: Span[];
}

export interface Children {
  items: Child[];
  /** Send it as `start` for the next page; null: this is the last page. */
  next?: number | null;
}

export interface Claim {
  /** The number that the first claim returned; null: register. */
  worker?: number | null;
  queues: string[];
  /** The job definitions that it can run. */
  definitions: string[];
  limit?: number;
  /** Number of jobs that it runs now. */
  running?: number;
  /** How long to wait for jobs. */
  wait_seconds?: number;
  /** Lease: a worker that sends no heartbeat for this long is declared lost. */
  lease_seconds?: number;
  hostname?: string;
  pid?: number;
  version?: string;
}

export interface ClaimedJob {
  id: string;
  /** Send it with every request about the job. */
  attempt: number;
  failed_attempts: number;
  max_attempts: number;
  tenant_id: string;
  definition_key: string;
  queue: string;
  payload: unknown;
  /** URL of the payload if it is an artifact; null: the payload is included. */
  payload_url: string | null;
  /** Time limit of the attempt; null: no limit. */
  timeout_seconds: number | null;
  correlation_id: string | null;
}

export interface Claims {
  worker: number;
  jobs: ClaimedJob[];
}

export interface Cluster {
  /** Null if there is no leader. */
  leader: Leading | null;
  nodes: ClusterNode[];
}

export interface ClusterNode {
  name: string;
  /** active, draining, lost or left. */
  state: string;
  leads: boolean;
  url: string | null;
  version: string | null;
  labels: unknown;
  workers: number;
  running_count: number;
  /** Unfinished parts of node jobs on this node. */
  open_count: number;
  joined_at: string;
  last_seen_at: string;
}

export interface Complete {
  worker: number;
  attempt: number;
  result?: unknown;
}

export interface Connector {
  tenant_id: string;
  connector: "http" | "webhook" | "report";
  /** Secrets are references, `{{secret.NAME}}`, never values. */
  settings: unknown;
  updated_at: string;
  updated_by: string;
}

export interface Count {
  /** Number of jobs, up to 1,000. */
  count: number;
  /** Whether there may be more, because the count reached its limit or not all jobs were scanned. */
  more: boolean;
}

export interface Definition {
  key: string;
  kind: string;
  description: string;
  arg_schema: unknown;
  is_active: boolean;
  queue: string;
  priority: number;
  max_attempts: number;
  timeout_seconds: number;
  /** Payload keys that jobs can be searched by, with an index: `payload=key=value`. */
  search_keys: string[] | null;
  /** Fields that are hidden from viewers and operators. */
  sensitive: string[] | null;
  max_running: number | null;
  rate_count: number | null;
  rate_period_seconds: number | null;
  key_max_running: number | null;
  key_rate_count: number | null;
  key_rate_period_seconds: number | null;
  updated_at: string;
  /** Overrides by operators, with the values in code. */
  overrides: Override[];
}

export interface Delivery {
  job_id: string;
}

/** A template to render, which need not belong to a stored trigger, and the data to render it with. */
export interface Draft {
  definition_key: string;
  payload_template?: Record<string, unknown>;
  /** Null: a schedule. */
  event_name?: string | null;
  /** Data of the event. */
  data?: Record<string, unknown>;
  label?: string;
}

export interface Embed {
  /** URL for the frame. Single use, valid for five minutes. */
  url: string;
  role: Role;
  /** When the view expires. */
  expires_at: string;
}

export interface Emitted {
  ids: string[];
}

export interface Endpoint {
  id: string;
  tenant_id: string;
  label: string;
  url: string;
  is_enabled: boolean;
  signature: string;
  statuses: string[];
  definitions: string[] | null;
  key_version: number;
  /** Time until which the previous key also signs. */
  old_key_until: string | null;
  /** Outcomes since this time are delivered; null: none. */
  subscribed_at: string | null;
  disabled_at: string | null;
  disabled_reason: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

/** The settings of an endpoint. Omitted ones stay unchanged, or get their defaults. */
export interface EndpointSettings {
  url?: string | null;
  is_enabled?: boolean | null;
  /** `standard`: Standard Webhooks 1.0.0. Otherwise the header `x-webhook-signature: sha256=…` signs the body. */
  signature?: "standard" | "sha256" | "sha512" | null;
  /** Final statuses that are delivered. */
  statuses?: ("succeeded" | "failed" | "dead_letter" | "canceled" | "skipped")[] | null;
  /** Only outcomes of these job definitions; null: all. */
  definitions?: string[] | null;
}

export interface EndpointTrial {
  type?: string;
  data?: unknown;
}

export interface Enter {
  /** The fragment of the frame's URL. */
  link: string;
}

export interface Entered {
  /** Send it as `Authorization: Session …`. */
  token: string;
  role: Role;
  tenant_id: string;
  tenant: string;
  name: string;
  csrf: null;
  expires_at: string;
}

export interface Entry {
  id: string;
  tenant_id: string | null;
  at: string;
  actor: string;
  action: string;
  object: string | null;
  request_id: string | null;
  detail: unknown;
}

export interface Event {
  id: string;
  tenant_id: string;
  name: string;
  at: string;
  dispatched_at: string | null;
  /** Number of jobs that it triggered. */
  jobs: number;
  /** Number of triggers that created no job because of their dedupe key or window. */
  deduplicated: number;
  correlation_id: string | null;
  error: string | null;
  data: unknown;
}

export interface EventPage {
  id: string;
  tenant_id: string;
  name: string;
  at: string;
  dispatched_at: string | null;
  /** Number of jobs that it triggered. */
  jobs: number;
  /** Number of triggers that created no job because of their dedupe key or window. */
  deduplicated: number;
  correlation_id: string | null;
  error: string | null;
  data: unknown;
  /** The firing of each trigger. */
  fires: Fire[];
}

export interface Explanation {
  id: string;
  status: Status;
  reasons: Reason[];
}

export interface Fail {
  worker: number;
  attempt: number;
  error?: string;
  traceback?: string | null;
  /** A machine-readable reason. */
  reason?: string | null;
  /** Do not retry. */
  permanent?: boolean;
  /** Whether the attempt timed out. */
  timeout?: boolean;
  /** Delay before the retry. Default: the definition's backoff. */
  delay_seconds?: number | null;
  exit_code?: number | null;
}

/** Failures of one definition with similar errors. */
export interface Failure {
  definition_key: string;
  /** Fingerprint of similar errors: `GET /jobs?error=…` lists their jobs. */
  fingerprint: string;
  /** The newest error. */
  error: string | null;
  /** Jobs with this error that are `failed` or `dead_letter` now. Retried and deleted jobs are not counted. */
  jobs: number;
  /** Those of `jobs` that are dead letters. */
  dead_letters: number;
  /** Failures since `since`, including jobs that were retried since. */
  recent: number;
  /** Number of tenants with such jobs. */
  tenants: number;
  /** The first failure with this error whose job is kept. */
  first_at: string;
  last_at: string;
  last_job_id: string;
}

/** One error of a definition. */
export interface FailureGroup {
  definition_key: string;
  fingerprint: string;
  /** Everything committed by then is counted: now, or the last count if the leader is behind; null: not counted yet. */
  as_of: string | null;
  /** Jobs with this error that are `failed` or `dead_letter` now. Retried and deleted jobs are not counted. */
  jobs: number;
  dead_letters: number;
  /** All failures with this error whose jobs are kept, including jobs that were retried since. */
  failures: number;
  first_at: string;
  last_at: string;
  last_job_id: string;
  /** The newest attempt that failed; null: its job was just deleted. */
  sample: Attempt | null;
  tenants: FailureTenant[];
  /** From `start` on. Empty intervals are omitted. */
  history: FailureInterval[];
  /** Workers of the newest failures, at most 100. */
  workers: FailureWorker[];
  /** Number of failures that `workers` was counted from: the newest 1,000. */
  workers_of: number;
}

/** Failures with one error in one interval, including jobs that were retried since. */
export interface FailureInterval {
  /** Start of the interval. */
  at: string;
  failed: number;
  dead_letter: number;
}

export interface FailurePage {
  items: Failure[];
  /** Always null: request more with `limit`. */
  next?: string | null;
  /** Everything committed by then is counted: now, or the last count if the leader is behind; null: not counted yet. */
  as_of: string | null;
  /** Start of `recent`: the beginning of the hour of `start`. */
  since: string;
  /** Number of errors, including those beyond `limit`. */
  total_errors: number;
  /** Number of their jobs. */
  total_jobs: number;
}

/** Failures with one error in one tenant. */
export interface FailureTenant {
  tenant_id: string;
  tenant: string;
  jobs: number;
  dead_letters: number;
  failures: number;
  last_at: string;
}

/** Failures with one error on one worker. */
export interface FailureWorker {
  /** Null: the job failed without a worker, for example past its deadline. */
  worker: number | null;
  host: string | null;
  failures: number;
  last_at: string;
}

/** A fan-out of a job, with the number of its children by status. */
export interface FanOut {
  id: string;
  strategy: string;
  total: number;
  needed: number;
  succeeded: number;
  failed: number;
  canceled: number;
  /** succeeded, failed or timeout; null: not decided yet. */
  decision: string | null;
  created_at: string;
  decided_at: string | null;
  timeout_at: string | null;
  running: number;
  waiting: number;
  /** Scheduled children. The remaining children are queued. */
  scheduled: number;
}

export interface Fire {
  id: string;
  trigger_id: string;
  label: string;
  at: string;
  instant: string | null;
  event_id: string | null;
  outcome: string;
  job_id: string | null;
  error: string | null;
}

export interface Health {
  status: "ok";
}

export interface Heartbeat {
  worker: number;
  attempt: number;
  /** All jobs that it runs. Its other jobs are released, since the reply to their claim was lost. */
  held?: Held[] | null;
}

export interface Held {
  id: string;
  attempt: number;
}

export interface Instant {
  instant: string;
  local: string;
  /** The effect of a daylight-saving change. */
  note: string | null;
}

/** A job, without its payload and result. */
export interface JobBrief {
  id: string;
  tenant_id: string;
  definition_key: string;
  status: Status;
  queue: string;
  /** Lower runs first. */
  priority: number;
  source: string;
  source_ref: string | null;
  correlation_id: string | null;
  dedupe_key: string | null;
  limit_key: string | null;
  created_at: string;
  /** Same as created_at. */
  queued_at: string;
  /** The requested time; null: immediately. */
  scheduled_for: string | null;
  /** When the job is due, or when it was queued. */
  run_at: string | null;
  /** When the job first started. */
  started_at: string | null;
  /** When the running attempt was claimed. */
  claimed_at: string | null;
  finished_at: string | null;
  /** Attempts that count against max_attempts, including the running one. Suspensions, snoozes, releases and lost workers do not count. */
  attempt_count: number;
  /** The number of the last attempt of any kind: the fencing token. */
  attempt_no: number;
  /** Attempts that failed or timed out; they count against max_attempts. Null if the job is final. */
  failed_attempts: number | null;
  max_attempts: number;
  /** Null: the definition's timeout applies. */
  timeout_seconds: number | null;
  claimed_by_worker: number | null;
  /** The worker that runs the job, or ran it last. */
  last_worker: number | null;
  cancel_requested_at: string | null;
  reason: string | null;
  last_error: string | null;
  parent_id: string | null;
  root_id: string | null;
  fan_out_id: string | null;
  fan_out_index: number | null;
  depth: number | null;
  wait_on: string | null;
  wake_at: string | null;
}

export interface JobNode {
  node: string;
  job_id: string;
  status: Status | null;
  attempt: number;
  /** Whether the node had not finished when the job was decided; its outcome then has no effect. */
  late: boolean;
  result: unknown;
  error: string | null;
  finished_at: string | null;
  /** The rule that decided the job: quorum, timeout, node_failed or quorum_lost. */
  rule: string | null;
}

/** A job with all its fields and related jobs. */
export interface JobPage {
  id: string;
  tenant_id: string;
  definition_key: string;
  status: Status;
  queue: string;
  /** Lower runs first. */
  priority: number;
  source: string;
  source_ref: string | null;
  correlation_id: string | null;
  dedupe_key: string | null;
  limit_key: string | null;
  created_at: string;
  /** Same as created_at. */
  queued_at: string;
  /** The requested time; null: immediately. */
  scheduled_for: string | null;
  /** When the job is due, or when it was queued. */
  run_at: string | null;
  /** When the job first started. */
  started_at: string | null;
  /** When the running attempt was claimed. */
  claimed_at: string | null;
  finished_at: string | null;
  /** Attempts that count against max_attempts, including the running one. Suspensions, snoozes, releases and lost workers do not count. */
  attempt_count: number;
  /** The number of the last attempt of any kind: the fencing token. */
  attempt_no: number;
  /** Attempts that failed or timed out; they count against max_attempts. Null if the job is final. */
  failed_attempts: number | null;
  max_attempts: number;
  /** Null: the definition's timeout applies. */
  timeout_seconds: number | null;
  claimed_by_worker: number | null;
  /** The worker that runs the job, or ran it last. */
  last_worker: number | null;
  cancel_requested_at: string | null;
  reason: string | null;
  last_error: string | null;
  parent_id: string | null;
  root_id: string | null;
  fan_out_id: string | null;
  fan_out_index: number | null;
  depth: number | null;
  wait_on: string | null;
  wake_at: string | null;
  idempotency_key: string | null;
  forked_from: string | null;
  /** Number of runs: 1, plus 1 for each continue_as_new. */
  runs: number;
  payload: unknown;
  result: unknown;
  progress: unknown;
  /** When the lease of its worker expires, while the job runs. */
  lease_expires_at: string | null;
  /** Total time: from its first start to its end, or until now. Null: not started. */
  total_s: number | null;
  /** Own time: run time of its handler, over all attempts. */
  own_s: number | null;
  /** Waiting time: suspended, in backoff or requeued. */
  waiting_s: number | null;
  /** Unread signals, by name. */
  unread_signals: UnreadSignals[];
  parent: JobBrief | null;
  fan_outs: FanOut[];
  steps: Step[];
  /** The newest children; continue with `GET /jobs?parent=…&cursor=…`. */
  children: PageOfJobBrief;
}

export interface Jobs {
  items: JobBrief[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
  /** False: the search stopped at its scan limit; `next` continues it. */
  complete: boolean;
}

export interface Key {
  id: string;
  tenant_id: string | null;
  /** The beginning of the key. */
  hint: string;
  name: string;
  role: Role;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Accurate to the minute. */
  last_used_at: string | null;
}

/** A job definition, for callers that enqueue. */
export interface Kind {
  key: string;
  kind: string;
  description: string;
  arg_schema: unknown;
  is_active: boolean;
  queue: string;
  priority: number;
  max_attempts: number;
  timeout_seconds: number;
  /** Payload keys that jobs can be searched by, with an index: `payload=key=value`. */
  search_keys: string[] | null;
  /** Fields that are hidden from viewers and operators. */
  sensitive: string[] | null;
}

/** How long jobs enqueued in one interval waited and ran, in seconds, from a sample. */
export interface Latency {
  /** Start of the interval. */
  at: string;
  /** Number of jobs in the sample. */
  jobs: number;
  /** Median time from when a job was due until its first start. */
  wait_p50: number | null;
  wait_p95: number | null;
  /** Median run time of the last attempt. */
  run_p50: number | null;
  run_p95: number | null;
}

export interface Leading {
  /** The leader's process. */
  holder: string;
  term: number;
  since: string;
  expires_at: string;
  node: string | null;
  url: string | null;
}

export interface Leave {
  worker: number;
}

/** How many sub-jobs of a fan-out ran in one interval. */
export interface Load {
  /** Start of the interval. */
  at: string;
  /** Sub-jobs that ran at any time in the interval. */
  running: number;
  /** Attempts that failed. */
  failed: number;
}

export interface LogLine {
  attempt_no: number;
  /** Number in the attempt's log, from 1. */
  line: number;
  at: string;
  level: "debug" | "info" | "warning" | "error" | "critical";
  /** `log`, `stdout`, `stderr`, or `plait` for a line about dropped lines. */
  source: "log" | "stdout" | "stderr" | "plait";
  logger: string | null;
  message: string;
  /** Values that were logged with the message, by name; null if there are none. */
  fields: unknown;
}

export interface LogPage {
  /** In order. */
  items: LogLine[];
  /** Send it as `before` for earlier lines; null: these are the first. */
  before: string | null;
  /** Send it as `after` for lines that follow; null: there are no lines yet. */
  after: string | null;
}

export interface Logs {
  worker: number;
  attempt: number;
  stdout?: string;
  stderr?: string;
  progress?: Record<string, unknown> | null;
}

export interface MadeKey {
  id: string;
  tenant_id: string | null;
  /** The beginning of the key. */
  hint: string;
  name: string;
  role: Role;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Accurate to the minute. */
  last_used_at: string | null;
  /** The key. It is not shown again. */
  key: string;
}

/** The effect of an operation on a job. */
export interface Moved {
  id: string;
  status: Status;
  /** Number of affected jobs, if the operation acts on a workflow. */
  jobs?: number;
}

export interface NewDefinition {
  description?: string | null;
  /** JSON Schema of its payloads; null: any payload. */
  arg_schema?: Record<string, unknown> | null;
  timeout_seconds?: number | null;
  max_attempts?: number | null;
  queue?: string | null;
  priority?: number | null;
  max_running?: number | null;
  rate_count?: number | null;
  rate_period_seconds?: number | null;
  key_max_running?: number | null;
  key_rate_count?: number | null;
  key_rate_period_seconds?: number | null;
  /** Payload keys or paths (`order.customer`) that jobs can be searched by, with an index. */
  search_keys?: string[] | null;
  /** Fields that are hidden from viewers and operators, in addition to those with names of secrets: names, or ends of paths (`customer.ssn`). */
  sensitive?: string[] | null;
  key: string;
}

export interface NewEmbed {
  /** Role of the view; at most the role of your key. */
  role?: "viewer" | "operator";
  /** Lifetime of the view. */
  ttl_seconds?: number;
}

export interface NewEndpoint {
  url: string;
  is_enabled?: boolean | null;
  /** `standard`: Standard Webhooks 1.0.0. Otherwise the header `x-webhook-signature: sha256=…` signs the body. */
  signature?: "standard" | "sha256" | "sha512" | null;
  /** Final statuses that are delivered. */
  statuses?: ("succeeded" | "failed" | "dead_letter" | "canceled" | "skipped")[] | null;
  /** Only outcomes of these job definitions; null: all. */
  definitions?: string[] | null;
  label: string;
}

export interface NewJobAnswer {
  id: string;
  tenant_id: string;
  status: Status;
  definition_key: string;
  queued_at: string;
  /** Whether the key belonged to an existing job, which is returned. */
  deduplicated: boolean;
}

export interface NewJobRequest {
  definition_key: string;
  /** The arguments, by name. */
  payload?: Record<string, unknown>;
  queue?: string | null;
  /** Lower runs first. Default: the definition's priority, or 100. */
  priority?: number | null;
  max_attempts?: number | null;
  scheduled_for?: string | null;
  delay_seconds?: number | null;
  timeout_seconds?: number | null;
  /** At most one unfinished job per key. */
  dedupe_key?: string | null;
  limit_key?: string | null;
  correlation_id?: string | null;
  /** A new UUIDv7 from the caller, to make a repeated request safe. */
  id?: string | null;
}

export interface NewKey {
  name: string;
  role: Role;
  /** At most the expiry of your own key, which is also the default. If you signed in through an identity provider: at most a year from now. Default: 90 days. */
  expires_at?: string | null;
}

export interface NewStreamToken {
  /** Lifetime of the token. */
  ttl_seconds?: number;
}

export interface NewTenant {
  name?: string | null;
  time_zone?: string | null;
  paused?: boolean | null;
  /** Why it is paused, shown with its jobs. Removed on resume. */
  pause_reason?: string | null;
  /** Weight in fair scheduling. */
  weight?: number | null;
  max_running?: number | null;
  /** Quota: maximum number of unfinished jobs. */
  max_queued?: number | null;
  slug: string;
}

export interface NewTrigger {
  is_enabled?: boolean | null;
  event_name?: string | null;
  cron_expr?: string | null;
  every_seconds?: number | null;
  /** Null: the tenant's time zone. */
  timezone?: string | null;
  definition_key: string;
  /** Payload template: `{{event.a.b}}` is replaced, nothing is evaluated. */
  payload_template?: Record<string, unknown> | null;
  dedupe_window_seconds?: number | null;
  queue?: string | null;
  priority?: number | null;
  max_attempts?: number | null;
  timeout_seconds?: number | null;
  correlation_id?: string | null;
  dedupe_key?: string | null;
  limit_key?: string | null;
  catch_up?: "none" | "one" | "all" | "window" | null;
  catch_up_window_seconds?: number | null;
  overlap?: "allow" | "skip" | "queue" | null;
  jitter_seconds?: number | null;
  label: string;
  trigger_type: "event" | "schedule";
}

/** One job of a workflow. */
export interface Node {
  id: string;
  parent_id: string | null;
  fan_out_id: string | null;
  fan_out_index: number | null;
  depth: number;
  definition_key: string;
  queue: string;
  status: Status;
  /** Attempts that count against max_attempts. */
  attempt_count: number;
  wait_on: string | null;
  last_error: string | null;
  created_at: string;
  finished_at: string | null;
  /** Run time of its handler, over all attempts. */
  own_s: number | null;
  /** Time from its first start to its end, including its children. */
  total_s: number | null;
}

/** The outcome of one attempt: the fields of the route with its name. */
export interface Outcome {
  id: string;
  attempt: number;
  outcome: "complete" | "fail" | "release" | "skip";
  result?: unknown;
  error?: string;
  traceback?: string | null;
  reason?: string | null;
  permanent?: boolean;
  timeout?: boolean;
  delay_seconds?: number | null;
  exit_code?: number | null;
}

/** A setting that an operator has overridden. It takes precedence over the code until it is cleared, even when workers register the definition again. */
export interface Override {
  setting: string;
  value: unknown;
  /** The value without the override; also null if no code has defined the job. */
  code_value: unknown;
  author: string;
  set_at: string;
}

export interface PageOfAttempt {
  items: Attempt[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfConnector {
  items: Connector[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfDefinition {
  items: Definition[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfEndpoint {
  items: Endpoint[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfEntry {
  items: Entry[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfEvent {
  items: Event[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfFire {
  items: Fire[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfInstant {
  items: Instant[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfJobBrief {
  items: JobBrief[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfJobNode {
  items: JobNode[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfKey {
  items: Key[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfKind {
  items: Kind[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfLatency {
  items: Latency[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfLoad {
  items: Load[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfNode {
  items: Node[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfQueue {
  items: Queue[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfSigningKey {
  items: SigningKey[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfStep {
  items: Step[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfStretch {
  items: Stretch[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfTenantLoad {
  items: TenantLoad[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfTenant {
  items: Tenant[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfTrigger {
  items: Trigger[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface PageOfWorker {
  items: Worker[];
  /** Send it as `cursor` for the next page; null: this is the last page. */
  next?: string | null;
}

export interface Pause {
  /** Shown to everyone who sees the queue. */
  reason?: string | null;
}

/** An error, as defined in RFC 9457. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string | null;
  /** The path of the request. */
  instance?: string | null;
  request_id?: string | null;
  /** The errors of the request, by field. */
  errors?: (Record<string, unknown>)[] | null;
  /** With 421: the URL of the leader's API, which accepts this request. */
  leader_url?: string | null;
}

export interface Queue {
  name: string;
  paused: boolean;
  mode: "parallel" | "serial";
  queued: number;
  scheduled: number;
  running: number;
  waiting: number;
  oldest_queued_age_seconds: number | null;
  workers: number;
  max_running: number | null;
  rate_count: number | null;
  rate_period_seconds: number | null;
  /** The root of the workflow that a serial queue runs now, if you may see it. */
  root_id: string | null;
  paused_at: string | null;
  /** Name of the API key that paused it. Null for callers of one tenant. */
  paused_by: string | null;
  pause_reason: string | null;
}

export interface Reason {
  code: string;
  explanation: string;
  /** How to get the job to run; null: nothing needs to be done. */
  remedy: string | null;
}

export interface Release {
  worker: number;
  attempt: number;
  /** Delay before the job may run again; null: immediately. Does not count against `max_attempts`. */
  delay_seconds?: number | null;
}

/** The rendered payload, or `error` if the template or the payload is not valid. */
export interface Rendered {
  payload: unknown;
  error: string | null;
}

export interface Reschedule {
  /** Null leaves it unchanged. A time in the past means immediately. */
  scheduled_for?: string | null;
  max_attempts?: number | null;
}

export interface Retry {
  /** failed: retry the failed jobs of a root's workflow; all: run the whole workflow again, as a new one. */
  tree?: "failed" | "all" | null;
  /** keep: a durable function resumes; drop: it restarts without its checkpoints. */
  steps?: "keep" | "drop";
  scheduled_for?: string | null;
  max_attempts?: number | null;
}

export type Role = "viewer" | "operator" | "admin" | "super-admin" | "worker";

export interface Rotation {
  /** How long the previous key also signs. */
  overlap_seconds?: number;
}

export interface Session {
  role: Role;
  /** Null: all tenants. */
  tenant_id: string | null;
  tenant: string | null;
  name: string;
  /** Send it as X-CSRF-Token with every change. Null if you authenticated with a key. */
  csrf: string | null;
  expires_at?: string | null;
  /** URL to sign out of the identity provider, if you signed in there. */
  logout_url?: string | null;
}

export interface Settle {
  worker: number;
  outcomes: Outcome[];
}

export interface Settled {
  id: string;
  attempt: number;
}

export interface SettledMany {
  settled: SettledOne[];
}

export interface SettledOne {
  id: string;
  attempt: number;
  /** If this is false and `busy` is too, the lease is lost, and nothing was changed. */
  accepted: boolean;
  /** Another transaction locks the job's row: nothing was changed, send it again. */
  busy?: boolean;
}

export interface SignIn {
  key: string;
}

export interface Signal {
  name: string;
  payload?: unknown;
  /** Makes a repeated request safe: a signal with the same id is delivered once. */
  id?: string | null;
}

export interface SigningKey {
  version: number;
  /** `whsec_…`: the key that a receiver verifies signatures with. */
  key: string;
}

export interface SkipIt {
  worker: number;
  attempt: number;
  reason?: string;
}

/** The times of one attempt. */
export interface Span {
  attempt_no: number;
  status: string;
  worker_id: number | null;
  /** Null if it never ran: the job was canceled before it started, or this is an operator's retry. */
  claimed_at: string | null;
  started_at: string | null;
  finished_at: string;
}

export interface StateShown {
  /** As set by the handler with `current().state(…)`; null if it is not set. */
  state: unknown;
  /** Increases with each change; 0 if the state was never set. */
  version: number;
}

export type Status = "scheduled" | "queued" | "running" | "waiting" | "succeeded" | "failed" | "dead_letter" | "canceled" | "skipped";

/** A step of a durable function. */
export interface Step {
  seq: number;
  name: string;
  occurrence: number;
  kind: string;
  attempt: number;
  at: string;
  done: boolean;
  due_at: string | null;
  value: unknown;
  error: string | null;
  fan_out_id: string | null;
}

export interface StreamTokenMade {
  /** Send it as `?token=…`, or as `Authorization: Bearer …`. It allows reading this job's streams and nothing else. */
  token: string;
  expires_at: string;
}

/** Outcomes of attempts in one interval. */
export interface Stretch {
  /** Start of the interval. */
  at: string;
  enqueued: number;
  succeeded: number;
  failed: number;
  dead_letter: number;
  canceled: number;
  skipped: number;
  /** Attempts that failed and were retried. */
  retried: number;
  /** Attempts whose worker was lost. */
  lost: number;
  /** Total run time of handlers. */
  run_s: number;
}

export interface Summary {
  /** When the unfinished jobs were counted: now, or a few seconds ago if there are many. */
  at: string;
  /** Unfinished jobs, and jobs that are `failed` or `dead_letter` now: retried and deleted jobs are not counted. */
  counts: Partial<Record<Status, number>>;
  /** Failed jobs and dead letters are counted as of this time; null: not counted yet. */
  failures_as_of: string | null;
  total_waiting: number;
  running: number;
  oldest_queued_age_seconds: number | null;
  active_fan_outs: number;
  active_workflows: number;
}

export interface Tenant {
  id: string;
  slug: string;
  name: string;
  time_zone: string;
  created_at: string;
  paused: boolean;
  weight: number;
  max_running: number | null;
  max_queued: number | null;
  /** Unfinished jobs that are not running. */
  queued: number;
  running: number;
  paused_at: string | null;
  paused_by: string | null;
  pause_reason: string | null;
}

/** The load of one tenant. */
export interface TenantLoad {
  tenant_id: string;
  scheduled: number;
  queued: number;
  running: number;
  waiting: number;
  oldest_queued_age_seconds: number | null;
  /** Attempts that ended since `start`. */
  ended: number;
  /** Share of those attempts that failed, from 0 to 1. Null if none ended. */
  failure_rate: number | null;
  /** Total run time of its handlers since `start`. */
  run_seconds: number;
  /** Its share of all running jobs, from 0 to 1. */
  share: number | null;
  /** Its fair share by weight, among the tenants that have unfinished jobs. */
  fair_share: number | null;
  /** Why it may slow down others: it uses more than twice its fair share while others wait; most jobs of a long queue are its own; most of its attempts fail. */
  noisy: ("slots" | "backlog" | "failures")[];
}

/** A schedule to preview. It need not be stored. */
export interface Timetable {
  cron_expr?: string | null;
  every_seconds?: number | null;
  timezone?: string;
}

export interface Trial {
  /** Data of the event, for an event trigger. */
  data?: Record<string, unknown>;
  /** Also enqueue the job; the schedule is not affected. */
  run?: boolean;
}

export interface Tried {
  definition_key: string;
  payload: unknown;
  correlation_id: string | null;
  dedupe_key: string | null;
  limit_key: string | null;
  job_id: string | null;
}

export interface Trigger {
  id: string;
  tenant_id: string;
  label: string;
  trigger_type: string;
  /** `code`: declared in an application's code, where it must be changed. */
  origin: string;
  is_enabled: boolean;
  event_name: string | null;
  cron_expr: string | null;
  every_seconds: number | null;
  timezone: string | null;
  definition_key: string;
  payload_template: unknown;
  dedupe_window_seconds: number;
  queue: string | null;
  priority: number | null;
  max_attempts: number | null;
  timeout_seconds: number | null;
  correlation_id: string | null;
  dedupe_key: string | null;
  limit_key: string | null;
  catch_up: string;
  catch_up_window_seconds: number | null;
  overlap: string;
  jitter_seconds: number;
  next_at: string | null;
  last_at: string | null;
  last_job_id: string | null;
  fired: number;
  missed: number;
  skipped: number;
  held: number;
  error: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

/** Unread signals of one name. */
export interface UnreadSignals {
  name: string;
  signals: number;
  first_sent_at: string;
}

export interface Ways {
  oidc: boolean;
}

export interface Worker {
  worker_id: number;
  state: string;
  /** Whether its heartbeat is overdue. */
  stale: boolean;
  hostname: string;
  pid: number;
  version: string;
  queues: string[];
  definitions: string[];
  running_count: number;
  /** Jobs that were claimed but had not started at its last heartbeat. */
  prefetched_count: number;
  metadata: unknown;
  started_at: string;
  last_seen_at: string;
  lease_expires_at: string;
  /** Its node. */
  node: string | null;
  /** Whether it is shutting down gracefully: it finishes its running jobs. */
  draining: boolean;
  /** Whether its process is the leader. */
  leads: boolean;
  /** When a handler began to block its event loop; null if the event loop is not blocked. */
  blocked_since: string | null;
  /** The job that blocks it; null if unknown. */
  blocked_job_id: string | null;
}

export interface WorkerHeartbeat {
  worker: number;
  /** Number of jobs that it runs now; `held` takes precedence. */
  running?: number;
  /** All jobs that it runs. Its other jobs are released, since the reply to their claim was lost. */
  held?: Held[] | null;
}

export interface QueuesSettings {
  mode?: "parallel" | "serial" | null;
  max_running?: number | null;
  rate_count?: number | null;
  rate_period_seconds?: number | null;
}

export interface TenantsSettings {
  name?: string | null;
  time_zone?: string | null;
  paused?: boolean | null;
  /** Why it is paused, shown with its jobs. Removed on resume. */
  pause_reason?: string | null;
  /** Weight in fair scheduling. */
  weight?: number | null;
  max_running?: number | null;
  /** Quota: maximum number of unfinished jobs. */
  max_queued?: number | null;
}

/** The settings of a trigger. Omitted ones stay unchanged, or get their defaults. */
export interface TriggersSettings {
  is_enabled?: boolean | null;
  event_name?: string | null;
  cron_expr?: string | null;
  every_seconds?: number | null;
  /** Null: the tenant's time zone. */
  timezone?: string | null;
  definition_key?: string | null;
  /** Payload template: `{{event.a.b}}` is replaced, nothing is evaluated. */
  payload_template?: Record<string, unknown> | null;
  dedupe_window_seconds?: number | null;
  queue?: string | null;
  priority?: number | null;
  max_attempts?: number | null;
  timeout_seconds?: number | null;
  correlation_id?: string | null;
  dedupe_key?: string | null;
  limit_key?: string | null;
  catch_up?: "none" | "one" | "all" | "window" | null;
  catch_up_window_seconds?: number | null;
  overlap?: "allow" | "skip" | "queue" | null;
  jitter_seconds?: number | null;
}

/** Every route, with its parameters, body and response. */
export interface Routes {
  "GET /admin/jobs/definitions": { path: {}; query: { tenant?: string | null }; body: undefined; answer: PageOfDefinition };
  "POST /admin/jobs/definitions": { path: {}; query: { tenant?: string | null }; body: NewDefinition; answer: Definition };
  "GET /admin/jobs/definitions/{definition_key}": { path: { definition_key: string }; query: { tenant?: string | null }; body: undefined; answer: Definition };
  "PATCH /admin/jobs/definitions/{definition_key}": { path: { definition_key: string }; query: { tenant?: string | null }; body: Change; answer: Definition };
  "DELETE /admin/jobs/definitions/{definition_key}/overrides": { path: { definition_key: string }; query: { setting?: string[] | null; tenant?: string | null }; body: undefined; answer: Definition };
  "GET /approvals/{token}": { path: { token: string }; query: {}; body: undefined; answer: unknown };
  "POST /approvals/{token}": { path: { token: string }; query: {}; body: undefined; answer: unknown };
  "GET /audit": { path: {}; query: { actor?: string | null; action?: string | null; object?: string | null; cursor?: string | null; limit?: number; tenant?: string | null }; body: undefined; answer: PageOfEntry };
  "GET /cluster": { path: {}; query: { tenant?: string | null }; body: undefined; answer: Cluster };
  "GET /connectors": { path: {}; query: { tenant?: string | null }; body: undefined; answer: PageOfConnector };
  "PUT /connectors/{connector}": { path: { connector: "http" | "webhook" | "report" }; query: { tenant?: string | null }; body: Record<string, unknown>; answer: Connector };
  "DELETE /connectors/{connector}": { path: { connector: "http" | "webhook" | "report" }; query: { tenant?: string | null }; body: undefined; answer: undefined };
  "POST /embeds": { path: {}; query: { tenant?: string | null }; body: NewEmbed; answer: Embed };
  "POST /embeds/session": { path: {}; query: {}; body: Enter; answer: Entered };
  "GET /endpoints": { path: {}; query: { tenant?: string | null }; body: undefined; answer: PageOfEndpoint };
  "POST /endpoints": { path: {}; query: { tenant?: string | null }; body: NewEndpoint; answer: Endpoint };
  "GET /endpoints/{endpoint_id}": { path: { endpoint_id: string }; query: { tenant?: string | null }; body: undefined; answer: Endpoint };
  "PATCH /endpoints/{endpoint_id}": { path: { endpoint_id: string }; query: { tenant?: string | null }; body: EndpointSettings; answer: Endpoint };
  "DELETE /endpoints/{endpoint_id}": { path: { endpoint_id: string }; query: { tenant?: string | null }; body: undefined; answer: undefined };
  "GET /endpoints/{endpoint_id}/keys": { path: { endpoint_id: string }; query: { tenant?: string | null }; body: undefined; answer: PageOfSigningKey };
  "POST /endpoints/{endpoint_id}/rotate": { path: { endpoint_id: string }; query: { tenant?: string | null }; body: Rotation | null | undefined; answer: PageOfSigningKey };
  "POST /endpoints/{endpoint_id}/test": { path: { endpoint_id: string }; query: { tenant?: string | null }; body: EndpointTrial | null | undefined; answer: Delivery };
  "POST /events": { path: {}; query: { tenant?: string | null }; body: { name: string; data?: Record<string, unknown>; correlation_id?: string | null; id?: string | null }; answer: Emitted };
  "GET /events": { path: {}; query: { name?: string | null; failed?: boolean; cursor?: string | null; limit?: number; tenant?: string | null }; body: undefined; answer: PageOfEvent };
  "GET /events/{event_id}": { path: { event_id: string }; query: { tenant?: string | null }; body: undefined; answer: EventPage };
  "POST /jobs": { path: {}; query: { tenant?: string | null }; body: NewJobRequest; answer: NewJobAnswer };
  "GET /jobs": { path: {}; query: { status?: Status[] | null; source?: string | null; queue?: string | null; definition_key?: string | null; worker?: number | null; correlation_id?: string | null; parent?: string | null; root?: string | null; fan_out?: string | null; has_sub_jobs?: boolean | null; created_after?: string | null; created_before?: string | null; search?: string | null; payload?: string[] | null; error?: string | null; cursor?: string | null; limit?: number; offset?: number; tenant?: string | null }; body: undefined; answer: Jobs };
  "POST /jobs/bulk": { path: {}; query: { tenant?: string | null }; body: BulkRequest; answer: BulkAnswer };
  "GET /jobs/count": { path: {}; query: { status?: Status[] | null; source?: string | null; queue?: string | null; definition_key?: string | null; worker?: number | null; correlation_id?: string | null; parent?: string | null; root?: string | null; fan_out?: string | null; has_sub_jobs?: boolean | null; created_after?: string | null; created_before?: string | null; search?: string | null; payload?: string[] | null; error?: string | null; tenant?: string | null }; body: undefined; answer: Count };
  "GET /jobs/definitions": { path: {}; query: { tenant?: string | null }; body: undefined; answer: PageOfKind };
  "GET /jobs/failures": { path: {}; query: { start?: string | null; status?: ("failed" | "dead_letter")[] | null; order?: "jobs" | "recent"; limit?: number; tenant?: string | null }; body: undefined; answer: FailurePage };
  "GET /jobs/failures/{definition_key}/{fingerprint}": { path: { definition_key: string; fingerprint: string }; query: { start?: string | null; step_hours?: number; tenant?: string | null }; body: undefined; answer: FailureGroup };
  "GET /jobs/history": { path: {}; query: { start?: string | null; step_seconds?: number; tenant?: string | null }; body: undefined; answer: PageOfStretch };
  "GET /jobs/latency": { path: {}; query: { start?: string | null; step_seconds?: number; tenant?: string | null }; body: undefined; answer: PageOfLatency };
  "GET /jobs/summary": { path: {}; query: { tenant?: string | null }; body: undefined; answer: Summary };
  "GET /jobs/triggers": { path: {}; query: { tenant?: string | null }; body: undefined; answer: PageOfTrigger };
  "POST /jobs/triggers": { path: {}; query: { tenant?: string | null }; body: NewTrigger; answer: Trigger };
  "POST /jobs/triggers/preview": { path: {}; query: { count?: number; tenant?: string | null }; body: Timetable; answer: PageOfInstant };
  "POST /jobs/triggers/render": { path: {}; query: { tenant?: string | null }; body: Draft; answer: Rendered };
  "GET /jobs/triggers/{trigger_id}": { path: { trigger_id: string }; query: { tenant?: string | null }; body: undefined; answer: Trigger };
  "PATCH /jobs/triggers/{trigger_id}": { path: { trigger_id: string }; query: { tenant?: string | null }; body: TriggersSettings; answer: Trigger };
  "DELETE /jobs/triggers/{trigger_id}": { path: { trigger_id: string }; query: { tenant?: string | null }; body: undefined; answer: undefined };
  "GET /jobs/triggers/{trigger_id}/fires": { path: { trigger_id: string }; query: { limit?: number; tenant?: string | null }; body: undefined; answer: PageOfFire };
  "GET /jobs/triggers/{trigger_id}/preview": { path: { trigger_id: string }; query: { count?: number; after?: string | null; tenant?: string | null }; body: undefined; answer: PageOfInstant };
  "POST /jobs/triggers/{trigger_id}/test": { path: { trigger_id: string }; query: { tenant?: string | null }; body: Trial | null | undefined; answer: Tried };
  "GET /jobs/{job_id}": { path: { job_id: string }; query: { wait_seconds?: number; tenant?: string | null }; body: undefined; answer: JobPage };
  "GET /jobs/{job_id}/artifacts/{sha256}": { path: { job_id: string; sha256: string }; query: { tenant?: string | null }; body: undefined; answer: unknown };
  "GET /jobs/{job_id}/attempts": { path: { job_id: string }; query: { tenant?: string | null }; body: undefined; answer: PageOfAttempt };
  "POST /jobs/{job_id}/cancel": { path: { job_id: string }; query: { tenant?: string | null }; body: Cancel | null | undefined; answer: Moved };
  "GET /jobs/{job_id}/children": { path: { job_id: string }; query: { fan_out?: string | null; start?: number; limit?: number; tenant?: string | null }; body: undefined; answer: Children };
  "GET /jobs/{job_id}/explain": { path: { job_id: string }; query: { tenant?: string | null }; body: undefined; answer: Explanation };
  "GET /jobs/{job_id}/load": { path: { job_id: string }; query: { fan_out?: string | null; start?: string | null; end?: string | null; parts?: number; tenant?: string | null }; body: undefined; answer: PageOfLoad };
  "GET /jobs/{job_id}/logs": { path: { job_id: string }; query: { attempt?: number | null; level?: "debug" | "info" | "warning" | "error" | "critical"; after?: string | null; before?: string | null; limit?: number; tenant?: string | null }; body: undefined; answer: LogPage };
  "GET /jobs/{job_id}/nodes": { path: { job_id: string }; query: { tenant?: string | null }; body: undefined; answer: PageOfJobNode };
  "POST /jobs/{job_id}/reschedule": { path: { job_id: string }; query: { tenant?: string | null }; body: Reschedule; answer: Moved };
  "POST /jobs/{job_id}/retry": { path: { job_id: string }; query: { tenant?: string | null }; body: Retry | null | undefined; answer: Moved };
  "POST /jobs/{job_id}/signal": { path: { job_id: string }; query: { tenant?: string | null }; body: Signal; answer: Moved };
  "GET /jobs/{job_id}/state": { path: { job_id: string }; query: { tenant?: string | null }; body: undefined; answer: StateShown };
  "GET /jobs/{job_id}/steps": { path: { job_id: string }; query: { tenant?: string | null }; body: undefined; answer: PageOfStep };
  "POST /jobs/{job_id}/streams/token": { path: { job_id: string }; query: { tenant?: string | null }; body: NewStreamToken | null | undefined; answer: StreamTokenMade };
  "GET /jobs/{job_id}/tree": { path: { job_id: string }; query: { cursor?: string | null; limit?: number; tenant?: string | null }; body: undefined; answer: PageOfNode };
  "GET /keys": { path: {}; query: { cursor?: string | null; limit?: number; tenant?: string | null }; body: undefined; answer: PageOfKey };
  "POST /keys": { path: {}; query: { tenant?: string | null }; body: NewKey; answer: MadeKey };
  "DELETE /keys/{key_id}": { path: { key_id: string }; query: { descendants?: boolean; tenant?: string | null }; body: undefined; answer: undefined };
  "GET /keys/{key_id}/descendants": { path: { key_id: string }; query: { tenant?: string | null }; body: undefined; answer: PageOfKey };
  "GET /queues": { path: {}; query: { tenant?: string | null }; body: undefined; answer: PageOfQueue };
  "PATCH /queues/{name}": { path: { name: string }; query: { tenant?: string | null }; body: QueuesSettings; answer: Queue };
  "POST /queues/{name}/pause": { path: { name: string }; query: { tenant?: string | null }; body: Pause | null | undefined; answer: Queue };
  "POST /queues/{name}/resume": { path: { name: string }; query: { tenant?: string | null }; body: undefined; answer: Queue };
  "POST /session": { path: {}; query: {}; body: SignIn; answer: Session };
  "GET /session": { path: {}; query: { tenant?: string | null }; body: undefined; answer: Session };
  "DELETE /session": { path: {}; query: { tenant?: string | null }; body: undefined; answer: undefined };
  "GET /session/link": { path: {}; query: { token: string }; body: undefined; answer: undefined };
  "GET /session/oidc": { path: {}; query: { next?: string }; body: undefined; answer: undefined };
  "GET /session/oidc/callback": { path: {}; query: { state?: string; code?: string; iss?: string | null; error?: string | null }; body: undefined; answer: undefined };
  "GET /session/ways": { path: {}; query: {}; body: undefined; answer: Ways };
  "GET /tenants": { path: {}; query: { tenant?: string | null }; body: undefined; answer: PageOfTenant };
  "POST /tenants": { path: {}; query: { tenant?: string | null }; body: NewTenant; answer: Tenant };
  "GET /tenants/load": { path: {}; query: { start?: string | null; tenant?: string | null }; body: undefined; answer: PageOfTenantLoad };
  "PATCH /tenants/{slug}": { path: { slug: string }; query: { tenant?: string | null }; body: TenantsSettings; answer: Tenant };
  "POST /worker/heartbeat": { path: {}; query: { tenant?: string | null }; body: WorkerHeartbeat; answer: Beat };
  "POST /worker/jobs/claim": { path: {}; query: { tenant?: string | null }; body: Claim; answer: Claims };
  "POST /worker/jobs/settle": { path: {}; query: { tenant?: string | null }; body: Settle; answer: SettledMany };
  "GET /worker/jobs/{job_id}/artifacts/{sha256}": { path: { job_id: string; sha256: string }; query: { tenant?: string | null }; body: undefined; answer: unknown };
  "POST /worker/jobs/{job_id}/complete": { path: { job_id: string }; query: { tenant?: string | null }; body: Complete; answer: Settled };
  "POST /worker/jobs/{job_id}/fail": { path: { job_id: string }; query: { tenant?: string | null }; body: Fail; answer: Settled };
  "POST /worker/jobs/{job_id}/heartbeat": { path: { job_id: string }; query: { tenant?: string | null }; body: Heartbeat; answer: Beat };
  "POST /worker/jobs/{job_id}/logs": { path: { job_id: string }; query: { tenant?: string | null }; body: Logs; answer: undefined };
  "POST /worker/jobs/{job_id}/release": { path: { job_id: string }; query: { tenant?: string | null }; body: Release; answer: Settled };
  "POST /worker/jobs/{job_id}/skip": { path: { job_id: string }; query: { tenant?: string | null }; body: SkipIt; answer: Settled };
  "POST /worker/leave": { path: {}; query: { tenant?: string | null }; body: Leave; answer: undefined };
  "GET /workers": { path: {}; query: { tenant?: string | null }; body: undefined; answer: PageOfWorker };
}
