-- What connectors, artifacts, search keys and operations need.

-- Search keys.
alter table plait.definitions
  add column search_keys text[] check (cardinality(search_keys) between 1 and 10 and array_position(search_keys, null) is null
                                       and '' <> all(search_keys) and octet_length(search_keys::text) <= 1000),
  add column search_from uuid;
create table plait.search_values (
  tenant_id  uuid not null,
  definition text collate "C" not null,
  key        text collate "C" not null,
  value      text collate "C" not null,              -- the first 200 characters
  job_id     uuid not null,
  primary key (tenant_id, definition, key, value, job_id)
);
create index search_values_job on plait.search_values (job_id);
alter table plait.search_values enable row level security;
alter table plait.search_values force row level security;
create policy owner on plait.search_values to plait_owner using (true) with check (true);
create policy tenant on plait.search_values for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- Upgrades: which code may run beside the new.
alter table plait.installed add column oldest integer not null default 0;

-- Retention: how long a tenant's final jobs are kept, by status.
alter table plait.tenants add column retention jsonb not null default '{}' check (jsonb_typeof(retention) = 'object');
create index tenants_retention on plait.tenants (id) where retention <> '{}';

-- Artifacts: payloads and results that are too large for a row. What they are is here, their bytes are in a store of their own,
-- under the tenant's id and the artifact's. A job's payload or result names one by its hash; it is the job's alone.

create table plait.artifacts (
  id         uuid primary key,
  tenant_id  uuid not null,
  job_id     uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz,                            -- looked at by then: is there such a job? null: there was, and it is not forgotten
  doomed_at  timestamptz,                            -- nobody needs it: its bytes go, then this row
  size       bigint not null check (size > 0),
  kind       text not null check (kind in ('payload', 'result')),
  sha256     text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$')
);

create unique index artifacts_key on plait.artifacts (tenant_id, job_id, kind, sha256) where doomed_at is null;
create index artifacts_job on plait.artifacts (job_id);
create index artifacts_expiry on plait.artifacts (expires_at) where expires_at is not null;

alter table plait.artifacts enable row level security;
alter table plait.artifacts force row level security;
create policy owner on plait.artifacts to plait_owner using (true) with check (true);
create policy tenant on plait.artifacts for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- Connectors: endpoints, what they were told, settings, circuits.
alter table plait.definitions drop constraint definitions_kind_check;
alter table plait.definitions add constraint definitions_kind_check check (kind in ('function', 'command', 'node', 'connector'));

create table plait.endpoints (
  id              uuid primary key,
  tenant_id       uuid not null references plait.tenants (id),
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  subscribed_at   timestamptz,                       -- since when it is told of outcomes; null: of none
  disabled_at     timestamptz,                       -- since when nothing is delivered
  old_key_until   timestamptz,                       -- the key before this one signs too, until then
  key_version     integer not null default 1,        -- keys are worked out from it, and stored nowhere
  enabled         boolean not null default true,
  label           text collate "C" not null check (label collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  url             text not null check (url ~ '^https?://[[:graph:]]+$' and length(url) <= 2000),
  signature       text not null default 'standard' check (signature in ('standard', 'sha256', 'sha512')),
  disabled_reason text,
  created_by      text not null,
  statuses        plait.status[] not null default '{}',   -- of these outcomes it is told
  definitions     text[],                            -- of jobs of these; null: of any
  constraint endpoints_statuses check (not statuses && '{scheduled,queued,running,waiting}'),
  constraint endpoints_definitions check (cardinality(definitions) between 1 and 100)
);
create unique index endpoints_label on plait.endpoints (tenant_id, label);
create index endpoints_subscribed on plait.endpoints (tenant_id) where subscribed_at is not null;

-- What endpoints were told, for as long as it could be found again. See functions/announce.sql.
create table plait.announcements (
  tenant_id   uuid not null,
  endpoint_id uuid not null,
  job_id      uuid not null,
  attempt     integer not null,
  finished_at timestamptz not null,
  delivery_id uuid not null,                         -- the job that delivers it
  primary key (tenant_id, endpoint_id, job_id, attempt)
);
create index announcements_finished on plait.announcements (finished_at);

-- Until where outcomes are told for ever; and what must have ended before more of them are.
create table plait.announced (
  one       boolean primary key default true check (one),
  closed_to timestamptz not null,
  seen_at   timestamptz not null,
  seen_xid  xid8 not null
);

-- What a tenant has set for a kind of connector, for all its jobs.
create table plait.connectors (
  tenant_id  uuid not null references plait.tenants (id),
  type       text not null check (type in ('http', 'webhook', 'report')),
  settings   json not null,
  updated_at timestamptz not null,
  updated_by text not null,
  primary key (tenant_id, type),
  constraint connectors_settings check (json_typeof(settings) = 'object' and octet_length(settings::text) <= 16384)
);

-- Servers that have failed lately, as all workers know them. One that answers has no row.
create table plait.circuits (
  tenant_id  uuid not null,
  origin     text collate "C" not null check (length(origin) <= 300),
  failures   integer not null,                       -- in a row
  opened_at  timestamptz,                            -- since when nobody asks it
  open_until timestamptz,                            -- then one request may try
  updated_at timestamptz not null,
  primary key (tenant_id, origin)
);
create index circuits_updated on plait.circuits (updated_at);

alter table plait.endpoints enable row level security;
alter table plait.endpoints force row level security;
create policy owner on plait.endpoints to plait_owner using (true) with check (true);
create policy tenant on plait.endpoints for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.announcements enable row level security;
alter table plait.announcements force row level security;
create policy owner on plait.announcements to plait_owner using (true) with check (true);
create policy tenant on plait.announcements for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.connectors enable row level security;
alter table plait.connectors force row level security;
create policy owner on plait.connectors to plait_owner using (true) with check (true);
create policy tenant on plait.connectors for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.circuits enable row level security;
alter table plait.circuits force row level security;
create policy owner on plait.circuits to plait_owner using (true) with check (true);
create policy tenant on plait.circuits for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- The web UI: when a job that has ended was begun, and where.
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
       case when l.state = 'running' then l.run_at when l.job_id is null then coalesce(a.started_at, a.claimed_at) end as started_at,
       case when l.state = 'running' then l.worker else a.worker end as last_worker
from plait.jobs j
left join plait.live l on l.job_id = j.id
left join lateral (select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
left join plait.running_state r on r.job_id = j.id and l.state = 'running' and r.attempt = l.attempt;

-- Views of the web UI that are embedded elsewhere: sessions that may do less than their key.
alter table plait.sessions add column role text constraint sessions_role check (role in ('viewer', 'operator'));
