-- The API: keys, sessions, audit, replies.
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
