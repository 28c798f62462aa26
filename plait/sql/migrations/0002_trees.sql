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
       j.parent_id, j.root_id, j.fan_out_id, j.fan_out_index, j.depth, j.forked_from, l.wait_on, l.wake_at
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
alter table plait.jobs add column after uuid[];
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
