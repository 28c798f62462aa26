// Generated from the server's OpenAPI document by scripts/client_types.py. Do not edit.

/** One execution of a job, or what an operator did to it. */
export interface Attempt {
  attempt_no: number;
  status: string;
  /** What the job became by it; null: it went on. */
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
  /** With `stdout` and `stderr`, the tails of what a command or a worker wrote. */
  progress: unknown;
}

export interface Beat {
  /** Jobs of this worker that shall stop. */
  cancel: string[];
  /** Jobs that are others' now: stop them, and report nothing. */
  gone: string[];
}

export interface BulkAnswer {
  dry_run: boolean;
  /** How many there are now, up to 10,000. */
  matched: number;
  /** There are more than that, or not all was looked at. */
  more: boolean;
  sample: string[];
  /** The job that does it: its progress says how far it is. */
  job_id: string | null;
}

/** Which jobs: at least one thing must be said of them (T107). */
export interface BulkFilter {
  /** May be given again. */
  status?: Status[] | null;
  source?: string | null;
  queue?: string | null;
  definition_key?: string | null;
  /** It runs there, or ran there last. */
  worker?: number | null;
  correlation_id?: string | null;
  parent?: string | null;
  root?: string | null;
  fan_out?: string | null;
  has_sub_jobs?: boolean | null;
  created_after?: string | null;
  created_before?: string | null;
  /** In definition, correlation id, dedupe key; or an id. */
  search?: string | null;
  /** `key=value`, by the payload's keys or paths (`order.customer=7`); may be given again. With `definition_key`, and one of its declared search keys, an index finds them. */
  payload?: string[] | null;
  /** A fingerprint of `GET /jobs/failures`: failed with an error of that kind. */
  error?: string | null;
}

export interface BulkRequest {
  action: "cancel" | "retry";
  filter: BulkFilter;
  /** Only count them. */
  dry_run?: boolean;
  reason?: string | null;
  /** So many jobs a second at most; as fast as it goes when not given. */
  rate?: number | null;
}

export interface Cancel {
  reason?: string | null;
  /** And all its sub-jobs. */
  tree?: boolean;
}

export interface Change {
  description?: string | null;
  /** JSON Schema of its payloads; null: any. */
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
  /** Keys of its payloads, or paths (`order.customer`), by which its jobs are found by an index. */
  search_keys?: string[] | null;
  /** Fields that viewers and operators are not shown, beside those whose name says so: names, or ends of paths (`customer.ssn`). */
  sensitive?: string[] | null;
  /** False refuses new jobs and triggers; jobs that exist run. */
  is_active?: boolean | null;
}

/** A job of a fan-out, and when it ran. */
export interface Child {
  id: string;
  fan_out_index: number;
  definition_key: string;
  queue: string;
  status: Status;
  /** Attempts that count against max_attempts. */
  attempt_count: number;
  created_at: string;
  /** When it is due, or since when it is where it is; null when it is final. */
  run_at: string | null;
  finished_at: string | null;
  wait_on: string | null;
  /** The only one that may run it. */
  node: string | null;
  /** Its beginning. */
  last_error: string | null;
  /** How many it has itself. */
  fan_outs: number;
  /** Those that have ended, the last hundred of them. */
  attempts: Span[];
}

export interface Children {
  items: Child[];
  /** Send it as `start` for what follows; null: that was all. */
  next?: number | null;
}

export interface Claim {
  /** As the first claim answered; null: register. */
  worker?: number | null;
  queues: string[];
  /** The kinds of job that it can run. */
  definitions: string[];
  limit?: number;
  /** How many it runs now. */
  running?: number;
  /** How long to wait for work. */
  wait_seconds?: number;
  /** After so long without a word it is declared lost. */
  lease_seconds?: number;
  hostname?: string;
  pid?: number;
  version?: string;
}

