-- Access to the API: keys and browser sessions, the audit log, and stored replies.

-- API keys. Only the hash of a key is stored. A key has 256 random bits, so an unsalted hash is
-- safe against brute force. A key without a tenant belongs to an operator of the whole
-- installation, or to a worker.
create table plait.keys (
  id           uuid primary key,
  tenant_id    uuid references plait.tenants (id),
  hash         text collate "C" not null unique,
  -- the first characters of the key, to identify it
  hint         text not null check (length(hint) <= 20),
  name         text not null check (length(name) between 1 and 200),
  role         text not null check (
    role in ('viewer', 'operator', 'admin', 'super-admin', 'worker')),
  created_by   text not null,
  created_at   timestamptz not null,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz,                                       -- accurate to one minute
  -- how many definitions a worker's key has created
  definitions  integer not null default 0,
  -- the key that it was created with; null: created by the CLI or a sign-in
  parent_id    uuid,
  constraint keys_tenant check ((tenant_id is null) = (role in ('super-admin', 'worker')))
);

create index keys_of_tenant on plait.keys (tenant_id, id);

-- Browser sessions, used instead of a key. A session ends at the latest when its key expires or is
-- revoked. `link`: an unused login link, or an unused link to an embedded view.
create table plait.sessions (
  hash       text collate "C" primary key,
  key_id     uuid not null references plait.keys (id) on delete cascade,
  link       boolean not null,
  -- the CSRF token that a page must send with each change
  csrf       text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- for an embedded view; null: the key's role applies
  role       text constraint sessions_role check (role in ('viewer', 'operator'))
);

create index sessions_expiry on plait.sessions (expires_at);

-- The audit log: one row for each change made through the API, written in the same transaction as
-- the change.
create table plait.audit (
  id         uuid primary key,
  tenant_id  uuid,                                                -- null: the whole installation
  at         timestamptz not null,
  actor      text not null,                                       -- key <id>, or a login
  action     text collate "C" not null,                           -- job.cancel, queue.pause …
  object     text,
  request_id text,
  detail     json not null
);

create index audit_tenant on plait.audit (tenant_id, id);
create index audit_object on plait.audit (object, id);

-- Replies to requests with an Idempotency-Key, kept for a day. While status is null, the request is
-- still running.
create table plait.replies (
  -- the nil UUID for requests that belong to no tenant
  tenant_id  uuid not null,
  key_id     uuid not null,
  key        text collate "C" not null check (length(key) between 1 and 500),
  hash       text not null,                                       -- hash of the request
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
