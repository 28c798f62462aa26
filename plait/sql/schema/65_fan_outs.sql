-- Workflows: the steps of a durable job, the fan-outs, signals and jobs that it waits for, the
-- order in which its children ended, and its follow-ups.

-- A fan-out: children of one parent, and the strategy that decides the outcome. The transaction
-- that ends a child updates the counters under this row's lock, and the transaction that sets
-- decided_at resumes the parent. Children that end later are counted, but the decision never
-- changes.
-- Two strategies are internal. `nursery` accepts children while its parent or one of its children
-- runs, and is decided when the parent waits and all children have ended. A job's own nursery has
-- the job's id, and makes the job final. `after` has no children: it counts the jobs that its
-- parent depends on (plait.dependencies).
create table plait.fan_outs (
  id            uuid primary key,
  tenant_id     uuid not null,
  parent_id     uuid not null,
  root_id       uuid not null,                       -- the parent's root, or the parent itself
  created_at    timestamptz not null,
  timeout_at    timestamptz,
  decided_at    timestamptz,
  timeout_s     double precision,
  depth         smallint not null,                   -- depth of its children: locks are taken
                                                     -- deepest first
  total         integer not null check (total >= 0),
  -- number of children that must succeed
  needed        integer not null check (needed between 0 and total),
  succeeded     integer not null default 0,          -- including skipped children
  failed        integer not null default 0,
  canceled      integer not null default 0,
  waited_for    integer,                             -- the parent waits until this many children
                                                     -- have ended, or until the fan-out is decided;
                                                     -- null: it does not wait
  decided_ended integer,                             -- how many children had ended when it was
                                                     -- decided
  early         boolean not null,                    -- decided as soon as enough have succeeded;
                                                     -- false: when all have ended
  streamed      boolean not null,                    -- the order in which its
                                                     -- children end is stored
  nested        boolean not null,                    -- its children may fan out too
  cancel_remaining boolean not null,                 -- if it fails, open children are canceled
  cancel_on_parent_failure boolean not null,
  cancel_due    boolean not null default false,      -- open children have to be canceled, in a
                                                     -- later transaction
  strategy      text not null check (
    strategy in ('fail_fast', 'collect_all', 'threshold', 'quorum', 'nursery', 'after')),
  decision      text check (decision in ('succeeded', 'failed', 'timeout')),
  left_open     integer[],                           -- indexes of children that had not ended when
                                                     -- it was decided: they are late and omitted
                                                     -- from the results
  serial        boolean not null default false,      -- nursery: one child at a time, in the
                                                     -- order in which they were spawned
  stop          boolean not null default false,      -- nursery: when a child has failed, children
                                                     -- that have not started are canceled
  turn          uuid,                                -- serial: the child whose turn it is
  parent_final  plait.status,                        -- a job's own nursery: the job's
                                                     -- status, if its handler failed;
                                                     -- null: its children decide
  -- these three are set only for a node job, whose children are the nodes' parts
  on_timeout    text check (on_timeout in ('proceed', 'fail')),
  on_node_failure text check (on_node_failure in ('fail', 'tolerate')),
  -- the rule that decided it
  rule          text check (rule in ('quorum', 'timeout', 'node_failed', 'quorum_lost')),
  cancel_late   boolean not null default false,      -- open children are canceled even if it
                                                     -- succeeds
  constraint fan_outs_counts check (
    succeeded >= 0 and failed >= 0 and canceled >= 0 and succeeded + failed + canceled <= total),
  constraint fan_outs_decided check ((decided_at is null) = (decision is null))
) with (fillfactor = 50);

create index fan_outs_parent on plait.fan_outs (parent_id);
create index fan_outs_root on plait.fan_outs (root_id);
-- These indexes are almost empty: they hold only rows that the leader has to handle.
create index fan_outs_timeout on plait.fan_outs (timeout_at)
  where timeout_at is not null and decided_at is null;
create index fan_outs_missed on plait.fan_outs (id)
  where waited_for is not null and decided_at is not null;
create index fan_outs_ready on plait.fan_outs (id)
  where waited_for is not null and decided_at is null
    and succeeded + failed + canceled >= waited_for;
create index fan_outs_cancel on plait.fan_outs (id) where cancel_due;
create index fan_outs_nodes on plait.fan_outs (id)
  where on_timeout is not null and decided_at is not null and succeeded + failed + canceled < total;
create index fan_outs_turn on plait.fan_outs (id)
  where serial and turn is null and decided_at is null;

-- The order in which the children of a streamed fan-out ended.
create table plait.fan_out_order (
  fan_out_id    uuid not null,
  tenant_id     uuid not null,
  position      integer not null,
  fan_out_index integer not null,
  primary key (fan_out_id, position)
);