export interface ClaimedJob {
  id: string;
  /** Name it in all that is said about the job. */
  attempt: number;
  tries: number;
  max_attempts: number;
  tenant_id: string;
  definition_key: string;
  queue: string;
  payload: unknown;
  /** Where the payload is when it is too large to be here, as its `$artifact` says; null: here. */
  payload_url: string | null;
  /** How long it may run; null where nobody has said so. */
  timeout_seconds: number | null;
  correlation_id: string | null;
}

export interface Claims {
  worker: number;
  jobs: ClaimedJob[];
}

export interface Cluster {
  /** None: nobody leads now. */
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
  /** Parts of node jobs that wait for it, or run there. */
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
  /** Secrets in them are named, `{{secret.NAME}}`, and never given. */
  settings: unknown;
  updated_at: string;
  updated_by: string;
}

export interface Count {
  /** Up to 1,000. */
  count: number;
  /** There are more than that, or not all was looked at. */
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
  /** By which its jobs are found by an index: `payload=key=value`. */
  search_keys: string[] | null;
  /** Fields that viewers and operators are not shown. */
  sensitive: string[] | null;
  max_running: number | null;
  rate_count: number | null;
  rate_period_seconds: number | null;
  key_max_running: number | null;
  key_rate_count: number | null;
  key_rate_period_seconds: number | null;
  updated_at: string;
  /** What operators have set, with the code's values beside it. */
  overrides: Override[];
}

export interface Delivery {
  job_id: string;
}

/** A trigger's template that is not there yet, and what it shall be tried with. */
export interface Draft {
  definition_key: string;
  payload_template?: Record<string, unknown>;
  /** Null: a schedule's. */
  event_name?: string | null;
  /** The event's. */
  data?: Record<string, unknown>;
  label?: string;
}

export interface Embed {
  /** The frame's address. It works once, within five minutes. */
  url: string;
  role: Role;
  /** When the view ends, however it is used. */
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
  /** So long the key before signs too. */
  old_key_until: string | null;
  /** Outcomes since then are told; null: none are. */
  subscribed_at: string | null;
  disabled_at: string | null;
  disabled_reason: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

/** What an endpoint is made of; what is left out stays, or is as usual. */
export interface EndpointSettings {
  url?: string | null;
  is_enabled?: boolean | null;
  /** standard: as Standard Webhooks 1.0.0 says; else `x-webhook-signature: sha256=…` over the body. */
  signature?: "standard" | "sha256" | "sha512" | null;
  /** Of jobs that end so it is told. */
  statuses?: ("succeeded" | "failed" | "dead_letter" | "canceled" | "skipped")[] | null;
  /** Of jobs of these definitions; null: of any. */
  definitions?: string[] | null;
}

export interface EndpointTrial {
  type?: string;
  data?: unknown;
}

export interface Enter {
  /** The fragment of the frame's address. */
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
  /** How many it made. */
  jobs: number;
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
  /** How many it made. */
  jobs: number;
  correlation_id: string | null;
  error: string | null;
  data: unknown;
  /** What each trigger made of it. */
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
  /** A word for machines. */
  reason?: string | null;
  /** It will fail again: no further try. */
  permanent?: boolean;
  /** It ran for longer than it may. */
  timeout?: boolean;
  /** When the next try begins; else its backoff says. */
  delay_seconds?: number | null;
  exit_code?: number | null;
}

/** Failures of one definition whose errors are of one kind. */
export interface Failure {
  definition_key: string;
  /** What errors of one kind have in common: `GET /jobs?error=…` lists them. */
  fingerprint: string;
  /** The newest. */
  error: string | null;
  jobs: number;
  /** How many of them. */
  dead_letters: number;
  first_at: string;
  last_at: string;
  last_job_id: string;
}

/** A fan-out of a job: its children in numbers. */
export interface FanOut {
  id: string;
  strategy: string;
  total: number;
  needed: number;
  succeeded: number;
  failed: number;
  canceled: number;
  /** succeeded, failed or timeout; null: it is open. */
  decision: string | null;
  created_at: string;
  decided_at: string | null;
  timeout_at: string | null;
  running: number;
  waiting: number;
  /** What is left of the total is queued. */
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
  /** All that it runs: what it does not name is given back, for a reply that was lost. */
  held?: Held[] | null;
}

export interface Held {
  id: string;
  attempt: number;
}

export interface Instant {
  instant: string;
  local: string;
  /** What a change of clocks does to it. */
  note: string | null;
}

/** A job, without what it carries. */
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
  /** The same as created_at, by its name in the first contract. */
  queued_at: string;
  /** As it was asked for; null: at once. */
  scheduled_for: string | null;
  /** When it is due, or since when it is queued. */
  run_at: string | null;
  /** When it first started. */
  started_at: string | null;
  /** While it runs: when this attempt was claimed. */
  claimed_at: string | null;
  finished_at: string | null;
  /** Attempts that count against max_attempts, with the one under way. Suspensions, snoozes, releases and lost workers don't. */
  attempt_count: number;
  /** The number of its last attempt of any kind: the fencing token. */
  attempt_no: number;
  /** Attempts that have failed and count; null when it is final. */
  tries: number | null;
  max_attempts: number;
  /** Null: as its definition says. */
  timeout_seconds: number | null;
  claimed_by_worker: number | null;
  /** It runs there, or ran there last. */
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
  /** It had not ended when the job was decided: what it comes to changes nothing. */
  late: boolean;
  result: unknown;
  error: string | null;
  finished_at: string | null;
  /** What decided the job: quorum, timeout, node_failed or quorum_lost. */
  rule: string | null;
}

