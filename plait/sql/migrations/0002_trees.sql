-- The main lane gets an index of its own, without the lane: a sixth of what an enqueue costs.
drop index plait.live_claim;
create index live_claim on plait.live (queue, tenant_id, priority, run_at, job_id) where state = 'queued' and lane = '';
create index live_lanes on plait.live (queue, lane, tenant_id, priority, run_at, job_id) where state = 'queued' and lane <> '';

create type plait.marks as (
  seen_at timestamptz, seen_xid xid8, tenants uuid[], priorities smallint[], marks timestamptz[]
);
-- Trees: durable steps, fan-outs and signals.

alter table plait.jobs
  add column parent_id uuid, add column root_id uuid, add column fan_out_id uuid, add column fan_out_index integer,
  add column depth smallint, add column forked_from uuid;
create index jobs_tree on plait.jobs (root_id, fan_out_id, fan_out_index) where root_id is not null;

alter table plait.live
  add column root_id uuid, add column fan_out_id uuid, add column wake_at timestamptz, add column wait_on text,
  add constraint live_only_waiting_waits_on check (wait_on is null and wake_at is null or state = 'waiting');
create index live_wake on plait.live (wake_at) where wake_at is not null;
create index live_tree on plait.live (root_id, fan_out_id) where root_id is not null;

create table plait.fan_outs (
  id            uuid primary key,
  tenant_id     uuid not null,
  parent_id     uuid not null,
  root_id       uuid not null,                       -- the parent's, or the parent itself
  created_at    timestamptz not null,
  timeout_at    timestamptz,
  decided_at    timestamptz,
  timeout_s     double precision,
  depth         smallint not null,                   -- of its children: locks are taken deepest first
  total         integer not null check (total > 0),
  needed        integer not null check (needed between 0 and total),   -- so many successes make it one
  succeeded     integer not null default 0,          -- skipped ones too
  failed        integer not null default 0,
  canceled      integer not null default 0,
  waited_for    integer,                             -- the parent waits until so many have ended, or until it is decided; null: it does not wait
  decided_ended integer,                             -- how many had ended when it was decided
  early         boolean not null,                    -- decided as soon as enough have succeeded; else when all have ended
  streamed      boolean not null,                    -- the order in which its children end is kept
  nested        boolean not null,                    -- its children may fan out too
  cancel_remaining boolean not null,                 -- when it has failed, what is still open is canceled
  cancel_on_parent_failure boolean not null,
  cancel_due    boolean not null default false,      -- what is open shall be canceled, in a transaction of its own
  strategy      text not null check (strategy in ('fail_fast', 'collect_all', 'threshold', 'quorum')),
  decision      text check (decision in ('succeeded', 'failed', 'timeout')),
  left_open     integer[],                           -- children that had not ended when it was decided, by index: late, and left out
  constraint fan_outs_counts check (succeeded >= 0 and failed >= 0 and canceled >= 0 and succeeded + failed + canceled <= total),
  constraint fan_outs_decided check ((decided_at is null) = (decision is null))
) with (fillfactor = 50);

create index fan_outs_parent on plait.fan_outs (parent_id);
create index fan_outs_root on plait.fan_outs (root_id);
-- These are all but empty: only what waits for the leader is in them.
create index fan_outs_timeout on plait.fan_outs (timeout_at) where timeout_at is not null and decided_at is null;
create index fan_outs_missed on plait.fan_outs (id) where waited_for is not null and decided_at is not null;
create index fan_outs_cancel on plait.fan_outs (id) where cancel_due;

-- In which order the children of a streamed fan-out ended.
create table plait.fan_out_order (
  fan_out_id    uuid not null,
  tenant_id     uuid not null,
  position      integer not null,
  fan_out_index integer not null,
  primary key (fan_out_id, position)
);

-- What a durable job has done: written once, under its fence, and read again whenever it goes on.
create table plait.steps (
  job_id      uuid not null,
  tenant_id   uuid not null,
  fan_out_id  uuid,
  at          timestamptz not null,
  due_at      timestamptz,                           -- sleep: until when; signal: how long it is waited for
  seq         integer not null,                      -- in which order they were asked for
  occurrence  integer not null,                      -- of this name, from 1
  attempt     integer not null,
  overlapping    boolean not null default false,        -- another step was under way beside it: their order means nothing
  done        boolean not null default true,
  name        text collate "C" not null,
  kind        text not null check (kind in ('call', 'transaction', 'version', 'fan_out', 'stream', 'sleep', 'signal')),
  hash        text,                                  -- of its arguments; null: they can't be compared
  value       json,
  error       text,                                  -- a permanent one: others are not kept, and tried again
  primary key (job_id, name, occurrence)
);

-- What was sent to a job, consumed or not; a signal that is sent again is recognised by its id.
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

