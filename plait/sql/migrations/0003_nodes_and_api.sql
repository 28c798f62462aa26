-- Bounds for triggers and turns in the dispatch of events; nodes that node jobs run on, with a leader that acts when enough of them have
-- done their part; and what the API needs: keys, sessions, audit, replies, counts.

alter table plait.tenants add column max_triggers integer default 1000 check (max_triggers >= 0);

create index triggers_deleted on plait.triggers (deleted_at) where deleted_at is not null;

drop index plait.events_pending;
create index events_pending on plait.events (tenant_id, id) where dispatched_at is null;

alter table plait.definitions
  drop constraint definitions_kind_check, add constraint definitions_kind_check check (kind in ('function', 'command', 'node')),
  add column on_node text collate "C",
  add column on_leader boolean not null default false,
  add column quorum text not null default 'majority' check (quorum ~ '^(majority|all|[1-9][0-9]{0,5})$'),
  add column quorum_timeout_s double precision not null default 10 check (quorum_timeout_s > 0 and quorum_timeout_s <= 3.2e9),
  add column on_timeout text not null default 'proceed' check (on_timeout in ('proceed', 'fail')),
  add column on_node_failure text not null default 'fail' check (on_node_failure in ('fail', 'tolerate')),
  add constraint definitions_node check (case when kind = 'node'
    then (on_node is not null or on_leader) and num_nonnulls(max_running, rate_count, key_max_running, key_rate_count) = 0
    else on_node is null and not on_leader end);

alter table plait.jobs add column node text collate "C";

alter table plait.live add constraint live_leader_is_tied check (tied or lane not in ('leader', 'suspect:leader'));
create index live_leader on plait.live (worker) where lane in ('leader', 'suspect:leader');

alter table plait.workers
  add column node text collate "C", add column holder text, add column draining boolean not null default false;
create index workers_node on plait.workers (node) where state = 'alive';

create table plait.nodes (
  name      text collate "C" primary key check (name ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  state     text not null default 'active' check (state in ('active', 'draining', 'lost', 'left')),
  joined_at timestamptz not null default plait.now(),
  url       text check (length(url) between 1 and 500),
  labels    jsonb not null default '{}' check (jsonb_typeof(labels) = 'object')
);

alter table plait.leader add column since timestamptz not null default plait.now();

alter table plait.fan_outs
  add column on_timeout text check (on_timeout in ('proceed', 'fail')),
  add column on_node_failure text check (on_node_failure in ('fail', 'tolerate')),
  add column rule text check (rule in ('quorum', 'timeout', 'node_failed', 'quorum_lost'));
create index fan_outs_nodes on plait.fan_outs (id) where on_timeout is not null and decided_at is not null and succeeded + failed + canceled < total;

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
       j.node
from plait.jobs j
left join plait.live l on l.job_id = j.id
left join lateral (select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
left join plait.running_state r on r.job_id = j.id and l.state = 'running' and r.attempt = l.attempt;

create table plait.keys (
  id           uuid primary key,
  tenant_id    uuid references plait.tenants (id),
  hash         text collate "C" not null unique,
  hint         text not null check (length(hint) <= 20),          -- its first characters, for who looks for it
  name         text not null check (length(name) between 1 and 200),
  role         text not null check (role in ('viewer', 'operator', 'admin', 'super-admin', 'worker')),
  created_by   text not null,
  created_at   timestamptz not null,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz,                                       -- within a minute
  constraint keys_tenant check ((tenant_id is null) = (role in ('super-admin', 'worker')))
);

create index keys_of_tenant on plait.keys (tenant_id, id);

create table plait.sessions (
  hash       text collate "C" primary key,
  key_id     uuid not null references plait.keys (id) on delete cascade,
  link       boolean not null,
  csrf       text not null,                                       -- what a page must send with each change
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index sessions_expiry on plait.sessions (expires_at);

create table plait.audit (
  id         uuid primary key,
  tenant_id  uuid,                                                -- null: of the installation
  at         timestamptz not null,
  actor      text not null,                                       -- key <id>, or a login
  action     text collate "C" not null,                           -- job.cancel, queue.pause …
  object     text,
  request_id text,
  detail     json not null
);

create index audit_tenant on plait.audit (tenant_id, id);
create index audit_object on plait.audit (object, id);

create table plait.replies (
  tenant_id  uuid not null,                                       -- the installation's own have the id of nobody
  key_id     uuid not null,
  key        text collate "C" not null check (length(key) between 1 and 500),
  hash       text not null,                                       -- of the request
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
create policy tenant on plait.keys for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.audit enable row level security;
alter table plait.audit force row level security;
create policy owner on plait.audit to plait_owner using (true) with check (true);
create policy tenant on plait.audit for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.replies enable row level security;
alter table plait.replies force row level security;
create policy owner on plait.replies to plait_owner using (true) with check (true);
create policy tenant on plait.replies for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- Lists by what belongs together, and of what ended otherwise.
create index jobs_correlation on plait.jobs (tenant_id, correlation_id, id) where correlation_id is not null;
create index attempts_canceled on plait.attempts (tenant_id, job_id) where final in ('canceled', 'skipped');
create index attempts_finished on plait.attempts using brin (finished_at) with (pages_per_range = 16);

create table plait.depths (
  tenant_id uuid not null,
  queue     text collate "C" not null,
  state     plait.status not null,
  at        timestamptz not null,
  jobs      bigint not null,
  oldest    timestamptz not null,                    -- since when the first of them is in that state, or when it is due
  primary key (tenant_id, queue, state)
);

alter table plait.depths enable row level security;
alter table plait.depths force row level security;
create policy owner on plait.depths to plait_owner using (true) with check (true);
create policy tenant on plait.depths for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

create table plait.minutes (
  tenant_id   uuid not null,
  minute      timestamptz not null,
  enqueued    integer not null default 0,            -- by the moment in their ids
  succeeded   integer not null default 0,            -- these five: jobs that became final
  failed      integer not null default 0,
  dead_letter integer not null default 0,
  canceled    integer not null default 0,
  skipped     integer not null default 0,
  retried     integer not null default 0,            -- attempts that failed or timed out, and the job went on
  lost        integer not null default 0,            -- attempts whose worker was lost
  run_s       double precision not null default 0,   -- how long handlers ran, in all
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
create policy tenant on plait.minutes for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
