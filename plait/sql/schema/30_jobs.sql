-- Jobs as they were enqueued. After that, only continue_as_new changes a row. Retention deletes it.

create table plait.jobs (
  id              uuid primary key,
  tenant_id       uuid not null,
  created_at      timestamptz not null,
  scheduled_for   timestamptz,                       -- requested start time; null: immediately
  timeout_s       double precision,                  -- null: the definition's
  priority        smallint not null,
  max_attempts    smallint not null,
  definition      text collate "C" not null,
  queue           text collate "C" not null,
  source          text not null default 'manual' check (
    source in ('manual', 'event', 'schedule', 'system')),
  correlation_id  text,
  dedupe_key      text collate "C",
  idempotency_key text collate "C",
  limit_key       text collate "C",
  payload         json not null,                     -- json, not jsonb: half the cost, and
                                                     -- it accepts values that jsonb rejects
  -- Null for a job without a parent, so a root does not store itself as its root_id.
  parent_id       uuid,
  root_id         uuid,
  fan_out_id      uuid,
  fan_out_index   integer,
  depth           smallint,
  forked_from     uuid,
  after           uuid[],                            -- dependencies: the job waits for these to
                                                     -- succeed
  source_ref      text,                              -- id of the trigger, the event or, for a
                                                     -- delivery, the announced job
  node            text collate "C",                  -- the node of a part of a node job
  runs            integer                            -- number of runs, which continue_as_new
                                                     -- increments; null: 1
);

create index jobs_tenant on plait.jobs (tenant_id, id);
-- To read a whole workflow, or the children of one fan-out in order. Jobs without a parent are not
-- in this index.
create index jobs_tree on plait.jobs (root_id, fan_out_id, fan_out_index) where root_id is not null;

-- To find jobs by correlation id. Jobs without a correlation id are not in this index.
create index jobs_correlation on plait.jobs (tenant_id, correlation_id, id)
  where correlation_id is not null;

-- Dedupe keys. A job holds its key until the job is final.
create table plait.dedupe (
  tenant_id uuid not null,
  key       text collate "C" not null,
  job_id    uuid not null,
  primary key (tenant_id, key)
);

-- Idempotency keys. A job holds its key until `expires_at` or, if that is null, for as long as the
-- job is kept.
create table plait.idempotency (
  tenant_id    uuid not null,
  definition   text collate "C" not null,
  key          text collate "C" not null,
  job_id       uuid not null,
  payload_hash text not null,
  expires_at   timestamptz,
  primary key (tenant_id, definition, key)
);
create index idempotency_job on plait.idempotency (job_id);

-- Values of jobs under the search keys that their definitions declare. See
-- functions/enqueue/_store_search_values.sql.
create table plait.search_values (
  tenant_id  uuid not null,
  definition text collate "C" not null,
  key        text collate "C" not null,
  value      text collate "C" not null,              -- the first 200 characters
  job_id     uuid not null,
  primary key (tenant_id, definition, key, value, job_id)
);
create index search_values_job on plait.search_values (job_id);

alter table plait.jobs enable row level security;
alter table plait.jobs force row level security;
create policy owner on plait.jobs to plait_owner using (true) with check (true);
create policy tenant on plait.jobs for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.dedupe enable row level security;
alter table plait.dedupe force row level security;
create policy owner on plait.dedupe to plait_owner using (true) with check (true);
create policy tenant on plait.dedupe for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.idempotency enable row level security;
alter table plait.idempotency force row level security;
create policy owner on plait.idempotency to plait_owner using (true) with check (true);
create policy tenant on plait.idempotency for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.search_values enable row level security;
alter table plait.search_values force row level security;
create policy owner on plait.search_values to plait_owner using (true) with check (true);
create policy tenant on plait.search_values for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
