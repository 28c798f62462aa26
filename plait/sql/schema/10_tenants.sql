-- Tenants, and the logins that are bound to tenants.

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
  -- its share in fair scheduling
  weight      smallint not null default 1 check (weight between 1 and 1000),
  max_running integer check (max_running >= 0),
  -- limits the number of jobs that are not final
  max_queued  integer check (max_queued >= 0),
  quota_left  integer,                               -- a lower bound on the remaining quota, see
                                                     -- functions/enqueue/_reserve_quota.sql
  -- triggers that code declares do not count; null: no limit
  max_triggers integer default 1000 check (max_triggers >= 0),
  -- seconds by status; null: keep forever; absent: the leader's setting applies
  retention   jsonb not null default '{}' check (jsonb_typeof(retention) = 'object')
);

-- A claim reads tenants' settings only if this index is not empty.
create index tenants_special on plait.tenants (id)
  where paused or weight <> 1 or max_running is not null;

-- For retention: tenants that have their own retention settings.
create index tenants_retention on plait.tenants (id) where retention <> '{}';

-- A login of role plait_tenant is bound to its tenant here, by login name, so that a session cannot
-- change the binding.
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