alter table plait.fan_outs enable row level security;
alter table plait.fan_outs force row level security;
create policy owner on plait.fan_outs to plait_owner using (true) with check (true);
create policy tenant on plait.fan_outs for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.fan_out_order enable row level security;
alter table plait.fan_out_order force row level security;
create policy owner on plait.fan_out_order to plait_owner using (true) with check (true);
create policy tenant on plait.fan_out_order for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.steps enable row level security;
alter table plait.steps force row level security;
create policy owner on plait.steps to plait_owner using (true) with check (true);
create policy tenant on plait.steps for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.signals enable row level security;
alter table plait.signals force row level security;
create policy owner on plait.signals to plait_owner using (true) with check (true);
create policy tenant on plait.signals for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- Where a job came from.
alter table plait.jobs add column after uuid[], add column source_ref text;

create or replace view plait.job with (security_invoker = true) as
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
       case when l.state = 'running' then r.progress else a.progress end as progress,
       j.parent_id, j.root_id, j.fan_out_id, j.fan_out_index, j.depth, j.forked_from, l.wait_on, l.wake_at, j.source_ref
from plait.jobs j
left join plait.live l on l.job_id = j.id
left join lateral (select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
left join plait.running_state r on r.job_id = j.id and l.state = 'running' and r.attempt = l.attempt;

-- Structured concurrency: nurseries, dependencies, follow-ups, serial queues.

alter table plait.definitions
  add column child_mode text not null default 'concurrent' check (child_mode in ('concurrent', 'serial')),
  add column on_child_failure text not null default 'continue' check (on_child_failure in ('continue', 'stop')),
  add column allow_nested boolean not null default true,
  add column cancel_on_parent_failure boolean not null default false;
alter table plait.queues add column serial boolean not null default false, add column roots uuid[];
alter table plait.live add column tied boolean not null default false;
alter table plait.fan_outs
  drop constraint fan_outs_total_check, add constraint fan_outs_total_check check (total >= 0),
  drop constraint fan_outs_strategy_check,
  add constraint fan_outs_strategy_check check (strategy in ('fail_fast', 'collect_all', 'threshold', 'quorum', 'nursery', 'after')),
  add column serial boolean not null default false, add column stop boolean not null default false, add column turn uuid, add column parent_final plait.status;
create index fan_outs_turn on plait.fan_outs (id) where serial and turn is null and decided_at is null;
alter table plait.steps
  drop constraint steps_kind_check,
  add constraint steps_kind_check
    check (kind in ('call', 'transaction', 'version', 'fan_out', 'stream', 'sleep', 'signal', 'spawn', 'nursery', 'after'));

-- A job that was asked for with `after` waits for these jobs, and its fan-out counts them. A row goes when its job has ended.
create table plait.dependencies (
  on_id      uuid not null,
  fan_out_id uuid not null,
  tenant_id  uuid not null,
  primary key (on_id, fan_out_id)
);

-- Jobs that are enqueued when another has succeeded, in that very transaction.
create table plait.follow_ups (
  job_id       uuid not null,
  id           uuid not null,                        -- the job's that it becomes
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
  primary key (job_id, id)
);

alter table plait.dependencies enable row level security;
alter table plait.dependencies force row level security;
create policy owner on plait.dependencies to plait_owner using (true) with check (true);
create policy tenant on plait.dependencies for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.follow_ups enable row level security;
alter table plait.follow_ups force row level security;
create policy owner on plait.follow_ups to plait_owner using (true) with check (true);
create policy tenant on plait.follow_ups for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- Triggers: what makes jobs by itself, at a time or for an event; and what became of each occasion.

create table plait.triggers (
  id              uuid primary key,
  tenant_id       uuid not null references plait.tenants (id),
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  deleted_at      timestamptz,                       -- deleted softly: what it has made still names it
  anchor_at       timestamptz not null,              -- since when its timing is what it is; `every` counts from here
  cursor_at       timestamptz not null,              -- schedule: every instant up to here is dealt with
  next_at         timestamptz,                       -- schedule: the next instant; null: the leader has yet to find it
  last_at         timestamptz,                       -- the last instant or event that it fired for
  last_job_id     uuid,
  fired           bigint not null default 0,
  missed          bigint not null default 0,         -- instants that its catch_up left out
  skipped         bigint not null default 0,         -- instants that its overlap left out
  every_s         double precision check (every_s between 1 and 3.2e8),
  catch_up_window_s double precision check (catch_up_window_s between 0 and 3.2e8),
  jitter_s        double precision not null default 0 check (jitter_s between 0 and 86400),
  timeout_s       double precision check (timeout_s > 0 and timeout_s <= 3.2e9),
  dedupe_window_s integer not null default 300 check (dedupe_window_s between 0 and 2592000),
  revision        integer not null default 1,        -- grows with each change; who fires names the one that it has read
  priority        smallint,
  max_attempts    smallint check (max_attempts between 1 and 10000),
  enabled         boolean not null default true,
  kind            text not null,
  origin          text not null check (origin in ('code', 'api')),
  catch_up        text not null default 'one' check (catch_up in ('none', 'one', 'all', 'window')),
  overlap         text not null default 'allow' check (overlap in ('allow', 'skip', 'queue')),
  label           text collate "C" not null check (label collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  definition      text collate "C" not null check (definition collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  event_name      text collate "C" check (event_name ~ '^[A-Za-z0-9_.:/-]{1,200}$'),
  cron            text check (cron ~ '^\S{1,200}( \S{1,200}){4}$'),
  time_zone       text,                              -- null: its tenant's
  queue           text collate "C" check (queue ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  correlation_id  text check (length(correlation_id) between 1 and 500),        -- these three are templates, like the payload
  dedupe_key      text check (length(dedupe_key) between 1 and 500),
  limit_key       text check (length(limit_key) between 1 and 500),
  created_by      text not null,
  error           text,                              -- why the leader can't find its next instant; a change clears it
  payload         json not null default '{}' check (json_typeof(payload) = 'object' and octet_length(payload::text) <= 65536),
  constraint triggers_kind check (case kind
    when 'event' then event_name is not null and num_nonnulls(cron, every_s, time_zone) = 0 and overlap = 'allow'
    when 'schedule' then event_name is null and num_nonnulls(cron, every_s) = 1
    else false end),
  constraint triggers_window check ((catch_up = 'window') = (catch_up_window_s is not null))
);

create unique index triggers_label on plait.triggers (tenant_id, label) where deleted_at is null;
create index triggers_due on plait.triggers (next_at nulls first)
  where kind = 'schedule' and enabled and deleted_at is null and error is null;
create index triggers_event on plait.triggers (tenant_id, event_name) where kind = 'event' and enabled and deleted_at is null;

-- What became of each occasion: one row for each (trigger, instant) and each (trigger, event), ever.
create table plait.fires (
  id           uuid primary key,
  tenant_id    uuid not null,
  trigger_id   uuid not null,
  at           timestamptz not null,
  instant      timestamptz,
  event_id     uuid,
  job_id       uuid,                                 -- the job that it made, or, deduplicated, the one that stood for it
  outcome      text not null check (outcome in ('enqueued', 'deduplicated', 'skipped', 'held', 'refused')),
  window_key   text,                                 -- what is compared within the trigger's dedupe window
  error        text,
  held         json,                                 -- held only: what to ask for when the job before has ended
  constraint fires_occasion check ((instant is null) <> (event_id is null))
);

create unique index fires_instant on plait.fires (tenant_id, trigger_id, instant) where instant is not null;
create unique index fires_event on plait.fires (tenant_id, trigger_id, event_id) where event_id is not null;
create index fires_of_event on plait.fires (event_id) where event_id is not null;
create index fires_window on plait.fires (trigger_id, window_key, at) where window_key is not null;
create index fires_held on plait.fires (trigger_id, instant) where outcome = 'held';
create index fires_at on plait.fires (at);

alter table plait.triggers enable row level security;
alter table plait.triggers force row level security;
create policy owner on plait.triggers to plait_owner using (true) with check (true);
create policy tenant on plait.triggers for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.fires enable row level security;
alter table plait.fires force row level security;
create policy owner on plait.fires to plait_owner using (true) with check (true);
create policy tenant on plait.fires for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.definitions
  drop constraint definitions_kind_check, add constraint definitions_kind_check check (kind in ('function', 'command')),
  add column schema jsonb check (octet_length(schema::text) <= 65536),
  add column description text not null default '' check (length(description) <= 2000);

-- Events: what happened in the user's application, kept from the transaction in which it happened.

create table plait.events (
  id             uuid primary key,
  tenant_id      uuid not null,
  at             timestamptz not null,
  dispatched_at  timestamptz,                        -- since when its triggers have fired, or said why not
  jobs           integer not null default 0,         -- how many it made
  name           text collate "C" not null check (name ~ '^[A-Za-z0-9_.:/-]{1,200}$'),
  correlation_id text check (length(correlation_id) between 1 and 500),
  error          text,                               -- why a trigger refused it; plait.fires tells of each
  data           json not null
);

create index events_tenant on plait.events (tenant_id, id);
create index events_pending on plait.events (id) where dispatched_at is null;
create index events_failed on plait.events (tenant_id, id) where error is not null;

alter table plait.events enable row level security;
alter table plait.events force row level security;
create policy owner on plait.events to plait_owner using (true) with check (true);
create policy tenant on plait.events for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
