-- Settings of job definitions and queues. They belong to the installation, not to a tenant.

create table plait.definitions (
  name            text collate "C" primary key check (
    name collate "default" ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'),
  kind            text not null default 'function' check (
    kind in ('function', 'command', 'node', 'connector')),
  active          boolean not null default true,     -- false rejects new jobs; existing jobs run
  queue           text collate "C" not null default 'default' check (
    queue ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  priority        smallint not null default 100,
  max_attempts    smallint not null default 5 check (max_attempts between 1 and 10000),
  -- NaN is greater than any number
  timeout_s       double precision not null default 3600 check (
    timeout_s > 0 and timeout_s <= 3.2e9),
  backoff_base_s  double precision not null default 1 check (backoff_base_s between 0 and 3.2e9),
  backoff_factor  double precision not null default 2 check (backoff_factor between 1 and 100),
  backoff_max_s   double precision not null default 3600 check (backoff_max_s between 0 and 3.2e9),
  backoff_jitter  double precision not null default 0.2 check (backoff_jitter between 0 and 1),
  max_running     integer check (max_running >= 0),
  rate_count      integer check (rate_count >= 1),
  rate_period_s   double precision check (rate_period_s > 0 and rate_period_s <= 3.2e9),
  key_max_running integer check (key_max_running >= 0),
  key_rate_count  integer check (key_rate_count >= 1),
  key_rate_period_s double precision check (key_rate_period_s > 0 and key_rate_period_s <= 3.2e9),
  updated_at      timestamptz not null default plait.now(),
  -- Settings for the children that its jobs spawn.
  child_mode      text not null default 'concurrent' check (child_mode in ('concurrent', 'serial')),
  on_child_failure text not null default 'continue' check (
    on_child_failure in ('continue', 'stop')),
  allow_nested    boolean not null default true,     -- children may have children too
  -- when the parent fails, running children are canceled too
  cancel_on_parent_failure boolean not null default false,
  -- JSON Schema for its payloads; null: any payload
  schema          jsonb check (octet_length(schema::text) <= 65536),
  description     text not null default '' check (length(description) <= 2000),
  -- A node job: the part that runs on each node, whether the leader acts afterwards, and the rules
  -- that decide it.
  on_node         text collate "C",                  -- the definition of the part that runs on each
                                                     -- node; null: none
  on_leader       boolean not null default false,
  quorum          text not null default 'majority' check (
    quorum ~ '^(majority|all|[1-9][0-9]{0,5})$'),
  quorum_timeout_s double precision not null default 10 check (
    quorum_timeout_s > 0 and quorum_timeout_s <= 3.2e9),
  on_timeout      text not null default 'proceed' check (on_timeout in ('proceed', 'fail')),
  on_node_failure text not null default 'fail' check (on_node_failure in ('fail', 'tolerate')),
  -- Search keys: keys and paths in payloads (plait.search_values), and the id from which all later
  -- jobs are indexed.
  search_keys     text[] check (
    cardinality(search_keys) between 1 and 10 and array_position(search_keys, null) is null
    and '' <> all(search_keys) and octet_length(search_keys::text) <= 1000),
  search_from     uuid,
  coded           jsonb,                             -- the values that an application's code passed
                                                     -- to define; null: no code defines it
  inherits_attempts boolean not null default false,  -- neither code nor operator sets max_attempts,
                                                     -- so a sub-job inherits its parent's value
  -- Fields in payloads and results that viewers and operators may not see: names, or the last parts
  -- of paths (customer.ssn).
  sensitive       text[] constraint definitions_sensitive check (
    cardinality(sensitive) between 1 and 50 and array_position(sensitive, null) is null
    and '' <> all(sensitive) and octet_length(sensitive::text) <= 5000),
  -- grace period in which handlers may clean up after a cancellation; null: none
  cancel_grace_s  double precision constraint definitions_cancel_grace check (
    cancel_grace_s > 0 and cancel_grace_s <= 3.2e9),
  -- for the whole job, including waits and retries; null: none
  deadline_s      double precision constraint definitions_deadline check (
    deadline_s > 0 and deadline_s <= 3.2e9),
  constraint definitions_node check (
    case when kind = 'node' then
           (on_node is not null or on_leader)
           and num_nonnulls(max_running, rate_count, key_max_running, key_rate_count) = 0
         else on_node is null and not on_leader end),
  check ((rate_count is null) = (rate_period_s is null)),
  check ((key_rate_count is null) = (key_rate_period_s is null))
);

-- Operators' overrides, until they are cleared (set_definition, clear_overrides). A definition's
-- row has the effective values: the override if there is one, otherwise the code's value.
create table plait.overrides (
  definition text collate "C" not null,
  setting    text collate "C" not null,              -- a column of plait.definitions
  value      jsonb not null,                         -- JSON null removes a limit
  author     text not null check (length(author) between 1 and 500),
  set_at     timestamptz not null default plait.now(),
  primary key (definition, setting)
);
create index overrides_setting on plait.overrides (setting);

-- A queue needs a row only when it has settings; a queue without a row is not paused and has no
-- limits.
create table plait.queues (
  name          text collate "C" primary key,
  paused        boolean not null default false,
  max_running   integer check (max_running >= 0),
  rate_count    integer check (rate_count >= 1),
  rate_period_s double precision check (rate_period_s > 0 and rate_period_s <= 3.2e9),
  updated_at    timestamptz not null default plait.now(),
  serial        boolean not null default false,      -- one workflow at a time
  roots         uuid[],                              -- serial: roots of started workflows; the
                                                     -- first live workflow holds the queue
  paused_at     timestamptz,
  paused_by     text check (length(paused_by) between 1 and 500),
  pause_reason  text check (length(pause_reason) between 1 and 500),
  settling      boolean not null default false,      -- it has become serial, but claims that saw it
                                                     -- as parallel may not have ended
  check ((rate_count is null) = (rate_period_s is null))
);

-- Recent starts of rate-limited jobs; only claims write them. prune deletes rows whose starts have
-- expired, because the number of limit keys is unbounded.
create table plait.buckets (
  name    text collate "C" primary key,
  full_at timestamptz not null,                      -- when the last start expires
  starts  timestamptz[] not null default '{}',
  counts  integer[] not null default '{}'            -- how many jobs started at each time
);
create index buckets_full on plait.buckets (full_at);

-- Locks for plait's own functions, instead of advisory locks, which any login of the database could
-- hold. No role may read or lock these rows. The names are: limit <n>, shared by limits, see
-- functions/claim/_try_limit.sql; wake <queue>, inserted by register_worker; endpoints <tenant> and
-- triggers <tenant>, inserted when needed.
create table plait.locks (name text collate "C" primary key);
insert into plait.locks (name)
select 'limit ' || n from generate_series(0, 1023) n
union all
values ('announce'), ('count_failures'), ('count_live'), ('roll_up');
