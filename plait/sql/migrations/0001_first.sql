-- The words of DESIGN: what a job can be, and how one execution of it can end.
-- plait/model/states.py holds the same words; tests/sql/test_states.py compares them.

create type plait.status as enum (
  'scheduled', 'queued', 'running', 'waiting',                          -- live: one row in plait.live
  'succeeded', 'failed', 'dead_letter', 'canceled', 'skipped'           -- final: no row there
);

create type plait.ending as enum (
  'succeeded', 'failed', 'timeout', 'canceled', 'skipped', 'lost', 'released', 'snoozed', 'suspended'
);
-- What is installed here, so that a process can tell that its code and the database fit.

create table plait.installed (
  one            boolean primary key default true check (one),
  version        integer not null,       -- the number of the last migration
  functions_hash text not null,          -- functions and grants are re-created when this differs
  updated_at     timestamptz not null default plait.now()
);
-- Tenants, and the logins that are bound to one.

create table plait.tenants (
  id          uuid primary key,
  slug        text collate "C" not null unique check (slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  name        text not null check (name <> ''),
  time_zone   text not null default 'UTC',
  created_at  timestamptz not null default plait.now(),
  paused      boolean not null default false,
  weight      smallint not null default 1 check (weight between 1 and 1000),       -- its share in the fair claim
  max_running integer check (max_running >= 0),
  max_queued  integer check (max_queued >= 0),                                     -- counts all jobs that are not final
  quota_left  integer                                -- a lower bound of the room under max_queued, see functions/_reserve.sql
);

-- The claim looks at a tenant's settings only when this index is not empty.
create index tenants_special on plait.tenants (id) where paused or weight <> 1 or max_running is not null;

-- A login of role plait_tenant is bound here, to the login itself: it can't be changed from inside its session.
create table plait.logins (
  login     name primary key,
  tenant_id uuid not null references plait.tenants (id)
);

insert into plait.tenants (id, slug, name) values ('00000000-0000-7000-8000-000000000000', 'default', 'Default');

alter table plait.tenants enable row level security;
alter table plait.tenants force row level security;
create policy owner on plait.tenants to plait_owner using (true) with check (true);
create policy tenant on plait.tenants for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (id = (select plait._visible_tenant()));

alter table plait.logins enable row level security;
alter table plait.logins force row level security;
create policy owner on plait.logins to plait_owner using (true) with check (true);
create policy tenant on plait.logins for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
-- Definitions (kinds of job) and queues: settings, not work. They belong to the installation, not to a tenant.

create table plait.definitions (
  name            text collate "C" primary key check (name collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  kind            text not null default 'function' check (kind in ('function')),
  active          boolean not null default true,     -- false refuses new jobs; jobs that exist run
  queue           text collate "C" not null default 'default' check (queue ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  priority        smallint not null default 100,
  max_attempts    smallint not null default 5 check (max_attempts between 1 and 10000),
  timeout_s       double precision not null default 3600 check (timeout_s > 0 and timeout_s <= 3.2e9),   -- NaN is greater than all
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
  check ((rate_count is null) = (rate_period_s is null)),
  check ((key_rate_count is null) = (key_rate_period_s is null))
);

-- A queue needs a row only when it has settings; any other name is an open, unlimited queue.
create table plait.queues (
  name          text collate "C" primary key,
  paused        boolean not null default false,
  max_running   integer check (max_running >= 0),
  rate_count    integer check (rate_count >= 1),
  rate_period_s double precision check (rate_period_s > 0 and rate_period_s <= 3.2e9),
  updated_at    timestamptz not null default plait.now(),
  check ((rate_count is null) = (rate_period_s is null))
);

-- Token buckets of the rate limits; written by the claim alone. A missing bucket is a full one, and prune removes those that
-- have become full: limit keys may be any number.
create table plait.buckets (
  name    text collate "C" primary key,
  tokens  double precision not null,
  at      timestamptz not null,
  full_at timestamptz not null
);
create index buckets_full on plait.buckets (full_at);
-- What was asked. A row never changes; it goes when retention removes the job.

create table plait.jobs (
  id              uuid primary key,
  tenant_id       uuid not null,
  created_at      timestamptz not null,
  scheduled_for   timestamptz,                       -- as asked; null: at once
  timeout_s       double precision,                  -- null: as its definition says
  priority        smallint not null,
  max_attempts    smallint not null,
  definition      text collate "C" not null,
  queue           text collate "C" not null,
  source          text not null default 'manual' check (source in ('manual', 'event', 'schedule', 'system')),
  correlation_id  text,
  dedupe_key      text collate "C",
  idempotency_key text collate "C",
  limit_key       text collate "C",
  payload         json not null                      -- json, not jsonb: half the cost, and it takes what jsonb refuses
);

create index jobs_tenant on plait.jobs (tenant_id, id);

-- A job with a dedupe key holds it here until it is final.
create table plait.dedupe (
  tenant_id uuid not null,
  key       text collate "C" not null,
  job_id    uuid not null,
  primary key (tenant_id, key)
);

-- A job with an idempotency key holds it here until `expires_at`, else for as long as the job is retained.
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

alter table plait.jobs enable row level security;
alter table plait.jobs force row level security;
create policy owner on plait.jobs to plait_owner using (true) with check (true);
create policy tenant on plait.jobs for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.dedupe enable row level security;
alter table plait.dedupe force row level security;
create policy owner on plait.dedupe to plait_owner using (true) with check (true);
create policy tenant on plait.dedupe for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.idempotency enable row level security;
alter table plait.idempotency force row level security;
create policy owner on plait.idempotency to plait_owner using (true) with check (true);
create policy tenant on plait.idempotency for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
-- Where a job is now: one slim row until it is final, then none. This file is the state machine:
-- the states a row may be in, what must hold in each, and the moves between them. Everything else that
-- speaks of them (plait/model/states.py, the docs) is tested against it.

create table plait.live (
  job_id           uuid primary key,
  tenant_id        uuid not null,
  run_at           timestamptz not null,             -- scheduled: when due; queued: since when; running: claimed when
  cancel_requested timestamptz,                      -- running only: since when its handler is asked to stop
  worker           integer,
  attempt          integer not null default 0,       -- numbers executions, only grows, and is the fence
  priority         smallint not null,
  tries            smallint not null default 0,      -- counts toward max_attempts
  max_attempts     smallint not null,
  losses           smallint not null default 0,      -- workers lost while this job ran as a suspect
  state            plait.status not null,
  metered          boolean not null default false,   -- counts toward its tenant's max_queued
  queue            text collate "C" not null,
  lane             text collate "C" not null default '',  -- '' | suspect | d:<definition> | k:<definition>:<tenant>:<key>
  definition       text collate "C" not null,
  dedupe_key       text collate "C",
  limit_key        text collate "C",
  cancel_reason    text,                             -- as whoever asked it to stop put it

  constraint live_state check (state in ('scheduled', 'queued', 'running', 'waiting')),
  constraint live_running_has_a_worker check ((state = 'running') = (worker is not null)),
  constraint live_only_running_is_asked_to_stop check (cancel_requested is null or state = 'running')
) with (
  fillfactor = 50,                                   -- room for the next version of a row on its own page
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0
);

create index live_claim on plait.live (queue, lane, tenant_id, priority, run_at, job_id) where state = 'queued';
create index live_due on plait.live (run_at) where state = 'scheduled';
create index live_running on plait.live (worker) where state = 'running';
-- These four are empty for whoever does not use what they serve.
create index live_cancel on plait.live (worker) where cancel_requested is not null;
create index live_limited on plait.live (definition, tenant_id, limit_key) where state = 'running' and lane <> '';
create index live_metered on plait.live (tenant_id) where metered;
create index live_waiting on plait.live (tenant_id) where state = 'waiting';

create function plait._guard_live() returns trigger language plpgsql as $$
begin
  raise exception 'a % job cannot become %', old.state, new.state
    using errcode = 'PL009', detail = 'job ' || old.job_id || ', attempt ' || old.attempt;
end $$;

create trigger guard before update of state on plait.live for each row
when (old.state <> new.state and not (
     old.state = 'scheduled' and new.state = 'queued'                             -- promote, reschedule
  or old.state = 'queued'    and new.state in ('running', 'scheduled')            -- claim; reschedule
  or old.state = 'running'   and new.state in ('queued', 'scheduled', 'waiting')  -- settle, rescue; settle; suspend
  or old.state = 'waiting'   and new.state = 'queued'                             -- resume
))
execute function plait._guard_live();

alter table plait.live enable row level security;
alter table plait.live force row level security;
create policy owner on plait.live to plait_owner using (true) with check (true);
create policy tenant on plait.live for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
-- What happened: a log. One row whenever a job leaves `running`, and for a cancel or an operator's retry.

create table plait.attempts (
  job_id      uuid not null,
  tenant_id   uuid not null,
  claimed_at  timestamptz,                           -- null: this attempt never ran (canceled before, or a retry)
  started_at  timestamptz,                           -- when the handler began
  finished_at timestamptz not null,
  attempt     integer not null,
  worker      integer,
  status      plait.ending not null,
  final       plait.status,                          -- what the job became, when this ended it; null: it went on
  pid         integer,                               -- of an isolated process; else the worker's own
  exit_code   integer,
  reason      text,                                  -- a word for machines: permanent, worker_lost, bad_payload …
  error       text,
  traceback   text,
  result      json,
  progress    json,
  primary key (job_id, attempt),
  constraint attempts_final check (final in ('succeeded', 'failed', 'dead_letter', 'canceled', 'skipped'))
);

create index attempts_failed on plait.attempts (tenant_id, job_id) where final in ('failed', 'dead_letter');

-- State of a running attempt; folded into the attempt when it is settled.
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
create policy tenant on plait.attempts for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.running_state enable row level security;
alter table plait.running_state force row level security;
create policy owner on plait.running_state to plait_owner using (true) with check (true);
create policy tenant on plait.running_state for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
-- Workers and the leader: leases. A worker's running jobs live by its one row.

create table plait.workers (
  id          integer generated always as identity primary key,   -- never used twice, so a dead worker's writes match nothing
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
  state       text not null default 'alive' check (state in ('alive', 'lost', 'gone')),  -- lost: expired, its jobs not yet moved
  asleep      boolean not null default false,                     -- an enqueue must notify
  running     integer not null default 0,
  cursors     jsonb not null default '{}'                         -- where plait.claim goes on, by queue
) with (fillfactor = 50);

create index workers_asleep on plait.workers (id) where asleep;
create index workers_expiry on plait.workers (expires_at) where state = 'alive';
create index workers_lost on plait.workers (id) where state = 'lost';

create table plait.leader (
  name       text primary key,
  holder     text not null,
  term       bigint not null,
  expires_at timestamptz not null
);
-- The one place, beside list_jobs, that knows how a job's status is found: its live row's state, else its last attempt's.

create view plait.job with (security_invoker = true) as
select j.id, j.tenant_id, j.definition, j.queue, j.priority, j.source, j.correlation_id, j.dedupe_key, j.idempotency_key,
       j.limit_key, j.payload, j.created_at, j.scheduled_for, j.timeout_s,
       coalesce(l.state, a.final) as status,
       coalesce(l.attempt, a.attempt) as attempt,
       l.tries, coalesce(l.max_attempts, j.max_attempts) as max_attempts,
       case when l.state in ('scheduled', 'queued') then l.run_at end as run_at,
       case when l.state = 'running' then l.worker end as worker,
       case when l.state = 'running' then l.run_at end as claimed_at,
       l.cancel_requested, l.lane,
       case when l.job_id is null then a.finished_at end as finished_at,
       case when l.job_id is null then a.result end as result,
       a.reason, a.error,
       case when l.state = 'running' then r.progress else a.progress end as progress
from plait.jobs j
left join plait.live l on l.job_id = j.id
left join lateral (select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
left join plait.running_state r on r.job_id = j.id and l.state = 'running' and r.attempt = l.attempt;