-- The steps of a durable job: each is written once, fenced by the attempt, and read by each replay.
create table plait.steps (
  job_id      uuid not null,
  tenant_id   uuid not null,
  fan_out_id  uuid,
  at          timestamptz not null,
  due_at      timestamptz,                           -- sleep: until when; signal: its timeout
  seq         integer not null,                      -- order in which the steps were requested
  occurrence  integer not null,                      -- counts steps of this name in this branch,
                                                     -- from 1
  attempt     integer not null,
  took_s      real,                                  -- call, transaction: how long it ran, measured
                                                     -- by its worker; other kinds: see list_steps
  done        boolean not null default true,         -- false with an error: the step's branch was
                                                     -- canceled before it ended
  name        text collate "C" not null,
  kind        text not null check (
    kind in ('call', 'transaction', 'version', 'fan_out', 'stream', 'sleep', 'signal', 'spawn',
             'nursery', 'after', 'join', 'timer', 'cancel')),
  hash        text,                                  -- hash of its arguments; null: they cannot be
                                                     -- compared
  value       json,
  error       text,                                  -- a permanent error; other errors are not
                                                     -- stored, and the step is retried
  finished    integer,                               -- order in which the handler received the
                                                     -- results of steps; null: not yet received
  branch      text collate "C" not null default '',  -- the task that requested it: '' is the
                                                     -- handler itself, 2.1 the first task of its
                                                     -- second task
  signal_id   uuid,                                  -- the signal that it consumed; reset to null
                                                     -- if the wait is canceled before the handler
                                                     -- gets it
  primary key (job_id, branch, name, occurrence)
);

create index steps_open on plait.steps (job_id) where not done;

-- Signals to a job, consumed or not. A signal that is sent again is recognized by its id.
create table plait.signals (
  job_id    uuid not null,
  id        uuid not null,
  tenant_id uuid not null,
  sent_at   timestamptz not null,
  name      text collate "C" not null check (length(name) between 1 and 200),
  consumed  boolean not null default false,
  payload   json,
  primary key (job_id, id)
);

-- Dependencies: a job that was enqueued with `after` waits for these jobs, and its fan-out counts
-- them. A row is deleted when the job that it waits for has ended.
create table plait.dependencies (
  on_id      uuid not null,
  fan_out_id uuid not null,
  tenant_id  uuid not null,
  primary key (on_id, fan_out_id)
);

-- Follow-ups: jobs that are enqueued in the transaction in which another job succeeds.
create table plait.follow_ups (
  job_id       uuid not null,
  id           uuid not null,                        -- id of the job that it becomes
  tenant_id    uuid not null,
  timeout_s    double precision,
  delay_s      double precision,
  priority     smallint not null,
  max_attempts smallint not null,
  definition   text collate "C" not null,
  queue        text collate "C" not null,
  dedupe_key   text collate "C",
  limit_key    text collate "C",
  payload      json not null,
  late         boolean not null default false,       -- its job succeeded while a user's transaction
                                                     -- held its dedupe key
  primary key (job_id, id)
);
create index follow_ups_late on plait.follow_ups (job_id) where late;

-- The workflows that a fork needs: the workflow of its source job, and the workflows whose fan-outs
-- its steps refer to. Retention keeps them for as long as the fork.
create table plait.forks (
  tenant_id uuid not null,
  root_id   uuid not null,
  job_id    uuid not null,                           -- the fork
  primary key (tenant_id, root_id, job_id)
);
create index forks_job on plait.forks (job_id);

alter table plait.fan_outs enable row level security;
alter table plait.fan_outs force row level security;
create policy owner on plait.fan_outs to plait_owner using (true) with check (true);
create policy tenant on plait.fan_outs for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.fan_out_order enable row level security;
alter table plait.fan_out_order force row level security;
create policy owner on plait.fan_out_order to plait_owner using (true) with check (true);
create policy tenant on plait.fan_out_order for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.steps enable row level security;
alter table plait.steps force row level security;
create policy owner on plait.steps to plait_owner using (true) with check (true);
create policy tenant on plait.steps for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.signals enable row level security;
alter table plait.signals force row level security;
create policy owner on plait.signals to plait_owner using (true) with check (true);
create policy tenant on plait.signals for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.dependencies enable row level security;
alter table plait.dependencies force row level security;
create policy owner on plait.dependencies to plait_owner using (true) with check (true);
create policy tenant on plait.dependencies for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.follow_ups enable row level security;
alter table plait.follow_ups force row level security;
create policy owner on plait.follow_ups to plait_owner using (true) with check (true);
create policy tenant on plait.follow_ups for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.forks enable row level security;
alter table plait.forks force row level security;
create policy owner on plait.forks to plait_owner using (true) with check (true);
create policy tenant on plait.forks for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
