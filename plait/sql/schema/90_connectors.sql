-- Connectors: webhook endpoints, a tenant's settings for each type of connector, and circuit
-- breakers.

create table plait.endpoints (
  id              uuid primary key,
  tenant_id       uuid not null references plait.tenants (id),
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  subscribed_at   timestamptz,                       -- since when outcomes have been announced to
                                                     -- it; null: it gets no outcomes
  disabled_at     timestamptz,                       -- since when deliveries have been disabled
  old_key_until   timestamptz,                       -- until then, requests are also signed with
                                                     -- the previous key
  key_version     integer not null default 1,        -- signing keys are derived from it, not stored
  enabled         boolean not null default true,
  label           text collate "C" not null check (
    label collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  url             text not null check (url ~ '^https?://[[:graph:]]+$' and length(url) <= 2000),
  signature       text not null default 'standard' check (
    signature in ('standard', 'sha256', 'sha512')),
  disabled_reason text,
  created_by      text not null,
  statuses        plait.status[] not null default '{}',   -- the outcomes that it subscribes to
  definitions     text[],                            -- only outcomes of these definitions; null:
                                                     -- all
  constraint endpoints_statuses check (not statuses && '{scheduled,queued,running,waiting}'),
  constraint endpoints_definitions check (cardinality(definitions) between 1 and 100)
);
create unique index endpoints_label on plait.endpoints (tenant_id, label);
create index endpoints_subscribed on plait.endpoints (tenant_id) where subscribed_at is not null;

-- Announced outcomes, kept for as long as announce might announce them again. See
-- functions/connectors/announce.sql.
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

-- The time up to which announcements are complete, and the transactions that must end before it can
-- advance.
create table plait.announced (
  one       boolean primary key default true check (one),
  closed_to timestamptz not null,
  seen_at   timestamptz not null,
  seen_xid  xid8 not null
);

-- A tenant's settings for a type of connector, for all its jobs.
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

-- Circuit breakers, shared by all workers: servers that have failed recently. A healthy server has
-- no row.
create table plait.circuits (
  tenant_id  uuid not null,
  origin     text collate "C" not null check (length(origin) <= 300),
  failures   integer not null,                       -- in a row
  opened_at  timestamptz,                            -- since when the circuit has been open
  open_until timestamptz,                            -- after that half-open: one trial request is
                                                     -- admitted every 30 s
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
