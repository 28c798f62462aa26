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
  /** Whether more jobs may match, because the count reached its limit or not all jobs were scanned. */
  more: boolean;
  sample: string[];
  /** The bulk job, which shows the progress; null for a dry run. */
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
  /** Text in the definition, correlation id or dedupe key, or a job's id. */
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
  /** Also cancel all descendants. */
  tree?: boolean;
}

export interface Change {
  description?: string | null;
  /** JSON Schema of the payload; null if any payload is accepted. */
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
  /** Payload keys or paths (`order.customer`) that are indexed, so that jobs can be searched by them. */
  search_keys?: string[] | null;
  /** Fields to hide from viewers and operators: names or path suffixes (`customer.ssn`). Fields with names such as `password` are always hidden. */
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
  /** When the job is due, or when it reached its current status; null if it is final. */
  run_at: string | null;
  finished_at: string | null;
  wait_on: string | null;
  /** The only node that may run the job. */
  node: string | null;
  /** The beginning of the error. */
  last_error: string | null;
  /** Number of its own fan-outs, without empty ones. */
  fan_outs: number;
  /** The last 100 ended attempts. */
  attempts: Span[];
  /** Whether it has steps that run or wait in the job itself. */
  steps: boolean;
  /** Time from when it was due until its first start, or until now; null: it ended without a start. */
  wait_s: number | null;
  /** Run time: from its first start to its end, or until now; null: not started. */
  run_s: number | null;
}

export interface Children {
  items: Child[];
  /** The value of `start` for the next page; null on the last page. */
  next?: number | null;
}

export interface Claim {
  /** The number that the first claim returned; null registers a new worker. */
  worker?: number | null;
  queues: string[];
  /** The job definitions that the worker can run. */
  definitions: string[];
  limit?: number;
  /** Number of jobs that the worker runs now. */
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
  /** Number of the attempt. Send it with every request about the job. */
  attempt: number;
  failed_attempts: number;
  max_attempts: number;
  tenant_id: string;
  definition_key: string;
  queue: string;
  payload: unknown;
  /** URL of the payload if it is an artifact; null if `payload` has the value. */
  payload_url: string | null;
  /** Time limit of the attempt; null if there is no limit. */
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
  /** Secrets appear as references, `{{secret.NAME}}`, never as values. */
  settings: unknown;
  updated_at: string;
  updated_by: string;
}

