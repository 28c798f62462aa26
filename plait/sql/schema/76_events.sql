-- Events from the user's application, stored in the transaction that emitted them.

create table plait.events (
  id             uuid primary key,
  tenant_id      uuid not null,
  at             timestamptz not null,
  dispatched_at  timestamptz,                        -- when its triggers fired or failed
  jobs           integer not null default 0,         -- how many jobs it created
  deduplicated   integer not null default 0,         -- how many triggers found an existing job
  name           text collate "C" not null check (name ~ '^[A-Za-z0-9_.:/-]{1,200}$'),
  correlation_id text check (length(correlation_id) between 1 and 500),
  error          text,                               -- why a trigger failed; plait.fires lists all
                                                     -- firings
  data           json not null
);

create index events_tenant on plait.events (tenant_id, id);
create index events_pending on plait.events (tenant_id, id) where dispatched_at is null;
create index events_failed on plait.events (tenant_id, id) where error is not null;

alter table plait.events enable row level security;
alter table plait.events force row level security;
create policy owner on plait.events to plait_owner using (true) with check (true);
create policy tenant on plait.events for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
