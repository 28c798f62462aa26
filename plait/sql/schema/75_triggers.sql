-- Triggers: schedules and event triggers, and their firings.

create table plait.triggers (
  id              uuid primary key,
  tenant_id       uuid not null references plait.tenants (id),
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  deleted_at      timestamptz,                       -- soft delete: jobs that it created still
                                                     -- refer to it
  anchor_at       timestamptz not null,              -- when its timing was last changed;
                                                     -- `every` counts from here
  cursor_at       timestamptz not null,              -- schedule: every instant
                                                     -- up to here is handled
  next_at         timestamptz,                       -- schedule: the next instant;
                                                     -- null: not computed yet
  last_at         timestamptz,                       -- the last instant or event for which it fired
  last_job_id     uuid,
  fired           bigint not null default 0,
  missed          bigint not null default 0,         -- instants that its catch-up policy skipped
  skipped         bigint not null default 0,         -- instants that its overlap policy skipped
  every_s         double precision check (every_s between 1 and 3.2e8),
  catch_up_window_s double precision check (catch_up_window_s between 0 and 3.2e8),
  jitter_s        double precision not null default 0 check (jitter_s between 0 and 86400),
  timeout_s       double precision check (timeout_s > 0 and timeout_s <= 3.2e9),
  dedupe_window_s integer not null default 300 check (dedupe_window_s between 0 and 2592000),
  revision        integer not null default 1,        -- grows with each change; the caller of fire
                                                     -- passes the revision that it has read
  priority        smallint,
  max_attempts    smallint check (max_attempts between 1 and 10000),
  enabled         boolean not null default true,
  kind            text not null,
  origin          text not null check (origin in ('code', 'api')),
  catch_up        text not null default 'one' check (catch_up in ('none', 'one', 'all', 'window')),
  overlap         text not null default 'allow' check (overlap in ('allow', 'skip', 'queue')),
  label           text collate "C" not null check (
    label collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  definition      text collate "C" not null check (
    definition collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  event_name      text collate "C" check (event_name ~ '^[A-Za-z0-9_.:/-]{1,200}$'),
  cron            text check (cron ~ '^\S{1,200}( \S{1,200}){4}$'),
  time_zone       text,                              -- null: its tenant's time zone
  queue           text collate "C" check (queue ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  -- these three are templates, like the payload
  correlation_id  text check (length(correlation_id) between 1 and 500),
  dedupe_key      text check (length(dedupe_key) between 1 and 500),
  limit_key       text check (length(limit_key) between 1 and 500),
  created_by      text not null,
  error           text,                              -- why the leader can't compute its next
                                                     -- instant; cleared by a change
  payload         json not null default '{}' check (
    json_typeof(payload) = 'object' and octet_length(payload::text) <= 65536),
  constraint triggers_kind check (
    case kind
      when 'event' then
        event_name is not null and num_nonnulls(cron, every_s, time_zone) = 0 and overlap = 'allow'
      when 'schedule' then event_name is null and num_nonnulls(cron, every_s) = 1
      else false end),
  constraint triggers_window check ((catch_up = 'window') = (catch_up_window_s is not null))
);

create unique index triggers_label on plait.triggers (tenant_id, label) where deleted_at is null;
create index triggers_due on plait.triggers (next_at nulls first)
  where kind = 'schedule' and enabled and deleted_at is null and error is null;
create index triggers_deleted on plait.triggers (deleted_at) where deleted_at is not null;
create index triggers_event on plait.triggers (tenant_id, event_name)
  where kind = 'event' and enabled and deleted_at is null;

-- Firings: one row for each (trigger, instant) and each (trigger, event).
create table plait.fires (
  id           uuid primary key,
  tenant_id    uuid not null,
  trigger_id   uuid not null,
  at           timestamptz not null,
  instant      timestamptz,
  event_id     uuid,
  job_id       uuid,                                 -- the job that it created, or the existing job
                                                     -- with the same dedupe key
  outcome      text not null check (
    outcome in ('enqueued', 'deduplicated', 'skipped', 'held', 'refused')),
  window_key   text,                                 -- compared within the trigger's dedupe window
  error        text,
  held         json,                                 -- held only: the job to enqueue when the
                                                     -- previous job has ended
  constraint fires_occasion check ((instant is null) <> (event_id is null))
);

create unique index fires_instant on plait.fires (tenant_id, trigger_id, instant)
  where instant is not null;
create unique index fires_event on plait.fires (tenant_id, trigger_id, event_id)
  where event_id is not null;
create index fires_of_event on plait.fires (event_id) where event_id is not null;
create index fires_window on plait.fires (trigger_id, window_key, at) where window_key is not null;
create index fires_held on plait.fires (trigger_id, instant) where outcome = 'held';
create index fires_at on plait.fires (at);

alter table plait.triggers enable row level security;
alter table plait.triggers force row level security;
create policy owner on plait.triggers to plait_owner using (true) with check (true);
create policy tenant on plait.triggers for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.fires enable row level security;
alter table plait.fires force row level security;
create policy owner on plait.fires to plait_owner using (true) with check (true);
create policy tenant on plait.fires for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
