-- Workers and the leader: leases. A worker's running jobs live by its one row.

create table plait.workers (
  id          integer generated always as identity primary key,   -- never used twice, so a dead worker's writes match nothing
  host        text not null,
  pid         integer not null,
  version     text not null,
  queues      text[] not null,
  definitions text[] not null,
  metadata    json not null default '{}',
  lease_s     double precision not null check (lease_s > 0),
  started_at  timestamptz not null default plait.now(),
  seen_at     timestamptz not null default plait.now(),
  expires_at  timestamptz not null,
  state       text not null default 'alive' check (state in ('alive', 'lost', 'gone')),  -- lost: expired, its jobs not yet moved
  asleep      boolean not null default false,                     -- an enqueue must notify
  running     integer not null default 0,
  cursors     jsonb not null default '{}',                        -- where plait.claim goes on, by queue
  node        text collate "C",                                   -- the machine that it is on; null: of none, and it gets nothing that is a node's
  holder      text,                                               -- its process, as plait.leader has it
  draining    boolean not null default false,                     -- it is asked to stop: its node is asked for nothing more
  blocked_since timestamptz,                                      -- its event loop does not turn, as of its last heartbeat
  blocked_job uuid,                                               -- the job whose handler blocks it; null: not known
  suspects    integer not null default 0,                         -- how many suspects it ran when it was declared lost
  prefetched  integer not null default 0,                         -- claimed before a slot was free, as of its last heartbeat
  build       text collate "C" constraint workers_build check (build ~ '^[A-Za-z0-9_.:+-]{1,100}$')   -- of its code: durable jobs that begin here go on there
) with (fillfactor = 50);

create index workers_asleep on plait.workers (id) where asleep;
create index workers_expiry on plait.workers (expires_at) where state = 'alive';
create index workers_lost on plait.workers (id) where state = 'lost';
create index workers_node on plait.workers (node) where state = 'alive';
create index workers_builds on plait.workers (build) where build is not null;

-- The machines of the cluster. One lives for as long as a worker on it does: leases are the workers'.
create table plait.nodes (
  name      text collate "C" primary key check (name ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  state     text not null default 'active' check (state in ('active', 'draining', 'lost', 'left')),
  joined_at timestamptz not null default plait.now(),
  url       text check (length(url) between 1 and 500),             -- of its API, as others reach it
  labels    jsonb not null default '{}' check (jsonb_typeof(labels) = 'object')
);

create table plait.leader (
  name       text primary key,
  holder     text not null,
  term       bigint not null,
  expires_at timestamptz not null,
  since      timestamptz not null default plait.now()               -- when its holder became it
);
