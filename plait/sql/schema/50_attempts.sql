-- The log of attempts. A row is added whenever a job leaves `running`, and for a cancellation or an
-- operator's retry.

create table plait.attempts (
  job_id      uuid not null,
  tenant_id   uuid not null,
  claimed_at  timestamptz,                           -- null: this attempt never ran (canceled
                                                     -- before its start, or a retry)
  started_at  timestamptz,                           -- when the handler began
  finished_at timestamptz not null,
  attempt     integer not null,
  worker      integer,
  status      plait.outcome not null,
  final       plait.status,                          -- the job's final status, if this attempt was
                                                     -- its last; null: it was not
  pid         integer,                               -- of the isolated process, otherwise of the
                                                     -- worker
  exit_code   integer,
  reason      text,                                  -- a code: permanent,
                                                     -- worker_lost, bad_payload …
  error       text,
  traceback   text,
  result      json,
  progress    json,
  failure     json,                                  -- the handler's exception: {type, message,
                                                     -- cause}; null: none
  primary key (job_id, attempt),
  constraint attempts_final check (
    final in ('succeeded', 'failed', 'dead_letter', 'canceled', 'skipped'))
);

create index attempts_failed on plait.attempts (tenant_id, job_id)
  where final in ('failed', 'dead_letter');
create index attempts_canceled on plait.attempts (tenant_id, job_id)
  where final in ('canceled', 'skipped');
-- To find recent attempts. The log only grows at its end, so a BRIN index of a few bytes for each
-- 16 pages is enough, and inserts stay cheap.
create index attempts_finished on plait.attempts using brin (finished_at)
  with (pages_per_range = 16);

-- State of a running attempt; merged into the attempt when it is settled.
create table plait.running_state (
  job_id     uuid primary key,
  tenant_id  uuid not null,
  attempt    integer not null,
  updated_at timestamptz not null,
  progress   json
) with (fillfactor = 50);

alter table plait.attempts enable row level security;
alter table plait.attempts force row level security;
create policy owner on plait.attempts to plait_owner using (true) with check (true);
create policy tenant on plait.attempts for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.running_state enable row level security;
alter table plait.running_state force row level security;
create policy owner on plait.running_state to plait_owner using (true) with check (true);
create policy tenant on plait.running_state for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
