-- Output of a running job (streams, log lines, state, replies) and the events that it waits for.
-- These rows are deleted with the job.

-- A stream. A writer locks its row, so that the items are ordered.
create table plait.streams (
  job_id    uuid not null,
  tenant_id uuid not null,
  last_seq  integer not null default 0,              -- number of its newest item; never decreases
  items     integer not null default 0,
  bytes     bigint not null default 0,
  closed    boolean not null default false,
  name      text collate "C" not null check (length(name) between 1 and 100),
  primary key (job_id, name)
) with (fillfactor = 50);

-- An item is identified by its position in the branch of the handler that wrote it, so a replay
-- that writes it again changes nothing.
create table plait.stream_items (
  job_id    uuid not null,
  tenant_id uuid not null,
  seq       integer not null,                        -- number in the stream, from 1
  position  integer not null,                        -- number among the items that its branch wrote
                                                     -- to this stream, from 1
  attempt   integer not null,                        -- the attempt that wrote it
  name      text collate "C" not null,
  branch    text collate "C" not null,
  value     json not null,
  primary key (job_id, name, seq)
);
create unique index stream_items_position on plait.stream_items (job_id, name, branch, position);

-- A line of an attempt's log: printed or logged by its handler.
create table plait.log_lines (
  job_id    uuid not null,
  tenant_id uuid not null,
  at        timestamptz not null,                    -- when the handler logged it
  stored_at timestamptz not null,
  attempt   integer not null,
  line      integer not null check (line > 0),       -- number in the attempt's log, from 1
  level     text collate "C" not null
    check (level in ('debug', 'info', 'warning', 'error', 'critical')),
  source    text collate "C" not null                -- plait: a line about dropped lines
    check (source in ('log', 'stdout', 'stderr', 'plait')),
  logger    text collate "C" check (length(logger) <= 200),
  message   text not null check (length(message) <= 8192),
  fields    json check (length(fields::text) <= 8192),
  primary key (job_id, attempt, line)
);
-- For the change feed. The table only grows at its end, as attempts does.
create index log_lines_stored on plait.log_lines using brin (stored_at) with (pages_per_range = 16);

-- The state that a job publishes: the last value that one of its attempts has set.
create table plait.job_states (
  job_id     uuid primary key,
  tenant_id  uuid not null,
  updated_at timestamptz not null,
  attempt    integer not null,
  version    integer not null default 1,             -- grows with each change
  value      json not null check (octet_length(value::text) <= 65536)
) with (fillfactor = 50);

-- Jobs that wait for an event. Dispatching the event sends each of them a signal and deletes the
-- row.
create table plait.event_waits (
  job_id    uuid not null,
  tenant_id uuid not null,
  at        timestamptz not null,
  branch    text collate "C" not null,               -- branch of the step that waits
  signal    text collate "C" not null,               -- the signal that it waits for: the
                                                     -- step is called `signal <signal>`
  name      text collate "C" not null,               -- name of the event
  index_term text collate "C" not null,              -- one field of match, for the index; see
                                                     -- functions/signals/_index_terms.sql
  match     jsonb not null,                          -- the event's data must contain this
  told      boolean not null default false,          -- the signal was sent while the job's row was
                                                     -- locked, so `resume` resumes the job later
  primary key (job_id, signal)
);
create index event_waits_name on plait.event_waits (tenant_id, name, index_term);
create index event_waits_told on plait.event_waits (job_id) where told;

-- A job's replies to updates.
create table plait.update_replies (
  job_id    uuid not null,
  id        uuid not null,                           -- id of the update, which arrived as a signal
  tenant_id uuid not null,
  at        timestamptz not null,
  value     json,
  error     text,                                    -- why it was rejected
  primary key (job_id, id)
);

-- Tokens that allow reading the streams of one job, or sending it a signal, without a key. Only
-- their hashes are stored.
create table plait.job_tokens (
  hash       text collate "C" primary key,
  tenant_id  uuid not null,
  job_id     uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  redacted   boolean not null default false,         -- stream: created by a caller
                                                     -- that may not see secrets
  kind       text not null check (kind in ('stream', 'signal')),
  -- These are set only for an approval link, which sends one signal. The row stays until the job is
  -- deleted, and shows whether the link was used.
  used_at    timestamptz,
  signal     text collate "C" check (length(signal) between 1 and 200),
  message    text,                                   -- the text of its page
  button     text,
  payload    json
);
create index job_tokens_job on plait.job_tokens (job_id);
create index job_tokens_expiry on plait.job_tokens (expires_at);

alter table plait.streams enable row level security;
alter table plait.streams force row level security;
create policy owner on plait.streams to plait_owner using (true) with check (true);
create policy tenant on plait.streams for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.stream_items enable row level security;
alter table plait.stream_items force row level security;
create policy owner on plait.stream_items to plait_owner using (true) with check (true);
create policy tenant on plait.stream_items for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.log_lines enable row level security;
alter table plait.log_lines force row level security;
create policy owner on plait.log_lines to plait_owner using (true) with check (true);
create policy tenant on plait.log_lines for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.job_tokens enable row level security;
alter table plait.job_tokens force row level security;
create policy owner on plait.job_tokens to plait_owner using (true) with check (true);
create policy tenant on plait.job_tokens for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.job_states enable row level security;
alter table plait.job_states force row level security;
create policy owner on plait.job_states to plait_owner using (true) with check (true);
create policy tenant on plait.job_states for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.event_waits enable row level security;
alter table plait.event_waits force row level security;
create policy owner on plait.event_waits to plait_owner using (true) with check (true);
create policy tenant on plait.event_waits for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

alter table plait.update_replies enable row level security;
alter table plait.update_replies force row level security;
create policy owner on plait.update_replies to plait_owner using (true) with check (true);
create policy tenant on plait.update_replies for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