/** A job, whole, with what is around it. */
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
  /** The same as created_at, by its name in the first contract. */
  queued_at: string;
  /** As it was asked for; null: at once. */
  scheduled_for: string | null;
  /** When it is due, or since when it is queued. */
  run_at: string | null;
  /** When it first started. */
  started_at: string | null;
  /** While it runs: when this attempt was claimed. */
  claimed_at: string | null;
  finished_at: string | null;
  /** Attempts that count against max_attempts, with the one under way. Suspensions, snoozes, releases and lost workers don't. */
  attempt_count: number;
  /** The number of its last attempt of any kind: the fencing token. */
  attempt_no: number;
  /** Attempts that have failed and count; null when it is final. */
  tries: number | null;
  max_attempts: number;
  /** Null: as its definition says. */
  timeout_seconds: number | null;
  claimed_by_worker: number | null;
  /** It runs there, or ran there last. */
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
  /** 1, and one more for each continue_as_new. */
  runs: number;
  payload: unknown;
  result: unknown;
  progress: unknown;
  /** While it runs: until when its worker must be heard of. */
  lease_expires_at: string | null;
  /** Run time: from its first start to its end, or until now. Null: it has not started. */
  total_s: number | null;
  /** Own time: how long its handler ran, in all attempts. */
  own_s: number | null;
  /** Waiting time, the rest: it was suspended, in backoff or queued again. */
  waiting_s: number | null;
  /** Signals that it has not read, by name. */
  unread_signals: UnreadSignals[];
  parent: JobBrief | null;
  fan_outs: FanOut[];
  steps: Step[];
  /** The newest of them; go on with `GET /jobs?parent=…&cursor=…`. */
  children: PageOfJobBrief;
}

export interface Jobs {
  items: JobBrief[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
  /** False: this page ended because it had looked at enough; `next` looks further. */
  complete: boolean;
}

export interface Key {
  id: string;
  tenant_id: string | null;
  /** How it begins. */
  hint: string;
  name: string;
  role: Role;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Within a minute. */
  last_used_at: string | null;
}

/** A kind of job, for who asks for one. */
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
  /** By which its jobs are found by an index: `payload=key=value`. */
  search_keys: string[] | null;
  /** Fields that viewers and operators are not shown. */
  sensitive: string[] | null;
}

/** How long jobs that were asked for in one stretch of time waited and ran, in seconds: of a sample of them. */
export interface Latency {
  /** Its beginning. */
  at: string;
  /** How many were looked at. */
  jobs: number;
  /** From when it was due to its first start: half of them waited less. */
  wait_p50: number | null;
  wait_p95: number | null;
  /** Its last attempt. */
  run_p50: number | null;
  run_p95: number | null;
}

