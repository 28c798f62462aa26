-- Counts that nobody should have to make while somebody waits (T113): the leader makes them.

-- What is live, by tenant, queue and state, as of `at`.
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
