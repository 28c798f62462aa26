-- Bounded waits, and the defects that an examination found.
-- Sections by subject; each part of the change adds its own.

-- Errors: their type and cause. First, since the view of jobs, below, names all columns of attempts.
alter table plait.attempts add column failure json;
-- Workers tell that a handler blocks their event loop.
alter table plait.workers add column blocked_since timestamptz, add column blocked_job uuid;
-- Forks: which trees retention must keep for them.
create table plait.forks (
  tenant_id uuid not null,
  root_id   uuid not null,
  job_id    uuid not null,                           -- the fork
  primary key (tenant_id, root_id, job_id)
);
create index forks_job on plait.forks (job_id);
alter table plait.forks enable row level security;
alter table plait.forks force row level security;
create policy owner on plait.forks to plait_owner using (true) with check (true);
create policy tenant on plait.forks for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
insert into plait.forks (tenant_id, root_id, job_id)
select j.tenant_id, coalesce(s.root_id, s.id), j.id from plait.jobs j join plait.jobs s on s.id = j.forked_from where j.forked_from is not null
union
select j.tenant_id, f.root_id, j.id from plait.jobs j join plait.steps s on s.job_id = j.id join plait.fan_outs f on f.id = s.fan_out_id
where j.forked_from is not null and f.parent_id <> j.id;
-- Recovery after a worker's loss: suspects run in groups, which each further loss halves.
alter table plait.live add column suspect_group bigint;
alter table plait.workers add column suspects integer not null default 0;

-- Overrides: an operator's settings of a definition, apart from the code's.
alter table plait.definitions add column coded jsonb;  -- what an application's code gave to define; null: no code has defined it
alter table plait.definitions add column inherits_attempts boolean not null default false;
create table plait.overrides (
  definition text collate "C" not null,
  setting    text collate "C" not null,              -- a column of plait.definitions
  value      jsonb not null,                         -- null, as JSON, removes a limit
  author     text not null check (length(author) between 1 and 500),
  set_at     timestamptz not null default plait.now(),
  primary key (definition, setting)
);
create index overrides_setting on plait.overrides (setting);
-- Locks that only plait's own functions can take.
create table plait.locks (name text collate "C" primary key);
insert into plait.locks (name) select 'limit ' || n from generate_series(0, 1023) n union all values ('announce'), ('count_live'), ('roll_up');
insert into plait.locks (name) select distinct 'wake ' || q from plait.workers w cross join unnest(w.queues) q where q is not null
  on conflict do nothing;
alter table plait.queues add column settling boolean not null default false;

-- Rate limits: a sliding window in the place of token buckets. What they held is forgotten, once.
alter table plait.buckets add column starts timestamptz[] not null default '{}', add column counts integer[] not null default '{}';

-- How many definitions a worker's key has created.
alter table plait.keys add column definitions integer not null default 0;
-- Open transactions of users: parents of streamed fan-outs that were passed over, and follow-ups whose dedupe key was held.
create index fan_outs_ready on plait.fan_outs (id) where waited_for is not null and decided_at is null and succeeded + failed + canceled >= waited_for;
alter table plait.follow_ups add column late boolean not null default false;
create index follow_ups_late on plait.follow_ups (job_id) where late;
-- Prefetched jobs are shown apart from running ones.
alter table plait.workers add column prefetched integer not null default 0;
-- Redaction: fields that viewers and operators are not shown.
alter table plait.definitions add column sensitive text[]
  constraint definitions_sensitive check (cardinality(sensitive) between 1 and 50 and array_position(sensitive, null) is null
    and '' <> all(sensitive) and octet_length(sensitive::text) <= 5000);

-- Keys: which key made this one.
alter table plait.keys add column parent_id uuid;

-- Durable functions that do several things at once: a step belongs to a branch of its handler, and its end has a place in their order.
alter table plait.steps add column finished integer, add column branch text collate "C" not null default '';
alter table plait.steps drop constraint steps_pkey, add primary key (job_id, branch, name, occurrence);
alter table plait.steps drop constraint steps_kind_check, add constraint steps_kind_check
  check (kind in ('call', 'transaction', 'version', 'fan_out', 'stream', 'sleep', 'signal', 'spawn', 'nursery', 'after', 'join', 'timer', 'cancel'));
create index steps_open on plait.steps (job_id) where not done;

-- Cancellation that handlers receive: within a grace period of their definition.
alter table plait.definitions add column cancel_grace_s double precision
  constraint definitions_cancel_grace check (cancel_grace_s > 0 and cancel_grace_s <= 3.2e9);
alter table plait.live add column cancel_by timestamptz;
drop index plait.live_cancel;
create index live_cancel on plait.live (worker) where cancel_requested is not null or cancel_by is not null;
create index live_cancel_by on plait.live (cancel_by) where cancel_by is not null;

-- Fan-outs that cancel what is open also when they have succeeded.
alter table plait.fan_outs add column cancel_late boolean not null default false;
-- Continue as new: how often a job was begun anew.
alter table plait.jobs add column runs integer;