export interface Count {
  /** Number of jobs, up to 1,000. */
  count: number;
  /** Whether more jobs may match, because the count reached its limit or not all jobs were scanned. */
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
  /** Payload keys that are indexed, so that jobs can be searched by them: `payload=key=value`. */
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

/** A template to render, and the data to render it with. The trigger does not need to exist. */
export interface Draft {
  definition_key: string;
  payload_template?: Record<string, unknown>;
  /** Null if the trigger is a schedule. */
  event_name?: string | null;
  /** Data of the event. */
  data?: Record<string, unknown>;
  label?: string;
}

/** Run times of earlier jobs of the same definition, in seconds. */
export interface EarlierRuns {
  /** Number of jobs: the newest, at most 100, that were enqueued before this one and succeeded. */
  runs: number;
  mean_s: number | null;
  p50_s: number | null;
  p95_s: number | null;
  /** When the oldest of them was enqueued. */
  since: string | null;
  /** False: older ones may exist, beyond the 10,000 rows that were searched. */
  complete: boolean;
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

/** The two final states: its lease expired, or it left. */
export type EndState = "lost" | "gone";

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
  /** Until this time, messages are also signed with the previous key. */
  old_key_until: string | null;
  /** Outcomes since this time are delivered; null if no outcomes are delivered. */
  subscribed_at: string | null;
  disabled_at: string | null;
  disabled_reason: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

/** The settings of an endpoint. Omitted settings stay unchanged; for a new endpoint they get their defaults. */
export interface EndpointSettings {
  url?: string | null;
  is_enabled?: boolean | null;
  /** `standard`: Standard Webhooks 1.0.0. Otherwise the header `x-webhook-signature: sha256=…` signs the body. */
  signature?: "standard" | "sha256" | "sha512" | null;
  /** Final statuses that are delivered. */
  statuses?: ("succeeded" | "failed" | "dead_letter" | "canceled" | "skipped")[] | null;
  /** Only outcomes of these job definitions are delivered; null if outcomes of all definitions are delivered. */
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
  /** The session token. Send it as `Authorization: Session …`. */
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
  /** Number of jobs that the event triggered. */
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
  /** Number of jobs that the event triggered. */
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
  /** Identifies a group of similar errors. `GET /jobs?error=…` lists their jobs. */
  fingerprint: string;
  /** The newest error. */
  error: string | null;
  /** Number of jobs with this error that are currently `failed` or `dead_letter`. Retried and deleted jobs are not counted. */
  jobs: number;
  /** Number of `jobs` that are dead letters. */
  dead_letters: number;
  /** Number of failures since `since`, including jobs that were retried later. */
  recent: number;
  /** Number of tenants with these jobs. */
  tenants: number;
  /** Time of the oldest failure with this error whose job has not been deleted. */
  first_at: string;
  last_at: string;
  last_job_id: string;
}

/** One error of a definition. */
export interface FailureGroup {
  definition_key: string;
  fingerprint: string;
  /** All failures that were committed before this time are counted. It is the time of the request, or of the last count if the leader is behind. Null if the leader has not counted yet. */
  as_of: string | null;
  /** Number of jobs with this error that are currently `failed` or `dead_letter`. Retried and deleted jobs are not counted. */
  jobs: number;
  dead_letters: number;
  /** Number of failures with this error whose jobs have not been deleted, including jobs that were retried later. */
  failures: number;
  first_at: string;
  last_at: string;
  last_job_id: string;
  /** The newest failed attempt; null if its job has been deleted since the last count. */
  sample: Attempt | null;
  tenants: FailureTenant[];
  /** Intervals since `start`. Empty intervals are omitted. */
  history: FailureInterval[];
  /** Workers of the newest failures, at most 100. */
  workers: FailureWorker[];
  /** Number of failures from which `workers` was computed: at most the newest 1,000. */
  workers_of: number;
}

/** Failures with one error in one interval, including jobs that were retried later. */
export interface FailureInterval {
  /** Start of the interval. */
  at: string;
  failed: number;
  dead_letter: number;
}

export interface FailurePage {
  items: Failure[];
  /** Always null, because the list has only one page. To get more errors, increase `limit`. */
  next?: string | null;
  /** All failures that were committed before this time are counted. It is the time of the request, or of the last count if the leader is behind. Null if the leader has not counted yet. */
  as_of: string | null;
  /** Start of the period that `recent` covers: the beginning of the hour of `start`. */
  since: string;
  /** Total number of errors, not limited by `limit`. */
  total_errors: number;
  /** Number of jobs with these errors. */
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
  /** Null if the job failed without a worker, for example after its deadline. */
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
  /** succeeded, failed or timeout; null if the fan-out is not decided yet. */
  decision: string | null;
  created_at: string;
  decided_at: string | null;
  timeout_at: string | null;
  running: number;
  waiting: number;
  /** Number of scheduled children. Children that are not counted in any of these fields are queued. */
  scheduled: number;
}

/** How long the sub-jobs of a fan-out waited and ran, in seconds, over all of them. */
export interface FanOutTimes {
  total: number;
  /** Number of sub-jobs that were read: all of them, up to 100,000. */
  children: number;
  /** Number of sub-jobs that have started and ended. The run times are exactly those of these. */
  ran: number;
  /** Number of sub-jobs that have not ended. */
  unfinished: number;
  /** Number of sub-jobs that ended without a start, such as canceled ones. */
  never_ran: number;
  /** Number of sub-jobs that have started. The wait times are exactly those of these. */
  started: number;
  run_mean_s: number | null;
  run_p50_s: number | null;
  run_p95_s: number | null;
  run_max_s: number | null;
  wait_p50_s: number | null;
  wait_p95_s: number | null;
  wait_max_s: number | null;
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
  /** All jobs that the worker runs. Its other jobs are released, because the response to their claim was lost. */
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
  /** The requested start time; null if the job may start immediately. */
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
  /** Null if the definition's timeout applies. */
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
  /** Whether the node had not finished when the job was decided. The outcome of a late node has no effect. */
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
  /** The requested start time; null if the job may start immediately. */
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
  /** Null if the definition's timeout applies. */
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
  /** When the worker's lease expires, while the job runs. */
  lease_expires_at: string | null;
  /** Total time: from the first start until the job is final, or until now. Null if the job has not started. */
  total_s: number | null;
  /** Own time: the run time of the handler, over all attempts. */
  own_s: number | null;
  /** Waiting time: how long the job was suspended, in backoff or requeued. */
  waiting_s: number | null;
  /** Unread signals, by name. */
  unread_signals: UnreadSignals[];
  parent: JobBrief | null;
  fan_outs: FanOut[];
  steps: Step[];
  /** The newest children. To list more, use `GET /jobs?parent=…&cursor=…`. */
  children: PageOfJobBrief;
}

export interface Jobs {
  items: JobBrief[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
  /** False if the search stopped at its scan limit; `next` continues it. */
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

/** A job definition, as shown to callers that enqueue jobs. */
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
  /** Payload keys that are indexed, so that jobs can be searched by them: `payload=key=value`. */
  search_keys: string[] | null;
  /** Fields that are hidden from viewers and operators. */
  sensitive: string[] | null;
}

export interface LastJob {
  job_id: string;
  tenant_id: string | null;
  /** Null if the job is deleted. */
  definition_key: string | null;
  /** Its status now; null if the job is deleted. */
  status: Status | null;
}

/** Wait and run times, in seconds, of a sample of the jobs enqueued in one interval. */
export interface Latency {
  /** Start of the interval. */
  at: string;
  /** Number of jobs in the sample. */
  jobs: number;
  /** Median time between a job's due time and its first start. */
  wait_p50: number | null;
  wait_p95: number | null;
  /** Median run time of the last attempt. */
  run_p50: number | null;
  run_p95: number | null;
}

export interface Leading {
  /** Name of the leader's process. */
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
  /** JSON Schema of the payload; null if any payload is accepted. */
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
  /** Payload keys or paths (`order.customer`) that are indexed, so that jobs can be searched by them. */
  search_keys?: string[] | null;
  /** Fields to hide from viewers and operators: names or path suffixes (`customer.ssn`). Fields with names such as `password` are always hidden. */
  sensitive?: string[] | null;
  key: string;
}

export interface NewEmbed {
  /** Role of the view. It must not exceed the role of your key. */
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
  /** Only outcomes of these job definitions are delivered; null if outcomes of all definitions are delivered. */
  definitions?: string[] | null;
  label: string;
}

export interface NewJobAnswer {
  id: string;
  tenant_id: string;
  status: Status;
  definition_key: string;
  queued_at: string;
  /** Whether the dedupe key or the idempotency key already belonged to a job. If so, that job is returned. */
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
  /** A UUIDv7 that you generate, so that repeating the request is safe. */
  id?: string | null;
}

export interface NewKey {
  name: string;
  role: Role;
  /** Must not be later than the expiry of your own key, which is the default. If you signed in through an identity provider, it must be at most a year from now, and the default is 90 days. */
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
  /** Why the tenant is paused, shown with its jobs. Removed on resume. */
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
  /** Null means the tenant's time zone. */
  timezone?: string | null;
  definition_key: string;
  /** Payload template: placeholders such as `{{event.a.b}}` are replaced, and no code is evaluated. */
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
  /** Run time of the handler, over all attempts. */
  own_s: number | null;
  /** Time from the first start until the job is final, including its children. */
  total_s: number | null;
}

/** The outcome of one attempt, with the fields of the route that `outcome` names. */
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
  /** The value in code; null if the code sets no value or does not define the job. */
  code_value: unknown;
  author: string;
  set_at: string;
}

export interface PageOfAttempt {
  items: Attempt[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfConnector {
  items: Connector[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfDefinition {
  items: Definition[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfEndpoint {
  items: Endpoint[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfEntry {
  items: Entry[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfEvent {
  items: Event[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfFire {
  items: Fire[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfInstant {
  items: Instant[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfJobBrief {
  items: JobBrief[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfJobNode {
  items: JobNode[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfKey {
  items: Key[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfKind {
  items: Kind[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfLatency {
  items: Latency[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfLoad {
  items: Load[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfNode {
  items: Node[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfQueue {
  items: Queue[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfSigningKey {
  items: SigningKey[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfStep {
  items: Step[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfStretch {
  items: Stretch[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfTenantLoad {
  items: TenantLoad[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfTenant {
  items: Tenant[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfTrigger {
  items: Trigger[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface PageOfWorker {
  items: Worker[];
  /** The value of `cursor` for the next page; null on the last page. */
  next?: string | null;
}

export interface Pause {
  /** Reason, shown with the queue. */
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
  /** The errors of the request, by field: `message`, and `pointer`, a JSON pointer in the body such as `/payload/width`, or `at`. */
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
  /** Name of the API key that paused the queue. Null if your key belongs to one tenant. */
  paused_by: string | null;
  pause_reason: string | null;
}

export interface Reason {
  code: string;
  explanation: string;
  /** How to get the job to run; null if no action is needed. */
  remedy: string | null;
}

export interface Release {
  worker: number;
  attempt: number;
  /** Delay before the job may run again; null means immediately. Does not count against `max_attempts`. */
  delay_seconds?: number | null;
}

/** The rendered payload, or `error` if the template or the payload is not valid. */
export interface Rendered {
  payload: unknown;
  error: string | null;
}

export interface Reschedule {
  /** Null leaves the time unchanged. A time in the past means immediately. */
  scheduled_for?: string | null;
  max_attempts?: number | null;
}

export interface Retry {
  /** failed: retry the failed jobs of a root's workflow; all: run the whole workflow again, as new jobs. */
  tree?: "failed" | "all" | null;
  /** keep: a durable function resumes; drop: its checkpoints are deleted and it restarts. */
  steps?: "keep" | "drop";
  scheduled_for?: string | null;
  max_attempts?: number | null;
}

export type Role = "viewer" | "operator" | "admin" | "super-admin" | "worker";

export interface Rotation {
  /** How long messages are also signed with the previous key. */
  overlap_seconds?: number;
}

export interface Session {
  role: Role;
  /** Null if the session is valid for all tenants. */
  tenant_id: string | null;
  tenant: string | null;
  name: string;
  /** The CSRF token. Send it as X-CSRF-Token with every change. Null if you authenticated with a key. */
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
  /** If both this and `busy` are false, the lease is lost, and nothing was changed. */
  accepted: boolean;
  /** The job's row is locked by another transaction, and nothing was changed: send the outcome again. */
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
  /** Null if the attempt never ran: the job was canceled before it started, or an operator retried it. */
  claimed_at: string | null;
  started_at: string | null;
  finished_at: string;
}

export interface StateShown {
  /** The value that the handler set with `current().state(…)`; null if it set none. */
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
  /** When its result was checkpointed, or when its wait began. */
  at: string;
  /** When it began; null: not known. */
  started_at: string | null;
  /** How long it took: a call or transaction ran, a fan-out was decided, a sleep or wait for a signal ended. Null: not done, or not known. */
  took_s: number | null;
  done: boolean;
  due_at: string | null;
  value: unknown;
  error: string | null;
  fan_out_id: string | null;
}

export interface StreamTokenMade {
  /** The token. Send it as `?token=…` or `Authorization: Bearer …`. It only allows reading this job's streams. */
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
  /** When the unfinished jobs were counted: at the time of the request, or a few seconds earlier if there are many. */
  at: string;
  /** Number of unfinished jobs by status, and of jobs that are currently `failed` or `dead_letter`. Retried and deleted jobs are not counted. */
  counts: Partial<Record<Status, number>>;
  /** Failed jobs and dead letters are counted as of this time; null if they have not been counted yet. */
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
  /** Share of `ended` attempts that failed, from 0 to 1. Null if none ended. */
  failure_rate: number | null;
  /** Total run time of handlers since `start`. */
  run_seconds: number;
  /** The tenant's share of all running jobs, from 0 to 1. */
  share: number | null;
  /** The tenant's fair share by weight, among tenants with unfinished jobs. */
  fair_share: number | null;
  /** Why the tenant may slow down other tenants. `slots`: it uses more than twice its fair share while others wait. `backlog`: most jobs of a long queue are its own. `failures`: most of its attempts fail. */
  noisy: ("slots" | "backlog" | "failures")[];
}

/** A schedule to preview. It does not need to exist. */
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

/** Unread signals with one name. */
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
  /** alive, lost (its lease expired) or gone (it left). lost and gone are final. */
  state: string;
  /** Whether it is alive, but its heartbeat is overdue by half a lease. */
  stale: boolean;
  /** Whether its lease has expired and the leader has not declared it lost yet. It serves no queue. */
  lease_expired: boolean;
  hostname: string;
  pid: number;
  version: string;
  /** The build of its code; null if it has none. */
  build: string | null;
  queues: string[];
  definitions: string[];
  running_count: number;
  /** Jobs that were claimed but not started at the last heartbeat. */
  prefetched_count: number;
  metadata: unknown;
  started_at: string;
  last_seen_at: string;
  lease_expires_at: string;
  /** The worker's node. */
  node: string | null;
  /** Whether the worker is shutting down gracefully: it finishes its running jobs. */
  draining: boolean;
  /** Whether the worker's process is the leader. */
  leads: boolean;
  /** When a handler began to block its event loop, for a lost worker as of its last heartbeat; null if the event loop is not blocked. */
  blocked_since: string | null;
  /** The job that blocks it; null if unknown. */
  blocked_job_id: string | null;
  /** When it was declared lost, or left; null while it is alive. */
  ended_at: string | null;
  /** lease_expired or blocked_loop (its event loop was blocked at its last heartbeat) if it is lost; left or restored (by `plait after-restore`) if it is gone. */
  end_reason: string | null;
  /** Whether it has ended and some of its jobs are not moved yet. */
  clearing: boolean;
  /** Jobs that were assigned to it when it ended. */
  held_count: number;
  /** Jobs that rescue requeued after it ended. */
  requeued_count: number;
  /** Poison jobs that rescue dead-lettered after it was lost. */
  dead_lettered_count: number;
  /** Jobs with a requested cancellation that were canceled when it ended. */
  canceled_count: number;
  /** Jobs that it released while it shut down. */
  released_count: number;
}

/** The workers of a list. A stale worker is alive, but its heartbeat is overdue; `alive` leaves stale workers out. */
export type WorkerFilter = "alive" | "stale" | "lost" | "gone";

export interface WorkerHeartbeat {
  worker: number;
  /** Number of jobs that the worker runs now; `held` takes precedence. */
  running?: number;
  /** All jobs that the worker runs. Its other jobs are released, because the response to their claim was lost. */
  held?: Held[] | null;
}

export interface WorkerPage {
  worker_id: number;
  /** alive, lost (its lease expired) or gone (it left). lost and gone are final. */
  state: string;
  /** Whether it is alive, but its heartbeat is overdue by half a lease. */
  stale: boolean;
  /** Whether its lease has expired and the leader has not declared it lost yet. It serves no queue. */
  lease_expired: boolean;
  hostname: string;
  pid: number;
  version: string;
  /** The build of its code; null if it has none. */
  build: string | null;
  queues: string[];
  definitions: string[];
  running_count: number;
  /** Jobs that were claimed but not started at the last heartbeat. */
  prefetched_count: number;
  metadata: unknown;
  started_at: string;
  last_seen_at: string;
  lease_expires_at: string;
  /** The worker's node. */
  node: string | null;
  /** Whether the worker is shutting down gracefully: it finishes its running jobs. */
  draining: boolean;
  /** Whether the worker's process is the leader. */
  leads: boolean;
  /** When a handler began to block its event loop, for a lost worker as of its last heartbeat; null if the event loop is not blocked. */
  blocked_since: string | null;
  /** The job that blocks it; null if unknown. */
  blocked_job_id: string | null;
  /** When it was declared lost, or left; null while it is alive. */
  ended_at: string | null;
  /** lease_expired or blocked_loop (its event loop was blocked at its last heartbeat) if it is lost; left or restored (by `plait after-restore`) if it is gone. */
  end_reason: string | null;
  /** Whether it has ended and some of its jobs are not moved yet. */
  clearing: boolean;
  /** Jobs that were assigned to it when it ended. */
  held_count: number;
  /** Jobs that rescue requeued after it ended. */
  requeued_count: number;
  /** Poison jobs that rescue dead-lettered after it was lost. */
  dead_lettered_count: number;
  /** Jobs with a requested cancellation that were canceled when it ended. */
  canceled_count: number;
  /** Jobs that it released while it shut down. */
  released_count: number;
  /** Jobs that were assigned to it when it ended, at most 100; `held_count` is the number of all of them. */
  last_jobs: LastJob[];
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
  /** Why the tenant is paused, shown with its jobs. Removed on resume. */
  pause_reason?: string | null;
  /** Weight in fair scheduling. */
  weight?: number | null;
  max_running?: number | null;
  /** Quota: maximum number of unfinished jobs. */
  max_queued?: number | null;
}

/** The settings of a trigger. Omitted settings stay unchanged; for a new trigger they get their defaults. */
export interface TriggersSettings {
  is_enabled?: boolean | null;
  event_name?: string | null;
  cron_expr?: string | null;
  every_seconds?: number | null;
  /** Null means the tenant's time zone. */
  timezone?: string | null;
  definition_key?: string | null;
  /** Payload template: placeholders such as `{{event.a.b}}` are replaced, and no code is evaluated. */
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
  "GET /jobs/{job_id}/children": { path: { job_id: string }; query: { fan_out?: string | null; start?: number; limit?: number; sort?: "index" | "duration" | "wait" | "status"; descending?: boolean; tenant?: string | null }; body: undefined; answer: Children };
  "GET /jobs/{job_id}/children/times": { path: { job_id: string }; query: { fan_out?: string | null; tenant?: string | null }; body: undefined; answer: FanOutTimes };
  "GET /jobs/{job_id}/earlier-runs": { path: { job_id: string }; query: { tenant?: string | null }; body: undefined; answer: EarlierRuns };
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
  "GET /workers": { path: {}; query: { state?: WorkerFilter | null; tenant?: string | null }; body: undefined; answer: PageOfWorker };
  "GET /workers/history": { path: {}; query: { state?: EndState | null; host?: string | null; cursor?: number | null; limit?: number; tenant?: string | null }; body: undefined; answer: PageOfWorker };
  "GET /workers/{worker_id}": { path: { worker_id: number }; query: { tenant?: string | null }; body: undefined; answer: WorkerPage };
}