export interface Leading {
  /** The process that leads. */
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

/** How many sub-jobs of a fan-out ran in one stretch of time. */
export interface Load {
  /** Its beginning. */
  at: string;
  /** At any moment of it. */
  running: number;
  /** Attempts that ended so. */
  failed: number;
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
  /** How it begins. */
  hint: string;
  name: string;
  role: Role;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Within a minute. */
  last_used_at: string | null;
  /** It is shown this once. */
  key: string;
}

/** What a verb has made of a job. */
export interface Moved {
  id: string;
  status: Status;
  /** How many jobs it moved, where it acts on a tree. */
  jobs?: number;
}

export interface NewDefinition {
  description?: string | null;
  /** JSON Schema of its payloads; null: any. */
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
  /** Keys of its payloads, or paths (`order.customer`), by which its jobs are found by an index. */
  search_keys?: string[] | null;
  /** Fields that viewers and operators are not shown, beside those whose name says so: names, or ends of paths (`customer.ssn`). */
  sensitive?: string[] | null;
  key: string;
}

export interface NewEmbed {
  /** What the view may do: no more than your key. */
  role?: "viewer" | "operator";
  /** How long it lasts. */
  ttl_seconds?: number;
}

export interface NewEndpoint {
  url: string;
  is_enabled?: boolean | null;
  /** standard: as Standard Webhooks 1.0.0 says; else `x-webhook-signature: sha256=…` over the body. */
  signature?: "standard" | "sha256" | "sha512" | null;
  /** Of jobs that end so it is told. */
  statuses?: ("succeeded" | "failed" | "dead_letter" | "canceled" | "skipped")[] | null;
  /** Of jobs of these definitions; null: of any. */
  definitions?: string[] | null;
  label: string;
}

export interface NewJobAnswer {
  id: string;
  tenant_id: string;
  status: Status;
  definition_key: string;
  queued_at: string;
  /** An older job holds the key, and this is the one. */
  deduplicated: boolean;
}

export interface NewJobRequest {
  definition_key: string;
  /** The arguments, by name. */
  payload?: Record<string, unknown>;
  queue?: string | null;
  /** Lower runs first; 100 unless its definition says. */
  priority?: number | null;
  max_attempts?: number | null;
  scheduled_for?: string | null;
  delay_seconds?: number | null;
  timeout_seconds?: number | null;
  /** One unfinished job at a time has it. */
  dedupe_key?: string | null;
  limit_key?: string | null;
  correlation_id?: string | null;
  /** A new UUIDv7 of the caller's, so that it can be sent again. */
  id?: string | null;
}

export interface NewKey {
  name: string;
  role: Role;
  /** At most when your own key ends; then, when not given. Made by who signed in by an identity provider: within a year; after 90 days, when not given. */
  expires_at?: string | null;
}

export interface NewStreamToken {
  /** How long it lasts. */
  ttl_seconds?: number;
}

export interface NewTenant {
  name?: string | null;
  time_zone?: string | null;
  paused?: boolean | null;
  /** Its share in the fair claim. */
  weight?: number | null;
  max_running?: number | null;
  /** How many unfinished jobs it may have. */
  max_queued?: number | null;
  slug: string;
}

export interface NewTrigger {
  is_enabled?: boolean | null;
  event_name?: string | null;
  cron_expr?: string | null;
  every_seconds?: number | null;
  /** Null: the tenant's. */
  timezone?: string | null;
  definition_key: string;
  /** `{{event.a.b}}` is replaced, and nothing evaluated. */
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

/** One job of a tree. */
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
  /** How long its handler ran, in all attempts. */
  own_s: number | null;
  /** From its first start to its end, with its children. */
  total_s: number | null;
}

/** How one attempt has ended: the fields of the route that the outcome is called after. */
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

/** A setting that an operator has set: it wins over the code's, also when a worker starts, until it is cleared. */
export interface Override {
  setting: string;
  value: unknown;
  /** What would hold without it; null also where no code has defined the job. */
  code_value: unknown;
  author: string;
  set_at: string;
}

export interface PageOfAttempt {
  items: Attempt[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfConnector {
  items: Connector[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfDefinition {
  items: Definition[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfEndpoint {
  items: Endpoint[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfEntry {
  items: Entry[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfEvent {
  items: Event[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfFailure {
  items: Failure[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfFire {
  items: Fire[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfInstant {
  items: Instant[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfJobBrief {
  items: JobBrief[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfJobNode {
  items: JobNode[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfKey {
  items: Key[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfKind {
  items: Kind[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfLatency {
  items: Latency[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfLoad {
  items: Load[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfNode {
  items: Node[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfQueue {
  items: Queue[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfSigningKey {
  items: SigningKey[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfStep {
  items: Step[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfStretch {
  items: Stretch[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfTenantLoad {
  items: TenantLoad[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfTenant {
  items: Tenant[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfTrigger {
  items: Trigger[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

export interface PageOfWorker {
  items: Worker[];
  /** Send it as `cursor` for what follows; null: that was all. */
  next?: string | null;
}

/** An error, as RFC 9457 says. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string | null;
  /** The path that was asked for. */
  instance?: string | null;
  request_id?: string | null;
  /** What is wrong with the request, part by part. */
  errors?: (Record<string, unknown>)[] | null;
  /** With 421: where the leader's API is, which takes this request. */
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
  /** Whose tree has a serial queue now, where it is one that you may see. */
  root_id: string | null;
}

export interface Reason {
  code: string;
  explanation: string;
  /** What would let it run; null: nothing needs to be done. */
  remedy: string | null;
}

export interface Release {
  worker: number;
  attempt: number;
  /** Not before; null: at once. It burns no try. */
  delay_seconds?: number | null;
}

/** What a template makes of an event; `error` instead where it does not fit, or the definition's schema refuses it. */
export interface Rendered {
  payload: unknown;
  error: string | null;
}

export interface Reschedule {
  /** Null: as it was. A time that has passed: at once. */
  scheduled_for?: string | null;
  max_attempts?: number | null;
}

export interface Retry {
  /** failed: of a root, what has failed below it; all: all of it, as a new tree. */
  tree?: "failed" | "all" | null;
  /** Whether a durable job goes on or begins anew. */
  steps?: "keep" | "drop";
  scheduled_for?: string | null;
  max_attempts?: number | null;
}

export type Role = "viewer" | "operator" | "admin" | "super-admin" | "worker";

export interface Rotation {
  /** How long the key before signs too. */
  overlap_seconds?: number;
}

export interface Session {
  role: Role;
  /** Null: all of them. */
  tenant_id: string | null;
  tenant: string | null;
  name: string;
  /** Send it as X-CSRF-Token with every change. Null: you came with a key. */
  csrf: string | null;
  expires_at?: string | null;
  /** Of who came by an identity provider: where one signs out there. */
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
  /** False and not busy: the lease is lost, and nothing was changed. */
  accepted: boolean;
  /** Another transaction holds the job's row: nothing was changed, send it again. */
  busy?: boolean;
}

export interface SignIn {
  key: string;
}

export interface Signal {
  name: string;
  payload?: unknown;
  /** Sent again with the same id it is the same signal. */
  id?: string | null;
}

export interface SigningKey {
  version: number;
  /** `whsec_…`: what a receiver verifies with. */
  key: string;
}

export interface SkipIt {
  worker: number;
  attempt: number;
  reason?: string;
}

/** When one attempt ran. */
export interface Span {
  attempt_no: number;
  status: string;
  worker_id: number | null;
  /** Null: it never ran, but was canceled, or is an operator's retry. */
  claimed_at: string | null;
  started_at: string | null;
  finished_at: string;
}

export interface StateShown {
  /** As the handler has set it by `current().state(…)`; null where it has not. */
  state: unknown;
  /** Grows with each change; 0 where it was never set. */
  version: number;
}

export type Status = "scheduled" | "queued" | "running" | "waiting" | "succeeded" | "failed" | "dead_letter" | "canceled" | "skipped";

/** A step of a durable job. */
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
  /** Send it as `?token=…`, or as `Authorization: Bearer …`. It reads this job's streams, and nothing else. */
  token: string;
  expires_at: string;
}

/** How attempts ended in one stretch of time. */
export interface Stretch {
  /** Its beginning. */
  at: string;
  enqueued: number;
  succeeded: number;
  failed: number;
  dead_letter: number;
  canceled: number;
  skipped: number;
  /** Attempts that failed, and the job went on. */
  retried: number;
  /** Attempts whose worker was lost. */
  lost: number;
  /** How long handlers ran, in all. */
  run_s: number;
}

export interface Summary {
  /** When what is live was counted: now, or a few seconds ago where there is much. */
  at: string;
  /** Failed ones and dead letters up to 2,000, which then means: or more. */
  counts: Partial<Record<Status, number>>;
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
  /** Its jobs that are neither final nor running. */
  queued: number;
  running: number;
}

/** What one tenant makes of the installation. */
export interface TenantLoad {
  tenant_id: string;
  scheduled: number;
  queued: number;
  running: number;
  waiting: number;
  oldest_queued_age_seconds: number | null;
  /** Attempts that ended since `start`. */
  ended: number;
  /** How many of them failed, from 0 to 1. Null: none ended. */
  failure_rate: number | null;
  /** How long its handlers ran since, in all. */
  run_seconds: number;
  /** Its part of all that runs now, from 0 to 1. */
  share: number | null;
  /** What its weight gives it of those that have work now. */
  fair_share: number | null;
  /** Why others may suffer: it holds more than twice its fair share while others wait; most of a long queue is its; most of its attempts fail. */
  noisy: ("slots" | "backlog" | "failures")[];
}

/** A schedule that is not there yet, to look at. */
export interface Timetable {
  cron_expr?: string | null;
  every_seconds?: number | null;
  timezone?: string;
}

export interface Trial {
  /** The event's, for an event's trigger. */
  data?: Record<string, unknown>;
  /** Ask for the job, too; schedules take no notice of it. */
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
  /** code: it is in an application's code, and changed there. */
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

/** Signals of one name that a job has not read. */
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
  /** It should have been heard of by now. */
  stale: boolean;
  hostname: string;
  pid: number;
  version: string;
  queues: string[];
  definitions: string[];
  running_count: number;
  /** Jobs that it has claimed and not started, as of its last heartbeat. */
  prefetched_count: number;
  metadata: unknown;
  started_at: string;
  last_seen_at: string;
  lease_expires_at: string;
  /** The machine that it is on. */
  node: string | null;
  /** It was asked to stop, and finishes what it has. */
  draining: boolean;
  /** Its process does the leader's work too. */
  leads: boolean;
  /** Since when a handler blocks its event loop; null: it turns. */
  blocked_since: string | null;
  /** The job that blocks it; null where that is not known. */
  blocked_job_id: string | null;
}

export interface WorkerHeartbeat {
  worker: number;
  /** How many it runs now; where `held` is given, that counts. */
  running?: number;
  /** All that it runs: what it does not name is given back, for a reply that was lost. */
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
  /** Its share in the fair claim. */
  weight?: number | null;
  max_running?: number | null;
  /** How many unfinished jobs it may have. */
  max_queued?: number | null;
}

/** What a trigger is made of; what is left out stays, or is as usual. */
export interface TriggersSettings {
  is_enabled?: boolean | null;
  event_name?: string | null;
  cron_expr?: string | null;
  every_seconds?: number | null;
  /** Null: the tenant's. */
  timezone?: string | null;
  definition_key?: string | null;
  /** `{{event.a.b}}` is replaced, and nothing evaluated. */
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
  "GET /jobs/failures": { path: {}; query: { start?: string | null; status?: ("failed" | "dead_letter")[] | null; limit?: number; tenant?: string | null }; body: undefined; answer: PageOfFailure };
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
  "POST /queues/{name}/pause": { path: { name: string }; query: { tenant?: string | null }; body: undefined; answer: Queue };
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