-- Builds: a durable job goes on where it began.
alter table plait.workers add column build text collate "C" constraint workers_build check (build ~ '^[A-Za-z0-9_.:+-]{1,100}$');
create index workers_builds on plait.workers (build) where build is not null;

-- Times and attempts: when a job first started, how many of its attempts count, and its runs.
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
       j.parent_id, j.root_id, j.fan_out_id, j.fan_out_index, j.depth, j.forked_from, l.wait_on, l.wake_at, j.source_ref,
       j.node,
       coalesce(f.at, case when l.state = 'running' then l.run_at end) as started_at,  -- the first time, whatever came after
       case when l.state = 'running' then l.worker else a.worker end as last_worker,
       -- Those that count against max_attempts, with the one under way: no suspensions, snoozes, releases and losses.
       case when l.job_id is null then coalesce(u.n, (a.claimed_at is not null and a.status not in ('lost', 'released', 'snoozed'))::int)
            else l.tries + coalesce(l.state = 'running' or a.status = 'suspended' and a.reason is distinct from 'continued'
                            or l.state = 'waiting' and a.status in ('failed', 'timeout'), false)::int end as attempts_used,
       coalesce(j.runs, 1) as runs
from plait.jobs j
left join plait.live l on l.job_id = j.id
left join lateral (select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
left join lateral (
  select coalesce(t.started_at, t.claimed_at) as at from plait.attempts t
  where t.job_id = j.id and t.claimed_at is not null and not (t.status = 'released' and t.started_at >= t.finished_at)  -- given back unstarted
  order by t.attempt limit 1) f on true
left join lateral (
  select (count(*) filter (where t.status in ('failed', 'timeout'))
          + (coalesce(max(t.attempt) filter (where t.claimed_at is not null and t.status in ('succeeded', 'skipped', 'canceled', 'suspended')), 0)
             > coalesce(max(t.attempt) filter (where t.status in ('failed', 'timeout')), 0))::int)::int as n
  from plait.attempts t
  where t.job_id = j.id and t.attempt > coalesce((select max(r.attempt) from plait.attempts r
                                                  where r.job_id = j.id and r.reason in ('retried', 'continued')), 0)
  having l.job_id is null and a.attempt > 1) u on true
left join plait.running_state r on r.job_id = j.id and l.state = 'running' and r.attempt = l.attempt;
-- Visible state: streams of items that jobs write, and tokens by which others see one job.
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
create policy tenant on plait.streams for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.stream_items enable row level security;
alter table plait.stream_items force row level security;
create policy owner on plait.stream_items to plait_owner using (true) with check (true);
create policy tenant on plait.stream_items for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.job_tokens enable row level security;
alter table plait.job_tokens force row level security;
create policy owner on plait.job_tokens to plait_owner using (true) with check (true);
create policy tenant on plait.job_tokens for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.job_states (
  job_id     uuid primary key,
  tenant_id  uuid not null,
  updated_at timestamptz not null,
  attempt    integer not null,
  version    integer not null default 1,
  value      json not null check (octet_length(value::text) <= 65536)
) with (fillfactor = 50);
alter table plait.job_states enable row level security;
alter table plait.job_states force row level security;
create policy owner on plait.job_states to plait_owner using (true) with check (true);
create policy tenant on plait.job_states for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
create table plait.event_waits (
  job_id    uuid not null,
  tenant_id uuid not null,
  at        timestamptz not null,
  branch    text collate "C" not null,
  signal    text collate "C" not null,
  name      text collate "C" not null,
  probe     text collate "C" not null,
  match     jsonb not null,
  told      boolean not null default false,
  primary key (job_id, signal)
);
create index event_waits_name on plait.event_waits (tenant_id, name, probe);
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
alter table plait.event_waits enable row level security;
alter table plait.event_waits force row level security;
create policy owner on plait.event_waits to plait_owner using (true) with check (true);
create policy tenant on plait.event_waits for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.update_replies enable row level security;
alter table plait.update_replies force row level security;
create policy owner on plait.update_replies to plait_owner using (true) with check (true);
create policy tenant on plait.update_replies for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- Artifacts: results of steps and signals that are too large for a row.
alter table plait.artifacts drop constraint artifacts_kind_check, add constraint artifacts_kind_check
  check (kind in ('payload', 'result', 'step', 'signal'));

-- Deadlines of jobs as a whole.
alter table plait.definitions add column deadline_s double precision
  constraint definitions_deadline check (deadline_s > 0 and deadline_s <= 3.2e9);
create table plait.deadlines (
  job_id     uuid primary key,
  tenant_id  uuid not null,
  due_at     timestamptz,                            -- null: it was seen to, or the job had ended before
  deadline_s double precision not null check (deadline_s > 0 and deadline_s <= 3.2e9)
);
create index deadlines_due on plait.deadlines (due_at) where due_at is not null;

alter table plait.deadlines enable row level security;
alter table plait.deadlines force row level security;
create policy owner on plait.deadlines to plait_owner using (true) with check (true);
create policy tenant on plait.deadlines for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- Scan bounds: where a claim starts reading the index.
alter type plait.marks rename attribute marks to starts;
alter type plait.marks rename to scan_bounds;
