-- long: the first migration makes all tables
-- Written by scripts/first_migration from plait/sql/schema, where the comments are. Frozen with
-- the first release.
create type plait.status as enum (
  'scheduled', 'queued', 'running', 'waiting',
  'succeeded', 'failed', 'dead_letter', 'canceled', 'skipped'
);
create type plait.outcome as enum (
  'succeeded', 'failed', 'timeout', 'canceled', 'skipped', 'lost', 'released', 'snoozed',
  'suspended'
);
create type plait.scan_bounds as (
  seen_at timestamptz, seen_xid xid8, tenants uuid[], priorities smallint[], starts timestamptz[]
);
create table plait.installed (
  one            boolean primary key default true check (one),
  version        integer not null,
  functions_hash text not null,
  updated_at     timestamptz not null default plait.now(),
  oldest         integer not null
);
create table plait.tenants (
  id          uuid primary key,
  slug        text collate "C" not null unique check (slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  name        text not null check (name <> ''),
  time_zone   text not null default 'UTC',
  created_at  timestamptz not null default plait.now(),
  paused      boolean not null default false,
  paused_at   timestamptz,
  paused_by   text check (length(paused_by) between 1 and 500),
  pause_reason text check (length(pause_reason) between 1 and 500),
  weight      smallint not null default 1 check (weight between 1 and 1000),
  max_running integer check (max_running >= 0),
  max_queued  integer check (max_queued >= 0),
  quota_left  integer,
  max_triggers integer default 1000 check (max_triggers >= 0),
  retention   jsonb not null default '{}' check (jsonb_typeof(retention) = 'object')
);
create index tenants_special on plait.tenants (id)
  where paused or weight <> 1 or max_running is not null;
create index tenants_retention on plait.tenants (id) where retention <> '{}';
create table plait.logins (
  login     name primary key,
  tenant_id uuid not null references plait.tenants (id)
);
insert into plait.tenants (id, slug, name)
values ('00000000-0000-7000-8000-000000000000', 'default', 'Default');
alter table plait.tenants enable row level security;
alter table plait.tenants force row level security;
create policy owner on plait.tenants to plait_owner using (true) with check (true);
create policy tenant on plait.tenants for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (id = (select plait._visible_tenant()));
alter table plait.logins enable row level security;
alter table plait.logins force row level security;
create policy owner on plait.logins to plait_owner using (true) with check (true);
create policy tenant on plait.logins for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.definitions (
  name            text collate "C" primary key check (
    name collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  kind            text not null default 'function' check (
    kind in ('function', 'command', 'node', 'connector')),
  active          boolean not null default true,
  queue           text collate "C" not null default 'default' check (
    queue ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  priority        smallint not null default 100,
  max_attempts    smallint not null default 5 check (max_attempts between 1 and 10000),
  timeout_s       double precision not null default 3600 check (
    timeout_s > 0 and timeout_s <= 3.2e9),
  backoff_base_s  double precision not null default 1 check (backoff_base_s between 0 and 3.2e9),
  backoff_factor  double precision not null default 2 check (backoff_factor between 1 and 100),
  backoff_max_s   double precision not null default 3600 check (backoff_max_s between 0 and 3.2e9),
  backoff_jitter  double precision not null default 0.2 check (backoff_jitter between 0 and 1),
  max_running     integer check (max_running >= 0),
  rate_count      integer check (rate_count >= 1),
  rate_period_s   double precision check (rate_period_s > 0 and rate_period_s <= 3.2e9),
  key_max_running integer check (key_max_running >= 0),
  key_rate_count  integer check (key_rate_count >= 1),
  key_rate_period_s double precision check (key_rate_period_s > 0 and key_rate_period_s <= 3.2e9),
  updated_at      timestamptz not null default plait.now(),
  child_mode      text not null default 'concurrent' check (child_mode in ('concurrent', 'serial')),
  on_child_failure text not null default 'continue' check (
    on_child_failure in ('continue', 'stop')),
  allow_nested    boolean not null default true,
  cancel_on_parent_failure boolean not null default false,
  schema          jsonb check (octet_length(schema::text) <= 65536),
  description     text not null default '' check (length(description) <= 2000),
  on_node         text collate "C",
  on_leader       boolean not null default false,
  quorum          text not null default 'majority' check (
    quorum ~ '^(majority|all|[1-9][0-9]{0,5})$'),
  quorum_timeout_s double precision not null default 10 check (
    quorum_timeout_s > 0 and quorum_timeout_s <= 3.2e9),
  on_timeout      text not null default 'proceed' check (on_timeout in ('proceed', 'fail')),
  on_node_failure text not null default 'fail' check (on_node_failure in ('fail', 'tolerate')),
  search_keys     text[] check (
    cardinality(search_keys) between 1 and 10 and array_position(search_keys, null) is null
    and '' <> all(search_keys) and octet_length(search_keys::text) <= 1000),
  search_from     uuid,
  coded           jsonb,
  inherits_attempts boolean not null default false,
  sensitive       text[] constraint definitions_sensitive check (
    cardinality(sensitive) between 1 and 50 and array_position(sensitive, null) is null
    and '' <> all(sensitive) and octet_length(sensitive::text) <= 5000),
  cancel_grace_s  double precision constraint definitions_cancel_grace check (
    cancel_grace_s > 0 and cancel_grace_s <= 3.2e9),
  deadline_s      double precision constraint definitions_deadline check (
    deadline_s > 0 and deadline_s <= 3.2e9),
  constraint definitions_node check (
    case when kind = 'node' then
           (on_node is not null or on_leader)
           and num_nonnulls(max_running, rate_count, key_max_running, key_rate_count) = 0
         else on_node is null and not on_leader end),
  check ((rate_count is null) = (rate_period_s is null)),
  check ((key_rate_count is null) = (key_rate_period_s is null))
);
create table plait.overrides (
  definition text collate "C" not null,
  setting    text collate "C" not null,
  value      jsonb not null,
  author     text not null check (length(author) between 1 and 500),
  set_at     timestamptz not null default plait.now(),
  primary key (definition, setting)
);
create index overrides_setting on plait.overrides (setting);
create table plait.queues (
  name          text collate "C" primary key,
  paused        boolean not null default false,
  max_running   integer check (max_running >= 0),
  rate_count    integer check (rate_count >= 1),
  rate_period_s double precision check (rate_period_s > 0 and rate_period_s <= 3.2e9),
  updated_at    timestamptz not null default plait.now(),
  serial        boolean not null default false,
  roots         uuid[],
  paused_at     timestamptz,
  paused_by     text check (length(paused_by) between 1 and 500),
  pause_reason  text check (length(pause_reason) between 1 and 500),
  settling      boolean not null default false,
  check ((rate_count is null) = (rate_period_s is null))
);
create table plait.buckets (
  name    text collate "C" primary key,
  full_at timestamptz not null,
  starts  timestamptz[] not null default '{}',
  counts  integer[] not null default '{}'
);
create index buckets_full on plait.buckets (full_at);
create table plait.locks (name text collate "C" primary key);
insert into plait.locks (name)
select 'limit ' || n from generate_series(0, 1023) n
union all
values ('announce'), ('count_failures'), ('count_live'), ('roll_up');
create table plait.jobs (
  id              uuid primary key,
  tenant_id       uuid not null,
  created_at      timestamptz not null,
  scheduled_for   timestamptz,
  timeout_s       double precision,
  priority        smallint not null,
  max_attempts    smallint not null,
  definition      text collate "C" not null,
  queue           text collate "C" not null,
  source          text not null default 'manual' check (
    source in ('manual', 'event', 'schedule', 'system')),
  correlation_id  text,
  dedupe_key      text collate "C",
  idempotency_key text collate "C",
  limit_key       text collate "C",
  payload         json not null,
  parent_id       uuid,
  root_id         uuid,
  fan_out_id      uuid,
  fan_out_index   integer,
  depth           smallint,
  forked_from     uuid,
  after           uuid[],
  source_ref      text,
  node            text collate "C",
  runs            integer
);
create index jobs_tenant on plait.jobs (tenant_id, id);
create index jobs_tree on plait.jobs (root_id, fan_out_id, fan_out_index) where root_id is not null;
create index jobs_correlation on plait.jobs (tenant_id, correlation_id, id)
  where correlation_id is not null;
create table plait.dedupe (
  tenant_id uuid not null,
  key       text collate "C" not null,
  job_id    uuid not null,
  primary key (tenant_id, key)
);
create table plait.idempotency (
  tenant_id    uuid not null,
  definition   text collate "C" not null,
  key          text collate "C" not null,
  job_id       uuid not null,
  payload_hash text not null,
  expires_at   timestamptz,
  primary key (tenant_id, definition, key)
);
create index idempotency_job on plait.idempotency (job_id);
create table plait.search_values (
  tenant_id  uuid not null,
  definition text collate "C" not null,
  key        text collate "C" not null,
  value      text collate "C" not null,
  job_id     uuid not null,
  primary key (tenant_id, definition, key, value, job_id)
);
create index search_values_job on plait.search_values (job_id);
alter table plait.jobs enable row level security;
alter table plait.jobs force row level security;
create policy owner on plait.jobs to plait_owner using (true) with check (true);
create policy tenant on plait.jobs for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.dedupe enable row level security;
alter table plait.dedupe force row level security;
create policy owner on plait.dedupe to plait_owner using (true) with check (true);
create policy tenant on plait.dedupe for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.idempotency enable row level security;
alter table plait.idempotency force row level security;
create policy owner on plait.idempotency to plait_owner using (true) with check (true);
create policy tenant on plait.idempotency for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.search_values enable row level security;
alter table plait.search_values force row level security;
create policy owner on plait.search_values to plait_owner using (true) with check (true);
create policy tenant on plait.search_values for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.live (
  job_id           uuid primary key with (fillfactor = 45),
  tenant_id        uuid not null,
  run_at           timestamptz not null,
  cancel_requested timestamptz,
  worker           integer,
  attempt          integer not null default 0,
  priority         smallint not null,
  failed_attempts  smallint not null default 0,
  max_attempts     smallint not null,
  losses           smallint not null default 0,
  state            plait.status not null,
  metered          boolean not null default false,
  queue            text collate "C" not null,
  lane             text collate "C" not null default '',
  definition       text collate "C" not null,
  dedupe_key       text collate "C",
  limit_key        text collate "C",
  cancel_reason    text,
  root_id          uuid,
  fan_out_id       uuid,
  wake_at          timestamptz,
  wait_on          text,
  tied             boolean not null default false,
  suspect_group    bigint,
  cancel_by        timestamptz,
  constraint live_state check (state in ('scheduled', 'queued', 'running', 'waiting')),
  constraint live_running_has_a_worker check ((state = 'running') = (worker is not null)),
  constraint live_only_running_is_asked_to_stop check (
    cancel_requested is null or state = 'running'),
  constraint live_only_waiting_waits_on check (
    wait_on is null and wake_at is null or state = 'waiting'),
  constraint live_leader_is_tied check (tied or lane not in ('leader', 'suspect:leader'))
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0,
  fillfactor = 45
);
create index live_claim on plait.live (queue, tenant_id, priority, run_at, job_id)
  with (deduplicate_items = off) where state = 'queued' and lane = '';
create index live_due on plait.live (run_at) where state = 'scheduled';
create index live_running on plait.live (worker) where state = 'running';
create index live_lanes on plait.live (queue, lane, tenant_id, priority, run_at, job_id)
  with (deduplicate_items = off) where state = 'queued' and lane <> '';
create index live_cancel on plait.live (worker)
  where cancel_requested is not null or cancel_by is not null;
create index live_cancel_by on plait.live (cancel_by) where cancel_by is not null;
create index live_limited on plait.live (definition, tenant_id, limit_key)
  with (deduplicate_items = off) where state = 'running' and lane <> '';
create index live_metered on plait.live (tenant_id) with (deduplicate_items = off) where metered;
create index live_waiting on plait.live (tenant_id) with (deduplicate_items = off)
  where state = 'waiting';
create index live_wake on plait.live (wake_at) where wake_at is not null;
create index live_leader on plait.live (worker) where lane in ('leader', 'suspect:leader');
create index live_tree on plait.live (root_id, fan_out_id) with (deduplicate_items = off)
  where root_id is not null;
create function plait._guard_live() returns trigger language plpgsql as $$
begin
  raise exception 'a % job cannot become %', old.state, new.state
    using errcode = 'PL009', detail = 'job ' || old.job_id || ', attempt ' || old.attempt;
end $$;
create trigger guard before update of state on plait.live for each row
when (old.state <> new.state and not (
     old.state = 'queued'    and new.state = 'running'
  or old.state = 'queued'    and new.state = 'scheduled'
  or old.state = 'scheduled' and new.state = 'queued'
  or old.state = 'running'   and new.state in ('queued', 'scheduled', 'waiting')
  or old.state = 'waiting'   and new.state = 'queued'
))
execute function plait._guard_live();
alter table plait.live enable row level security;
alter table plait.live force row level security;
create policy owner on plait.live to plait_owner using (true) with check (true);
create policy tenant on plait.live for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.attempts (
  job_id      uuid not null,
  tenant_id   uuid not null,
  claimed_at  timestamptz,
  started_at  timestamptz,
  finished_at timestamptz not null,
  attempt     integer not null,
  worker      integer,
  status      plait.outcome not null,
  final       plait.status,
  pid         integer,
  exit_code   integer,
  reason      text,
  error       text,
  traceback   text,
  result      json,
  progress    json,
  failure     json,
  primary key (job_id, attempt),
  constraint attempts_final check (
    final in ('succeeded', 'failed', 'dead_letter', 'canceled', 'skipped'))
);
create index attempts_failed on plait.attempts (tenant_id, job_id)
  where final in ('failed', 'dead_letter');
create index attempts_canceled on plait.attempts (tenant_id, job_id)
  where final in ('canceled', 'skipped');
create index attempts_finished on plait.attempts using brin (finished_at)
  with (pages_per_range = 16);
create table plait.running_state (
  job_id     uuid primary key,
  tenant_id  uuid not null,
  attempt    integer not null,
  updated_at timestamptz not null,
  progress   json
) with (fillfactor = 50);
alter table plait.attempts enable row level security;
alter table plait.attempts force row level security;
create policy owner on plait.attempts to plait_owner using (true) with check (true);
create policy tenant on plait.attempts for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.running_state enable row level security;
alter table plait.running_state force row level security;
create policy owner on plait.running_state to plait_owner using (true) with check (true);
create policy tenant on plait.running_state for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.workers (
  id          integer generated always as identity primary key,
  host        text not null,
  pid         integer not null,
  version     text not null,
  queues      text[] not null,
  definitions text[] not null,
  metadata    json not null default '{}',
  lease_s     double precision not null check (lease_s > 0),
  started_at  timestamptz not null default plait.now(),
  seen_at     timestamptz not null default plait.now(),
  expires_at  timestamptz not null,
  state       text not null default 'alive' check (state in ('alive', 'lost', 'gone')),
  asleep      boolean not null default false,
  running     integer not null default 0,
  cursors     jsonb not null default '{}',
  node        text collate "C",
  holder      text,
  draining    boolean not null default false,
  blocked_since timestamptz,
  blocked_job uuid,
  suspects    integer not null default 0,
  prefetched  integer not null default 0,
  build       text collate "C" constraint workers_build check (build ~ '^[A-Za-z0-9_.:+-]{1,100}$'),
  ended_at    timestamptz,
  end_reason  text constraint workers_end_reason
    check (end_reason in ('lease_expired', 'blocked_loop', 'left', 'restored')),
  clearing    boolean not null default false,
  held        integer not null default 0,
  last_jobs   uuid[] not null default '{}',
  requeued    integer not null default 0,
  dead_lettered integer not null default 0,
  canceled    integer not null default 0,
  released    integer not null default 0,
  constraint workers_ended check ((state = 'alive') = (ended_at is null))
) with (fillfactor = 50);
create index workers_asleep on plait.workers (id) where asleep;
create index workers_expiry on plait.workers (expires_at) where state = 'alive';
create index workers_clearing on plait.workers (id) where clearing;
create index workers_ended on plait.workers (ended_at, id) where state <> 'alive';
create index workers_lost on plait.workers (ended_at, id) where state = 'lost';
create index workers_node on plait.workers (node) where state = 'alive';
create index workers_builds on plait.workers (build) where build is not null;
create table plait.nodes (
  name      text collate "C" primary key check (name ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  state     text not null default 'active' check (state in ('active', 'draining', 'lost', 'left')),
  joined_at timestamptz not null default plait.now(),
  url       text check (length(url) between 1 and 500),
  labels    jsonb not null default '{}' check (jsonb_typeof(labels) = 'object')
);
create table plait.leader (
  name       text primary key,
  holder     text not null,
  term       bigint not null,
  expires_at timestamptz not null,
  since      timestamptz not null default plait.now()
);
create table plait.fan_outs (
  id            uuid primary key,
  tenant_id     uuid not null,
  parent_id     uuid not null,
  root_id       uuid not null,
  created_at    timestamptz not null,
  timeout_at    timestamptz,
  decided_at    timestamptz,
  timeout_s     double precision,
  depth         smallint not null,
  total         integer not null check (total >= 0),
  needed        integer not null check (needed between 0 and total),
  succeeded     integer not null default 0,
  failed        integer not null default 0,
  canceled      integer not null default 0,
  waited_for    integer,
  decided_ended integer,
  early         boolean not null,
  streamed      boolean not null,
  nested        boolean not null,
  cancel_remaining boolean not null,
  cancel_on_parent_failure boolean not null,
  cancel_due    boolean not null default false,
  strategy      text not null check (
    strategy in ('fail_fast', 'collect_all', 'threshold', 'quorum', 'nursery', 'after')),
  decision      text check (decision in ('succeeded', 'failed', 'timeout')),
  left_open     integer[],
  serial        boolean not null default false,
  stop          boolean not null default false,
  turn          uuid,
  parent_final  plait.status,
  on_timeout    text check (on_timeout in ('proceed', 'fail')),
  on_node_failure text check (on_node_failure in ('fail', 'tolerate')),
  rule          text check (rule in ('quorum', 'timeout', 'node_failed', 'quorum_lost')),
  cancel_late   boolean not null default false,
  constraint fan_outs_counts check (
    succeeded >= 0 and failed >= 0 and canceled >= 0 and succeeded + failed + canceled <= total),
  constraint fan_outs_decided check ((decided_at is null) = (decision is null))
) with (fillfactor = 50);
create index fan_outs_parent on plait.fan_outs (parent_id);
create index fan_outs_root on plait.fan_outs (root_id);
create index fan_outs_timeout on plait.fan_outs (timeout_at)
  where timeout_at is not null and decided_at is null;
create index fan_outs_missed on plait.fan_outs (id)
  where waited_for is not null and decided_at is not null;
create index fan_outs_ready on plait.fan_outs (id)
  where waited_for is not null and decided_at is null
    and succeeded + failed + canceled >= waited_for;
create index fan_outs_cancel on plait.fan_outs (id) where cancel_due;
create index fan_outs_nodes on plait.fan_outs (id)
  where on_timeout is not null and decided_at is not null and succeeded + failed + canceled < total;
create index fan_outs_turn on plait.fan_outs (id)
  where serial and turn is null and decided_at is null;
create table plait.fan_out_order (
  fan_out_id    uuid not null,
  tenant_id     uuid not null,
  position      integer not null,
  fan_out_index integer not null,
  primary key (fan_out_id, position)
);
create table plait.steps (
  job_id      uuid not null,
  tenant_id   uuid not null,
  fan_out_id  uuid,
  at          timestamptz not null,
  due_at      timestamptz,
  seq         integer not null,
  occurrence  integer not null,
  attempt     integer not null,
  took_s      real,
  done        boolean not null default true,
  name        text collate "C" not null,
  kind        text not null check (
    kind in ('call', 'transaction', 'version', 'fan_out', 'stream', 'sleep', 'signal', 'spawn',
             'nursery', 'after', 'join', 'timer', 'cancel')),
  hash        text,
  value       json,
  error       text,
  finished    integer,
  branch      text collate "C" not null default '',
  signal_id   uuid,
  primary key (job_id, branch, name, occurrence)
);
create index steps_open on plait.steps (job_id) where not done;
create table plait.signals (
  job_id    uuid not null,
  id        uuid not null,
  tenant_id uuid not null,
  sent_at   timestamptz not null,
  name      text collate "C" not null check (length(name) between 1 and 200),
  consumed  boolean not null default false,
  payload   json,
  primary key (job_id, id)
);
create table plait.dependencies (
  on_id      uuid not null,
  fan_out_id uuid not null,
  tenant_id  uuid not null,
  primary key (on_id, fan_out_id)
);
create table plait.follow_ups (
  job_id       uuid not null,
  id           uuid not null,
  tenant_id    uuid not null,
  timeout_s    double precision,
  delay_s      double precision,
  priority     smallint not null,
  max_attempts smallint not null,
  definition   text collate "C" not null,
  queue        text collate "C" not null,
  dedupe_key   text collate "C",
  limit_key    text collate "C",
  payload      json not null,
  late         boolean not null default false,
  primary key (job_id, id)
);
create index follow_ups_late on plait.follow_ups (job_id) where late;
create table plait.forks (
  tenant_id uuid not null,
  root_id   uuid not null,
  job_id    uuid not null,
  primary key (tenant_id, root_id, job_id)
);
create index forks_job on plait.forks (job_id);
alter table plait.fan_outs enable row level security;
alter table plait.fan_outs force row level security;
create policy owner on plait.fan_outs to plait_owner using (true) with check (true);
create policy tenant on plait.fan_outs for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.fan_out_order enable row level security;
alter table plait.fan_out_order force row level security;
create policy owner on plait.fan_out_order to plait_owner using (true) with check (true);
create policy tenant on plait.fan_out_order for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.steps enable row level security;
alter table plait.steps force row level security;
create policy owner on plait.steps to plait_owner using (true) with check (true);
create policy tenant on plait.steps for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.signals enable row level security;
alter table plait.signals force row level security;
create policy owner on plait.signals to plait_owner using (true) with check (true);
create policy tenant on plait.signals for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.dependencies enable row level security;
alter table plait.dependencies force row level security;
create policy owner on plait.dependencies to plait_owner using (true) with check (true);
create policy tenant on plait.dependencies for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.follow_ups enable row level security;
alter table plait.follow_ups force row level security;
create policy owner on plait.follow_ups to plait_owner using (true) with check (true);
create policy tenant on plait.follow_ups for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.forks enable row level security;
alter table plait.forks force row level security;
create policy owner on plait.forks to plait_owner using (true) with check (true);
create policy tenant on plait.forks for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.streams (
  job_id    uuid not null,
  tenant_id uuid not null,
  last_seq  integer not null default 0,
  items     integer not null default 0,
  bytes     bigint not null default 0,
  closed    boolean not null default false,
  name      text collate "C" not null check (length(name) between 1 and 100),
  primary key (job_id, name)
) with (fillfactor = 50);
create table plait.stream_items (
  job_id    uuid not null,
  tenant_id uuid not null,
  seq       integer not null,
  position  integer not null,
  attempt   integer not null,
  name      text collate "C" not null,
  branch    text collate "C" not null,
  value     json not null,
  primary key (job_id, name, seq)
);
create unique index stream_items_position on plait.stream_items (job_id, name, branch, position);
create table plait.log_lines (
  job_id    uuid not null,
  tenant_id uuid not null,
  at        timestamptz not null,
  stored_at timestamptz not null,
  attempt   integer not null,
  line      integer not null check (line > 0),
  level     text collate "C" not null
    check (level in ('debug', 'info', 'warning', 'error', 'critical')),
  source    text collate "C" not null
    check (source in ('log', 'stdout', 'stderr', 'plait')),
  logger    text collate "C" check (length(logger) <= 200),
  message   text not null check (length(message) <= 8192),
  fields    json check (length(fields::text) <= 8192),
  primary key (job_id, attempt, line)
);
create index log_lines_stored on plait.log_lines using brin (stored_at) with (pages_per_range = 16);
create table plait.job_states (
  job_id     uuid primary key,
  tenant_id  uuid not null,
  updated_at timestamptz not null,
  attempt    integer not null,
  version    integer not null default 1,
  value      json not null check (octet_length(value::text) <= 65536)
) with (fillfactor = 50);
create table plait.event_waits (
  job_id    uuid not null,
  tenant_id uuid not null,
  at        timestamptz not null,
  branch    text collate "C" not null,
  signal    text collate "C" not null,
  name      text collate "C" not null,
  index_term text collate "C" not null,
  match     jsonb not null,
  told      boolean not null default false,
  primary key (job_id, signal)
);
create index event_waits_name on plait.event_waits (tenant_id, name, index_term);
create index event_waits_told on plait.event_waits (job_id) where told;
create table plait.update_replies (
  job_id    uuid not null,
  id        uuid not null,
  tenant_id uuid not null,
  at        timestamptz not null,
  value     json,
  error     text,
  primary key (job_id, id)
);
create table plait.job_tokens (
  hash       text collate "C" primary key,
  tenant_id  uuid not null,
  job_id     uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  redacted   boolean not null default false,
  kind       text not null check (kind in ('stream', 'signal')),
  used_at    timestamptz,
  signal     text collate "C" check (length(signal) between 1 and 200),
  message    text,
  button     text,
  payload    json
);
create index job_tokens_job on plait.job_tokens (job_id);
create index job_tokens_expiry on plait.job_tokens (expires_at);
alter table plait.streams enable row level security;
alter table plait.streams force row level security;
create policy owner on plait.streams to plait_owner using (true) with check (true);
create policy tenant on plait.streams for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.stream_items enable row level security;
alter table plait.stream_items force row level security;
create policy owner on plait.stream_items to plait_owner using (true) with check (true);
create policy tenant on plait.stream_items for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.log_lines enable row level security;
alter table plait.log_lines force row level security;
create policy owner on plait.log_lines to plait_owner using (true) with check (true);
create policy tenant on plait.log_lines for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.job_tokens enable row level security;
alter table plait.job_tokens force row level security;
create policy owner on plait.job_tokens to plait_owner using (true) with check (true);
create policy tenant on plait.job_tokens for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.job_states enable row level security;
alter table plait.job_states force row level security;
create policy owner on plait.job_states to plait_owner using (true) with check (true);
create policy tenant on plait.job_states for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.event_waits enable row level security;
alter table plait.event_waits force row level security;
create policy owner on plait.event_waits to plait_owner using (true) with check (true);
create policy tenant on plait.event_waits for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.update_replies enable row level security;
alter table plait.update_replies force row level security;
create policy owner on plait.update_replies to plait_owner using (true) with check (true);
create policy tenant on plait.update_replies for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.deadlines (
  job_id     uuid primary key,
  tenant_id  uuid not null,
  due_at     timestamptz,
  deadline_s double precision not null check (deadline_s > 0 and deadline_s <= 3.2e9)
);
create index deadlines_due on plait.deadlines (due_at) where due_at is not null;
alter table plait.deadlines enable row level security;
alter table plait.deadlines force row level security;
create policy owner on plait.deadlines to plait_owner using (true) with check (true);
create policy tenant on plait.deadlines for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create view plait.job with (security_invoker = true) as
select j.id, j.tenant_id, j.definition, j.queue, j.priority, j.source, j.correlation_id,
       j.dedupe_key, j.idempotency_key, j.limit_key, j.payload, j.created_at, j.scheduled_for,
       j.timeout_s, coalesce(l.state, a.final) as status,
       coalesce(l.attempt, a.attempt) as attempt,
       l.failed_attempts, coalesce(l.max_attempts, j.max_attempts) as max_attempts,
       case when l.state in ('scheduled', 'queued') then l.run_at end as run_at,
       case when l.state = 'running' then l.worker end as worker,
       case when l.state = 'running' then l.run_at end as claimed_at,
       l.cancel_requested, l.lane,
       case when l.job_id is null then a.finished_at end as finished_at,
       case when l.job_id is null then a.result end as result,
       a.reason, a.error,
       case when l.state = 'running' then r.progress else a.progress end as progress,
       j.parent_id, j.root_id, j.fan_out_id, j.fan_out_index, j.depth, j.forked_from, l.wait_on,
       l.wake_at, j.source_ref, j.node,
       coalesce(f.at, case when l.state = 'running' then l.run_at end) as started_at,
       case when l.state = 'running' then l.worker else a.worker end as last_worker,
       case when l.job_id is null then
              coalesce(
                u.n,
                (a.claimed_at is not null and a.status not in ('lost', 'released', 'snoozed'))::int)
            else l.failed_attempts
                   + coalesce(l.state = 'running'
                                or a.status = 'suspended' and a.reason is distinct from 'continued'
                                or l.state = 'waiting' and a.status in ('failed', 'timeout'),
                              false)::int end as attempts_used,
       coalesce(j.runs, 1) as runs
from plait.jobs j
left join plait.live l on l.job_id = j.id
left join lateral (
  select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
left join lateral (
  select coalesce(t.started_at, t.claimed_at) as at
  from plait.attempts t
  where t.job_id = j.id and t.claimed_at is not null
    and not (t.status = 'released' and t.started_at >= t.finished_at)
  order by t.attempt limit 1) f on true
left join lateral (
  select (count(*) filter (where t.status in ('failed', 'timeout')) + (
            coalesce(max(t.attempt) filter (
                       where t.claimed_at is not null
                         and t.status in ('succeeded', 'skipped', 'canceled', 'suspended')),
                     0) > coalesce(max(t.attempt) filter (where t.status in ('failed', 'timeout')),
                                   0))::int)::int as n
  from plait.attempts t
  where t.job_id = j.id
    and t.attempt > coalesce((select max(r.attempt) from plait.attempts r
                              where r.job_id = j.id and r.reason in ('retried', 'continued')), 0)
  having l.job_id is null and a.attempt > 1) u on true
left join plait.running_state r
  on r.job_id = j.id and l.state = 'running' and r.attempt = l.attempt;
create view plait.worker with (security_invoker = true) as
select w.id, w.state, w.host, w.pid, w.version, w.queues, w.definitions,
       case when w.state = 'alive' then w.running else 0 end as running,
       case when w.state = 'alive' then w.prefetched else 0 end as prefetched,
       w.metadata::text as metadata, w.started_at, w.seen_at, w.expires_at,
       greatest(0, extract(epoch from plait.now() - w.seen_at))::float8 as seen_s,
       w.state = 'alive'
         and (w.seen_at < plait.now() - make_interval(secs => w.lease_s / 2)
              or w.expires_at <= plait.now()) as stale,
       w.node, w.draining,
       coalesce(w.state = 'alive'
                  and w.holder = (select l.holder
                                  from plait.leader l
                                  where l.name = 'main' and l.expires_at > plait.now()),
                false) as leads,
       b.since as blocked_since,
       case when b.since is not null then
              greatest(0, extract(epoch from coalesce(w.ended_at, plait.now()) - b.since))::float8
            end as blocked_s,
       b.job as blocked_job, w.build,
       w.state = 'alive' and w.expires_at <= plait.now() as expired,
       w.ended_at, w.end_reason, w.clearing, w.held, w.requeued, w.dead_lettered, w.canceled,
       w.released
from plait.workers w
left join lateral (
  select w.blocked_since as since, w.blocked_job as job where w.state <> 'gone') b on true;
create table plait.triggers (
  id              uuid primary key,
  tenant_id       uuid not null references plait.tenants (id),
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  deleted_at      timestamptz,
  anchor_at       timestamptz not null,
  cursor_at       timestamptz not null,
  next_at         timestamptz,
  last_at         timestamptz,
  last_job_id     uuid,
  fired           bigint not null default 0,
  missed          bigint not null default 0,
  skipped         bigint not null default 0,
  every_s         double precision check (every_s between 1 and 3.2e8),
  catch_up_window_s double precision check (catch_up_window_s between 0 and 3.2e8),
  jitter_s        double precision not null default 0 check (jitter_s between 0 and 86400),
  timeout_s       double precision check (timeout_s > 0 and timeout_s <= 3.2e9),
  dedupe_window_s integer not null default 300 check (dedupe_window_s between 0 and 2592000),
  revision        integer not null default 1,
  priority        smallint,
  max_attempts    smallint check (max_attempts between 1 and 10000),
  enabled         boolean not null default true,
  kind            text not null,
  origin          text not null check (origin in ('code', 'api')),
  catch_up        text not null default 'one' check (catch_up in ('none', 'one', 'all', 'window')),
  overlap         text not null default 'allow' check (overlap in ('allow', 'skip', 'queue')),
  label           text collate "C" not null check (
    label collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  definition      text collate "C" not null check (
    definition collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  event_name      text collate "C" check (event_name ~ '^[A-Za-z0-9_.:/-]{1,200}$'),
  cron            text check (cron ~ '^\S{1,200}( \S{1,200}){4}$'),
  time_zone       text,
  queue           text collate "C" check (queue ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  correlation_id  text check (length(correlation_id) between 1 and 500),
  dedupe_key      text check (length(dedupe_key) between 1 and 500),
  limit_key       text check (length(limit_key) between 1 and 500),
  created_by      text not null,
  error           text,
  payload         json not null default '{}' check (
    json_typeof(payload) = 'object' and octet_length(payload::text) <= 65536),
  constraint triggers_kind check (
    case kind
      when 'event' then
        event_name is not null and num_nonnulls(cron, every_s, time_zone) = 0 and overlap = 'allow'
      when 'schedule' then event_name is null and num_nonnulls(cron, every_s) = 1
      else false end),
  constraint triggers_window check ((catch_up = 'window') = (catch_up_window_s is not null))
);
create unique index triggers_label on plait.triggers (tenant_id, label) where deleted_at is null;
create index triggers_due on plait.triggers (next_at nulls first)
  where kind = 'schedule' and enabled and deleted_at is null and error is null;
create index triggers_deleted on plait.triggers (deleted_at) where deleted_at is not null;
create index triggers_event on plait.triggers (tenant_id, event_name)
  where kind = 'event' and enabled and deleted_at is null;
create table plait.fires (
  id           uuid primary key,
  tenant_id    uuid not null,
  trigger_id   uuid not null,
  at           timestamptz not null,
  instant      timestamptz,
  event_id     uuid,
  job_id       uuid,
  outcome      text not null check (
    outcome in ('enqueued', 'deduplicated', 'skipped', 'held', 'refused')),
  window_key   text,
  error        text,
  held         json,
  constraint fires_occasion check ((instant is null) <> (event_id is null))
);
create unique index fires_instant on plait.fires (tenant_id, trigger_id, instant)
  where instant is not null;
create unique index fires_event on plait.fires (tenant_id, trigger_id, event_id)
  where event_id is not null;
create index fires_of_event on plait.fires (event_id) where event_id is not null;
create index fires_window on plait.fires (trigger_id, window_key, at) where window_key is not null;
create index fires_held on plait.fires (trigger_id, instant) where outcome = 'held';
create index fires_at on plait.fires (at);
alter table plait.triggers enable row level security;
alter table plait.triggers force row level security;
create policy owner on plait.triggers to plait_owner using (true) with check (true);
create policy tenant on plait.triggers for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.fires enable row level security;
alter table plait.fires force row level security;
create policy owner on plait.fires to plait_owner using (true) with check (true);
create policy tenant on plait.fires for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.events (
  id             uuid primary key,
  tenant_id      uuid not null,
  at             timestamptz not null,
  dispatched_at  timestamptz,
  jobs           integer not null default 0,
  deduplicated   integer not null default 0,
  name           text collate "C" not null check (name ~ '^[A-Za-z0-9_.:/-]{1,200}$'),
  correlation_id text check (length(correlation_id) between 1 and 500),
  error          text,
  data           json not null
);
create index events_tenant on plait.events (tenant_id, id);
create index events_pending on plait.events (tenant_id, id) where dispatched_at is null;
create index events_failed on plait.events (tenant_id, id) where error is not null;
alter table plait.events enable row level security;
alter table plait.events force row level security;
create policy owner on plait.events to plait_owner using (true) with check (true);
create policy tenant on plait.events for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.artifacts (
  id         uuid primary key,
  tenant_id  uuid not null,
  job_id     uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  doomed_at  timestamptz,
  size       bigint not null check (size > 0),
  kind       text not null check (kind in ('payload', 'result', 'step', 'signal')),
  sha256     text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$')
);
create unique index artifacts_key on plait.artifacts (tenant_id, job_id, kind, sha256)
  where doomed_at is null;
create index artifacts_job on plait.artifacts (job_id);
create index artifacts_expiry on plait.artifacts (expires_at) where expires_at is not null;
alter table plait.artifacts enable row level security;
alter table plait.artifacts force row level security;
create policy owner on plait.artifacts to plait_owner using (true) with check (true);
create policy tenant on plait.artifacts for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.keys (
  id           uuid primary key,
  tenant_id    uuid references plait.tenants (id),
  hash         text collate "C" not null unique,
  hint         text not null check (length(hint) <= 20),
  name         text not null check (length(name) between 1 and 200),
  role         text not null check (
    role in ('viewer', 'operator', 'admin', 'super-admin', 'worker')),
  created_by   text not null,
  created_at   timestamptz not null,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz,
  definitions  integer not null default 0,
  parent_id    uuid,
  constraint keys_tenant check ((tenant_id is null) = (role in ('super-admin', 'worker')))
);
create index keys_of_tenant on plait.keys (tenant_id, id);
create table plait.sessions (
  hash       text collate "C" primary key,
  key_id     uuid not null references plait.keys (id) on delete cascade,
  link       boolean not null,
  csrf       text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  role       text constraint sessions_role check (role in ('viewer', 'operator'))
);
create index sessions_expiry on plait.sessions (expires_at);
create table plait.audit (
  id         uuid primary key,
  tenant_id  uuid,
  at         timestamptz not null,
  actor      text not null,
  action     text collate "C" not null,
  object     text,
  request_id text,
  detail     json not null
);
create index audit_tenant on plait.audit (tenant_id, id);
create index audit_object on plait.audit (object, id);
create table plait.replies (
  tenant_id  uuid not null,
  key_id     uuid not null,
  key        text collate "C" not null check (length(key) between 1 and 500),
  hash       text not null,
  at         timestamptz not null,
  expires_at timestamptz not null,
  status     smallint,
  body       text,
  primary key (tenant_id, key_id, key)
);
create index replies_expiry on plait.replies (expires_at);
alter table plait.keys enable row level security;
alter table plait.keys force row level security;
create policy owner on plait.keys to plait_owner using (true) with check (true);
create policy tenant on plait.keys for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.audit enable row level security;
alter table plait.audit force row level security;
create policy owner on plait.audit to plait_owner using (true) with check (true);
create policy tenant on plait.audit for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.replies enable row level security;
alter table plait.replies force row level security;
create policy owner on plait.replies to plait_owner using (true) with check (true);
create policy tenant on plait.replies for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.depths (
  tenant_id uuid not null,
  queue     text collate "C" not null,
  state     plait.status not null,
  at        timestamptz not null,
  jobs      bigint not null,
  oldest    timestamptz not null,
  primary key (tenant_id, queue, state)
);
alter table plait.depths enable row level security;
alter table plait.depths force row level security;
create policy owner on plait.depths to plait_owner using (true) with check (true);
create policy tenant on plait.depths for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.minutes (
  tenant_id   uuid not null,
  minute      timestamptz not null,
  enqueued    integer not null default 0,
  succeeded   integer not null default 0,
  failed      integer not null default 0,
  dead_letter integer not null default 0,
  canceled    integer not null default 0,
  skipped     integer not null default 0,
  retried     integer not null default 0,
  lost        integer not null default 0,
  run_s       double precision not null default 0,
  primary key (tenant_id, minute)
);
create index minutes_minute on plait.minutes (minute);
create table plait.rolled (
  one       boolean primary key default true check (one),
  closed_to timestamptz not null,
  seen_at   timestamptz not null,
  seen_xid  xid8 not null
);
alter table plait.minutes enable row level security;
alter table plait.minutes force row level security;
create policy owner on plait.minutes to plait_owner using (true) with check (true);
create policy tenant on plait.minutes for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.failure_changes (
  tenant_id uuid not null,
  job_id    uuid not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create table plait.failure_log (
  tenant_id   uuid not null,
  job_id      uuid not null,
  finished_at timestamptz not null,
  attempt     integer not null,
  worker      integer,
  status      plait.status not null,
  current     boolean not null,
  definition  text collate "C" not null,
  fingerprint text collate "C" not null,
  primary key (job_id, attempt)
);
create index failure_log_group on plait.failure_log
  (tenant_id, definition, fingerprint, status, finished_at, job_id);
create index failure_log_jobs on plait.failure_log (tenant_id, fingerprint, job_id) where current;
create table plait.failure_groups (
  tenant_id   uuid not null,
  definition  text collate "C" not null,
  fingerprint text collate "C" not null,
  status      plait.status not null,
  jobs        bigint not null,
  failures    bigint not null,
  first_at    timestamptz not null,
  last_at     timestamptz not null,
  last_job    uuid not null,
  primary key (tenant_id, definition, fingerprint, status)
);
create table plait.failure_hours (
  tenant_id   uuid not null,
  definition  text collate "C" not null,
  fingerprint text collate "C" not null,
  status      plait.status not null,
  hour        timestamptz not null,
  failures    bigint not null,
  primary key (tenant_id, definition, fingerprint, status, hour)
);
create table plait.failures_counted (
  one boolean primary key default true check (one),
  at  timestamptz
);
alter table plait.failure_changes enable row level security;
alter table plait.failure_changes force row level security;
create policy owner on plait.failure_changes to plait_owner using (true) with check (true);
create policy tenant on plait.failure_changes for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.failure_log enable row level security;
alter table plait.failure_log force row level security;
create policy owner on plait.failure_log to plait_owner using (true) with check (true);
create policy tenant on plait.failure_log for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.failure_groups enable row level security;
alter table plait.failure_groups force row level security;
create policy owner on plait.failure_groups to plait_owner using (true) with check (true);
create policy tenant on plait.failure_groups for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.failure_hours enable row level security;
alter table plait.failure_hours force row level security;
create policy owner on plait.failure_hours to plait_owner using (true) with check (true);
create policy tenant on plait.failure_hours for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.endpoints (
  id              uuid primary key,
  tenant_id       uuid not null references plait.tenants (id),
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  subscribed_at   timestamptz,
  disabled_at     timestamptz,
  old_key_until   timestamptz,
  key_version     integer not null default 1,
  enabled         boolean not null default true,
  label           text collate "C" not null check (
    label collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  url             text not null check (url ~ '^https?://[[:graph:]]+$' and length(url) <= 2000),
  signature       text not null default 'standard' check (
    signature in ('standard', 'sha256', 'sha512')),
  disabled_reason text,
  created_by      text not null,
  statuses        plait.status[] not null default '{}',
  definitions     text[],
  constraint endpoints_statuses check (not statuses && '{scheduled,queued,running,waiting}'),
  constraint endpoints_definitions check (cardinality(definitions) between 1 and 100)
);
create unique index endpoints_label on plait.endpoints (tenant_id, label);
create index endpoints_subscribed on plait.endpoints (tenant_id) where subscribed_at is not null;
create table plait.announcements (
  tenant_id   uuid not null,
  endpoint_id uuid not null,
  job_id      uuid not null,
  attempt     integer not null,
  finished_at timestamptz not null,
  delivery_id uuid not null,
  primary key (tenant_id, endpoint_id, job_id, attempt)
);
create index announcements_finished on plait.announcements (finished_at);
create table plait.announced (
  one       boolean primary key default true check (one),
  closed_to timestamptz not null,
  seen_at   timestamptz not null,
  seen_xid  xid8 not null
);
create table plait.connectors (
  tenant_id  uuid not null references plait.tenants (id),
  type       text not null check (type in ('http', 'webhook', 'report')),
  settings   json not null,
  updated_at timestamptz not null,
  updated_by text not null,
  primary key (tenant_id, type),
  constraint connectors_settings check (
    json_typeof(settings) = 'object' and octet_length(settings::text) <= 16384)
);
create table plait.circuits (
  tenant_id  uuid not null,
  origin     text collate "C" not null check (length(origin) <= 300),
  failures   integer not null,
  opened_at  timestamptz,
  open_until timestamptz,
  updated_at timestamptz not null,
  primary key (tenant_id, origin)
);
create index circuits_updated on plait.circuits (updated_at);
alter table plait.endpoints enable row level security;
alter table plait.endpoints force row level security;
create policy owner on plait.endpoints to plait_owner using (true) with check (true);
create policy tenant on plait.endpoints for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.announcements enable row level security;
alter table plait.announcements force row level security;
create policy owner on plait.announcements to plait_owner using (true) with check (true);
create policy tenant on plait.announcements for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.connectors enable row level security;
alter table plait.connectors force row level security;
create policy owner on plait.connectors to plait_owner using (true) with check (true);
create policy tenant on plait.connectors for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.circuits enable row level security;
alter table plait.circuits force row level security;
create policy owner on plait.circuits to plait_owner using (true) with check (true);
create policy tenant on plait.circuits for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
