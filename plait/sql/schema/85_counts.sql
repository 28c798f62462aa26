-- Counts that are too slow to compute in a request (T113). The leader updates them.

-- Live jobs by tenant, queue and state, as of `at`.
create table plait.depths (
  tenant_id uuid not null,
  queue     text collate "C" not null,
  state     plait.status not null,
  at        timestamptz not null,
  jobs      bigint not null,
  oldest    timestamptz not null,                    -- since when the oldest job has been in that
                                                     -- state, or when it is due
  primary key (tenant_id, queue, state)
);

alter table plait.depths enable row level security;
alter table plait.depths force row level security;
create policy owner on plait.depths to plait_owner using (true) with check (true);
create policy tenant on plait.depths for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- Enqueued jobs and outcomes of attempts, for each minute.
create table plait.minutes (
  tenant_id   uuid not null,
  minute      timestamptz not null,
  enqueued    integer not null default 0,            -- jobs, by created_at
  succeeded   integer not null default 0,            -- these five count jobs that became final
  failed      integer not null default 0,
  dead_letter integer not null default 0,
  canceled    integer not null default 0,
  skipped     integer not null default 0,
  retried     integer not null default 0,            -- attempts that failed or
                                                     -- timed out and were retried
  lost        integer not null default 0,            -- attempts whose worker was lost
  run_s       double precision not null default 0,   -- total run time of handlers
  primary key (tenant_id, minute)
);
create index minutes_minute on plait.minutes (minute);

-- The time up to which minutes are final, and the id up to which transactions must end before more
-- minutes become final. See functions/leader/roll_up.sql.
create table plait.rolled (
  one       boolean primary key default true check (one),
  closed_to timestamptz not null,
  seen_at   timestamptz not null,
  seen_xid  xid8 not null
);

alter table plait.minutes enable row level security;
alter table plait.minutes force row level security;
create policy owner on plait.minutes to plait_owner using (true) with check (true);
create policy tenant on plait.minutes for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
