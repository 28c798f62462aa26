-- Failures by error. The leader counts them (functions/leader/count_failures.sql), so that pages
-- about failures are exact and fast, regardless of the number of failures.

-- Jobs that failed, were retried or were deleted since the last count. A row is written by the
-- transaction that changes the job, so no late commit is missed. Only the leader deletes it. No two
-- transactions write the same row.
create table plait.failure_changes (
  tenant_id uuid not null,
  job_id    uuid not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Counted failures: the attempts that ended their jobs as failed or dead_letter, for as long as
-- the jobs are kept.
create table plait.failure_log (
  tenant_id   uuid not null,
  job_id      uuid not null,
  finished_at timestamptz not null,
  attempt     integer not null,
  worker      integer,
  status      plait.status not null,
  current     boolean not null,                      -- the job has this status now;
                                                     -- false: the job was retried since
  definition  text collate "C" not null,
  fingerprint text collate "C" not null,
  primary key (job_id, attempt)
);
create index failure_log_group on plait.failure_log
  (tenant_id, definition, fingerprint, status, finished_at, job_id);
create index failure_log_jobs on plait.failure_log (tenant_id, fingerprint, job_id) where current;

-- The log by error. A group without failures has no row.
create table plait.failure_groups (
  tenant_id   uuid not null,
  definition  text collate "C" not null,
  fingerprint text collate "C" not null,
  status      plait.status not null,
  jobs        bigint not null,                       -- jobs that have this status and error now
  failures    bigint not null,                       -- rows in the log, including jobs that were
                                                     -- retried since
  first_at    timestamptz not null,
  last_at     timestamptz not null,
  last_job    uuid not null,
  primary key (tenant_id, definition, fingerprint, status)
);

-- The log by error and hour.
create table plait.failure_hours (
  tenant_id   uuid not null,
  definition  text collate "C" not null,
  fingerprint text collate "C" not null,
  status      plait.status not null,
  hour        timestamptz not null,
  failures    bigint not null,
  primary key (tenant_id, definition, fingerprint, status, hour)
);

-- All changes that were committed before `at` are counted.
create table plait.failures_counted (
  one boolean primary key default true check (one),
  at  timestamptz
);

alter table plait.failure_changes enable row level security;
alter table plait.failure_changes force row level security;
create policy owner on plait.failure_changes to plait_owner using (true) with check (true);
create policy tenant on plait.failure_changes for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.failure_log enable row level security;
alter table plait.failure_log force row level security;
create policy owner on plait.failure_log to plait_owner using (true) with check (true);
create policy tenant on plait.failure_log for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.failure_groups enable row level security;
alter table plait.failure_groups force row level security;
create policy owner on plait.failure_groups to plait_owner using (true) with check (true);
create policy tenant on plait.failure_groups for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
alter table plait.failure_hours enable row level security;
alter table plait.failure_hours force row level security;
create policy owner on plait.failure_hours to plait_owner using (true) with check (true);
create policy tenant on plait.failure_hours for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
